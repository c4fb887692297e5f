"""Texts to features: scikit-learn's tf-idf, with a fitted state that is plain arrays and strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from tacit.errors import DataError

_MIN_TEXTS_TO_DROP_HAPAXES = 1000  # below, a word that occurs once may be all there is


@dataclass(eq=False)
class TextVectorizer:
    """Words to unit-length tf-idf rows with logarithmic term counts.

    Attributes
    ----------
    feature_names_ : array of str
        The vocabulary in column order.
    idf_ : float array
        Inverse document frequency of each word.
    """

    feature_names_: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=object))
    idf_: npt.NDArray[np.float32] = field(default_factory=lambda: np.empty(0, dtype=np.float32))

    def fit_transform(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Learn the vocabulary of `texts` and return their features."""
        min_df = 2 if len(texts) >= _MIN_TEXTS_TO_DROP_HAPAXES else 1
        tfidf = TfidfVectorizer(min_df=min_df, **_OPTIONS)
        try:
            features = tfidf.fit_transform(texts)
        except ValueError as error:
            raise DataError(f"the texts hold no words to learn from ({error})") from error
        self.feature_names_ = tfidf.get_feature_names_out().astype(object)
        self.idf_ = tfidf.idf_.astype(np.float32)
        return sparse.csr_matrix(features)

    def fit(self, texts: Sequence[str]) -> TextVectorizer:
        """Learn the vocabulary of `texts`."""
        self.fit_transform(texts)
        return self

    def transform(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Features of `texts`; words outside the vocabulary are left out."""
        if not hasattr(self, "_tfidf"):
            self._tfidf = TfidfVectorizer(vocabulary=list(self.feature_names_), **_OPTIONS)
            self._tfidf.idf_ = self.idf_
        return sparse.csr_matrix(self._tfidf.transform(texts))


_OPTIONS: dict[str, Any] = {"sublinear_tf": True, "dtype": np.float32}
