"""The samples of acts as feature rows, and a file that caches them for a quick start."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from tacit.arrays import Floats32, Integers, Ints32
from tacit.errors import ModelFileError
from tacit.numerics.rows import unit_rows
from tacit.store.atomic import MALFORMED, read_arrays, write_arrays
from tacit.store.declared import check_csr

_CSR_PARTS = ("data", "indices", "indptr")


class Row(NamedTuple):
    """A sample scaled to unit length, as its non-zero features."""

    indices: Ints32
    values: Floats32


@dataclass(eq=False)
class ActSamples:
    """The samples of an act and, for judgements, the scores of the tagger after the acts that `after` identifies."""

    rows: list[Row]
    scores: list[float]
    after: str = ""


def stacked(rows: Sequence[Row], n_features: int) -> sparse.csr_matrix:
    """Stack rows into a matrix."""
    indptr = np.cumsum([0, *(len(row.indices) for row in rows)])
    indices = np.concatenate([row.indices for row in rows]) if rows else np.empty(0, np.int32)
    values = np.concatenate([row.values for row in rows]) if rows else np.empty(0, np.float32)
    return sparse.csr_matrix((values, indices, indptr), shape=(len(rows), n_features))


def rows_of(X: sparse.csr_matrix) -> list[Row]:
    """Split a matrix into rows, scaled to unit length."""
    X = unit_rows(X)
    return _split(X.indices.astype(np.int32, copy=False), X.data.astype(np.float32, copy=False), X.indptr)


def _split(indices: Ints32, values: Floats32, indptr: Integers) -> list[Row]:
    return [Row(indices[first:last], values[first:last]) for first, last in pairwise(indptr.tolist())]


def write_samples(path: Path, base: str, by_act: Mapping[str, ActSamples], n_features: int) -> None:
    """Write the samples of acts, by the ids of the acts, to the cache."""
    acts = [[name, each.after, each.scores] for name, each in by_act.items()]
    rows = stacked([row for each in by_act.values() for row in each.rows], n_features)
    about = json.dumps({"base": base, "acts": acts}).encode()
    parts = {part: getattr(rows, part) for part in _CSR_PARTS}
    write_arrays(path, {"about": np.frombuffer(about, np.uint8), **parts})


def read_samples(path: Path, base: str, n_features: int) -> dict[str, ActSamples]:
    """Read the cache of this base, by the ids of the acts; empty if it is of another base or damaged."""
    try:
        arrays = read_arrays(path, mapped=False) if path.is_file() else {}
        about = json.loads(bytes(arrays["about"])) if arrays else {}
        if about.get("base") != base:
            return {}
        check_csr(arrays, (len(arrays["indptr"]) - 1, n_features), "rows")
        indices, values = arrays["indices"].astype(np.int32), arrays["data"].astype(np.float32)
        if not np.isfinite(values).all():
            return {}
        rows = iter(_split(indices, values, arrays["indptr"]))
        found = {
            str(name): ActSamples([next(rows) for _ in scores], [*map(float, scores)], str(after))
            for name, after, scores in about["acts"]
        }
        return found if next(rows, None) is None else {}
    except (*MALFORMED, ModelFileError, StopIteration):
        return {}
