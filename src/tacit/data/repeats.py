"""Rows that repeat, by text or by features, and hold-outs that keep such rows on one side."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

from tacit.arrays import AnyArray, Ids, UInts64
from tacit.core.features import Features

_ENTRIES_AT_ONCE = 1 << 19  # features may be larger than memory
_LARGE = 0.1  # fraction of the rows: a training set without so many is no longer like the whole
_SEED = 0x7AC17  # unlike those of users, or the members of groups would come first in their orders


def groups_of(samples: Any) -> Ids:
    """For each row, a random one of those with the same text or features; rows without any are alone."""
    hashes = row_hashes(samples)
    order = np.random.default_rng(_SEED).permutation(len(hashes))
    _, first, inverse = np.unique(hashes[order], return_index=True, return_inverse=True)
    groups = np.arange(len(hashes))
    groups[order] = order[first[inverse]]
    return np.where(hashes == 0, np.arange(len(hashes)), groups)


def n_repeated(groups: Ids) -> int:
    """How many rows are like another one."""
    return int((groups != np.arange(len(groups))).sum())


def one_of_each(order: Ids, groups: Ids) -> Ids:
    """One row of each group, in this order of all rows; those of very large groups are last, and rarely held out."""
    rows: Ids = order[groups[order] == order]
    is_large = np.bincount(groups)[rows] > max(_LARGE * len(groups), 1)
    return rows[np.argsort(is_large, kind="stable")]


def unlike(rows: Ids, groups: Ids) -> Ids:
    """All rows that are like none of these."""
    return np.flatnonzero(~np.isin(groups, groups[rows]))


def folds_of(order: Ids, groups: Ids, n_folds: int) -> Ids:
    """The fold of each row, by its number in a random order; groups stay together."""
    return np.unique(order[groups], return_inverse=True)[1] % n_folds


def row_hashes(samples: Any) -> UInts64:
    """A hash of each row: of the words of a text, or of features and their values; 0 for a row without any."""
    if isinstance(samples, Features):
        return _of_dense(samples, row_hashes(samples.sparse))
    if sparse.issparse(samples):
        n_rows = max(_ENTRIES_AT_ONCE * samples.shape[0] // max(samples.nnz, 1), 1)
        blocks = (samples[at : at + n_rows] for at in range(0, samples.shape[0], n_rows))
        return np.concatenate([np.empty(0, np.uint64), *map(_of_sparse, blocks)])
    return text_hashes(" ".join(text.casefold().split()) for text in samples)


def text_hashes(texts: Any) -> UInts64:
    """A hash of each text; 0 for an empty one."""
    encoded = (text.encode(errors="replace") for text in texts)
    digests = b"".join(hashlib.blake2b(text, digest_size=8).digest() if text else bytes(8) for text in encoded)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def sums_of_rows(X: sparse.csr_matrix, keys: UInts64) -> UInts64:
    """The sum of the keys of the entries of each row, in any order, scattered; 0 for a row without any."""
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(keys, dtype=np.uint64)])
    sums = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    return np.where(sums != 0, _mixed(sums), sums)


def _of_sparse(X: sparse.csr_matrix) -> UInts64:
    return sums_of_rows(X, np.where(X.data != 0, _mixed(X.indices.astype(np.uint64) | _bits(X.data)), np.uint64(0)))


def _of_dense(X: Features, hashes: UInts64) -> UInts64:
    columns = np.arange(X.sparse.shape[1], X.shape[1], dtype=np.uint64)
    for rows, values in X.blocks():
        sums = np.where(values != 0, _mixed(columns | _bits(values)), np.uint64(0)).sum(axis=1, dtype=np.uint64)
        hashes[rows] += np.where(sums != 0, _mixed(sums), sums)
    return hashes


def _bits(values: AnyArray) -> UInts64:
    return values.astype(np.float32).view(np.uint32).astype(np.uint64) << np.uint64(32)


def _mixed(keys: UInts64) -> UInts64:
    """Each number scattered over 64 bits (the finaliser of splitmix64)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
