"""Vectors of texts beside their words: what a tagger keeps of its encoder, and how much the vectors count.

Vectors are centred on the mean of the training texts and scaled to unit length. Their weight beside words is chosen on
samples that the model has not seen; 0 is one of the choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Floats64
from tacit.core.base import Estimator
from tacit.core.features import Features
from tacit.core.labels import Labels, aligned, positives
from tacit.core.parameters import Range
from tacit.data.vocabulary import Vocabulary
from tacit.errors import DataError, ParameterError
from tacit.evaluation.metrics import SCORE_METRIC, contributions, judge
from tacit.names.evidence import NameEvidence
from tacit.names.index import Name
from tacit.names.similar import Meaning
from tacit.progress import announce
from tacit.store.declared import Array, Inside
from tacit.tagger.calibration import Calibration
from tacit.text.encoders import Encoded, TextEncoder, unit_vectors

if TYPE_CHECKING:
    from tacit.tagger.inputs import Inputs
    from tacit.tagger.learning import Prepared
    from tacit.tagger.tagger import Tagger


WEIGHTS = (0.3, 0.6, 1.2)  # that are tried, besides 0
_USUAL = 0.6  # where no samples are held out to choose a weight
_MAX_TO_CHOOSE = 5000  # training samples by which one of these weights is chosen; it is compared with 0 on all
_MAX_JUDGED = 2000  # held-out samples that judge that choice
_CERTAIN = 2.0  # standard errors by which vectors must be better than words alone
_LARGEST = 1e30  # value in a vector

OF_WORDS = Inside(("n_features", "n_word_features"))  # the model's other features are vectors


@dataclass(frozen=True, eq=False)
class Encoding:
    """What a tagger keeps of its encoder.

    `fingerprint` are its vectors of a few fixed texts, None for vectors made elsewhere; `center` is the mean vector of
    the training texts; `weight` the length of a text's vector relative to that of its words, 0 for words alone.
    """

    name: str | None  # by which the encoder is loaded; None for an object, or for vectors made elsewhere
    fingerprint: Annotated[Floats32 | None, Array("float32", ("", "n_dimensions"), up_to=_LARGEST)]
    center: Annotated[Floats32, Array("float32", ("n_dimensions",), up_to=_LARGEST, is_filled=True)]
    weight: Annotated[float, Range(low=0, high=1e6)]

    @property
    def shown(self) -> str:
        """The name, or what there is instead."""
        return self.name or ("vectors made elsewhere" if self.fingerprint is None else "an encoder without a name")

    def check(self, encoder: TextEncoder) -> TextEncoder:
        """The encoder, if it is the one of the training; an error otherwise."""
        if self.fingerprint is None:
            raise ParameterError("this tagger was trained with vectors made elsewhere; it takes no encoder")
        if not encoder.is_like(self.fingerprint):
            raise ParameterError(
                f"this tagger was trained with another encoder ({self.shown}): its vectors differ; use that one, or "
                "train again"
            )
        return encoder

    def unit(self, vectors: Floats32) -> Floats32:
        """Vectors as the model takes them."""
        if vectors.shape[1] != len(self.center):
            raise DataError(f"vectors must have {len(self.center)} dimensions, as in training; got {vectors.shape[1]}")
        return unit_vectors(vectors, self.center)


def inconsistency(
    n_labels: int, names: NameEvidence | None, calibration: Calibration | None, encoding: Encoding | None
) -> tuple[str, str] | None:
    """What is wrong with a stored tagger whose parts are for other labels, or for other vectors than its texts have."""
    n_scored = n_labels if names is None else names.n_labels
    if names is not None and names.n_labels != n_labels + len(names.others):
        found = f"got {names.n_labels} and {len(names.others)} others"
        return "names_.others", f"must be the labels beyond the {n_labels} of the training; {found}"
    if calibration is not None and len(calibration.curve_of_label) != n_scored:
        found = f"got {len(calibration.curve_of_label)}"
        return "calibration_.curve_of_label", f"must have {n_scored} entries; {found}"
    n_texts = 0 if encoding is None else len(encoding.center)
    if names is not None and names.meaning is not None and names.meaning.labels.shape[1] != n_texts:
        found = f"got {names.meaning.labels.shape[1]}"
        return "names_.meaning.labels", f"must have {n_texts} dimensions, as texts have; {found}"
    return None


@dataclass(frozen=True, eq=False)
class Vectors:
    """The vectors of training texts, their encoding, and the weights that may be chosen."""

    of_texts: Floats32
    encoding: Encoding
    weights: tuple[float, ...]
    encoder: TextEncoder | None

    def of(self, texts: Sequence[str], given: Floats32 | None) -> Floats32:
        """The vectors of other texts, as the model takes them."""
        if given is None and self.encoder is None:
            raise DataError("validation texts need vectors, too: tacit.Encoded(texts, vectors)")
        return self.encoding.unit(given if given is not None else self.encoder.encode(texts))  # type: ignore[union-attr]

    def rows(self, rows: Any) -> Vectors:
        """The same for some of the texts."""
        return replace(self, of_texts=self.of_texts[rows])

    def meaning_of(self, names: Sequence[Name], n_labels: int, descriptions: dict[int, str]) -> Meaning | None:
        """The vectors of labels by their names and descriptions; None without an encoder."""
        if self.encoder is None:
            return None
        named = names_by_label(names)
        texts = [f"{named.get(label, '')}\n{descriptions.get(label, '')}".strip() for label in range(n_labels)]
        return Meaning(self.encoding.unit(self.encoder.encode(texts)))


def mixed(words: sparse.csr_matrix, vectors: Floats32 | None, weight: float) -> Any:
    """Words beside vectors, as a model takes them."""
    return words if vectors is None or not weight else Features(words, vectors, weight)


def split_texts(texts: Any) -> tuple[Any, Floats32 | None]:
    """Texts and, if they came with some, their vectors."""
    return (texts.texts, texts.vectors) if isinstance(texts, Encoded) else (texts, None)


def vectors_of(tagger: Tagger, texts: Sequence[str], given: Floats32 | None) -> Vectors | None:
    """The vectors of training texts: made by the tagger's encoder, or given; None without either."""
    encoder = None if tagger.encoder is None else TextEncoder.of(tagger.encoder)
    if given is None and encoder is None:
        return None
    found = given if given is not None else encoder.encode(texts)  # type: ignore[union-attr]
    if encoder is not None and found.shape[1] != encoder.fingerprint.shape[1]:
        n = encoder.fingerprint.shape[1]
        raise DataError(f"vectors must have {n} dimensions, as those of the encoder; got {found.shape[1]}")
    is_known = found.any(axis=1)
    center = found[is_known].mean(axis=0, dtype=np.float64) if is_known.any() else np.zeros(found.shape[1])
    weights = (0.0, *WEIGHTS) if tagger.vector_weight is None else (tagger.vector_weight,)
    name, fingerprint = (None, None) if encoder is None else (encoder.name, encoder.fingerprint)
    encoding = Encoding(name, fingerprint, center.astype(np.float32), _USUAL if len(weights) > 1 else weights[0])
    return Vectors(encoding.unit(found), encoding, weights, encoder)


