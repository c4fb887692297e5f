"""One probability from two kinds of evidence: what a trained model says of a label, and its name in the text.

How much either counts is learned on samples that the model has not seen, in which some labels are also treated as if no
sample had them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit

from tacit.arrays import Floats32
from tacit.core.base import Estimator
from tacit.core.parameters import Range
from tacit.core.ranking import NO_LABEL, NO_SCORE, Ranking
from tacit.evaluation.propensity import values_at
from tacit.kernels.score import fill_open_places
from tacit.names.boosting import BoostedTrees
from tacit.names.index import Matches, Name, NameIndex, extended
from tacit.names.similar import Meaning, Nearest, SampleIndex, Votes
from tacit.numerics.rows import sorted_set
from tacit.store.declared import Array, Size, Sizes

N_RANKED = 30  # labels of the model's ranking that are candidates at least, besides all whose name is in the text
_UNRANKED = 99  # place of the others
_BEHIND = 0.5  # probability of a label that is no candidate, as a share of that of the last candidate
_HIDDEN_SHARE = 0.3  # of the labels, treated as unseen in a second copy of what is learned from
_HARD_PLACES = 10  # of the model's ranking; of the wrong labels behind them that no whole name points to ...
_EASY_SHARE = 0.25  # ... this share is learned from, at a higher weight
_MOST_WRONG = 200_000  # wrong labels that are learned from; long texts have names of hundreds of labels
LEAST_SHARE = 0.5  # of a name's weight, in texts that have only a part of the name
_WHOLE = 1.0  # no name in part is looked for
_PRIOR = 0.2, 1.0  # matches that were right, and matches, that every name starts with

#: What is known of a candidate, in order.
EVIDENCE = (
    "model score", "model place", "best score", "words of the name", "longer matches", "first place", "gap",
    "occurrences", "is phrase", "share of the text", "words of the text", "matches in the text", "is preferred",
    "has qualifier", "labels with the name", "training samples", "texts with the name", "share of these with the label",
    "share of the name", "weight in the text", "lowest weight", "highest weight", "words as they are",
    "votes of similar samples", "most similar with the label", "most similar",
    "words of a name in part", "of these in the text", "names with its rarest word",
    "similarity of meaning", "place by meaning", "best by meaning",  # with vectors only
)  # fmt: skip


_WITHOUT_VECTORS = EVIDENCE.index("similarity of meaning")  # pieces of evidence
_AT = {name: place for place, name in enumerate(EVIDENCE)}

#: How probable a name in a text makes a label of which nothing else is known: base log-odds, and what is added where a
#: piece of evidence is above a threshold.
BY_NAME_ALONE = BoostedTrees.of_rules(
    -8.0,
    [
        (_AT["words of the name"], 0.5, 5.5),
        *((_AT["words of the name"], n + 0.5, 1.2) for n in (1, 2, 3)),
        *((_AT["share of the text"], share, 0.3) for share in (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8)),
        *((_AT["occurrences"], n + 0.5, 0.4) for n in (1, 2, 4)),
        (_AT["longer matches"], 0.5, -1.5),
        (_AT["is phrase"], 0.5, 0.4),
        (_AT["gap"], 5.5, -0.6),
        (_AT["is preferred"], 0.5, 0.3),
        (_AT["has qualifier"], 0.5, -0.6),
        (_AT["labels with the name"], 1.5, -0.5),
    ],
)


@dataclass(frozen=True, eq=False)
class NameCounts:
    """What training samples tell of labels and their names."""

    n_texts: Annotated[int, Range(low=0, high=2**31 - 1)]  # training samples
    texts: Annotated[npt.NDArray[np.int32], Array("int32", ("n_stems",), low="0")]  # those whose text has a stem
    # Samples of each label, samples whose text has its name, and those that have both.
    samples: Annotated[npt.NDArray[np.int32], Array("int32", ("n_named",), low="0")]
    matched: Annotated[npt.NDArray[np.int32], Array("int32", ("n_named",), low="0")]
    right: Annotated[npt.NDArray[np.int32], Array("int32", ("n_named",), low="0")]

    @staticmethod
    def of(index: NameIndex, matches: Matches, Y: sparse.csr_matrix) -> NameCounts:
        """Counts of texts and their labels, a column for each named label."""
        n_named = Y.shape[1]
        right = values_at(Y, matches.row_of, matches.labels) > 0
        samples, matched = (np.bincount(each, minlength=n_named) for each in (Y.indices, matches.labels))
        counts = samples, matched, np.bincount(matches.labels[right], minlength=n_named)
        return NameCounts(len(matches), index.texts_with(matches), *(each.astype(np.int32) for each in counts))

    @staticmethod
    def none(index: NameIndex, n_named: int) -> NameCounts:
        """The counts without any sample."""
        no_samples = np.zeros(n_named, np.int32)
        return NameCounts(0, np.zeros(len(index.stems), np.int32), no_samples, no_samples, no_samples)

    @cached_property
    def weights(self) -> Floats32:
        """How much each stem counts: more where fewer texts have it."""
        return (1 + np.log((self.n_texts + 1) / (np.minimum(self.texts, self.n_texts) + 1))).astype(np.float32)

    def without(self, hidden: npt.NDArray[np.bool_]) -> NameCounts:
        """The same where no sample has the hidden labels."""
        samples, right = (np.where(hidden, 0, each).astype(np.int32) for each in (self.samples, self.right))
        return replace(self, samples=samples, right=right)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Labels that may be right for samples, sorted by sample and label, and the evidence for each."""

    rows: npt.NDArray[np.intp]
    labels: npt.NDArray[np.intp]
    evidence: Floats32
    n_samples: int

    def only(self, wanted: npt.NDArray[np.bool_]) -> Candidates:
        """Some of the candidates (a mask)."""
        return Candidates(self.rows[wanted], self.labels[wanted], self.evidence[wanted], self.n_samples)

    def ranked(self, log_odds: Floats32) -> Ranking:
        """The candidates of each sample by probability."""
        order = np.lexsort((-log_odds, self.rows))
        sizes = np.bincount(self.rows, minlength=self.n_samples)
        places = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        labels = np.full((self.n_samples, int(sizes.max(initial=1))), NO_LABEL, np.int32)
        scores = np.full(labels.shape, NO_SCORE, np.float32)
        labels[self.rows, places], scores[self.rows, places] = self.labels[order], expit(log_odds[order])
        return Ranking(labels, scores)


