"""Samples without labels: their features still say where samples lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.embedding.neighbors import embedded_neighbors, unit_vectors
from tacit.embedding.voting import vote_weights
from tacit.numerics.ridge import fit_regressor

_NEIGHBORS = 10
_POWER = 6.0


def guessed_embedding(
    weights: npt.NDArray[np.float32], X: sparse.csr_matrix, Z: npt.NDArray[np.floating[Any]], others: sparse.csr_matrix
) -> npt.NDArray[np.floating[Any]]:
    """Embed `others` by a map's own guess: the mean embedding of the samples X that it puts them near."""
    near = embedded_neighbors(unit_vectors(others @ weights), unit_vectors(X @ weights), _NEIGHBORS)
    shares = vote_weights(near.similarities, _POWER)
    indptr = np.arange(0, shares.size + 1, shares.shape[1])
    average = sparse.csr_matrix((shares.ravel(), near.samples.ravel(), indptr), shape=(others.shape[0], len(Z)))
    guessed: npt.NDArray[np.floating[Any]] = average @ Z
    return guessed


@dataclass(frozen=True)
class Regressor:
    """Stage 4: learns the map from features to the embedding, from labelled samples or from all.

    Attributes
    ----------
    ridge, l1 : float
        Penalties, see `fit_regressor`.
    unlabelled_share : float
        With samples that have no labels a second map is learned, from all samples, the others where the first
        one puts them; this is how much it counts in the mean of the two. Alone it would be surer of the first
        label and poorer in others.
    """

    ridge: float
    l1: float
    unlabelled_share: float = 0.0

    def __call__(
        self, X: sparse.csr_matrix, Z: npt.NDArray[np.floating[Any]], others: sparse.csr_matrix
    ) -> npt.NDArray[np.float32]:
        """The map of shape (n_features, dimension)."""
        first = fit_regressor(X, Z, self.ridge, self.l1)
        if self.unlabelled_share == 0 or others.shape[0] == 0:
            return first
        everyone = sparse.vstack([X, others], format="csr")
        second = fit_regressor(everyone, np.vstack([Z, guessed_embedding(first, X, Z, others)]), self.ridge, self.l1)
        return np.float32(1 - self.unlabelled_share) * first + np.float32(self.unlabelled_share) * second
