"""SLEEC: embed samples so that the inner products with their nearest samples in label space are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse

from tacit.arrays import Floats, Floats32
from tacit.core.features import FeatureMatrix
from tacit.core.parameters import OneOf, Range, Tune, document_parameters
from tacit.embedding.neighbors import Neighbors, Nodes, label_nodes, product_neighbors
from tacit.embedding.pipeline import PRINTED, Embedded, EmbeddingModel
from tacit.embedding.spectrum import leading_factor
from tacit.kernels.dense import products_at
from tacit.numerics.rows import unit_rows

_SMALLEST_STEP = 1e-3
_EXACT = 1e-6  # of float32
_EIGEN_TOLERANCE = 0.01


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class SLEEC(EmbeddingModel):
    """Labels voted by near samples, in a space that keeps the inner products of nearest label vectors.

    Differs from the paper, which keeps the inner products of all samples: here label vectors have unit length, each
    distinct one is embedded once, and neighbours vote by similarity in two clusters. `SLEEC.paper()` is as printed.
    """

    n_neighbors: Annotated[int, Range(low=1), Tune(5, 100), "near samples that vote in each cluster"] = 20
    n_context: Annotated[int, Range(low=1), Tune(20, 200), "nearest label sets whose inner products are kept"] = 100
    nodes: Nodes = "sets"
    similarity: Annotated[str, OneOf(("cosine", "dot")), "inner products of unit or raw label vectors"] = "cosine"
    tolerance: Annotated[float, Range(above=0), "stop when a step lowers the error by less than this fraction"] = 0.001
    max_steps: Annotated[int, Range(low=1), "largest number of steps of singular value projection"] = 200

    PAPER: ClassVar[Mapping[str, Any]] = {**PRINTED, "nodes": "samples", "similarity": "dot"}

    def _embed(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int, **data: Any) -> Embedded:  # noqa: ARG002
        """Singular value projection on the entries of YYᵀ at nearest neighbours."""
        sets = label_nodes(Y, self.nodes)
        vectors = unit_rows(sets.matrix) if self.similarity == "cosine" else sets.matrix
        entries = label_products(vectors, product_neighbors(vectors, self.n_context))
        Z = singular_value_projection(entries, self.dimension, seed, self.tolerance, self.max_steps)
        return Z[sets.of_sample], None


def label_products(vectors: sparse.csr_matrix, near: Neighbors) -> sparse.csr_matrix:
    """Inner products of rows with themselves and with their neighbours, at symmetric places; zeros are stored."""
    n_sets = vectors.shape[0]
    first, second, _ = near.pairs()
    places = np.unique(np.concatenate([first * np.int64(n_sets) + second, second * np.int64(n_sets) + first]))
    places = np.union1d(places, np.arange(n_sets, dtype=np.int64) * (n_sets + 1))
    rows, columns = np.divmod(places, n_sets)
    products = np.asarray(vectors[rows].multiply(vectors[columns]).sum(axis=1), np.float32).ravel()
    indptr = np.searchsorted(rows, np.arange(n_sets + 1))
    return sparse.csr_matrix((products, columns.astype(np.int32), indptr), shape=(n_sets, n_sets))


def singular_value_projection(
    entries: sparse.csr_matrix, dimension: int, seed: int, tolerance: float, max_steps: int
) -> Floats:
    """Minimise ``‖P_Ω(G − ZZᵀ)‖`` over Z of some columns by projected gradient steps, none of which raises it.

    `entries` is G at the symmetric places Ω. Stops when a step lowers the error by less than a fraction `tolerance`.
    """
    norm = float(np.linalg.norm(entries.data))
    # The first step from Z = 0 projects P_Ω(G) itself; longer steps are tried as long as they help.
    step, n_steps = 1.0, 0
    Z = np.zeros((entries.shape[0], 1), np.float32)
    gap, error = entries, 1.0
    while n_steps < max_steps and step >= _SMALLEST_STEP:
        candidate = _projected(Z, gap, step, dimension, seed)
        products = products_at(entries.indptr, entries.indices, candidate)
        candidate_gap = sparse.csr_matrix((entries.data - products, entries.indices, entries.indptr), entries.shape)
        candidate_error = float(np.linalg.norm(candidate_gap.data)) / norm
        if candidate_error > error:
            step /= 2
            continue
        gain = 1 - candidate_error / error
        Z, gap, error = candidate, candidate_gap, candidate_error
        n_steps += 1
        if gain < tolerance or error <= _EXACT:
            break
        step *= 1.5
    return Z


def _projected(Z: Floats, gap: sparse.csr_matrix, step: float, dimension: int, seed: int) -> Floats32:
    """The nearest positive semidefinite matrix of low rank to ZZᵀ + step · P_Ω(G − ZZᵀ), as its factor."""

    def apply(block: Floats) -> Floats:
        return np.asarray(Z @ (Z.T @ block) + np.float32(step) * (gap @ block))

    start = Z if Z.shape[1] == dimension else None
    factor = leading_factor(apply, gap.shape[0], dimension, seed=seed, tolerance=_EIGEN_TOLERANCE, start=start)
    return np.ascontiguousarray(factor, np.float32)
