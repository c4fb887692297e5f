"""What ExMLDS1 promises beyond the contract of all models."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from planted import N_LABELS, planted
from reference import exmlds as reference
from reference.sppmi import sppmi
from tacit.errors import ParameterError

X, Y = planted()


def precision(model):
    test = planted(seed=1)
    return tacit.evaluate(model.fit(X, Y).rank(test.X, k=1), test.Y, ks=(1,))["P@1"]


def test_the_singular_value_decomposition_finds_the_planted_labels():
    assert precision(tacit.ExMLDS1(dimension=20, eigenvalues="all")) > 0.9


SOME = planted(40)


def test_the_printed_embedding_is_the_svd_of_the_sppmi_of_all_samples():
    M = (SOME.Y @ SOME.Y.T).toarray()
    Z, _ = tacit.ExMLDS1.paper(dimension=60, shift=1.2)._embed(SOME.X, SOME.Y, 0)
    expected = reference.factors(sppmi(M, 1.2), 40)
    assert pytest.approx(expected @ expected.T, abs=1e-4) == Z @ Z.T


def test_nce_is_the_svd_of_log_conditional_probabilities():
    M = (SOME.Y @ SOME.Y.T).toarray()
    Z, _ = tacit.ExMLDS1(objective="nce", shift=0.01, dimension=60)._embed(SOME.X, SOME.Y, 0)
    expected = reference.factors(reference.log_conditional(M, 0.01), 40)
    assert pytest.approx(expected @ expected.T, abs=1e-2) == Z @ Z.T
    assert precision(tacit.ExMLDS1(objective="nce", shift=0.001, dimension=20)) > 0.9


def test_nce_without_a_shift_is_refused():
    with pytest.raises(ParameterError, match="objective 'nce' needs a shift below 1"):
        tacit.ExMLDS1(objective="nce").fit(X, Y)


def test_the_printed_ranking_is_algorithm_1():
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


@pytest.mark.real_data
@pytest.mark.slow
def test_accuracy_on_bibtex(real_data):
    train, test = (tacit.load_data(real_data / "bibtex" / f"{part}.txt") for part in ("train", "test"))
    metrics = tacit.evaluate(tacit.ExMLDS1().fit(train.X, train.Y).rank(test.X), test.Y)
    assert all(100 * metrics[f"P@{k}"] >= floor for k, floor in zip((1, 3, 5), (65.4, 38.8, 28.4), strict=True))