def best_fit(data: Prepared, held: Inputs, labels: Labels, seed: int) -> tuple[Estimator, float]:
    """The fitted model with the weight of vectors that is best on held-out samples, and that weight."""
    vectors = data.vectors
    if vectors is None or len(vectors.weights) == 1:
        weight = 0.0 if vectors is None else vectors.weights[0]
        return data.fitted(weight), weight
    rng = np.random.default_rng(seed)
    some = data.rows(np.sort(rng.permutation(data.X.shape[0])[:_MAX_TO_CHOOSE]))
    few = np.sort(rng.permutation(held.shape[0])[:_MAX_JUDGED])
    judges = held[few], replace(labels, matrix=labels.matrix[few])
    best = max(WEIGHTS, key=lambda weight: _judged(some.fitted(weight), weight, *judges).mean())
    by_words, by_both = data.fitted(0.0), data.fitted(best)
    without, with_vectors = _judged(by_words, 0.0, held, labels), _judged(by_both, best, held, labels)
    gains = with_vectors - without
    told = f"{SCORE_METRIC} {100 * with_vectors.mean():.1f} with vectors, {100 * without.mean():.1f} without, held out"
    if gains.mean() <= _CERTAIN * gains.std() / np.sqrt(len(gains)):
        announce(f"{told}: no more than chance; the model takes words alone")
        return by_words, 0.0
    announce(f"{told}; they are used at weight {best:g}")
    return by_both, best


def _judged(model: Estimator, weight: float, held: Inputs, labels: Labels) -> Floats64:
    """The score of each held-out sample."""
    ranking = model.rank(mixed(held.X, held.vectors, weight), min(5, len(model.classes_)))
    truth = positives(aligned(labels.matrix, labels.names, model.classes_))
    return contributions(judge(ranking, truth, None, (5,)), (5,))[SCORE_METRIC].numerator


def names_by_label(names: Sequence[Name]) -> dict[int, str]:
    """All names of each label, in one text."""
    found: dict[int, list[str]] = {}
    for name in names:
        found.setdefault(name.label, []).append(name.text)
    return {label: "\n".join(texts) for label, texts in found.items()}


def descriptions_of(labels: Sequence[Any], vocabulary: Vocabulary | None) -> dict[int, str]:
    """The descriptions that labels have in a vocabulary."""
    if vocabulary is None:
        return {}
    found = ((column, vocabulary.find(label)) for column, label in enumerate(map(str, labels)) if label in vocabulary)
    return {column: text for column, place in found if (text := vocabulary.descriptions[place])}