@dataclass(frozen=True, eq=False)
class NameEvidence:
    """An index of names, what training samples tell of them, and how names and a model's scores are weighed."""

    n_labels: Annotated[int, Range(low=1), Size("n_named")]  # of the training, and the others
    index: NameIndex
    counts: NameCounts
    trees: BoostedTrees
    others: list[str]  # labels without samples, after those of the training
    samples: SampleIndex | None = None
    n_ranked: Annotated[int, Range(low=1)] = N_RANKED  # labels of the model's ranking that are candidates
    least_share: Annotated[float, Range(low=0, high=1)] = _WHOLE  # of a name that a text has in part
    meaning: Meaning | None = None  # of an encoder

    @staticmethod
    def by_name_alone(index: NameIndex, n_labels: int) -> NameEvidence:
        """Evidence for labels without samples: their names are all that is known of them."""
        return NameEvidence(n_labels, index, NameCounts.none(index, n_labels), BY_NAME_ALONE, [])

    def log_odds_by_name(self, labels: npt.NDArray[np.intp], matches: Matches) -> Floats32:
        """Log-odds of sorted labels by their names alone, of shape (n_samples, n_labels); -inf without the name."""
        found = candidates(self.index, self.counts, Ranking.empty(len(matches), 0), matches, None, None, _WHOLE)
        found = found.only(np.isin(found.labels, labels))
        dense = np.full((len(matches), len(labels)), NO_SCORE, np.float32)
        dense[found.rows, np.searchsorted(labels, found.labels)] = self.trees.log_odds(found.evidence)
        return dense

    def problem(self, _: Sizes) -> tuple[str, str] | None:
        """Each stem is counted, and the trees ask for evidence that there is."""
        n_counted, n_stems = len(self.counts.texts), len(self.index.stems)
        if n_counted != n_stems:
            return "counts.texts", f"must have an entry for each of {n_stems} stems; got {n_counted}"
        most, n_pieces = int(self.trees.features.max(initial=0)), _n_pieces(self.meaning)
        return None if most < n_pieces else ("trees.features", f"must be below {n_pieces}; got {most}")

    def rank(
        self,
        model: Estimator,
        X: Any,
        matches: Matches,
        k: int,
        include: Any = None,
        *,
        words: sparse.csr_matrix | None = None,
        vectors: Floats32 | None = None,
    ) -> Ranking:
        """The `k` most probable labels of each sample, by what the model says and by their names.

        The probability of a label depends neither on `k` nor on `include`. `words` are those of X, by default all of
        it; `vectors` are those that are compared with the labels' own.
        """
        votes = None if self.samples is None else self.samples.votes(X if words is None else words)
        near = None
        if self.meaning is not None:  # the trees ask for it, also where there are no vectors
            none = np.zeros((len(matches), self.meaning.labels.shape[1]), np.float32)
            near = self.meaning.nearest(none if vectors is None else vectors)
        first = model.rank(X, min(self.n_ranked, len(model.classes_)))
        found = candidates(self.index, self.counts, first, matches, votes, near, self.least_share)
        log_odds = self.trees.log_odds(found.evidence)
        lowest = np.full(found.n_samples, np.inf, np.float32)
        np.minimum.at(lowest, found.rows, log_odds)
        is_asked = np.ones(len(found.labels), np.bool_) if include is None else np.isin(found.labels, include)
        ranking = found.only(is_asked).ranked(log_odds[is_asked])
        if _is_short(ranking, k):
            ranking = _with_further(ranking, model, X, k, include, _BEHIND * expit(lowest[:, None]))
        ranking = ranking.resized(k)
        if _is_short(ranking, k):  # labels that neither says anything of
            order = np.argsort(-self.counts.samples, kind="stable").astype(np.int32)
            others = order if include is None else order[np.isin(order, include)]
            fill_open_places(ranking.labels, ranking.scores, others, 0.0)
        return ranking


