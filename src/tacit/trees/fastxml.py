"""FastXML: trees whose splits are learned to rank labels well."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from tacit.arrays import Floats64, Ids, Ints16, Mask, by_value
from tacit.core.base import Estimator, Idf, Link
from tacit.core.labels import positives
from tacit.core.parameters import OneOf, Range, Tune, document_parameters
from tacit.core.ranking import Ranking
from tacit.kernels.dense import Rows
from tacit.kernels.forest_ranking import CentreLevels, quantised
from tacit.kernels.tree import N_RANDOM_BITS, PRINTED, REFINED, FeatureRows, Rules, Tree, grow_tree, rank_discounts
from tacit.numerics.rows import falling_order, row_of_entry
from tacit.runtime.tasks import run_tasks, task_seeds
from tacit.trees.forest import Forest

Commonness = tuple[Floats64, Ids]  # values, and the index of each positive's value among them

FEW = 20  # added to label counts, so that labels with a handful of samples do not dominate the splits of large nodes

Refit = Annotated[
    float,
    Range(low=0, high=4),
    Tune(0, 4, log=False),
    "multiple of the forest's mean residual in each leaf that is added to the leaf after training; 0: leaves are means",
]

Balance = Annotated[
    float | None,
    Range(low=0, high=2),
    Tune(0, 1.5, log=False),
    "mean exponent b of the label weights (count + 20)^-b in the nDCG of splits, drawn per tree from 0 to twice this; "
    "more favours rare labels; None: no such weights, as in the paper",
]


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class FastXML(Estimator):
    """An ensemble of trees; each node splits its samples so that one ranking of labels fits each side well (nDCG)."""

    n_trees: Annotated[int, Range(low=1), "number of trees; time, memory and model size grow in proportion"] = 50
    max_leaf: Annotated[int, Range(low=1), Tune(5, 50), "a node with at most this many samples becomes a leaf"] = 10
    C: Annotated[
        float, Range(above=0), Tune(0.3, 20), "inverse strength of the L1 penalty in nodes; more: denser hyperplanes"
    ] = 2.5
    labels_per_leaf: Annotated[int, Range(low=1), "maximum number of labels stored in a leaf"] = 100
    bias: Annotated[float, Range(low=0), "value of the constant feature of the hyperplanes; 0: no intercept"] = 1.0
    min_share: Annotated[
        float, Range(low=0.05, high=1), "near a split a sample follows both branches in shares of at least this; 1: one"
    ] = 0.25
    splits: Annotated[
        str,
        OneOf(("refined", "printed")),
        "nodes: refined as docs/trees.md says, or as the paper prints them (random sides, one exact fit; slower)",
    ] = "refined"
    balance: Balance = 0.75
    refit: Refit = 2.0
    idf: Idf = None
    normalize: Annotated[bool, "scale every sample to unit length, as C assumes"] = True

    forest_: Forest = field(init=False)

    PAPER: ClassVar[Mapping[str, Any]] = {
        "n_trees": 50,
        "max_leaf": 10,
        "C": 1.0,
        "bias": 1.0,
        "labels_per_leaf": 100,
        "min_share": 1.0,
        "splits": "printed",
        "balance": None,
        "refit": 0.0,
        "idf": False,
        "normalize": False,
    }
    unranked_score: ClassVar[float] = 0.0
    weights_flags: ClassVar[bool] = True
    gains_are_rescaled: ClassVar[bool] = True

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        relevant = positives(Y)
        worth = self._worth(relevant)
        trees = run_tasks(
            grow,
            [{"seed": seed} for seed in task_seeds(self.random_state, self.n_trees)],
            n_jobs=self.n_jobs,
            what="trees",
            X=X,
            levels=quantised(X.data, X.indptr, np.int16),
            gains=self._gains(relevant),
            commonness=np.unique(self._commonness(relevant), return_inverse=True),
            worth=worth,
            rules=self._rules(),
            balance=self.balance,
            rescaled=self.gains_are_rescaled,
        )
        self.forest_ = Forest.of(trees, worth, X.shape[1], self.refit)

    def _worth(self, Y: sparse.csr_matrix) -> sparse.csr_matrix:
        """Weights of the positives in leaves."""
        return Y

    def _gains(self, Y: sparse.csr_matrix) -> sparse.csr_matrix:
        """Gains of the positives in the nDCG of nodes, before balancing."""
        return normalised_gains(Y)

    def _commonness(self, Y: sparse.csr_matrix) -> Floats64:
        """How common each positive is; a power of it divides the gains."""
        return np.asarray((self.label_counts_ + float(FEW))[Y.indices])

    def _rules(self) -> Rules:
        return (PRINTED if self.splits == "printed" else REFINED)._replace(
            C=float(self.C),
            bias=float(self.bias),
            max_leaf=int(self.max_leaf),
            labels_per_leaf=int(self.labels_per_leaf),
        )

    @property
    def _link(self) -> Link | None:
        return "identity" if self.refit == 0 else None  # without refit, leaf scores are label frequencies

    def _rank(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        if allowed is None:
            allowed = np.ones(len(self.classes_), dtype=np.bool_)
        return self.forest_.rank(X, k, allowed, self.min_share, self._centres())

    def _centres(self) -> CentreLevels | None:
        """The label centres that re-rank the labels of the leaves, if any."""
        return None


def normalised_gains(worth: sparse.csr_matrix) -> sparse.csr_matrix:
    """Weights of labels divided by the ideal DCG of their sample, so that the maximum nDCG of every sample is 1."""
    values, rows = worth.data.astype(np.float64), row_of_entry(worth)
    order, ranks = falling_order(worth, values)
    ideal = np.bincount(rows, values[order] * rank_discounts(worth.shape[1])[ranks], minlength=worth.shape[0])
    return _with_values(worth, values / ideal[rows])  # FastXML: I(y) = 1 / Σ_{j ≤ |y|} 1/log(1 + j), all worth 1


def balanced_gains(gains: sparse.csr_matrix, commonness: Commonness, power: float, rescaled: bool) -> sparse.csr_matrix:
    """Gains divided by a power of how common each positive is, so that rare labels influence splits too.

    With `rescaled`, they are divided by their ideal DCG again, so that every sample has the same maximum.
    Differs from the papers: FastXML's splits are dominated by frequent labels, and PfastXML always has y/p.
    """
    values, inverse = commonness
    balanced = _with_values(gains, gains.data * by_value(lambda value: math.pow(value, -power), values)[inverse])
    return normalised_gains(balanced) if rescaled else balanced


def _with_values(matrix: sparse.csr_matrix, values: Floats64) -> sparse.csr_matrix:
    return sparse.csr_matrix((values.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)


def grow(
    seed: int,
    X: sparse.csr_matrix,
    levels: tuple[Ints16, Floats64],
    gains: sparse.csr_matrix,
    commonness: Commonness,
    worth: sparse.csr_matrix,
    rules: Rules,
    balance: float | None,
    rescaled: bool,
) -> Tree:
    """Grow one tree; `levels` are the quantised features, `gains` those in the nDCG of nodes before balancing."""
    rng = np.random.default_rng(seed)
    random_bits = rng.integers(2**N_RANDOM_BITS, size=X.shape[0])
    by_features = rng.random() < 0.5 and rules.improves_sides  # the paper has random sides only: less diverse trees
    if balance is not None:
        # Each tree draws its own power: some split by frequent labels, others by rare ones.
        gains = balanced_gains(gains, commonness, rng.uniform(0.0, 2.0 * balance), rescaled)
    features = FeatureRows(X.indptr.astype(np.uint64), X.indices.astype(np.uint32), X.data, *levels)
    labels = Rows(gains.indptr.astype(np.uint64), gains.indices.astype(np.uint32), gains.data)
    rules = rules._replace(starts_by_features=bool(by_features))
    return grow_tree(features, X.shape[1], labels, worth.data, gains.shape[1], random_bits, rules)
