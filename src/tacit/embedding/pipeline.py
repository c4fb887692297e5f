"""The pipeline that all models of this family share: partition, embed, regress, vote.

A learner is one partition of the training samples. A cell is one trained cluster of it, and the unit of work. Models
differ in how a cell learns its map from features to the embedding.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from tacit.arrays import Floats, Floats32, Ids, Ints32, Mask
from tacit.core.base import Estimator, Idf, Link
from tacit.core.checks import as_count
from tacit.core.features import FeatureMatrix, compacted, stack_rows
from tacit.core.labels import positives
from tacit.core.parameters import Range, Tune
from tacit.core.ranking import Ranking
from tacit.embedding.neighbors import (
    Neighbors,
    Panel,
    embedded_neighbors,
    merged_neighbors,
    unit_vectors,
    vote,
    vote_weights,
)
from tacit.embedding.partition import fit_partition, nearest_clusters
from tacit.numerics.compact import as_halves
from tacit.numerics.ridge import fit_regressor
from tacit.runtime.tasks import run_tasks, task_seeds
from tacit.store.declared import Array, Csr, Items

Embedded = tuple[Floats, Floats | None]  # vectors of samples and, in some models, of labels
FeatureMap = tuple[Floats32, Floats | None]  # weights (n_features, dimension) and, in some models, vectors of labels
Probe = tuple[list[tuple["Cell", Ids]], Floats32]  # cells with the rows sent to them, and a weight for each row

#: What the models of the ExMLDS paper share: they take dimension, partitions and regressor from SLEEC, whose settings
#: for small data sets these are. The penalties of the regressor and the number of neighbours are not printed.
PRINTED = {"n_learners": 15, "dimension": 100, "n_probes": 1, "vote_power": 0.0, "l1": 0.01, "idf": False}

_GUESS_NEIGHBORS = 10  # labelled samples that place an unlabelled one
_GUESS_POWER = 6.0


@dataclass(frozen=True, eq=False)
class Cell:
    """A trained cluster: its samples, the map from features to the embedding, and the images of the samples.

    The map is by far the largest part of a model, so it is kept at half precision where the values allow it. Images are
    unit vectors; embedded labels are columns.
    """

    samples: Annotated[Ints32, Array("int32", ("n_points",), below="n_samples", is_filled=True)]
    weights: Annotated[npt.NDArray[np.floating[Any]], Array("float16 float32", ("n_features", "dimension"))]
    points: Annotated[Floats32, Array("float32", ("n_points", "dimension"))]
    label_points: Annotated[Floats32 | None, Array("float32", ("dimension", "n_labels"))]

    def neighbors(self, X: FeatureMatrix, k: int) -> Neighbors:
        """The nearest of its training samples (ExMLDS Algorithm 1, step 3)."""
        near = embedded_neighbors(self.embed(X), self.points, k)
        return Neighbors(self.samples[near.samples], near.similarities)

    def embed(self, X: FeatureMatrix) -> Floats32:
        """The images of samples under the map (ExMLDS Algorithm 1, step 2), as unit vectors."""
        return unit_vectors(_mapped(X, self.weights))


def _mapped(X: FeatureMatrix, weights: npt.NDArray[np.floating[Any]]) -> Floats32:
    used, compact = compacted(X)  # few features for a single sample: only their weights are converted
    mapped: Floats32 = compact @ weights[used].astype(np.float32, copy=False)
    return mapped


@dataclass(frozen=True, eq=False)
class Learner:
    """One partition of the training samples with a trained cell for each cluster."""

    centers: Annotated[Floats32, Array("float32", ("n_cells", "n_features"))]
    cells: Annotated[list[Cell], Items("n_cells", is_filled=True)]


def fit_cell(
    model: NeighborModel,
    X: FeatureMatrix,
    Y: sparse.csr_matrix,
    samples: Ints32,
    others: Ints32,
    seed: int,
    **data: Any,
) -> Cell:
    """A task: learn the map of a cluster, then embed its samples by that map."""
    features = X[samples]
    learned, embedded_labels = model._learn_map(features, Y[samples], seed, others=X[others], **data)
    weights = as_halves(learned)
    # Neighbours are searched among the regressed samples, z_i = g(x_i) (ExMLDS Eq. 1), not among their embeddings: a
    # new sample is regressed too, so both sides carry the same error.
    points = unit_vectors(_mapped(features, weights))
    labels = None if embedded_labels is None else np.ascontiguousarray(embedded_labels.T, np.float32)
    return Cell(samples, weights, points, labels)


@dataclass(kw_only=True, eq=False, repr=False)
class NeighborModel(Estimator):
    """Models whose labels are voted by near samples, in the clusters of several learners."""

    idf: Idf = None
    normalize: Annotated[bool, "divide rows of X by their length"] = True
    n_learners: Annotated[int, Range(low=1), "partitions that vote (one where a cluster holds all samples)"] = 5
    max_cluster: Annotated[int, Range(low=2), "largest number of samples in a cluster"] = 6000
    dimension: Annotated[int, Range(low=1), Tune(50, 400), "length of the embedded vectors"] = 150
    n_probes: Annotated[int, Range(low=1), "nearest clusters that a sample is sent to in each learner"] = 2
    n_neighbors: Annotated[int, Range(low=1), Tune(5, 100), "near samples that vote in each cluster"] = 30
    vote_power: Annotated[float, Range(low=0, high=1000), Tune(1, 20), "power of similarity in votes (0: equal)"] = 6.0

    takes_dense: ClassVar[bool] = True
    _differs_by_seed: ClassVar[bool] = False  # whether learners differ where one cluster holds all samples

    learners_: Annotated[list[Learner], Items("n_cast", is_filled=True)] = field(init=False)
    training_labels_: Annotated[sparse.csr_matrix, Csr("float32", ("n_samples", "n_labels"))] = field(init=False)

    @abstractmethod
    def _learn_map(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int, **data: Any) -> FeatureMap:
        """Stages 2 to 4 for one cluster: the map from features to the embedding, and in some models embedded labels.

        Every sample of X has a label; `data` is what `_fit` got, and `others`, features of samples without labels.
        """

    def _fit(self, X: FeatureMatrix, Y: sparse.csr_matrix, **data: Any) -> None:
        """Stage 1, the partitions, and then a task for each of their clusters."""
        Y = positives(Y)
        is_labelled = np.diff(Y.indptr) > 0
        labelled, others = (np.flatnonzero(rows).astype(np.int32) for rows in (is_labelled, ~is_labelled))
        is_cut = len(labelled) > self.max_cluster
        n_learners = self.n_learners if is_cut or self._differs_by_seed else 1
        seeds = task_seeds(self.random_state, 2 * n_learners)
        shared: dict[str, Any] = {"X": X, "labelled": labelled}
        shared["others"] = others if self._unlabelled_share() > 0 else others[:0]
        shared |= {"max_cluster": self.max_cluster, **(self._cut_options(Y[labelled]) if is_cut else {})}
        cut_tasks = [{"seed": seed} for seed in seeds[:n_learners]]
        partitions = run_tasks(fit_partition, cut_tasks, n_jobs=self.n_jobs, what="partitions", **shared)
        tasks = [
            {"samples": samples, "others": rest, "seed": seed}
            for cut, of_cut in zip(partitions, seeds[n_learners:], strict=True)
            for samples, rest, seed in zip(cut.clusters, cut.others, task_seeds(of_cut, len(cut.clusters)), strict=True)
        ]
        shared = {"model": clone(self), "X": X, "Y": Y, **data}
        cells = iter(run_tasks(fit_cell, tasks, n_jobs=self.n_jobs, what="clusters", **shared))
        self.learners_ = [Learner(cut.centers, [next(cells) for _ in cut.clusters]) for cut in partitions]
        self.training_labels_ = Y

    def _cut_options(self, Y: sparse.csr_matrix) -> dict[str, Any]:  # noqa: ARG002
        """Arguments of `fit_partition` by which labelled samples with labels Y are not cut by their features."""
        return {}

    def _unlabelled_share(self) -> float:
        """The weight of the map that samples without labels help to learn."""
        return 0.0

    @property
    def _link(self) -> Link | None:
        return "identity"  # the fraction of the near samples that have a label

    def _rank(self, X: FeatureMatrix, k: int, allowed: Mask | None) -> Ranking:
        return vote(self._panels(X), self.vote_power, self.training_labels_, k, allowed, self._label_weights())

    def _label_weights(self) -> Floats32 | None:
        """How much a vote for each label counts; None where all count alike."""
        return None

    def neighbors(self, X: Any, k: int = 5) -> Neighbors:
        """The `k` training samples that count most in the ranking of each sample.

        Similarities are cosines in the embedded space, averaged over the learners; a learner that does not find a
        sample among the nearest contributes 0. Where fewer than `k` samples vote, the rest is -1 and -inf.
        """
        self._check_fitted()
        k = as_count(k, "k")
        return merged_neighbors(self._panels(self._features(X)), self.n_samples_, k)

    def _panels(self, X: FeatureMatrix) -> list[Panel]:
        """The nearest training samples in the cells of each row (ExMLDS Algorithm 1, step 3)."""
        panels = []
        for cells, weight in self._probes(X):
            width = min(self.n_neighbors, max((len(cell.samples) for cell, _ in cells), default=0))
            samples = np.full((X.shape[0], width), -1, np.int32)
            similarities = np.full((X.shape[0], width), -np.inf, np.float32)
            for cell, rows in cells:
                near = cell.neighbors(X[rows], width)
                n_found = near.samples.shape[1]
                samples[rows, :n_found], similarities[rows, :n_found] = near.samples, near.similarities
            panels.append(Panel(Neighbors(samples, similarities), weight))
        return panels

    def _probes(self, X: FeatureMatrix) -> Iterator[Probe]:
        """For each learner, the nearest cell of every row, then the second nearest, ..., with weights that sum to 1."""
        # Differs from the paper, which has one cluster: a sample near the border of two is sent to both. It costs no
        # training and gains as much as two more learners on Delicious.
        for learner in self.learners_:
            nearest, similarities = nearest_clusters(X, learner.centers, self.n_probes)
            weights = vote_weights(similarities, self.vote_power) / np.float32(len(self.learners_))
            for column, weight in zip(nearest.T, weights.T, strict=True):
                yield [(learner.cells[cell], np.flatnonzero(column == cell)) for cell in np.unique(column)], weight


@dataclass(kw_only=True, eq=False, repr=False)
class EmbeddingModel(NeighborModel):
    """Models that embed samples by their labels, then regress features onto the embedding; each adds its embedding.

    Differs from the paper, which has an ℓ1 penalty and so ADMM (Algorithm 2, step 4): without it (``l1=0``) the
    regressor is found in one solve, and is at least as accurate.
    """

    ridge: Annotated[float, Range(above=0), Tune(0.05, 20), "penalty on the squared size of the regressor"] = 1.0
    l1: Annotated[float, Range(low=0), "penalty on the absolute size of its predictions (paper: above 0)"] = 0.0

    @abstractmethod
    def _embed(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int, **data: Any) -> Embedded:
        """Stages 2 and 3: vectors of the samples of a cluster, all with a label, and in some models of the labels."""

    def _learn_map(self, X: FeatureMatrix, Y: sparse.csr_matrix, seed: int, **data: Any) -> FeatureMap:
        Z, labels = self._embed(X, Y, seed, **data)
        return regress(X, Z, data["others"], self.ridge, self.l1, self._unlabelled_share()), labels


def regress(
    X: FeatureMatrix, Z: Floats, others: FeatureMatrix, ridge: float, l1: float, unlabelled_share: float
) -> Floats32:
    """Stage 4: the map from features to the embedding Z, of shape (n_features, dimension).

    With samples that have no labels (`others`) a second map is learned from all samples, in which the others are
    placed by the first map. The result is the mean of both maps, in which the second has the weight
    `unlabelled_share`. The second map alone has a better first label but poorer further ones.
    """
    first = fit_regressor(X, Z, ridge, l1)
    if unlabelled_share == 0 or others.shape[0] == 0:
        return first
    placed = np.vstack([Z, guessed_embedding(first, X, Z, others)])
    second = fit_regressor(stack_rows([X, others]), placed, ridge, l1)
    return np.float32(1 - unlabelled_share) * first + np.float32(unlabelled_share) * second


def guessed_embedding(weights: Floats32, X: FeatureMatrix, Z: Floats, others: FeatureMatrix) -> Floats:
    """Embed `others` as the mean embedding of the samples X that are nearest to them under the map `weights`."""
    near = embedded_neighbors(unit_vectors(others @ weights), unit_vectors(X @ weights), _GUESS_NEIGHBORS)
    shares = vote_weights(near.similarities, _GUESS_POWER)
    indptr = np.arange(0, shares.size + 1, shares.shape[1])
    average = sparse.csr_matrix((shares.ravel(), near.samples.ravel(), indptr), shape=(others.shape[0], len(Z)))
    guessed: Floats = average @ Z
    return guessed