def learn_evidence(
    index: NameIndex,
    counts: NameCounts,
    ranking: Ranking,
    matches: Matches,
    votes: Votes,
    near: Nearest | None,
    truth: sparse.csr_matrix,
    seed: int,
) -> BoostedTrees:
    """How to weigh names and scores, from samples that the model has not seen; `counts` are of those that it has."""
    hidden = np.random.default_rng(seed).random(truth.shape[1]) < _HIDDEN_SHARE
    is_hidden = (ranking.labels != NO_LABEL) & hidden[ranking.labels]
    shown = Ranking(
        np.where(is_hidden, NO_LABEL, ranking.labels), np.where(is_hidden, ranking.scores[:, -1:], ranking.scores)
    )
    parts = [
        candidates(index, counts, ranking, matches, votes, near, LEAST_SHARE),
        candidates(index, counts.without(hidden), shown, matches, votes.without(hidden), near, LEAST_SHARE),
    ]
    right = np.concatenate([values_at(truth, part.rows, part.labels) > 0 for part in parts])
    evidence = np.concatenate([part.evidence for part in parts])
    is_easy = ~right & (evidence[:, _AT["model place"]] >= _HARD_PLACES) & (evidence[:, _AT["words of the name"]] == 0)
    shares = np.where(is_easy, _EASY_SHARE, 1.0)
    shares[~right] *= min(1.0, _MOST_WRONG / max(shares[~right].sum(), 1.0))
    kept = np.random.default_rng(seed).random(len(right)) < shares
    return BoostedTrees.fit(evidence[kept], right[kept], (1 / shares[kept]).astype(np.float32), seed)


