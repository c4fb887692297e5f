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
    """Features of samples stored in acts; what is unknown to the model, or of the other kind, is ignored."""
    if vectorizer is not None:
        return vectorizer.transform([sample if isinstance(sample, str) else "" for sample in samples])
    entries = [
        (row, int(name), value)
        for row, sample in enumerate(samples)
        if not isinstance(sample, str)
        for name, value in sample.items()
        if name.isascii() and name.isdigit() and len(name) < 12 and int(name) < n_features
    ]
    rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    shape = len(samples), n_features
    return sparse.csr_matrix((np.array(values, np.float32), (np.array(rows, int), np.array(columns, int))), shape=shape)
