"""The current labels after all acts: their names, and how they are scored.

A state is immutable. It stores only differences from training, so that its size depends on the number of acts, not on
the number of labels.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats64, Mask
from tacit.core.checks import has_half_character
from tacit.core.labels import Names
from tacit.core.ranking import NO_SCORE, Ranking
from tacit.data.vocabulary import Vocabulary
from tacit.errors import ActError, LabelError, RetiredLabelError, TacitError, UnknownLabelError, brief
from tacit.names.index import Name, NameIndex
from tacit.runtime.tasks import row_blocks
from tacit.store.acts import Act
from tacit.store.sample_rows import ActSamples, Row, stacked
from tacit.tagger.few_shot import FewShot
from tacit.tagger.inputs import Inputs
from tacit.tagger.naming import is_readable
from tacit.tagger.parts import AnyOf, Combined, Corrected, Judged, Learned, Near, Part, Plan
from tacit.tagger.scores import Scores

_VALUES_PER_BLOCK = 4_000_000  # log-odds in memory at a time
_SAMPLES_UNSEEN = 2.0  # pseudo-count added to a label's count: a single co-occurrence is weak evidence
SHARE_OF_PARENT = 0.1  # assumed share of a parent's samples that have the new label


@dataclass(frozen=True, eq=False)
class Ground:
    """What acts start from: labels and counts of the training data, sample statistics, a vocabulary."""

    classes: Names
    counts: npt.NDArray[np.int64]
    few_shot: FewShot
    vocabulary: Vocabulary | None = None
    n_trained: int | None = None  # labels that have samples; the others are known by their names
    named: NameIndex | None = None  # if names of labels, or of added ones, are looked for in texts
    weighs_names: bool = True  # whether the scores of the training rank labels by their names, added ones included

    @cached_property
    def index(self) -> dict[str, int]:
        """Columns by name."""
        return {name: column for column, name in enumerate(map(str, self.classes.tolist()))}

    def finds(self, name: str) -> bool:
        """Whether texts are searched for a label of this name."""
        return self.named is not None and is_readable(name) and bool(self.named.stems_in(name))


class State:
    """The labels after some acts. Columns are never removed; added labels have columns at the end."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._added: list[str] = []
        self._given: dict[str, int] = {}  # names that labels got later, and their columns
        self._renamed: dict[int, str] = {}
        self._titles: dict[str, str] = {}  # later names of concepts, by the ids that these keep
        self._former: dict[str, int] = {}
        self._later: list[Name] = []  # all names that labels got later, in order; former ones stay
        self._fused: tuple[Scores, Scores] | None = None  # scores of the training, and those that know later names
        self._merged: dict[int, int] = {}  # columns that went into others
        self._retired: set[int] = set()
        self._counts: dict[int, float] = {}
        self._changed: dict[int, Part] = {}
        self._own: set[int] = set()  # columns whose list of judgements is not shared with another state
        self._history = "trained"  # digest of all acts so far
        self._settled = "trained"  # ... and of those up to the last one that is not a judgement

    def __getstate__(self) -> dict[str, Any]:
        """The attributes to copy, without cached properties."""
        derived = ("names", "is_suggested", "_plan")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    # -- names --------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.ground.classes) + len(self._added)

    @cached_property
    def names(self) -> Names:
        """Names in column order."""
        if not self._added and not self._renamed:
            return self.ground.classes
        names = np.empty(len(self), dtype=object)
        names[: len(self.ground.classes)] = [str(name) for name in self.ground.classes.tolist()]
        names[len(self.ground.classes) :] = self._added
        for column, name in self._renamed.items():
            names[column] = name
        return names

    @cached_property
    def is_suggested(self) -> Mask:
        """For each column, whether its label may be suggested."""
        mask = np.ones(len(self), dtype=bool)
        mask[[*self._retired, *self._merged]] = False
        return mask

    def name(self, column: int) -> str:
        """The current name of a label."""
        return self._renamed[column] if column in self._renamed else self._first_name(column)

    def title(self, label: str) -> str | None:
        """The name that a concept got later, given its id; None if it has that of the vocabulary."""
        return self._titles.get(label)

    def later_names(self, column: int) -> list[str]:
        """The names that a label, and those merged into it, got after the training."""
        return [name.text for name in self._later if name.label in self.members(column)]

    def members(self, column: int) -> set[int]:
        """The columns whose labels went into one, itself included."""
        return {column, *(each for each in self._merged if self._end(each) == column)}

    def find(self, label: Any, field: str = "", *, hint: bool = True) -> int:
        """The column of a label, given its current name, a former name, or an alternative name in the vocabulary.

        Raises
        ------
        UnknownLabelError, RetiredLabelError
            If there is no label of this name, or it is retired; with `field`, and with `hint` the nearest names.
        """
        column, vocabulary = self.known(label), self.ground.vocabulary
        if column is None:
            is_concept = vocabulary is not None and str(label) in vocabulary
            reason = "it is in the vocabulary, but no label of the model" if is_concept else ""
            raise UnknownLabelError(str(label), self._all_names() if hint else (), field, reason)
        if column in self._retired:
            raise RetiredLabelError(str(label), field)
        return column

    def known(self, label: Any) -> int | None:
        """The column of a label, given any of its names, retired or not; None if it is unknown."""
        name, vocabulary = str(label), self.ground.vocabulary
        column = self.leads_to(name)
        if column is None and vocabulary is not None and name in vocabulary:
            found = map(self.leads_to, vocabulary.names_of(name))
            column = next((each for each in found if each is not None), None)
        return column

    def _all_names(self) -> Iterable[str]:
        """All current names of labels, and all names in the vocabulary."""
        yield from map(str, self.names.tolist())
        yield from () if self.ground.vocabulary is None else self.ground.vocabulary.names

    def check_name(self, name: str, *, is_added: bool = False) -> None:
        """Raise unless `name` is a valid and unused name for a label; one that is added may be known by its name."""
        if not name.strip():
            raise ActError("a label needs a name; got a blank one", "name")
        if has_half_character(name):
            raise ActError(f"the name of a label must be valid Unicode; {name!a} has half a character", "name")
        if self._current(name) is not None and not (is_added and self.is_known_by_name(name)):
            retired = " (it was retired)" if self._current(name) in self._retired else ""
            raise ActError(
                f"there is a label '{brief(name)}' already{retired}; choose another name, or merge the two", "name"
            )

    def is_known_by_name(self, name: str) -> bool:
        """Whether a label has no samples, and nobody has taught it: it may be added like a new one."""
        column, n_trained = self._current(name), self.ground.n_trained
        if column is None or n_trained is None or not n_trained <= column < len(self.ground.classes):
            return False
        return column not in self._changed and column not in self._retired

    def name_in_training(self, label: str) -> str | None:
        """The name that a label has in the training data, whatever acts changed since; None if it is unknown.

        For an added label, this is the name under which it was added.
        """
        vocabulary = self.ground.vocabulary
        names = [label, *(vocabulary.names_of(label) if vocabulary is not None and label in vocabulary else ())]
        for name in names:
            column = self._current(name)
            column = self._former.get(name) if column is None else column
            if column is not None:
                first = self._first_name(column)
                if column >= len(self.ground.classes) and first in self.ground.index:
                    other = self.name(self.ground.index[first])
                    raise ActError(
                        f"the label '{name}' was added under a name that '{other}' has in the training data, and "
                        "cannot be learned from samples; add it under another name",
                        "name",
                    )
                return first
        return None

    def _first_name(self, column: int) -> str:
        n_learned = len(self.ground.classes)
        return str(self.ground.classes[column]) if column < n_learned else self._added[column - n_learned]

    def _current(self, name: str) -> int | None:
        column = self._given.get(name)
        if column is not None:
            return column
        column = self.ground.index.get(name)
        return None if column is None or column in self._renamed or column in self._merged else column

    def leads_to(self, name: str) -> int | None:
        """The column of a current or former name; of a merged label, that of the result."""
        column = self._current(name)
        if column is None:
            column = self._former.get(name)
        return None if column is None else self._end(column)

    def _end(self, column: int) -> int:
        while column in self._merged:
            column = self._merged[column]
        return column

    # -- acts ---------------------------------------------------------------------------------------------

    def after(
        self, acts: Sequence[Act], samples: Mapping[str, ActSamples], scores: Scores
    ) -> tuple[State, dict[str, TacitError]]:
        """The state after further acts, and for acts that do not apply, the reasons by id."""
        later = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | list | set):
                setattr(later, name, copy.copy(value))
        later._own = set()
        refused: dict[str, TacitError] = {}
        for kind, run in groupby(acts, key=lambda act: act.kind):
            group = list(run)
            if kind == "judge":
                later._hear([(act, samples[act.id]) for act in group], scores)
            for act in group:
                try:
                    later._apply(act, samples.get(act.id))
                except (LabelError, ActError) as error:
                    refused[act.id] = error
                    continue
                later._history = hashlib.blake2b(f"{later._history}{act.id}".encode(), digest_size=8).hexdigest()
                if kind != "judge":
                    later._settled = later._history
        return copy.copy(later), refused  # without properties cached on the way

    def _apply(self, act: Act, samples: ActSamples | None) -> None:
        content = act.content
        if act.kind == "add":
            self._add(content, samples.rows if samples is not None else [])
        elif act.kind == "rename":
            column = self.find(content["label"], "label", hint=False)
            self.check_name(content["name"])
            ids: frozenset[str] = frozenset() if self.ground.vocabulary is None else self.ground.vocabulary.own_ids
            keeps_id = self.name(column) in ids and content["name"] not in ids
            (self._entitle if keeps_id else self._call)(column, content["name"])
        elif act.kind == "merge":
            self._merge(content["labels"], content["into"])
        elif act.kind == "retire":
            column = self.find(content["label"], "label", hint=False)
            self._retired.add(column)
            self._changed.pop(column, None)
        elif act.kind == "judge" and samples is not None:
            self._judge(content["judgements"], samples.rows, samples.scores or [])

    def _call(self, column: int, name: str) -> None:
        self._untitle(column)
        before = self.name(column)
        self._given.pop(before, None)
        self._former[before] = column
        self._former.pop(name, None)
        self._renamed[column] = name
        self._give(column, name)

    def _entitle(self, column: int, name: str) -> None:
        """Rename a concept: its id, by which others know it, stays."""
        self._untitle(column)
        self._former.pop(name, None)
        self._titles[self.name(column)] = name
        self._give(column, name)

    def _untitle(self, column: int) -> None:
        before = self._titles.pop(self.name(column), None)
        if before is not None:
            self._given.pop(before, None)
            self._former[before] = column

    def _give(self, column: int, name: str, names: Sequence[str] = ()) -> None:
        self._given[name] = column
        self._later += [Name(column, each) for each in names or [name]]
        self._fused = None

    def _add(self, content: Mapping[str, Any], rows: list[Row]) -> None:
        name = content["name"]
        self.check_name(name, is_added=True)
        part, count = self._known_by(content, rows)
        is_known = self.is_known_by_name(name)
        column = (self._current(name) or 0) if is_known else len(self)
        names = self._names_in_texts(name)
        if not is_known:
            self._added.append(name)
            self._give(column, name, names)
            self._former.pop(name, None)
        self._counts[column] = count
        if part is not None:
            is_found = is_known or any(map(self.ground.finds, names))  # its names are evidence, too
            self._changed[column] = AnyOf((Learned(column), part), np.ones(2)) if is_found else part
        elif not self.ground.weighs_names:
            self._changed[column] = Learned(column)

    def _names_in_texts(self, name: str) -> list[str]:
        return [name] if self.ground.vocabulary is None else self.ground.vocabulary.names_in_texts(name)

    def _merge(self, labels: Sequence[str], into: str) -> None:
        columns = list(dict.fromkeys(self.find(label, "labels", hint=False) for label in labels))
        target = self.leads_to(into)
        if target is not None and target not in self._retired and target not in columns:
            columns.append(target)
        if len(columns) < 2:
            raise ActError(f"at least two labels are needed to merge; got {', '.join(labels)}", "labels")
        if target is None or target not in columns:
            self.check_name(into)
            target = columns[0]
        parts = [part for column in columns for part in _members(self._captured(column))]
        self._changed[target] = AnyOf(tuple(parts), np.ones(len(parts)))
        self._counts[target] = sum(self._count(column) for column in columns)
        for column in columns:
            if column != target:
                name = self.name(column)
                self._untitle(column)
                self._changed.pop(column, None)
                self._given.pop(name, None)
                self._former[name] = column
                self._merged[column] = target
        if into not in (self.name(target), self.title(self.name(target))):
            self._call(target, into)

    def _judge(self, judgements: Sequence[Mapping[str, Any]], rows: Sequence[Row], said: Sequence[float]) -> None:
        columns: list[int] = []
        for each in judgements:
            column = self.leads_to(each["label"])
            if column is None or column in self._retired:  # a name in the vocabulary, or an error that names the field
                column = self.find(each["label"], f"judgements[{len(columns)}].label", hint=False)
            columns.append(column)
        for column, each, row, heard in zip(columns, judgements, rows, said, strict=True):
            part = self.part(column)
            if not isinstance(part, Corrected):
                part = self._changed[column] = Corrected(part, [])
            elif column not in self._own:
                part = self._changed[column] = Corrected(part.inner, [*part.judged])
            self._own.add(column)
            part.judged.append(Judged(row, each["accepted"], heard))

    def _hear(self, judged: Sequence[tuple[Act, ActSamples]], scores: Scores) -> None:
        """Compute the log-odds of judged samples before any judgement, unless they are known."""
        places: dict[int, list[tuple[ActSamples, int]]] = {}
        texts = {id(samples): act.content["judgements"] for act, samples in judged}
        for act, samples in judged:
            if samples.scores is None or samples.after != self._settled or len(samples.scores) != len(samples.rows):
                columns = [self.known(each["label"]) for each in act.content["judgements"]]
                samples.scores, samples.after = None if None in columns else [0.0] * len(columns), self._settled
                for place, column in enumerate(columns if None not in columns else ()):
                    places.setdefault(column, []).append((samples, place))  # type: ignore[arg-type]
        if not places:
            return
        scores = self.fused(scores)
        parts = {column: self.part(column) for column in places}
        inner = {column: part.inner if isinstance(part, Corrected) else part for column, part in parts.items()}
        for column, where in places.items():
            X = stacked([samples.rows[place] for samples, place in where], self.ground.few_shot.n_features)
            given = [str(texts[id(samples)][place].get("text") or "") for samples, place in where]
            said = self.log_odds(scores, scores.inputs(X, given, stored=True), [inner[column]])[:, 0]
            for (samples, place), value in zip(where, said, strict=True):
                samples.scores[place] = float(np.float32(value))  # type: ignore[index]

    def _captured(self, column: int) -> Part:
        """The current scoring of a label, for use in another label; later judgements do not affect it."""
        self._own.discard(column)
        return self.part(column)

    def _count(self, column: int) -> float:
        return self._counts[column] if column in self._counts else float(self.ground.counts[column])

    def _known_by(self, content: Mapping[str, Any], rows: list[Row]) -> tuple[Part | None, float]:
        """How a new label is scored, if not by its name alone, and its expected number of training samples."""
        given = content.get("cooccurs") or {}
        counts = {self.find(label, f"cooccurs.{label}", hint=False): float(n) for label, n in given.items() if n > 0}
        if content.get("parent"):
            parent = self.find(content["parent"], "parent", hint=False)
            counts.setdefault(parent, max(SHARE_OF_PARENT * self._count(parent), 1.0))
        few_shot = self.ground.few_shot
        n_examples = len(content.get("examples") or ())
        parts = (rows[:n_examples], rows[n_examples:])
        examples, about = (tuple(row for row in part if len(row.indices)) for part in parts)
        near = []
        is_found = any(map(self.ground.finds, self._names_in_texts(content["name"])))
        if is_found and self.ground.weighs_names and not content.get("description"):
            about = ()  # of the name alone, which is looked for in texts
        if n_examples and not examples:
            raise ActError(
                "the examples have no word or feature in common with the training data; give other examples", "examples"
            )
        if examples:
            near.append(Near.examples_of(few_shot, examples))
        if about:
            near.append(Near.texts_about(few_shot, about))
        count = max([*counts.values(), float(len(examples)), 1.0])
        if not counts:
            if not near and (is_found or self.is_known_by_name(content["name"])):
                return None, count
            if not near:
                name, vocabulary = content["name"], self.ground.vocabulary
                shown = vocabulary.name_of(name) if vocabulary is not None and name in vocabulary else name
                raise ActError(
                    f"'{brief(shown)}' cannot be scored: no word of its name or description occurs in the "
                    "training texts; give examples, co-occurring labels, or its parent",
                    "name",
                )
            return (near[0] if len(near) == 1 else Combined(near[0], tuple(near[1:]))), count
        columns = list(counts)
        together = np.array([counts[column] for column in columns])
        alone = np.array([self._count(column) for column in columns])
        shares = np.minimum(together / (alone + _SAMPLES_UNSEEN), 1.0)
        # Samples have several of the labels at once, so that a plain noisy-or would overcount.
        power = float(np.sqrt(together.max() / together.sum()))
        brought = AnyOf(tuple(map(self._captured, columns)), shares, power)
        return (Combined(brought, tuple(near)) if near else brought), count

    # -- scores -------------------------------------------------------------------------------------------

    def fused(self, scores: Scores) -> Scores:
        """Scores of the training that also look for the names that labels got later."""
        if not self._later:
            return scores
        if self._fused is None or self._fused[0] is not scores:
            last = {name.label: place for place, name in enumerate(self._later)}
            names = [Name(each.label, each.text, last[each.label] == place) for place, each in enumerate(self._later)]
            found = scores.with_names([each for each in names if self.ground.finds(each.text)], len(self))
            self._fused = scores, found
        return self._fused[1]

    def part(self, column: int) -> Part:
        """How a label is scored."""
        return self._changed.get(column) or Learned(column)

    @cached_property
    def _plan(self) -> tuple[npt.NDArray[np.intp], Plan]:
        """The columns that changed, and how they are scored."""
        columns = sorted(self._changed)
        plan = Plan([self._changed[column] for column in columns], self.ground.few_shot)
        return np.array(columns, dtype=np.intp), plan

    def log_odds(self, scores: Scores, samples: Inputs, parts: Sequence[Part]) -> Floats64:
        """Log-odds of labels for all samples, of shape (n_samples, len(parts))."""
        return Plan(parts, self.ground.few_shot).log_odds(scores, samples)

    def scores(self, scores: Scores, samples: Inputs, columns: Sequence[int]) -> npt.NDArray[np.float32]:
        """Scores of some labels for all samples, of shape (n_samples, len(columns))."""
        return scores.of_log_odds(self.log_odds(scores, samples, [self.part(column) for column in columns]))

    def rank(
        self, scores: Scores, samples: Inputs, k: int | None, allowed: Mask | None = None, least: float = NO_SCORE
    ) -> Ranking:
        """The `k` best allowed labels of each sample (`allowed`: mask over columns); all above `least` without `k`."""

        def learned(rows: Inputs, include: npt.NDArray[np.intp] | None) -> Ranking:
            n_labels = scores.n_labels if include is None else len(include)
            if k is None:
                return scores.rank_above(rows, least, include)
            return scores.rank(rows, max(min(k, n_labels), 1), include)

        if not self._changed and self.is_suggested.all():
            ranking = learned(samples, None if allowed is None else np.flatnonzero(allowed))
        else:
            may = self.is_suggested if allowed is None else self.is_suggested & allowed
            size = max(64, min(2048, _VALUES_PER_BLOCK // (len(self._changed) + 1)))
            blocks = row_blocks(samples.shape[0], size) or [(0, 0)]
            parts = [self._rank_block(scores, samples[slice(*block)], may, learned) for block in blocks]
            ranking = Ranking.concatenate(parts)
        return ranking if k is None else ranking.resized(k)

    def _rank_block(self, scores: Scores, samples: Inputs, may: Mask, learned: Callable[..., Ranking]) -> Ranking:
        changed, plan = self._plan
        is_wanted = may[changed]
        unchanged = may[: scores.n_labels].copy()
        unchanged[changed[changed < len(unchanged)]] = False
        ranking = learned(samples, np.flatnonzero(unchanged))
        if not is_wanted.any():
            return ranking
        also = np.broadcast_to(changed[is_wanted].astype(np.int32), (samples.shape[0], int(is_wanted.sum())))
        more = scores.of_log_odds(plan.log_odds(scores, samples)[:, is_wanted])
        return Ranking(np.hstack([ranking.labels, also]), np.hstack([ranking.scores, more])).sorted()


def _members(part: Part) -> tuple[Part, ...]:
    """The labels that a label was merged from, or itself."""
    return part.parts if isinstance(part, AnyOf) and part.power == 1 and (part.shares == 1).all() else (part,)
