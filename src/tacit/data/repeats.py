"""Rows that repeat, by text or by features, and hold-outs that keep such rows on one side.

A model that is judged on a row it was trained on looks better than it is on new rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.features import Features

Ids = npt.NDArray[np.intp]
Hashes = npt.NDArray[np.uint64]

_ROWS_AT_ONCE = 1 << 14


def groups_of(samples: Any) -> Ids:
    """For each row, the first row with the same words (of texts) or the same features; rows without any are alone."""
    hashes = row_hashes(samples)
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    return np.where(hashes == 0, np.arange(len(hashes)), first[inverse])


def n_repeated(samples: Any) -> int:
    """How many rows are like an earlier one: texts but for white space, or rows of features."""
    groups = groups_of(samples)
    return int((groups != np.arange(len(groups))).sum())


def held_out_rows(order: Ids, sizes: Sequence[int], groups: Ids) -> list[Ids]:
    """Cut rows in random order into consecutive parts of about these sizes, without dividing a group.

    Without repeated rows these are ``np.split(order, np.cumsum(sizes))``, the remainder aside. A group that is larger
    than a part is divided: a text as common as that recurs among new samples, too.
    """
    groups = divided(groups, [*sizes, len(order) - sum(sizes)])
    place = np.zeros(len(groups), np.intp)
    place[order] = np.arange(len(order))
    order = order[np.argsort(place[groups[order]], kind="stable")]
    ends = np.append(np.flatnonzero(np.diff(groups[order], prepend=-1)), len(order))
    wanted = np.cumsum(sizes)
    above = np.searchsorted(ends, wanted)
    below = np.maximum(above - 1, 0)
    cuts = np.where(wanted - ends[below] < ends[above] - wanted, ends[below], ends[above])
    return np.split(order, cuts)[: len(sizes)]


def divided(groups: Ids, sizes: Sequence[int]) -> Ids:
    """The groups, where those that are larger than the smallest part become single rows."""
    is_large = np.bincount(groups, minlength=len(groups)) > min(size for size in sizes if size > 0)
    return np.where(is_large[groups], np.arange(len(groups)), groups)


def row_hashes(samples: Any) -> Hashes:
    """A hash of each row: of the words of a text, or of features and their values; 0 for a row without any."""
    if isinstance(samples, Features):
        return _of_dense(samples, row_hashes(samples.sparse))
    if sparse.issparse(samples):
        return _of_sparse(samples)
    words = (" ".join(text.split()).encode(errors="replace") for text in samples)
    digests = b"".join(hashlib.blake2b(text, digest_size=8).digest() if text else bytes(8) for text in words)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def _of_sparse(X: sparse.csr_matrix) -> Hashes:
    found = [np.empty(0, np.uint64)]
    for first in range(0, X.shape[0], _ROWS_AT_ONCE):
        part = X[first : first + _ROWS_AT_ONCE]
        keys = _mixed(part.indices.astype(np.uint64) | _bits(part.data))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(keys, dtype=np.uint64)])
        sums = sums[part.indptr[1:]] - sums[part.indptr[:-1]]
        found.append(np.where(np.diff(part.indptr) > 0, _mixed(sums), np.uint64(0)))
    return np.concatenate(found)


def _of_dense(X: Features, hashes: Hashes) -> Hashes:
    columns = np.arange(X.dense.shape[1], dtype=np.uint64)
    for rows, values in X.blocks():
        sums = np.where(values != 0, _mixed(columns | _bits(values)), np.uint64(0)).sum(axis=1, dtype=np.uint64)
        hashes[rows] += np.where(sums != 0, _mixed(sums), sums)
    return hashes


def _bits(values: npt.NDArray[Any]) -> Hashes:
    return values.astype(np.float32).view(np.uint32).astype(np.uint64) << np.uint64(32)


def _mixed(keys: Hashes) -> Hashes:
    """Each number scattered over 64 bits (the finaliser of splitmix64)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
