"""Trees over labels: linear classifiers choose among clusters of labels, then among the labels of the best ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from scipy import sparse

from tacit.base import Estimator, Mask
from tacit.labels import positives
from tacit.linear.label_clusters import LabelClusters, cluster_labels, label_centres
from tacit.linear.label_forest import MOST_LOGS, LabelForest
from tacit.linear.label_nodes import NodeOptions, even_groups, nodes_of, train_nodes
from tacit.numerics.classifiers import LOSSES, POSITIVES, objective_of
from tacit.numerics.rows import unit_rows
from tacit.parameters import OneOf, Range, Tune, document_parameters
from tacit.propensity import propensities_from_counts
from tacit.ranking import Ranking
from tacit.store.declared import Sizes
from tacit.tasks import run_tasks, task_seeds


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class LabelTree(Estimator):
    """Linear classifiers in trees over the labels, searched with a beam.

    Labels are clustered top-down by balanced spherical k-means (Parabel, Prabhu et al. 2018; wide and shallow as in
    Bonsai, Khandagale et al. 2020). Each node has a linear classifier for every child, trained on the samples that
    have a label below the node, and a label's probability is the product along its path, averaged over trees.
    """

    n_trees: Annotated[int, Range(low=1), "trees that are averaged; time and model grow in proportion"] = 3
    arity: Annotated[int, Range(low=2, high=1 << 16), "children of an inner node at most"] = 64
    max_leaf: Annotated[int, Range(low=1, high=1 << 16), Tune(30, 300), "labels of a leaf at most"] = 100
    beam: Annotated[int, Range(low=1), "nodes of a level that are followed when ranking"] = 10
    loss: Annotated[str, OneOf(tuple(LOSSES)), "what a wrong margin costs"] = "squared_hinge"
    power: Annotated[int, Range(low=1, high=9), "probability exp(-max(0, 1 - margin)^power); not for logistic"] = 3
    C: Annotated[
        float, Range(above=0), Tune(0.05, 3), "cost of the loss against the penalty; logistic wants 1 to 3"
    ] = 0.4
    positives: Annotated[
        str,
        OneOf(POSITIVES),
        "what positives count in leaves, as many are missing: 1/propensity, an unbiased estimate, or 1",
    ] = "propensity"
    negatives: Annotated[
        float, Range(low=0), Tune(0, 3, log=False), "samples from elsewhere per sample of a node, as negatives"
    ] = 1.0
    A: Annotated[float, Range(low=0), "how fast propensity grows with a label's frequency"] = 0.55
    B: Annotated[float, Range(above=0), "shift of that growth"] = 1.5
    bias: Annotated[float, Range(low=0), "value of the constant feature; 0 for no intercept"] = 1.0
    prune: Annotated[float, Range(low=0), "weights smaller than this are dropped"] = 0.05
    dtype: Annotated[str, OneOf(("float16", "float32")), "type of the weights; float16 makes models smaller"] = (
        "float16"
    )
    tolerance: Annotated[float, Range(low=0), "training ends when no margin moves by more in a pass"] = 0.2
    max_passes: Annotated[int, Range(low=1), "passes over the samples at most"] = 50
    normalize: Annotated[bool, "scale samples to unit length"] = True

    forest_: LabelForest = field(init=False)

    def what_is_wrong(self, _: Sizes) -> tuple[str, str] | None:
        """The beams of a row need room for the widest node in each of their places."""
        forest = self.forest_
        if len(forest.level_starts) * min(self.beam, forest.n_leaves) * forest.width <= MOST_LOGS:
            return None
        found = f"{forest.n_leaves} leaves of up to {forest.width} labels"
        return "forest_.slot_starts", f"must give the beams of all trees at most {MOST_LOGS} places; got {found}"

    def _fit(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        Y = positives(Y)
        trees = self._clustered(X, Y)
        nodes = [node for tree in trees for node in nodes_of(tree)]
        seeds = task_seeds(self.random_state, self.n_trees + len(nodes))[self.n_trees :]
        groups = even_groups([self.label_counts_[node.labels].sum() * len(node.bounds) for node in nodes])
        parts = run_tasks(
            train_nodes,
            [{"nodes": nodes[group], "seeds": seeds[group]} for group in groups],
            n_jobs=self.n_jobs,
            what="groups of nodes",
            X=X,
            Y=Y.tocsc(),
            objective=objective_of(
                self.loss,
                self.positives,
                self.C,
                propensities_from_counts(self.label_counts_, self.n_samples_, self.A, self.B),
            ),
            options=NodeOptions(self.negatives, self.bias, self.prune, self.tolerance, self.max_passes, self.dtype),
        )
        self.forest_ = LabelForest.of(trees, [chunk for part in parts for chunk in part])

    def _clustered(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> list[LabelClusters]:
        centres = label_centres(X if self.normalize else unit_rows(X), Y, self.n_jobs)
        return run_tasks(
            cluster_labels,
            [{"seed": seed} for seed in task_seeds(self.random_state, self.n_trees)],
            n_jobs=self.n_jobs,
            what="label trees",
            labels=np.flatnonzero(self.label_counts_).astype(np.int32),
            centres=centres,
            arity=self.arity,
            max_leaf=self.max_leaf,
        )

    def _rank(self, X: sparse.csr_matrix, k: int, allowed: Mask | None) -> Ranking:
        power = 0 if self.loss == "logistic" else self.power
        mask = np.ones(len(self.classes_), dtype=np.bool_) if allowed is None else allowed
        return self.forest_.rank(X, k, mask, self.beam, power)
