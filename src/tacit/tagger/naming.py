"""Names of labels in the training of a tagger: which there are, and whether they say more than the model alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Ids
from tacit.core.base import Estimator
from tacit.core.labels import Labels, Names, aligned, as_names
from tacit.core.ranking import Ranking
from tacit.data.repeats import groups_of
from tacit.data.vocabulary import Vocabulary
from tacit.evaluation.metrics import SCORE_METRIC, evaluate
from tacit.linear.popularity import Popularity
from tacit.names.evidence import (
    LEAST_SHARE,
    N_RANKED,
    NameCounts,
    NameEvidence,
    candidates,
    learn_evidence,
)
from tacit.names.index import Matches, Name, NameIndex
from tacit.names.similar import Meaning, Nearest, SampleIndex, Votes
from tacit.numerics.rows import widened
from tacit.progress import announce
from tacit.tagger.calibration import uncalibrated
from tacit.tagger.inputs import Inputs
from tacit.tagger.vectors import Vectors, descriptions_of
from tacit.text.vectorizer import TextVectorizer
from tacit.text.words import check_language, detect_language

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger

DETECT = "auto"
_TEXTS_TO_DETECT = 1000
_WORDS_OF_SHORT_TEXTS = 50
_FOLDS = 2
_LOSS_FOR_OTHERS = 0.003
MIN_MATCHES = 200  # of right names in held-out samples; fewer teach nothing


@dataclass(frozen=True, eq=False)
class Naming:
    """An index of the names of all labels, those beyond the training among them, and what it finds in texts."""

    index: NameIndex
    others: list[str]
    matches: Matches
    meaning: Meaning | None = None  # of labels, with an encoder ...
    vectors: npt.NDArray[np.float32] | None = None  # ... and of the texts

    def rows(self, rows: Any) -> Naming:
        """The same for some of the texts."""
        vectors = None if self.vectors is None else self.vectors[rows]
        return replace(self, matches=self.matches.rows(rows), vectors=vectors)


def language_of(texts: Sequence[str], language: str | None) -> str | None:
    """The language of texts: the one that is named or, with "auto", the one that is detected."""
    return detect_language(texts[:_TEXTS_TO_DETECT]) if language == DETECT else check_language(language)


def are_short(texts: Sequence[str]) -> bool:
    """Whether texts are so short that a word and its inflected forms hardly ever occur together: stems help then."""
    return bool(np.median([text.count(" ") for text in texts[:_TEXTS_TO_DETECT]]) < _WORDS_OF_SHORT_TEXTS)


def naming_of(
    classes: Names,
    vocabulary: Vocabulary | None,
    texts: Sequence[str],
    language: str | None,
    vectors: Vectors | None = None,
) -> Naming | None:
    """The names of labels, and what is found of them in texts; None where labels have no names."""
    names, others = names_of_labels(classes, vocabulary)
    index = NameIndex.of(names, language)
    if not len(index.labels):
        return None
    found = Naming(index, others, index.matches(texts))
    if vectors is None:
        return found
    about = descriptions_of([*classes.tolist(), *others], vocabulary)
    meaning = vectors.meaning_of(names, len(classes) + len(others), about)
    return replace(found, meaning=meaning, vectors=None if meaning is None else vectors.of_texts)


def names_of_labels(classes: Names, vocabulary: Vocabulary | None) -> tuple[list[Name], list[str]]:
    """All names of the labels of a training and of the other concepts of a vocabulary; and what these are called."""
    labels = [str(label) for label in classes.tolist()]
    if vocabulary is None:
        return [Name(column, label) for column, label in enumerate(labels) if is_readable(label)], []
    places = [vocabulary.find(label) if label in vocabulary else None for label in labels]
    known = set(places)
    beyond = [place for place in range(len(vocabulary)) if place not in known]
    called = _called(labels, vocabulary)
    names = [
        name
        for column, place in enumerate([*places, *beyond])
        for name in ([Name(column, labels[column])] if place is None else _names_at(vocabulary, place, column))
        if is_readable(name.text)
    ]
    return names, [called[place] for place in beyond]


def _called(labels: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    """What the concepts of a vocabulary are called as labels: by their ids or by their names, as most labels are."""
    by_id = sum(label in vocabulary.own_ids for label in labels)
    return vocabulary.ids if 2 * by_id >= sum(label in vocabulary for label in labels) else vocabulary.names


def without_deprecated(labels: Labels, vocabulary: Vocabulary | None) -> Labels:
    """Labels of samples with the successors of deprecated concepts, and without those that have none."""
    names = [str(name) for name in labels.names.tolist()]
    gone = set(names) & vocabulary.deprecated.keys() if vocabulary is not None else ()
    if vocabulary is None or not gone:
        return labels
    called, current = _called(names, vocabulary), {name: name for name in names if name not in gone}
    by_place = {vocabulary.find(name): name for name in current if name in vocabulary}
    later = {name: vocabulary.find(name) for name in sorted(gone) if name in vocabulary}
    current |= {name: by_place.setdefault(place, called[place]) for name, place in later.items()}
    columns = [column for column, name in enumerate(names) if name in current]
    kept = [current[names[column]] for column in columns]
    order = as_names(list(dict.fromkeys(kept)))
    example = next((f", such as '{old}' to '{current[old]}'" for old in later), "")
    announce(
        f"deprecated labels: {len(later):,} lead to their successors{example}; "
        f"{len(gone) - len(later):,} have none and are left out"
    )
    return replace(labels, matrix=aligned(labels.matrix[:, columns], kept, order), names=order)


def _names_at(vocabulary: Vocabulary, place: int, column: int) -> list[Name]:
    others = dict.fromkeys(name for name in vocabulary.alternatives[place] if name != vocabulary.names[place])
    return [Name(column, vocabulary.names[place]), *(Name(column, name, is_preferred=False) for name in others)]


def is_readable(name: str) -> bool:
    """Whether a name has words that a text may have; URIs and numbers do not."""
    return "://" not in name and any(character.isalpha() for character in name)


def weigh(
    naming: Naming,
    matches: Matches,
    part: Estimator,
    X: Any,
    held: Inputs,
    truth: sparse.csr_matrix,
    samples: SampleIndex,
    n_places: int,
    seed: int,
) -> tuple[NameEvidence | None, Ranking]:
    """Names weighed against a model on samples that it has not seen, and a ranking of these that knows none of them.

    `naming` and `samples` are of those that the model was trained on, `matches`, `X`, `held` and `truth` of others.
    """
    ranking = part.rank(X, min(max(n_places, N_RANKED), len(part.classes_)))
    counts = NameCounts.of(naming.index, naming.matches, widened(samples.labels, truth.shape[1]))
    if int(NameCounts.of(naming.index, matches, truth).right.sum()) < MIN_MATCHES:
        return None, ranking.top(n_places)
    votes = samples.votes(held.X)
    near = None if naming.meaning is None or held.vectors is None else naming.meaning.nearest(held.vectors)
    fold_of = np.random.default_rng(seed).integers(0, _FOLDS, len(ranking))[groups_of(held.X)]

    def told(rows: Ids) -> tuple[Ranking, Matches, Votes, Nearest | None]:
        return ranking.rows(rows), matches.rows(rows), votes.of_rows(rows), near and near.of_rows(rows)

    parts, order = [], []
    for fold in range(_FOLDS):
        rest, own = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        trees = learn_evidence(naming.index, counts, *told(rest), truth[rest], seed)
        found = candidates(naming.index, counts, *told(own), LEAST_SHARE)
        parts.append(found.ranked(trees.log_odds(found.evidence)).resized(n_places))
        order.append(own)
    fused = Ranking.concatenate(parts).rows(np.argsort(np.concatenate(order), kind="stable"))
    with_names, without = (evaluate(each, truth, ks=(5,))[SCORE_METRIC] for each in (fused, ranking))
    # Labels without samples are known by their names alone: worth a loss that is no more than chance.
    if with_names <= without - (_LOSS_FOR_OTHERS if naming.others else 0):
        announce("the labels' names add nothing to what the model has learned; they are not used")
        return None, ranking.top(n_places)
    announce(f"labels' names are used: {SCORE_METRIC} {100 * with_names:.1f} instead of {100 * without:.1f} held out")
    trees = learn_evidence(naming.index, counts, ranking, matches, votes, near, truth, seed)
    meaning = None if near is None else naming.meaning
    of_names = truth.shape[1], naming.index, counts, trees, naming.others, samples
    return NameEvidence(*of_names, n_ranked=ranking.k, least_share=LEAST_SHARE, meaning=meaning), fused


def moved(values: npt.NDArray[np.int32], before: Iterable[Any], after: Iterable[Any]) -> npt.NDArray[np.int32]:
    """Values of labels or stems in another order, by name; 0 for those that are new."""
    source = places(before, after)
    return np.where(source >= 0, values[source], 0).astype(np.int32)


def places(before: Iterable[Any], after: Iterable[Any]) -> npt.NDArray[np.intp]:
    """Where the names of `after` are among those of `before`; -1 for those that are new."""
    place = {str(name): column for column, name in enumerate(before)}
    return np.array([place.get(str(name), -1) for name in after], np.intp)


def counted_on(
    evidence: NameEvidence,
    before: Names,
    classes: Names,
    vocabulary: Vocabulary | None,
    texts: Sequence[str],
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
) -> NameEvidence:
    """Evidence after further samples of a model that has `classes` now; `before` are all labels until then."""
    names, others = names_of_labels(classes, vocabulary)
    labels = np.concatenate([classes.astype(object), np.array(others, dtype=object)])
    index = NameIndex.of(names, evidence.index.language, by_root=evidence.index.by_root)
    new = NameCounts.of(index, index.matches(texts), widened(Y, len(labels)))
    old = evidence.counts
    counts = NameCounts(
        old.n_texts + new.n_texts,
        moved(old.texts, evidence.index.stems, index.stems) + new.texts,
        *(moved(getattr(old, name), before, labels) + getattr(new, name) for name in ("samples", "matched", "right")),
    )
    samples, meaning = evidence.samples, evidence.meaning
    if meaning is not None:
        meaning = meaning.ordered(places(before, labels))
    if samples is not None:
        samples = samples.extended(X, Y, places(classes.tolist(), before.tolist()[: samples.labels.shape[1]]))
    known: dict[str, Any] = {"index": index, "counts": counts, "others": others, "samples": samples, "meaning": meaning}
    return replace(evidence, n_labels=len(labels), **known)


def start_tagger(vocabulary: Vocabulary, language: str | None = DETECT) -> Tagger:
    """A tagger that knows a vocabulary and no samples: it suggests the concepts whose names are in a text."""
    from tacit.tagger.tagger import Tagger

    texts = [vocabulary.text_of(concept) for concept in vocabulary.ids]
    language = language_of(vocabulary.names, language)
    vectorizer = TextVectorizer(language=language)
    n_concepts = len(vocabulary)
    model = Popularity().fit(
        vectorizer.fit_transform(texts), sparse.eye(n_concepts, format="csr"), label_names=vocabulary.ids
    )
    names, _ = names_of_labels(model.classes_, vocabulary)
    tagger = Tagger("Popularity", vocabulary=vocabulary, language=language)
    tagger.vectorizer_, tagger.model_, tagger.vocabulary_ = vectorizer, model, vocabulary
    # By stems: without samples nothing tells words of one root apart, such as art and artist.
    index = NameIndex.of(names, language, by_root=False)
    tagger.names_ = NameEvidence.by_name_alone(index, n_concepts)
    tagger.calibration_ = uncalibrated(n_concepts)
    tagger.card_ = {"model": "Popularity", "reason": "a vocabulary without samples", "labels": n_concepts, "samples": 0}
    return tagger
