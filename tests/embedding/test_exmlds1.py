"""ExMLDS1 as printed; accuracy is in test_pipeline."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from planted import N_LABELS, planted
from reference import exmlds as reference
from reference.sppmi import sppmi


def test_the_printed_embedding_is_the_svd_of_the_sppmi_of_all_samples():
    X, Y = planted(40)
    Z, _ = tacit.ExMLDS1.paper(dimension=60, shift=1.2)._embed(X, Y, 0)
    expected = reference.factors(sppmi((Y @ Y.T).toarray(), 1.2), 40)
    assert pytest.approx(expected @ expected.T, abs=1e-4) == Z @ Z.T


def test_the_printed_ranking_is_algorithm_1():
    X, Y = planted()
    queries = planted(20, seed=1).X
    model = tacit.ExMLDS1.paper(max_cluster=70, n_learners=2, n_neighbors=7).fit(X, Y)
    expected = np.zeros((20, N_LABELS))
    for learner in model.learners_:
        for row, query in enumerate(queries.toarray()):
            cell = learner.cells[int(np.argmax(learner.centers @ query))]
            maps = cell.weights.astype(float)
            points, labels = X[cell.samples].toarray() @ maps, Y[cell.samples].toarray()
            expected[row] += reference.mean_labels(query @ maps, points, labels, 7) / 2
    assert len(model.learners_[0].cells) > 1
    assert model.decision_function(queries).clip(0) == pytest.approx(expected, abs=1e-5)
