"""The data sets of the papers: where their files are, what stands in for them, and how to get them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy import sparse

import tacit
from tacit.core.labels import label_counts
from tacit.data.catalog import CATALOG, DATA_VARIABLE, find
from tacit.data.synthetic import make_dataset
from tacit.numerics.idf import samples_with
from tacit.numerics.rows import unit_rows

_REPOSITORY = "http://manikvarma.org/downloads/XC/XMLRepository.html"


class Data(NamedTuple):
    """Training features and labels, test features and labels."""

    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    X_test: sparse.csr_matrix
    Y_test: sparse.csr_matrix


@dataclass(frozen=True)
class Size:
    """Training samples, test samples and features of a part of a larger set."""

    n_train: int
    n_test: int
    n_features: int

    def sample(self, data: Data) -> Data:
        """As many random samples of a set, the features that most of them have, and the labels that any of them has."""
        rng = np.random.default_rng(0)
        train, test = (
            np.sort(rng.permutation(part.shape[0])[:n])
            for part, n in ((data.X, self.n_train), (data.X_test, self.n_test))
        )
        X, Y, Y_test = data.X[train], data.Y[train], data.Y_test[test]
        features = np.sort(np.argsort(-samples_with(X), kind="stable")[: self.n_features])
        labels = np.flatnonzero(label_counts(Y) + label_counts(Y_test))
        parts = (unit_rows(rows[:, features]) for rows in (X, data.X_test[test]))
        return Data(next(parts), Y[:, labels], next(parts), Y_test[:, labels])


@dataclass(frozen=True)
class BenchmarkSet:
    """A data set by the name that the papers print.

    Attributes
    ----------
    name : str
        As printed.
    folder : str
        Its folder under TACIT_DATA.
    stand_in : str
        A folder whose set is used where this one is not there; empty for none.
    size : Size, optional
        That of the sample that is taken of the stand-in: the printed numbers of samples, and at most 4,000 features,
        with which ridge regressions are solved by one factorisation.
    home : str
        Where to get a set that the catalogue of tacit does not have.
    """

    name: str
    folder: str
    stand_in: str = ""
    size: Size | None = None
    home: str = _REPOSITORY

    @property
    def how_to_get(self) -> str:
        """The command or address that gets it."""
        if self.folder in CATALOG:
            return f"tacit data {self.folder} --fetch"
        if not self.home.startswith("http"):
            return self.home
        return f"{self.home}, its parts as {self.folder}/train.txt and {self.folder}/test.txt under {DATA_VARIABLE}"


#: Every set of the three papers, by a short name.
SETS: Mapping[str, BenchmarkSet] = MappingProxyType(
    {
        "bibtex": BenchmarkSet("Bibtex", "bibtex"),
        "delicious": BenchmarkSet("Delicious", "delicious"),
        "rcv1": BenchmarkSet("rcv1v2", "rcv1sub1"),
        "eurlex": BenchmarkSet("EURLex-4K", "eurlex-4k", stand_in="eurlex57k/tfidf", size=Size(15539, 3809, 4000)),
        "mediamill": BenchmarkSet("MediaMill", "mediamill"),
        "delicious-200k": BenchmarkSet("Delicious-200K", "delicious-200k"),
        "amazoncat": BenchmarkSet("AmazonCat-13K", "amazoncat-13k"),
        "wiki10": BenchmarkSet("Wiki10-31K", "wiki10-31k"),
        "wikilshtc": BenchmarkSet("WikiLSHTC-325K", "wikilshtc-325k"),
        "wikipedia": BenchmarkSet("Wikipedia-500K", "wikipedia-500k"),
        "amazon-670k": BenchmarkSet("Amazon-670K", "amazon-670k"),
        "ads-9m": BenchmarkSet("Ads-9M", "ads-9m", home="proprietary, never published"),
    }
)


@dataclass(frozen=True)
class Source:
    """Where a set comes from: its files, or synthetic rows at toy size."""

    key: str
    is_toy: bool = False

    @property
    def set(self) -> BenchmarkSet:
        """The set that the paper prints."""
        return SETS[self.key]

    @property
    def folder(self) -> str:
        """The folder in use; empty where neither the set nor its stand-in is there."""
        if self.is_toy:
            return "toy"
        if not os.environ.get(DATA_VARIABLE):
            return ""
        folders = (folder for folder in (self.set.folder, self.set.stand_in) if folder)
        return next((folder for folder in folders if {"train", "test"} <= find(folder).keys()), "")

    @property
    def stands_in(self) -> bool:
        """Whether another set stands in for it, so that figures do not compare."""
        return self.folder == self.set.stand_in != ""

    @property
    def stand_in_note(self) -> str:
        """What stands in for the set."""
        which = "" if self.set.size is None else "a part, with as many samples, of "
        return f"{which}{self.folder} stands in for {self.set.name}"

    @property
    def fingerprint(self) -> str:
        """Folder and file sizes, which change where the data do."""
        if self.is_toy:
            return "toy"
        files = find(self.folder)
        sizes = (f"{files[part].stat().st_size}" for part in ("train", "test"))
        return " ".join([self.folder, *sizes, *([str(self.set.size)] if self.stands_in else [])])

    def load(self) -> Data:
        """Both parts."""
        return _toy() if self.is_toy else _load(self.folder, self.set.size if self.stands_in else None)

    @property
    def left_out(self) -> str:
        """Why the set is left out, and how to get it."""
        return f"{self.set.name} is not under {DATA_VARIABLE}: {self.set.how_to_get}"


@lru_cache(maxsize=2)
def _load(folder: str, size: Size | None) -> Data:
    files = find(folder)
    train, test = (tacit.load_data(Path(files[part])) for part in ("train", "test"))
    data = Data(train.X, train.Y, test.X, test.Y)
    return data if size is None else size.sample(data)


@lru_cache(maxsize=1)
def _toy() -> Data:
    made = make_dataset(260, 120, 24, labels_per_sample=3, topic_size=6, hide=False, unseen_share=0)
    train, test = made.dataset(made.train), made.dataset(made.test)
    return Data(train.X, train.Y, test.X, test.Y)
