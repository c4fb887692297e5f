"""Splits at random or with respect for rare labels, and experiments with held-out labels and hidden positives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tacit.arrays import AnyArray, Ints64, Mask
from tacit.core.labels import positives, read_labels
from tacit.core.parameters import is_instance
from tacit.errors import DataError, ParameterError
from tacit.evaluation.propensity import check_propensities, entries, values_at
from tacit.kernels.ragged import Lists
from tacit.kernels.rare_split import choose_test_rows
from tacit.numerics.rows import row_of_entry

#: Labels with fewer samples are not guaranteed a test sample: they are needed for training.
MIN_SAMPLES_FOR_TEST = 3
SIZE_TOLERANCE = 0.1


class SplitResult(NamedTuple):
    """Rows of a train/test split: sorted row numbers, each in one of the two parts."""

    train: Ints64
    test: Ints64


class HeldOutLabels(NamedTuple):
    """Labels split into seen and unseen: sorted columns of Y, each in one of the two."""

    Y_seen: sparse.csr_matrix  # the columns of the seen labels, stored zeros kept
    cooccurrence: sparse.csr_matrix  # in how many samples a seen label occurs with each label; columns in `order`
    seen: Ints64
    unseen: Ints64

    @property
    def order(self) -> Ints64:
        """Seen labels, then unseen ones: ``Y_test[:, order]`` has the columns that a model ranks."""
        return np.concatenate([self.seen, self.unseen])


def random_split(
    n_rows: int, test_size: float = 0.25, seed: int = 0, *, groups: AnyArray | None = None, Y: Any = None
) -> tuple[Ints64, Ints64]:
    """Split rows at random, for calibration and validation: sorted row numbers of the training part and of the other.

    Rows with the same number in `groups` (`tacit.data.repeats.groups_of`) stay together, in training if they are more
    than the test part may hold. Each label of `Y` keeps a training row: the one that would be the last to leave.
    """
    n_test = _test_rows(test_size, n_rows)
    groups = np.arange(n_rows) if groups is None else groups
    rank = np.argsort(np.random.default_rng(seed).permutation(n_rows))[groups]
    stays = np.bincount(groups)[groups] > n_test
    if Y is not None:
        relevant = positives(read_labels(Y).matrix)
        last = np.full(relevant.shape[1], -1)
        np.maximum.at(last, relevant.indices, rank[row_of_entry(relevant)])
        stays |= np.isin(rank, last)
    free = np.flatnonzero(~stays)
    _check_enough(len(free), n_test)
    free = free[np.argsort(rank[free], kind="stable")]
    n_taken = len(free) if len(free) <= n_test else int(np.searchsorted(rank[free], rank[free[n_test]]))
    return np.setdiff1d(np.arange(n_rows), free[:n_taken]), np.sort(free[:n_taken])


def train_test_split(Y: Any, test_size: float = 0.25, seed: int = 0) -> SplitResult:
    """Split rows so that rare labels are in train and, where possible, in test.

    Every label keeps a training sample. Labels with at least three samples get a test sample, rarest first,
    as far as `test_size` allows; the other test rows are drawn so that labels keep their frequencies. This is for
    benchmarks: validate and calibrate on a `random_split`. `test_size` is a fraction of the rows, or their number.
    """
    relevant = positives(read_labels(Y).matrix)
    n_test = _test_rows(test_size, relevant.shape[0])
    rng = np.random.default_rng(seed)
    n_rows, n_labels = relevant.shape
    counts = np.bincount(relevant.indices, minlength=n_labels)
    rarest_first = rng.permutation(n_labels)
    rarest_first = rarest_first[np.argsort(counts[rarest_first], kind="stable")]
    row_order = rng.permutation(n_rows)
    both = [Lists(Y.indptr.astype(np.int64), Y.indices.astype(np.int32)) for Y in (relevant, relevant.tocsc())]
    owed = rarest_first[counts[rarest_first] >= MIN_SAMPLES_FOR_TEST]
    in_test = choose_test_rows(*both, owed, row_order, n_test)
    _check_enough(in_test.sum(), n_test)
    return SplitResult(np.flatnonzero(~in_test), np.flatnonzero(in_test))


def _check_enough(n_free: int, n_test: int) -> None:
    if n_free < (1 - SIZE_TOLERANCE) * n_test:
        message = f"only {n_free:,} of {n_test:,} test rows can leave the training part: each other row has the last of"
        raise DataError(f"{message} a label, or repeats too often. Ask for a smaller test_size, or drop rare labels")


def hold_out_labels(Y: Any, share: float = 0.5, seed: int = 0) -> HeldOutLabels:
    """Hold out a share of the labels as unseen, and count how seen labels occur with all labels.

    The share is drawn from the labels that have positives; labels without any are unseen as they are.
    """
    _check_share(share)
    matrix = read_labels(Y).matrix
    relevant = positives(matrix)
    candidates = np.unique(relevant.indices).astype(np.int64)
    n_seen = len(candidates) - round(share * len(candidates))
    if n_seen == 0:
        raise DataError(f"at least one of {len(candidates)} labels must stay seen; hold out a share below {share}")
    seen = np.sort(np.random.default_rng(seed).permutation(candidates)[:n_seen])
    unseen = np.setdiff1d(np.arange(matrix.shape[1]), seen)
    order = np.concatenate([seen, unseen])
    counts = relevant.astype(np.int64).tocsc()
    cooccurrence = sparse.csr_matrix(counts[:, seen].T @ counts[:, order])
    cooccurrence.sort_indices()
    return HeldOutLabels(matrix.tocsc()[:, seen].tocsr(), cooccurrence, seen, unseen)


def hide_positives(Y: Any, share: float = 0.8, seed: int = 0, propensities: Any = None) -> sparse.csr_matrix:
    """Hide a share of the positives, which become unknown (absent). Returns a CSR matrix; stored zeros are kept.

    With `propensities`, a positive of label l stays with probability ``propensities[l]`` instead.
    """
    matrix = read_labels(Y).matrix
    is_positive = matrix.data != 0
    rng = np.random.default_rng(seed)
    if propensities is not None:
        probabilities = values_at(check_propensities(propensities, matrix.shape), *entries(matrix))
        return keep_entries(matrix, ~is_positive | (rng.random(matrix.nnz) < probabilities))
    _check_share(share)
    positive = np.flatnonzero(is_positive)
    kept = np.ones(matrix.nnz, np.bool_)
    kept[rng.choice(positive, round(share * len(positive)), replace=False)] = False
    return keep_entries(matrix, kept)


def keep_entries(matrix: sparse.csr_matrix, kept: Mask) -> sparse.csr_matrix:
    """Copy a CSR matrix with only the stored entries that the mask `kept` selects."""
    starts = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return sparse.csr_matrix((matrix.data[kept], matrix.indices[kept], starts), shape=matrix.shape)


def _test_rows(test_size: Any, n_rows: int) -> int:
    """The number of test rows; both parts keep at least one row."""
    if n_rows < 2:
        raise DataError(f"a split needs at least two rows; got {n_rows}")
    if is_instance(test_size, (int,)):
        if not 1 <= test_size < n_rows:
            raise ParameterError(f"test_size as a number of rows must lie between 1 and {n_rows - 1}; got {test_size}")
        return int(test_size)
    if not is_instance(test_size, (float,)) or not 0 < test_size < 1:
        raise ParameterError(f"test_size must be a share above 0 and below 1, or a count; got {test_size!r}")
    return min(max(round(float(test_size) * n_rows), 1), n_rows - 1)


def _check_share(share: Any) -> None:
    if not is_instance(share, (float,)) or not 0 <= share <= 1:
        raise ParameterError(f"share must lie between 0 and 1; got {share!r}")
