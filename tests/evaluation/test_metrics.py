from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import f1_score

from reference import metrics as reference
from tacit.core.ranking import Ranking
from tacit.errors import DataError, ParameterError
from tacit.evaluation.metrics import bootstrap_intervals, evaluate, evaluate_sets
from tacit.evaluation.propensity import propensities


def ranking_of(labels) -> Ranking:
    labels = np.asarray(labels, dtype=np.int32)
    places = np.broadcast_to(-np.arange(labels.shape[1], dtype=np.float32), labels.shape)
    return Ranking(labels, np.where(labels < 0, -np.inf, places))


def random_case(seed, n=30, n_labels=12, k=6):
    """Ranking with pads, labels with empty rows and stored zeros, propensities per entry."""
    rng = np.random.default_rng(seed)
    labels = np.argsort(rng.random((n, n_labels)), axis=1)[:, :k]
    filled = rng.integers(0, k + 1, size=n)
    labels[np.arange(k) >= filled[:, None]] = -1
    truth = rng.choice([0.0, 1.0, 2.0], size=(n, n_labels), p=[0.5, 0.3, 0.2])
    truth[rng.random(n) < 0.2] = 0.0
    Y = sparse.csr_matrix(np.where(truth == 2, 5.0, truth))
    Y.data[Y.data == 5.0] = 0.0  # a stored zero
    truth[truth == 2] = 0.0
    return ranking_of(labels), Y, truth, rng.uniform(0.05, 1, size=(n, n_labels))


