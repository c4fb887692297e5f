"""What changes after training: labels added, renamed, merged, retired, and suggestions judged.

The list of acts is all that is stored. `Amended` is derived from it, so that an act is undone by dropping it. It works
on the probabilities of the model, whichever that is.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.checks import unit_rows
from tacit.errors import ModelFileError, ParameterError, did_you_mean
from tacit.labels import Names
from tacit.ranking import NO_LABEL, Ranking
from tacit.tagger.few_shot import FewShot, direction
from tacit.tagger.scorers import (
    MAX_LOG_ODDS,
    Combined,
    Cooccurring,
    Corrected,
    Joined,
    Judgements,
    Learned,
    Near,
    Part,
    Rows,
    logit,
    sigmoid,
)
from tacit.tasks import row_blocks

if TYPE_CHECKING:
    from tacit.tagger.living import LivingVocabulary

Mask = npt.NDArray[np.bool_]

_ROWS_PER_BLOCK = 2048
_MOST_SPELLINGS = 50_000  # among more the search for the nearest would take too long
_SAMPLES_UNSEEN = 2.0  # added to the count of a label: that one sample of it had the new label proves little
_TIE = 1e-5  # log-odds between neighbours in the model's ranking, so that those of equal probability stay in order
SHARE_OF_PARENT = 0.1  # how often a label applies where its parent does, if nothing is known


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a new label is known by: any of these.

    Attributes
    ----------
    cooccurs : mapping of str to float
        With which labels it occurs, and how often.
    examples : csr_matrix, optional
        Features of samples that have it, scaled to unit length.
    description : csr_matrix, optional
        Features of its name or of a text about it, one row.
    parent : str
        The label above it.
    """

    cooccurs: dict[str, float] = field(default_factory=dict)
    examples: sparse.csr_matrix | None = None
    description: sparse.csr_matrix | None = None
    parent: str = ""


@dataclass(frozen=True, eq=False)
class Amendment:
    """One act.

    Attributes
    ----------
    act : str
        "add", "rename", "merge", "retire" or "learn".
    labels : list of str
        The labels that were there before, by the names they had.
    name : str
        What "add", "rename" and "merge" call the result.
    evidence : Evidence, optional
        Of "add".
    judgements : Judgements, optional
        Of "learn".
    """

    act: str
    labels: list[str] = field(default_factory=list)
    name: str = ""
    evidence: Evidence | None = None
    judgements: Judgements | None = None

    def __str__(self) -> str:
        labels = ", ".join(f"'{label}'" for label in self.labels[:5]) + (", …" if len(self.labels) > 5 else "")
        if self.act == "add" and self.evidence is not None:
            return f"added '{self.name}' from {_sources(self.evidence)}"
        if self.act == "learn" and self.judgements is not None:
            accepted = self.judgements.accepted
            return f"learned from {_counted(len(accepted), 'judgement')}, {int(accepted.sum())} accepted, of {labels}"
        past = {"rename": "renamed", "merge": "merged", "retire": "retired"}[self.act]
        return f"{past} {labels}" + (f" to '{self.name}'" if self.name else "")


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _sources(evidence: Evidence) -> str:
    found = []
    if evidence.cooccurs:
        found.append(_counted(len(evidence.cooccurs), "co-occurring label"))
    if evidence.examples is not None:
        found.append(_counted(evidence.examples.shape[0], "example"))
    if evidence.description is not None:
        found.append("its name or description")
    if evidence.parent:
        found.append(f"its parent '{evidence.parent}'")
    return ", ".join(found)


