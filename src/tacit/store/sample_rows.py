"""The samples of acts as feature rows, and a file that caches them for a quick start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.errors import ModelFileError
from tacit.numerics.rows import unit_rows
from tacit.store.atomic import read_arrays, write_arrays


class Row(NamedTuple):
    """A sample scaled to unit length, as its non-zero features."""

    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]


@dataclass(eq=False)
class ActSamples:
    """The samples of an act as feature rows and, for judgements, the scores of the tagger.

    The scores depend on the preceding acts, which `after` identifies.
    """

    rows: list[Row]
    said: list[float] | None = None
    after: str = "nothing"


def stacked(rows: Sequence[Row], n_features: int) -> sparse.csr_matrix:
    """Stack rows into a matrix."""
    indptr = np.cumsum([0, *(len(row.indices) for row in rows)])
    indices = np.concatenate([row.indices for row in rows]) if rows else np.empty(0, np.int32)
    values = np.concatenate([row.values for row in rows]) if rows else np.empty(0, np.float32)
    return sparse.csr_matrix((values, indices, indptr), shape=(len(rows), n_features))


def rows_of(X: sparse.csr_matrix) -> list[Row]:
    """Split a matrix into rows, scaled to unit length."""
    X = unit_rows(X)
    indices, values = X.indices.astype(np.int32, copy=False), X.data.astype(np.float32, copy=False)
    return [Row(indices[a:b], values[a:b]) for a, b in pairwise(X.indptr.tolist())]


def write_samples(path: Path, base: str, by_act: Mapping[str, ActSamples], n_features: int) -> None:
    """Write the samples of acts, by the ids of the acts, to the cache."""
    samples = list(by_act.values())
    rows = [row for each in samples for row in each.rows]
    said = [value for each in samples for value in each.said or [np.nan] * len(each.rows)]
    matrix = stacked(rows, n_features)
    histories = {after: place for place, after in enumerate(dict.fromkeys(each.after for each in samples))}
    arrays = {
        "base": _codes([base]),
        "histories": _codes(list(histories)),
        "after": np.array([histories[each.after] for each in samples], np.int64),
        "acts": _codes(list(by_act)),
        "rows": np.array([len(each.rows) for each in samples], np.int64),
        "said": np.array(said, np.float32),
        "lengths": np.diff(matrix.indptr).astype(np.int64),
        "indices": matrix.indices.astype(np.int32),
        "values": matrix.data.astype(np.float32),
    }
    write_arrays(path, arrays)


def read_samples(path: Path, base: str, n_features: int) -> dict[str, ActSamples]:
    """Read the cache of this base, by the ids of the acts; empty if it is of another base or damaged."""
    try:
        arrays = read_arrays(path, mapped=False) if path.is_file() else {}
        if not arrays or _texts(arrays["base"]) != [base]:
            return {}
        lengths, indices, values = arrays["lengths"], arrays["indices"], arrays["values"]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        stops = np.concatenate([[0], np.cumsum(arrays["rows"])])
        is_right = (
            (lengths >= 0).all() and (arrays["rows"] >= 0).all()
            and ends[-1] == len(indices) == len(values) and stops[-1] == len(lengths) == len(arrays["said"])
            and (not len(indices) or (indices.min() >= 0 and indices.max() < n_features))
            and indices.dtype == np.int32 and values.dtype == np.float32 and np.isfinite(values).all()
        )  # fmt: skip
        names, histories = _texts(arrays["acts"]), _texts(arrays["histories"])
        after = [histories[place] for place in arrays["after"].tolist()]
        if not is_right or not len(names) == len(after) == len(stops) - 1:
            return {}
    except (ModelFileError, KeyError, ValueError, TypeError, AttributeError, IndexError):
        return {}
    cuts = ends.tolist()
    rows = [Row(indices[a:b], values[a:b]) for a, b in pairwise(cuts)]
    said = np.asarray(arrays["said"], np.float64).tolist()
    found = {}
    for name, (first, last), history in zip(names, pairwise(stops.tolist()), after, strict=True):
        heard = said[first:last]
        found[name] = ActSamples(rows[first:last], None if not heard or heard[0] != heard[0] else heard, history)
    return found


def _codes(texts: Sequence[str]) -> npt.NDArray[np.uint8]:
    return np.frombuffer("\n".join(texts).encode("utf-8", "surrogatepass"), np.uint8)


def _texts(codes: npt.NDArray[np.uint8]) -> list[str]:
    return codes.tobytes().decode("utf-8", "surrogatepass").split("\n") if len(codes) else []
