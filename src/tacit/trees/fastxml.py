"""FastXML: trees whose splits are learned to rank labels well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from tacit.arrays import Floats64, Mask
from tacit.core.base import Estimator, Idf, Link
from tacit.core.labels import positives
from tacit.core.parameters import OneOf, Range, Role, Tune, document_parameters
from tacit.core.ranking import Ranking
from tacit.kernels.forest_ranking import quantised
from tacit.runtime.tasks import run_tasks, task_seeds
from tacit.trees.forest import Forest
from tacit.trees.growth import Growth, grow, normalised_gains
from tacit.trees.tail import Nearness

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
    normalize: Annotated[bool, Role.NORMALIZES, "scale every sample to unit length, as C assumes"] = True

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
        levels, steps = quantised(X.data, X.indptr, np.int16)
        shared = {
            "X": X,
            "x_levels": levels,
            "x_steps": steps,
            "gains": self._gains(relevant),
            "commonness": np.unique(self._commonness(relevant), return_inverse=True),
            "worth": worth,
        }
        tasks = [{"seed": seed} for seed in task_seeds(self.random_state, self.n_trees)]
        trees = run_tasks(grow, tasks, n_jobs=self.n_jobs, what="trees", **shared, growth=self._growth())
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

    def _growth(self) -> Growth:
        leaves, gains = (self.max_leaf, self.labels_per_leaf), (self.balance, self.gains_are_rescaled)
        return Growth(self.C, self.bias, *leaves, *gains, self.splits)

    @property
    def _link(self) -> Link | None:
        return "identity" if self.refit == 0 else None  # without refit, leaf scores are label frequencies

    def _rank(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        if allowed is None:
            allowed = np.ones(len(self.classes_), dtype=np.bool_)
        return self.forest_.rank(X, k, allowed, self.min_share, self._nearness())

    def _nearness(self) -> Nearness | None:
        """The tail classifiers that re-rank the labels of the leaves, if any."""
        return None
