"""Growing one tree as a task: gains of labels in, flat arrays out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tacit.arrays import Floats64, Ids, Ints16, by_value
from tacit.kernels.dense import Rows
from tacit.kernels.tree import N_COINS, PRINTED, REFINED, FeatureRows, Tree, grow_tree, rank_discounts
from tacit.numerics.rows import falling_order, row_of_entry

Commonness = tuple[Floats64, Ids]  # values, and the place of each positive's among them


@dataclass(frozen=True)
class Growth:
    """Parameters of the growth of a tree; see `FastXML`.

    With `rescaled`, balanced gains are divided by their ideal DCG again, so that every sample has the same maximum.
    """

    C: float
    bias: float
    max_leaf: int
    labels_per_leaf: int
    balance: float | None
    rescaled: bool
    splits: str


def normalised_gains(worth: sparse.csr_matrix) -> sparse.csr_matrix:
    """Weights of labels divided by the ideal DCG of their sample, so that the maximum nDCG of every sample is 1."""
    values, rows = worth.data.astype(np.float64), row_of_entry(worth)
    order, places = falling_order(worth, values)
    ideal = np.bincount(rows, values[order] * rank_discounts(worth.shape[1])[places], minlength=worth.shape[0])
    return _with_values(worth, values / ideal[rows])  # FastXML: I(y) = 1 / Σ_{j ≤ |y|} 1/log(1 + j), all worth 1


def balanced_gains(gains: sparse.csr_matrix, commonness: Commonness, power: float, rescaled: bool) -> sparse.csr_matrix:
    """Gains divided by a power of how common each positive is, so that rare labels influence splits too.

    Differs from the papers: FastXML's splits are dominated by frequent labels, and PfastXML always has y/p.
    """
    values, places = commonness
    balanced = _with_values(gains, gains.data * by_value(lambda value: math.pow(value, -power), values)[places])
    return normalised_gains(balanced) if rescaled else balanced


def _with_values(matrix: sparse.csr_matrix, values: Floats64) -> sparse.csr_matrix:
    return sparse.csr_matrix((values.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)


def grow(
    seed: int,
    X: sparse.csr_matrix,
    x_levels: Ints16,
    x_steps: Floats64,
    gains: sparse.csr_matrix,
    commonness: Commonness,
    worth: sparse.csr_matrix,
    growth: Growth,
) -> Tree:
    """Grow one tree.

    `x_levels` and `x_steps` are the features quantised. `gains`, in the nDCG of nodes, are those before balancing;
    `commonness` is how common labels are, on any scale, and where each positive finds its label's; `worth` weighs
    positives in leaves.
    """
    rng = np.random.default_rng(seed)
    coins = rng.integers(2**N_COINS, size=X.shape[0])
    is_printed = growth.splits == "printed"
    starts_by_features = rng.random() < 0.5 and not is_printed  # the paper has coins only: less diverse trees
    if growth.balance is not None:
        # Each tree draws its own power: some split by frequent labels, others by rare ones.
        power = rng.uniform(0.0, 2.0 * growth.balance)
        gains = balanced_gains(gains, commonness, power, growth.rescaled)
    features = FeatureRows(X.indptr.astype(np.uint64), X.indices.astype(np.uint32), X.data, x_levels, x_steps)
    labels = Rows(gains.indptr.astype(np.uint64), gains.indices.astype(np.uint32), gains.data)
    rules = (PRINTED if is_printed else REFINED)._replace(
        C=float(growth.C),
        bias=float(growth.bias),
        max_leaf=int(growth.max_leaf),
        labels_per_leaf=int(growth.labels_per_leaf),
        starts_by_features=bool(starts_by_features),
    )
    return grow_tree(features, X.shape[1], labels, worth.data, gains.shape[1], coins, rules)
