"""The current labels after all acts: their names, and how they are scored.

A state is immutable, and stores only differences from training: its size depends on the number of acts, not of labels.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.arrays import Ids, Mask
from tacit.core.checks import has_half_character
from tacit.core.labels import Names
from tacit.core.ranking import NO_SCORE, Ranking
from tacit.data.vocabulary import Vocabulary
from tacit.errors import ActError, LabelError, RetiredLabelError, TacitError, UnknownLabelError, brief
from tacit.names.index import Name, NameIndex
from tacit.store.acts import Act
from tacit.store.sample_rows import ActSamples, Row, stacked
from tacit.tagger.few_shot import FewShot
from tacit.tagger.inputs import Inputs
from tacit.tagger.naming import is_readable
from tacit.tagger.parts import AnyOf, Corrected, Judged, Learned, Near, Part, Plan, members_of, rank_changed
from tacit.tagger.scores import Scores

_SAMPLES_UNSEEN = 2.0  # pseudo-count of a label: a single co-occurrence is weak evidence
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


@dataclass(eq=False)
class State:
    """The labels after some acts. Columns are never removed; added labels have columns at the end."""

    ground: Ground
    settled: str = "trained"  # digest of the acts up to the last one that is not a judgement
    _history: str = "trained"  # ... and of all acts
    _added: list[str] = field(default_factory=list)
    _renamed: dict[int, str] = field(default_factory=dict)
    _titles: dict[str, str] = field(default_factory=dict)  # later names of concepts, by the ids that these keep
    _columns: dict[str, int] = field(default_factory=dict)  # by the names that labels got later, former ones too
    _later: list[Name] = field(default_factory=list)  # the same names, in order
    _merged: dict[int, int] = field(default_factory=dict)  # columns that went into others
    _retired: set[int] = field(default_factory=set)
    _counts: dict[int, float] = field(default_factory=dict)
    _changed: dict[int, Part] = field(default_factory=dict)
    _fused: tuple[Scores, Scores] | None = None  # scores of the training, and those that know later names

    def __getstate__(self) -> dict[str, Any]:
        """The fields, without cached properties: a plan cannot be pickled."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __len__(self) -> int:
        return len(self.ground.classes) + len(self._added)

    @cached_property
    def names(self) -> Names:
        """Names in column order."""
        if not self._added and not self._renamed:
            return self.ground.classes
        names = np.array([*map(str, self.ground.classes.tolist()), *self._added], dtype=object)
        names[[*self._renamed]] = [*self._renamed.values()]
        return names

    @cached_property
    def is_suggested(self) -> Mask:
        """Whether the label of each column may be suggested."""
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
        """The column of a label, given any of its names; an error, with a `hint` at others, if unknown or retired."""
        column, vocabulary = self.known(label), self.ground.vocabulary
        if column is None:
            is_concept = vocabulary is not None and str(label) in vocabulary
            reason = "it is in the vocabulary, but no label of the model" if is_concept else ""
            known = [*map(str, self.names.tolist()), *(vocabulary.names if vocabulary else ())] if hint else ()
            raise UnknownLabelError(str(label), known, field, reason)
        if column in self._retired:
            raise RetiredLabelError(str(label), field)
        return column

    def known(self, label: Any) -> int | None:
        """The column of a label, given any of its names, retired or not; None if it is unknown."""
        return self._first_of(str(label), self.leads_to)

    def _first_of(self, name: str, find: Callable[[str], int | None]) -> int | None:
        """What is found by a name or else by the names of that concept in the vocabulary."""
        if (found := find(name)) is not None or self.ground.vocabulary is None or name not in self.ground.vocabulary:
            return found
        return next((each for each in map(find, self.ground.vocabulary.names_of(name)) if each is not None), None)

    def leads_to(self, name: str) -> int | None:
        """The column of a current or former name; of a merged label, that of the result."""
        column = self._named(name)
        return None if column is None else self._end(column)

    def _named(self, name: str) -> int | None:
        return self._columns.get(name, self.ground.index.get(name))

    def _end(self, column: int) -> int:
        while column in self._merged:
            column = self._merged[column]
        return column

    def _current(self, name: str) -> int | None:
        """The column of a current name, with which no other label may be called."""
        column = self._named(name)
        if column is None or column in self._merged:
            return None
        return column if name in (own := self.name(column), self._titles.get(own)) else None

    def check_name(self, name: str, *, is_added: bool = False) -> None:
        """Raise unless `name` is a valid and unused name for a label; one that is added may be known by its name."""
        if not name.strip():
            raise ActError("a label needs a name; got a blank one", "name")
        if has_half_character(name):
            raise ActError(f"the name of a label must be valid Unicode; {name!a} has half a character", "name")
        if (column := self._current(name)) is not None and not (is_added and self.is_known_by_name(name)):
            retired = " (it was retired)" if column in self._retired else ""
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
        """The name that a label has in the training data, or under which it was added; None if it is unknown."""
        column = self._first_of(label, self._named)
        if column is None:
            return None
        name = self._first_name(column)
        if column >= len(self.ground.classes) and name in self.ground.index:
            other = self.name(self.ground.index[name])
            raise ActError(
                f"the label '{label}' was added under a name that '{other}' has in the training data, and cannot be "
                "learned from samples; add it under another name",
                "name",
            )
        return name

    def _first_name(self, column: int) -> str:
        n_learned = len(self.ground.classes)
        return str(self.ground.classes[column]) if column < n_learned else self._added[column - n_learned]

    # -- acts ---------------------------------------------------------------------------------------------

    def after(
        self, acts: Sequence[Act], samples: Mapping[str, ActSamples], scores: Scores
    ) -> tuple[State, dict[str, TacitError]]:
        """The state after further acts, and for acts that do not apply, the reasons by id."""
        later, refused = replace(self), dict[str, TacitError]()
        for name, value in vars(self).items():
            if isinstance(value, dict | list | set):
                setattr(later, name, copy.copy(value))
        for kind, run in groupby(acts, key=lambda act: act.kind):
            group = list(run)
            if kind == "judge":
                later._judge(group, samples, scores)
            for act in group:
                try:
                    later._apply(act, samples.get(act.id))
                except (LabelError, ActError) as error:
                    refused[act.id] = error
                    continue
                later._history = hashlib.blake2b(f"{later._history}{act.id}".encode(), digest_size=8).hexdigest()
                if kind != "judge":
                    later.settled = later._history
        return later, refused

    def _apply(self, act: Act, samples: ActSamples | None) -> None:
        content = act.content
        if act.kind == "add":
            self._add(content, samples.rows if samples is not None else [])
        elif act.kind == "rename":
            column = self.find(content["label"], "label", hint=False)
            self.check_name(content["name"])
            ids: frozenset[str] = frozenset() if self.ground.vocabulary is None else self.ground.vocabulary.own_ids
            self._rename(column, content["name"], keeps_id=self.name(column) in ids and content["name"] not in ids)
        elif act.kind == "merge":
            self._merge(content["labels"], content["into"])
        elif act.kind == "retire":
            column = self.find(content["label"], "label", hint=False)
            self._retired.add(column)
            self._changed.pop(column, None)
        elif act.kind == "judge" and all(self._judgeable(each["label"]) is None for each in content["judgements"]):
            self.find(content["judgements"][0]["label"], "judgements[0].label", hint=False)

    def _rename(self, column: int, name: str, *, keeps_id: bool) -> None:
        """Rename a label; a concept may keep its id, by which others know it."""
        if keeps_id:
            self._titles[self.name(column)] = name
        else:
            self._titles.pop(self.name(column), None)
            self._renamed[column] = name
        self._give(column, name, [name])

    def _give(self, column: int, name: str, names: Sequence[str]) -> None:
        self._columns[name] = column
        self._later += [Name(column, each) for each in names]
        self._fused = None

    def _add(self, content: Mapping[str, Any], rows: list[Row]) -> None:
        name = content["name"]
        self.check_name(name, is_added=True)
        part, count = self._known_by(content, rows)
        known, names = self._current(name), self._names_in_texts(name)
        column = len(self) if known is None else known
        if known is None:
            self._added.append(name)
            self._give(column, name, names)
        self._counts[column] = count
        if part is not None:
            is_found = known is not None or any(map(self.ground.finds, names))  # its names are evidence, too
            self._changed[column] = AnyOf((Learned(column), part), np.ones(2)) if is_found else part
        elif not self.ground.weighs_names:
            self._changed[column] = Learned(column)

    def _names_in_texts(self, name: str) -> list[str]:
        return [name] if self.ground.vocabulary is None else self.ground.vocabulary.names_in_texts(name)

    def _known_by(self, content: Mapping[str, Any], rows: list[Row]) -> tuple[Part | None, float]:
        """How a new label is scored, if not by its name alone, and its expected number of training samples."""
        name, few_shot, counts = content["name"], self.ground.few_shot, self._cooccurring(content)
        n_examples = len(content.get("examples") or ())
        parts = (rows[:n_examples], rows[n_examples:])
        examples, about = (tuple(row for row in part if len(row.indices)) for part in parts)
        is_found = any(map(self.ground.finds, self._names_in_texts(name)))
        if is_found and self.ground.weighs_names and not content.get("description"):
            about = ()  # of the name alone, which is looked for in texts
        if n_examples and not examples:
            raise ActError(
                "the examples have no word or feature in common with the training data; give other examples", "examples"
            )
        part: Part | None = self._brought(counts) if counts else None
        if examples:
            part = Near.of(part, few_shot, examples, are_examples=True)
        if about:
            part = Near.of(part, few_shot, about, are_examples=False)
        if part is None and not is_found and not self.is_known_by_name(name):
            vocabulary = self.ground.vocabulary
            shown = vocabulary.name_of(name) if vocabulary is not None and name in vocabulary else name
            raise ActError(
                f"'{brief(shown)}' cannot be scored: no word of its name or description occurs in the training texts; "
                "give examples, co-occurring labels, or its parent",
                "name",
            )
        return part, max([*counts.values(), float(len(examples)), 1.0])

    def _cooccurring(self, content: Mapping[str, Any]) -> dict[int, float]:
        """With how many samples of other labels a new one co-occurs, by column."""
        given = content.get("cooccurs") or {}
        counts = {self.find(label, f"cooccurs.{label}", hint=False): float(n) for label, n in given.items() if n > 0}
        if content.get("parent"):
            parent = self.find(content["parent"], "parent", hint=False)
            counts.setdefault(parent, max(SHARE_OF_PARENT * self._count(parent), 1.0))
        return counts

    def _brought(self, counts: Mapping[int, float]) -> Part:
        """The scoring of a label by those with which it co-occurs."""
        together = np.array([*counts.values()])
        shares = np.minimum(together / (np.array([*map(self._count, counts)]) + _SAMPLES_UNSEEN), 1.0)
        # Samples have several of the labels at once, so that a plain noisy-or would overcount.
        power = float(np.sqrt(together.max() / together.sum()))
        return AnyOf(tuple(map(self.part, counts)), shares, power)

    def _count(self, column: int) -> float:
        return self._counts[column] if column in self._counts else float(self.ground.counts[column])

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
        parts = [part for column in columns for part in members_of(self.part(column))]
        self._changed[target] = AnyOf(tuple(parts), np.ones(len(parts)))
        self._counts[target] = sum(map(self._count, columns))
        for column in columns:
            if column != target:
                self._titles.pop(self.name(column), None)
                self._changed.pop(column, None)
                self._merged[column] = target
        if into not in (self.name(target), self.title(self.name(target))):
            self._rename(target, into, keeps_id=False)

    def _judge(self, acts: Sequence[Act], samples: Mapping[str, ActSamples], scores: Scores) -> None:
        """Learn from judgements, those of unknown labels aside; the samples get their log-odds before any judgement."""
        judged: dict[int, list[tuple[ActSamples, int, Mapping[str, Any]]]] = {}
        for act in acts:
            for place, each in enumerate(act.content["judgements"]):
                if (column := self._judgeable(each["label"])) is not None:
                    judged.setdefault(column, []).append((samples[act.id], place, each))
        scores = self.fused(scores)
        for column, found in judged.items():
            part = self.part(column)
            inner, earlier = (part.inner, part.judged) if isinstance(part, Corrected) else (part, ())
            if new := [(each, place, given) for each, place, given in found if each.after != self.settled]:
                X = stacked([each.rows[place] for each, place, _ in new], self.ground.few_shot.n_features)
                inputs = scores.inputs(X, [str(given.get("text") or "") for _, _, given in new], stored=True)
                before = Plan([inner], self.ground.few_shot).log_odds(scores, inputs)[:, 0]
                for (each, place, _), value in zip(new, before, strict=True):
                    each.scores[place] = float(np.float32(value))
            later = (Judged(each.rows[place], given["accepted"], each.scores[place]) for each, place, given in found)
            self._changed[column] = Corrected(inner, (*earlier, *later))
        for act in acts:
            samples[act.id].after = self.settled

    def _judgeable(self, label: str) -> int | None:
        column = self.known(label)
        return None if column in self._retired else column

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
    def _plan(self) -> tuple[Ids, Plan]:
        """The columns that changed, and how they are scored."""
        columns = sorted(self._changed)
        return np.array(columns, np.intp), Plan([self._changed[each] for each in columns], self.ground.few_shot)

    def scores(self, scores: Scores, samples: Inputs, columns: Sequence[int]) -> npt.NDArray[np.float32]:
        """Scores of some labels for all samples, of shape (n_samples, len(columns))."""
        plan = Plan([self.part(column) for column in columns], self.ground.few_shot)
        return scores.of_log_odds(plan.log_odds(scores, samples))

    def rank(
        self, scores: Scores, samples: Inputs, k: int | None, allowed: Mask | None = None, least: float = NO_SCORE
    ) -> Ranking:
        """The `k` best allowed labels of each sample (`allowed`: mask over columns); all above `least` without `k`."""
        if self._changed or not self.is_suggested.all():
            allowed = self.is_suggested if allowed is None else self.is_suggested & allowed
        return rank_changed(*self._plan, scores, samples, k, allowed, least)
