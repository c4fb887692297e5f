"""The sets on which systems are compared, as matrices that all of them read."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import tacit
from benchmarks.peers.systems import SYSTEMS
from tacit.core.labels import aligned, label_counts
from tacit.numerics.rows import unit_rows
from tacit.text.vectorizer import TextVectorizer

N_YSO = 100_000  # training rows
N_RANKED = 10_000  # test rows of yso-finna-en

NAMES = ("X.trn", "Y.trn", "X.tst", "Y.tst")  # of the files

Matrices = tuple[Any, Any, Any, Any]


@dataclass(frozen=True)
class Set:
    """A set in TACIT_DATA.

    Attributes
    ----------
    title : str
        As tables have it.
    load : callable
        ``(folder)``: X, Y, X_test, Y_test.
    systems : tuple of str
        What is compared on it unless told.
    """

    title: str
    load: Callable[[Path], Matrices]
    systems: tuple[str, ...]


def without(*names: str) -> tuple[str, ...]:
    """All systems but these."""
    return tuple(name for name in SYSTEMS if name not in names)


def ready(folder: Path) -> Matrices:
    """The matrices that come with EURLEX57K."""
    paths = (folder / "eurlex57k" / "tfidf" / f"{name}.npz" for name in NAMES)
    X, Y, X_test, Y_test = (sparse.csr_matrix(sparse.load_npz(path)) for path in paths)
    return X, Y, X_test, Y_test


def titles(n_rows: int | None) -> Callable[[Path], Matrices]:
    """Some training rows of yso-finna-en with their labels, words of the titles by tf-idf; 10,000 test rows."""

    def load(folder: Path) -> Matrices:
        train, test = (tacit.load_data(folder / "yso-finna-en" / f"{part}.jsonl.gz") for part in ("train", "test"))
        assert train.texts is not None
        assert test.texts is not None
        rows = np.random.default_rng(0).permutation(len(train.texts))[:n_rows]
        tested = np.sort(np.random.default_rng(0).choice(len(test.texts), N_RANKED, replace=False))
        words = TextVectorizer()
        X = words.fit_transform([train.texts[row] for row in rows])
        X_test = words.transform([test.texts[row] for row in tested])
        Y = train.Y[rows]
        seen = np.flatnonzero(label_counts(Y))
        Y_test = aligned(test.Y[tested], test.label_names, np.asarray(train.label_names, dtype=object)[seen])
        return X, Y[:, seen], X_test, Y_test

    return load


def rows_of_unit_length(name: str) -> Callable[[Path], Matrices]:
    """A small set in XMC text."""

    def load(folder: Path) -> Matrices:
        train, test = (tacit.load_data(folder / name / f"{part}.txt") for part in ("train", "test"))
        return unit_rows(train.X), train.Y, unit_rows(test.X), test.Y

    return load


SETS = {
    "eurlex57k": Set("EURLEX57K", ready, without("sklearn")),  # scikit-learn would take hours
    # LibMultiLabel took 12.8 GB for 2,000 of these rows, many of whose labels have no sample
    "yso-finna-en": Set("yso-finna-en", titles(N_YSO), without("sklearn", "libmultilabel", "Blend", "Blend-tail")),
    "yso-finna-en-all": Set("yso-finna-en", titles(None), ("pecos", "parabel", "LabelTree")),
    "bibtex": Set("Bibtex", rows_of_unit_length("bibtex"), without("Blend", "Blend-tail")),
    "delicious": Set("Delicious", rows_of_unit_length("delicious"), without("Blend", "Blend-tail")),
}


def first_rows(matrices: Matrices, n_rows: int | None) -> Matrices:
    """The first rows of train and of test, all unless told."""
    X, Y, X_test, Y_test = (matrix[:n_rows] for matrix in matrices)
    return X, Y, X_test, Y_test


def data_folder() -> Path:
    """TACIT_DATA."""
    return Path(os.environ["TACIT_DATA"])


def write_matrices(matrices: Matrices, folder: Path) -> None:
    """The files that adapters read; some systems take sorted columns alone, and not all of them say so."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, matrix in zip(NAMES, matrices, strict=True):
        matrix.sort_indices()
        sparse.save_npz(folder / f"{name}.npz", matrix, compressed=False)