def random_ranking_and_labels(n=200, n_labels=30, k=5, seed=0):
    """Rankings that are right more often than by chance."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, n_labels)) < 0.4 / np.arange(1, n_labels + 1) ** 0.5).astype(float)
    return ranking_of(np.argsort(-(Y + 2 * rng.random(Y.shape)), axis=1)[:, :k]), Y


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    n_labels=st.integers(1, 9),
    places=st.integers(1, 9),
    ks=st.lists(st.integers(1, 11), min_size=1, max_size=4, unique=True),
    form=st.sampled_from(["none", "label", "dense", "sparse"]),
)
def test_agrees_with_the_reference(seed, n, n_labels, places, ks, form):
    ranking, Y, truth, probabilities = random_case(seed, n, n_labels, min(places, n_labels))
    if form == "label":
        probabilities = np.broadcast_to(probabilities[0], truth.shape)
    given_as = {"none": None, "label": probabilities[0], "dense": probabilities}
    given_as["sparse"] = sparse.csr_matrix(np.where(truth == 1, probabilities, 0))
    expected = reference.evaluate(
        ranking.labels.tolist(), truth.tolist(), None if form == "none" else probabilities.tolist(), ks
    )
    values = evaluate(ranking, Y, given_as[form], ks)
    assert values.keys() == expected.keys()
    for name, value in values.items():
        assert value == pytest.approx(expected[name], abs=1e-9), name
        assert 0 <= value <= 1


def test_by_hand():
    ranking = ranking_of([[0, 1, 2], [3, -1, -1], [1, 0, 2]])
    Y = np.array([[1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    values = evaluate(ranking, Y, np.array([0.5, 1, 0.25, 1]), ks=(1, 3))
    discount = 1 / np.log2([2, 3, 4])
    assert values["P@1"] == pytest.approx(2 / 3)
    assert values["P@3"] == pytest.approx((2 + 1 + 0) / 9)
    assert values["nDCG@3"] == pytest.approx(((discount[0] + discount[2]) / (discount[0] + discount[1]) + 1) / 3)
    assert values["R@1"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert values["C@1"] == pytest.approx(2 / 3)
    assert values["PSP@1"] == pytest.approx((2 + 1) / (4 + 1))
    assert values["PSnDCG@3"] == pytest.approx(
        ((2 * discount[0] + 4 * discount[2]) / (discount[0] + discount[1]) + 1)
        / ((4 * discount[0] + 2 * discount[1]) / (discount[0] + discount[1]) + 1)
    )


def test_samples_without_relevant_labels_count_as_zero():
    ranking, Y = random_ranking_and_labels(50)
    doubled = Ranking.concatenate([ranking, ranking])
    with_empty = evaluate(doubled, np.vstack([Y, np.zeros_like(Y)]))
    for name, value in evaluate(ranking, Y).items():
        assert with_empty[name] == pytest.approx(value if name.startswith("C") else value / 2)


def test_places_a_ranking_does_not_have_are_no_hits():
    ranking, Y = random_ranking_and_labels(k=2)
    padded = ranking_of(np.pad(ranking.labels, ((0, 0), (0, 3)), constant_values=-1))
    assert evaluate(ranking, Y, ks=(1, 5)) == evaluate(padded, Y, ks=(1, 5))
    assert evaluate(ranking, Y, ks=(5,))["P@5"] == pytest.approx(evaluate(ranking, Y, ks=(2,))["P@2"] * 2 / 5)


@pytest.mark.parametrize(
    ("labels", "Y", "probabilities", "message"),
    [
        ([[0], [1]], np.eye(3), None, "ranking has 2 samples and Y_test 3"),
        (np.zeros((0, 1)), np.zeros((0, 3)), None, "at least 1"),
        ([[0], [1], [3]], np.eye(3), None, "labels below 3.*row 2 holds 3"),
        ([[0], [-2], [1]], np.eye(3), None, "row 1 holds -2"),
        ([[0, 1], [2, 2], [1, 0]], np.eye(3), None, "row 1 repeats 2"),
        ([[0], [1], [2]], np.eye(3), np.ones(2), r"got shape \(2,\)"),
        ([[0], [1], [2]], np.eye(3), np.zeros(3), r"\(0, 1\]"),
    ],
)
def test_what_does_not_fit_is_refused(labels, Y, probabilities, message):
    with pytest.raises(DataError, match=message):
        evaluate(ranking_of(labels), Y, probabilities)


@pytest.mark.parametrize("ks", [(), (0,), (1, -3), (1.5,), 5, "13", (True,)])
def test_ks_that_are_no_positive_integers_are_refused(ks):
    ranking, Y = random_ranking_and_labels(5)
    with pytest.raises(ParameterError, match="ks must be"):
        evaluate(ranking, Y, ks=ks)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_label_sets_agree_with_scikit_learn(container):
    rng = np.random.default_rng(0)
    Y_true, Y_pred = (rng.random((2, 50, 8)) < 0.2).astype(int)
    Y_true[:, 0] = Y_pred[:, 1] = Y_true[:, 2] = Y_pred[:, 2] = 0
    expected = {f"{mean}F1": f1_score(Y_true, Y_pred, average=mean, zero_division=0) for mean in ("micro", "macro")}
    assert evaluate_sets(container(Y_true), container(Y_pred)) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(DataError, match=r"Y_true has shape \(2, 2\) but Y_pred \(3, 3\)"):
        evaluate_sets(np.eye(2), np.eye(3))


def test_intervals_hold_the_values_and_repeat_by_seed():
    ranking, Y = random_ranking_and_labels(400)
    probabilities = propensities(Y)
    values = evaluate(ranking, Y, probabilities)
    intervals = bootstrap_intervals(ranking, Y, probabilities, seed=1)
    assert intervals.keys() == {name for name in values if not name.startswith("C")}
    assert all(low < values[name] < high for name, (low, high) in intervals.items())
    assert bootstrap_intervals(ranking, Y, probabilities, seed=1) == intervals
    assert bootstrap_intervals(ranking, Y, probabilities, seed=2) != intervals


def test_the_interval_of_a_mean_of_hits_is_binomial():
    Y = np.zeros((1000, 1))
    Y[:300] = 1
    ranking = ranking_of(np.zeros((1000, 1)))
    low, high = bootstrap_intervals(ranking, Y, ks=(1,), n_bootstrap=2000)["P@1"]
    error = np.sqrt(0.3 * 0.7 / 1000)
    assert (low, high) == pytest.approx((0.3 - 1.96 * error, 0.3 + 1.96 * error), abs=error / 4)
    with pytest.raises(ParameterError, match="n_bootstrap must be at least 1; got 0"):
        bootstrap_intervals(ranking, Y, n_bootstrap=0)
