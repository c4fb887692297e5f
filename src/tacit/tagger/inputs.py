"""Samples as acts store them, and their features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.errors import DataError
from tacit.names.index import Matches
from tacit.store.acts import Sample
from tacit.text.vectorizer import TextVectorizer, are_texts, features_of


@dataclass(frozen=True, eq=False)
class Inputs:
    """Samples as features, the names in their texts where names of labels count, and vectors of an encoder."""

    X: sparse.csr_matrix
    matches: Matches | None = None
    vectors: npt.NDArray[np.float32] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Samples, features."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    def __getitem__(self, rows: Any) -> Inputs:
        return self.with_rows(self.X[rows], rows)

    def with_rows(self, X: sparse.csr_matrix, rows: Any) -> Inputs:
        """Other features for some of the samples, with names and vectors as they are."""
        matches = None if self.matches is None else self.matches.rows(rows)
        return Inputs(X, matches, None if self.vectors is None else self.vectors[rows])


def as_samples(given: Any, vectorizer: TextVectorizer | None) -> list[Sample]:
    """Samples in the form that acts store: texts as they are, rows of features as values by feature."""
    if vectorizer is not None:
        if not are_texts(given):
            raise DataError("this tagger was trained on texts; give it a list of texts")
        return list(given)
    X = features_of(given, None)
    rows = [X[row] for row in range(X.shape[0])]
    return [dict(zip(map(str, row.indices.tolist()), row.data.tolist(), strict=True)) for row in rows]


def sample_features(samples: Sequence[Sample], vectorizer: TextVectorizer | None, n_features: int) -> sparse.csr_matrix:
    """Features of samples stored in acts; features unknown to the model are ignored."""
    texts = [sample for sample in samples if isinstance(sample, str)]
    if vectorizer is not None and len(texts) == len(samples):
        return vectorizer.transform(texts)
    of_texts = None if vectorizer is None or not texts else vectorizer.transform(texts)
    columns: list[int] = []
    values: list[float] = []
    indptr, row = [0], 0
    for sample in samples:
        if not isinstance(sample, str):
            known = _values_by_column(sample, vectorizer, n_features)
            columns.extend(known)
            values.extend(known.values())
        elif of_texts is not None:  # without a vectoriser a text has no features
            part = of_texts[row]
            columns.extend(part.indices.tolist())
            values.extend(part.data.tolist())
            row += 1
        indptr.append(len(columns))
    found = sparse.csr_matrix(
        (np.array(values, np.float32), np.array(columns, np.int32), indptr), shape=(len(samples), n_features)
    )
    found.sort_indices()
    return found


def _values_by_column(sample: dict[str, float], vectorizer: TextVectorizer | None, n_features: int) -> dict[int, float]:
    """Values by column; those of words are weighted by the idf of the vectoriser."""
    if vectorizer is None:
        numbers = {name: int(name) for name in sample if name.isascii() and name.isdigit() and len(name) < 12}
        return {number: sample[name] for name, number in numbers.items() if number < n_features}
    place, idf = vectorizer.positions(), vectorizer.idf_
    return {place[name]: value * float(idf[place[name]]) for name, value in sample.items() if name in place}
