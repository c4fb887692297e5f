"""PD-Sparse: a max-margin ranking loss with an ℓ1 penalty, by active-set block Frank-Wolfe in the dual.

Yen, Huang, Ravikumar, Zhong and Dhillon, "PD-Sparse: a primal and dual sparse approach to extreme multiclass and
multilabel classification", ICML 2016. Differs: the most violating label is found by scoring all labels, where the
paper samples features to be sublinear in labels; a constant feature gives labels an intercept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import sparse

from reproduce.baselines.frank_wolfe import frank_wolfe_pass
from reproduce.baselines.sparse_linear import SparseLinear
from tacit.arrays import Floats32, Floats64, Ints32
from tacit.core.labels import positives
from tacit.core.parameters import Range, document_parameters
from tacit.latent.model import with_constant


@dataclass(frozen=True, eq=False)
class DualState:
    """Dual variables of the active labels of each sample, and the primal weights that they give."""

    active: Ints32
    alphas: Floats64
    sums: Floats64
    W: Floats32

    @classmethod
    def zero(cls, n_samples: int, n_features: int, n_labels: int, capacity: int) -> DualState:
        """No active label."""
        shape = (n_samples, capacity)
        sums = np.zeros((n_features, n_labels))
        return cls(np.full(shape, -1, np.int32), np.zeros(shape), sums, np.zeros_like(sums, np.float32))


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class PDSparse(SparseLinear):
    """Max-margin ranking with sparse weights and few active labels per sample (Yen et al., 2016)."""

    l1: Annotated[float, Range(low=0), "penalty on the absolute size of the weights"] = 0.1
    C: Annotated[float, Range(above=0), "cost of the loss of a sample"] = 1.0
    n_added: Annotated[int, Range(low=1), "most violating labels that a step adds to the active ones"] = 3
    n_passes: Annotated[int, Range(low=1), "passes over the samples"] = 30
    max_active: Annotated[int, Range(low=1), "largest number of active labels of a sample beside its own"] = 60

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        W = self._descend(with_constant(X), positives(Y)).W
        self._keep(sparse.csr_matrix(W[:-1]), W[-1])

    def _descend(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> DualState:
        rng = np.random.default_rng(self.random_state)
        capacity = min(int(np.diff(Y.indptr).max()) + self.max_active, Y.shape[1])
        state = DualState.zero(X.shape[0], X.shape[1], Y.shape[1], capacity)
        parts = (X.indptr, X.indices, X.data, Y.indptr, Y.indices)
        for _ in range(self.n_passes):
            order = rng.permutation(X.shape[0])
            frank_wolfe_pass(
                *parts, order, self.l1, self.C, self.n_added, state.active, state.alphas, state.sums, state.W
            )
        return state