def candidates(
    index: NameIndex,
    counts: NameCounts,
    ranking: Ranking,
    matches: Matches,
    votes: Votes | None,
    near: Nearest | None,
    least_share: float,
) -> Candidates:
    """The labels of a ranking, of names in texts, whole or at least a share, and near in meaning; the evidence."""
    n_samples, n_named = len(ranking), len(counts.samples)
    row, place = np.nonzero(ranking.labels != NO_LABEL)
    ranked_keys = row * n_named + ranking.labels[row, place]
    matched_keys = matches.row_of * n_named + matches.labels
    partly = index.partly_named(matches, counts.weights, least_share) if least_share < _WHOLE else None
    partly_keys = ranked_keys[:0] if partly is None else partly[0] * n_named + index.labels[partly[1]]
    near_keys = ranked_keys[:0] if near is None else np.arange(n_samples)[:, None] * n_named + near.labels
    keys = sorted_set(np.concatenate([ranked_keys, matched_keys, partly_keys, near_keys.ravel()]))
    rows, labels = np.divmod(keys, n_named)
    found = np.zeros((len(keys), _n_pieces(near)), np.float32)

    def tell(first: str, *pieces: Any, of: npt.NDArray[Any] | None = None) -> None:
        """Enter pieces of evidence, from the first on, for all candidates or those with the keys `of`."""
        at: Any = slice(None) if of is None else np.searchsorted(keys, of)
        for column, piece in enumerate(pieces, _AT[first]):
            found[at, column] = piece

    tell("model place", _UNRANKED)
    if ranking.k:
        tell("model score", ranking.scores[rows, -1], _UNRANKED, ranking.scores[rows, 0])
        tell("model score", ranking.scores[row, place], place, of=ranked_keys)
    names, n_words, matched = matches.names, np.maximum(matches.n_words, 1), counts.matched[labels]
    sizes = np.diff(index.name_starts)[names]
    tell("longer matches", -1, -1, -1, -1)
    where = (matches.containing, matches.first, matches.gap, matches.occurrences, matches.is_phrase)
    tell("words of the name", sizes, *where, sizes / n_words[matches.row_of], of=matched_keys)
    tell("words of the text", n_words[rows], np.diff(matches.starts)[rows])
    tell("is preferred", index.is_preferred[names], index.is_qualified[names], index.n_alike[names], of=matched_keys)
    rate = (counts.right[labels] + _PRIOR[0]) / (matched + _PRIOR[1])
    tell("training samples", counts.samples[labels], matched, rate)
    tell("share of the name", *index.cover(rows, labels, matches, counts.weights).T)
    if partly is not None:
        tell("words of a name in part", *partly[2].T, of=partly_keys)
        tell("names with its rarest word", index.n_listed[names], of=matched_keys)
    if votes is not None:
        _count_votes(found[:, _AT["votes of similar samples"] :], keys, votes.rows * n_named + votes.labels, votes)
        tell("most similar", votes.best[rows])
    if near is not None:
        tell("similarity of meaning", near.similarity(rows, labels), _UNRANKED, near.similarities[rows, 0])
        tell("place by meaning", np.tile(np.arange(near.labels.shape[1]), n_samples), of=near_keys.ravel())
    return Candidates(rows, labels, np.maximum(found, np.finfo(np.float32).min), n_samples)


def _n_pieces(by_meaning: Meaning | Nearest | None) -> int:
    """How many pieces of evidence there are, with vectors or without."""
    return _WITHOUT_VECTORS if by_meaning is None else len(EVIDENCE)


def _count_votes(found: Floats32, keys: npt.NDArray[np.intp], voted_keys: npt.NDArray[np.intp], votes: Votes) -> None:
    """Add up the shares of votes for each candidate, and keep the largest similarity."""
    at = np.minimum(np.searchsorted(keys, voted_keys), len(keys) - 1) if len(keys) else voted_keys[:0]
    is_candidate = keys[at] == voted_keys if len(keys) else np.zeros(0, np.bool_)
    at = at[is_candidate]
    np.add.at(found[:, 0], at, votes.shares[is_candidate])
    np.maximum.at(found[:, 1], at, votes.similarities[is_candidate])


def _is_short(ranking: Ranking, k: int) -> bool:
    """Whether a row has fewer than `k` labels."""
    return bool(k and (ranking.k < k or (ranking.labels[:, k - 1] == NO_LABEL).any()))


def _with_further(ranking: Ranking, model: Estimator, X: Any, k: int, include: Any, scores: Floats32) -> Ranking:
    """The labels of a ranking, and behind them those that the model ranks next, with the given score of each row."""
    known = None if include is None else np.asarray(include)[np.asarray(include) < len(model.classes_)]
    n_known = len(model.classes_) if known is None else len(known)
    if not n_known:
        return ranking
    further = model.rank(X, min(k, n_known), known)
    row_keys = np.arange(1, len(ranking) + 1)[:, None] * (len(model.classes_) + ranking.labels.max(initial=0) + 2)
    is_new = (further.labels != NO_LABEL) & ~np.isin(row_keys + further.labels, row_keys + ranking.labels)
    labels = np.hstack([ranking.labels, np.where(is_new, further.labels, NO_LABEL)])
    return Ranking(labels, np.hstack([ranking.scores, np.where(is_new, scores, NO_SCORE)])).sorted()


def with_later_names(evidence: NameEvidence, names: Sequence[Name], n_labels: int) -> NameEvidence:
    """Evidence for `n_labels` labels, of which the last have no samples, and for further names of any of them."""
    index, counts = extended(evidence.index, names), evidence.counts
    n_new = n_labels - evidence.n_labels
    by_label = (np.pad(each, (0, n_new)) for each in (counts.samples, counts.matched, counts.right))
    texts = np.pad(counts.texts, (0, len(index.stems) - len(counts.texts)))
    meaning = evidence.meaning
    if meaning is not None:
        meaning = meaning.with_later((), np.empty((0, meaning.labels.shape[1]), np.float32), n_labels)
    counts = NameCounts(counts.n_texts, texts, *by_label)
    return replace(evidence, n_labels=n_labels, index=index, counts=counts, meaning=meaning)