class Amended:
    """The labels as they are after some acts, and their ranking.

    Attributes
    ----------
    names : array
        Names in column order: labels of the training data, then labels added later. A column is never taken away.
    """

    def __init__(self, classes: Names, counts: npt.NDArray[np.int64], few_shot: FewShot) -> None:
        self.names = classes
        self._n_learned = len(classes)
        self._counts = [float(count) for count in counts]
        self._few_shot = few_shot
        self._is_ranked: list[bool] = [True] * len(classes)
        self._column = {str(name): column for column, name in enumerate(classes)}
        self._former: dict[str, int] = {}
        self._changed: dict[int, Part] = {}
        self._merged: set[int] = set()  # columns that went into others

    # -- acts ---------------------------------------------------------------------------------------------

    def after(self, act: Amendment) -> Amended:
        """The labels after one more act; an error if there cannot be such an act."""
        later = copy.copy(self)
        for name in ("_counts", "_is_ranked", "_column", "_former", "_changed", "_merged"):
            setattr(later, name, copy.copy(getattr(self, name)))
        if act.act == "add" and act.evidence is not None:
            later._add(act.name, act.evidence)
        elif act.act == "learn" and act.judgements is not None:
            later._learn(act.judgements)
        elif act.act in ("rename", "merge", "retire") and act.labels:
            getattr(later, f"_{act.act}")(act)
        else:
            raise ModelFileError(
                f"the model was changed in a way ('{act.act}') that this tacit does not know; upgrade it"
            )
        return later

    def find(self, label: str) -> int:
        """The column of a label by its name, or by a name that it had before."""
        name = str(label)
        column = self._column.get(name, self._former.get(name))
        if column is None:
            hint = did_you_mean(name, islice(self._column, _MOST_SPELLINGS))
            raise ParameterError(f"unknown label '{name}'{hint}; name one of the {len(self._column):,} labels")
        if not self._is_ranked[column]:
            raise ParameterError(f"the label '{name}' was retired; undo that first, or name another label")
        return column

    def leads_to(self, name: str, column: int) -> bool:
        """Whether a label is, or was, called that."""
        return column in (self._column.get(name), self._former.get(name))

    def is_known(self, label: str) -> bool:
        """Whether there is, or was, a label of this name."""
        return label in self._column or label in self._former

    def is_column(self, column: int) -> bool:
        """Whether a column stands for a label that may be suggested."""
        return column < len(self._is_ranked) and self._is_ranked[column]

    def column_now(self, column: int) -> int:
        """The column of the label that a column went into, or itself; -1 if the label was retired."""
        name = str(self.names[column])
        target = self._former.get(name, -1) if column in self._merged else column
        return target if target >= 0 and self._is_ranked[target] else -1

    def is_retired(self, label: str) -> bool:
        """Whether there was a label of this name, but is no more."""
        column = self._column.get(label, self._former.get(label))
        return column is not None and not self._is_ranked[column]

    def part(self, column: int) -> Part:
        """How a label is scored."""
        return self._changed.get(column) or Learned(column)

    def check_name(self, name: str) -> None:
        """Raise unless a label may be called that."""
        if not name.strip():
            raise ParameterError("a label needs a name; got an empty one")
        if name in self._column:
            raise ParameterError(f"there is a label '{name}' already; choose another name, or merge the two")

    def _set_names(self, names: list[str]) -> None:
        self.names = np.array(names, dtype=object)
        self._column = {name: column for column, name in enumerate(names) if column not in self._merged}

    def _add(self, name: str, evidence: Evidence) -> None:
        self.check_name(name)
        part, count = self._known_by(evidence)
        self._counts.append(count)
        self._is_ranked.append(True)
        self._former.pop(name, None)
        self._changed[len(self.names)] = part
        self._set_names([*map(str, self.names), name])

    def _rename(self, act: Amendment) -> None:
        column = self.find(act.labels[0])
        self.check_name(act.name)
        self._call(column, act.name)

    def _call(self, column: int, name: str) -> None:
        names = [str(known) for known in self.names]
        self._former[names[column]] = column
        self._former.pop(name, None)
        names[column] = name
        self._set_names(names)

    def _merge(self, act: Amendment) -> None:
        columns = list(dict.fromkeys(self.find(label) for label in act.labels))
        target = self._column.get(act.name)
        if target is not None and self._is_ranked[target] and target not in columns:
            columns.append(target)
        if len(columns) < 2:
            raise ParameterError(f"at least two labels are needed to merge; got {', '.join(act.labels)}")
        if target is None or target not in columns:
            self.check_name(act.name)
            target = columns[0]
        self._changed[target] = Joined([self.part(column) for column in columns])
        self._counts[target] = sum(self._counts[column] for column in columns)
        for column in columns:
            if column != target:
                self._is_ranked[column] = False
                self._changed.pop(column, None)
                self._merged.add(column)
                self._former[str(self.names[column])] = column
        self._former = {name: target if column in columns else column for name, column in self._former.items()}
        if str(self.names[target]) != act.name:
            self._call(target, act.name)
        else:
            self._set_names([str(name) for name in self.names])

    def _retire(self, act: Amendment) -> None:
        for column in [self.find(label) for label in act.labels]:
            self._is_ranked[column] = False
            self._changed.pop(column, None)

    def _learn(self, judgements: Judgements) -> None:
        columns = np.array([self.find(label) for label in judgements.labels])
        for column in np.unique(columns):
            judged = judgements.rows(np.flatnonzero(columns == column))
            before = self.part(int(column))
            if isinstance(before, Corrected):
                self._changed[int(column)] = Corrected(before.inner, before.judgements.followed_by(judged))
            else:
                self._changed[int(column)] = Corrected(before, judged)

    # -- labels known by other things than samples --------------------------------------------------------

    def _known_by(self, evidence: Evidence) -> tuple[Part, float]:
        """How a new label is scored, and how many samples it is likely to have had in training."""
        counts = {self.find(label): float(count) for label, count in evidence.cooccurs.items() if count > 0}
        if evidence.parent:
            parent = self.find(evidence.parent)
            counts.setdefault(parent, max(SHARE_OF_PARENT * self._counts[parent], 1.0))
        near = []
        n_examples = 0
        if evidence.examples is not None:
            n_examples = evidence.examples.shape[0]
            near.append(Near(direction(self._few_shot, evidence.examples), self._few_shot.curve(n_examples)))
        if evidence.description is not None:
            near.append(Near(direction(self._few_shot, evidence.description), self._few_shot.curve(0)))
        count = max([*counts.values(), float(n_examples), 1.0])
        if not counts:
            return (near[0] if len(near) == 1 else Combined(near[0], near[1:])), count
        columns = list(counts)
        together = np.array([counts[column] for column in columns])
        alone = np.array([self._counts[column] for column in columns])
        shares = np.minimum(together / (alone + _SAMPLES_UNSEEN), 1.0)
        cooccurring = Cooccurring([self.part(column) for column in columns], together, shares)
        return (Combined(cooccurring, near) if near else cooccurring), count

    # -- ranking ------------------------------------------------------------------------------------------

    def rank(self, tagger: LivingVocabulary, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        """The `k` most probable allowed labels (`allowed`: mask over `names`, or None)."""
        if not self._changed and all(self._is_ranked):
            include = None if allowed is None else np.flatnonzero(allowed)
            return tagger.probabilities(X, k, include)
        may = np.array(self._is_ranked) if allowed is None else np.array(self._is_ranked) & allowed
        blocks = row_blocks(X.shape[0], _ROWS_PER_BLOCK) or [(0, 0)]
        return Ranking.concatenate([self._rank_rows(tagger, X[slice(*block)], k, may) for block in blocks])

    def _rank_rows(self, tagger: LivingVocabulary, X: sparse.csr_matrix, k: int, may: Mask) -> Ranking:
        changed = [column for column in sorted(self._changed) if may[column]]
        unchanged = may[: self._n_learned].copy()
        unchanged[[column for column in changed if column < self._n_learned]] = False
        ranking = tagger.probabilities(X, max(min(k, int(unchanged.sum())), 1), np.flatnonzero(unchanged))
        also = np.broadcast_to(np.array(changed, np.int32), (X.shape[0], len(changed)))
        labels = np.hstack([ranking.labels, also])
        scores = np.hstack([ranking.scores, self.scores(tagger, X, changed)])
        best = Ranking(labels, scores).sorted().top(k)
        return best.padded(k)

    def scores(self, tagger: LivingVocabulary, X: sparse.csr_matrix, columns: Sequence[int]) -> npt.NDArray[np.float32]:
        """Scores of some labels for all samples, of shape (n_samples, len(columns))."""
        parts = [self.part(column) for column in columns]
        log_odds = self.log_odds(tagger, X, parts)
        return np.asarray(_from_log_odds(tagger, log_odds), dtype=np.float32)

    def log_odds(
        self, tagger: LivingVocabulary, X: sparse.csr_matrix, parts: Sequence[Part]
    ) -> npt.NDArray[np.float64]:
        """Log-odds of labels for all samples, of shape (n_samples, len(parts))."""
        if not parts:
            return np.empty((X.shape[0], 0))
        rows = self._rows(tagger, X, [inner for part in parts for inner in part.all_parts()])
        return np.stack([part.log_odds(rows) for part in parts], axis=1)

    def _rows(self, tagger: LivingVocabulary, X: sparse.csr_matrix, parts: Sequence[Part]) -> Rows:
        """What the parts look at, computed once."""
        columns = sorted({part.column for part in parts if isinstance(part, Learned)})
        rows = Rows(_learned_log_odds(tagger, X, columns))
        linear = {id(part): part.weights for part in parts if part.weights is not None}
        if not linear:
            return rows
        unit = unit_rows(X)
        dense = (unit @ sparse.vstack(list(linear.values()), format="csr").T).toarray().astype(np.float64)
        products = {key: dense[:, place] for place, key in enumerate(linear)}
        return replace(rows, products=products, away=unit @ self._few_shot.away)


def _learned_log_odds(
    tagger: LivingVocabulary, X: sparse.csr_matrix, columns: list[int]
) -> dict[int, npt.NDArray[np.float64]]:
    """Log-odds of labels that the model learned, by column."""
    if not columns:
        return {}
    ranking = tagger.probabilities(X, len(columns), np.array(columns))
    dense = np.full((X.shape[0], len(columns)), -MAX_LOG_ODDS)
    place = np.searchsorted(columns, ranking.labels)
    rows = np.broadcast_to(np.arange(X.shape[0])[:, None], place.shape)
    known = ranking.labels != NO_LABEL
    log_odds = _to_log_odds(tagger, ranking.scores.astype(np.float64)) - _TIE * np.arange(ranking.k)
    dense[rows[known], place[known]] = log_odds[known]
    return {column: dense[:, i] for i, column in enumerate(columns)}


def _to_log_odds(tagger: LivingVocabulary, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Log-odds of the scores of a tagger; of one that is not calibrated, their distance from its threshold."""
    if tagger.calibration_ is not None:
        return logit(scores)
    return np.asarray(np.clip(scores - tagger.threshold_, -MAX_LOG_ODDS, MAX_LOG_ODDS))


def _from_log_odds(tagger: LivingVocabulary, log_odds: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return sigmoid(log_odds) if tagger.calibration_ is not None else log_odds + tagger.threshold_
