"""Curves, labels and examples against small evaluations worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from report.samples import evaluation
from tacit.report.findings import examples, extremes, reliability

RANKED = [[(0, 0.9), (1, 0.6)], [(1, 0.8), (0, 0.7)], [(2, 0.4)], [(0, 0.6), (2, 0.3)]]
TRUTH = [[0], [0, 1], [3], [2]]


@pytest.fixture
def small():
    return evaluation(RANKED, TRUTH, counts=[40, 20, 5, 0])


def test_precision_and_recall_over_thresholds(small):
    curve = small.curve
    assert curve.thresholds == pytest.approx([np.inf, 0.9, 0.8, 0.7, 0.6, 0.4, 0.3])
    assert curve.precision == pytest.approx([0, 1, 1, 1, 3 / 5, 3 / 6, 4 / 7])
    assert curve.recall == pytest.approx(np.array([0, 1, 2, 3, 3, 3, 4]) / 5)
    assert curve.labels == pytest.approx(np.array([0, 1, 2, 3, 5, 6, 7]) / 4)
    assert curve.at(0.65) == pytest.approx((1, 3 / 5, 3 / 4))
    assert curve.at(0.95) == (0, 0, 0)


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_a_threshold_gives_what_label_sets_say(seed, threshold):
    rng = np.random.default_rng(seed)
    ranked = [
        sorted(((label, round(rng.random(), 1)) for label in rng.permutation(6)[:4]), key=lambda pair: -pair[1])
        for _ in range(8)
    ]
    truth = [[0], *(rng.permutation(6)[: rng.integers(0, 4)].tolist() for _ in range(7))]
    found = evaluation(ranked, truth, counts=[1] * 6, threshold=threshold)
    suggested = np.zeros((8, 6))
    rows, places = np.nonzero(found.ranking.scores >= threshold)
    suggested[rows, found.ranking.labels[rows, places]] = 1
    expected = precision_recall_fscore_support(found.truth.toarray(), suggested, average="micro", zero_division=0)
    assert found.curve.at(threshold) == pytest.approx((*expected[:2], suggested.sum() / 8))


def test_reliability_of_probabilities_that_are_true():
    rng = np.random.default_rng(0)
    probabilities = np.sort(rng.random((2000, 5)))[:, ::-1]
    is_true = rng.random((2000, 5)) < probabilities
    ranked = [list(enumerate(row)) for row in probabilities.tolist()]
    truth = [np.flatnonzero(row).tolist() for row in is_true]
    bins, error = reliability(evaluation(ranked, truth, counts=[9] * 5))
    assert len(bins) == 15
    assert {part.size for part, _ in bins} <= {666, 667}
    assert error < 0.03
    assert sum(low <= part.probability <= high for part, (low, high) in bins) >= 12
    assert error == pytest.approx(sum(part.size * abs(part.probability - part.rate) for part, _ in bins) / 10_000)


def test_few_suggestions_make_few_bins(small):
    bins, _ = reliability(small)
    assert sum(part.size for part, _ in bins) == 7
    assert all(0 <= low <= part.rate <= high <= 1 for part, (low, high) in bins)


def test_best_and_worst_labels(small):
    best, worst, enough = extremes(small)
    assert [score.label for score in best] == [0, 1]
    assert best[0].n_positives == 2
    assert best[0][2:] == pytest.approx((2 / 3, 1, 0.8))
    assert [(score.label, score.f1, score.precision) for score in worst] == [(2, 0, None), (3, 0, None)]
    assert enough == 1


@pytest.mark.parametrize("n_labels", [1, 2, 3, 25])
def test_a_label_is_never_both_best_and_worst(n_labels):
    ranked = [[(label, 0.9)] for label in range(n_labels) for _ in range(10)] + [[(n_labels, 0.9)]]
    truth = [[label] for label in range(n_labels) for _ in range(10)] + [[n_labels]]
    best, worst, enough = extremes(evaluation(ranked, truth, counts=[1] * (n_labels + 1)))
    assert not {score.label for score in best} & {score.label for score in worst}
    assert (len(best) + len(worst), enough) == ((20, 10) if n_labels == 25 else (n_labels + 1, 1))


def test_examples_are_of_three_kinds_and_none_comes_twice():
    ranked = [[(row % 4, 0.9 - row / 100), (4, 0.1)] for row in range(40)]
    truth = [[row % 4] if row % 2 else [] if row % 4 else [5] for row in range(40)]
    found = evaluation(ranked, truth, counts=[50, 5, 40, 30, 3, 1])
    shown = examples(found)
    assert [len(group) for group in shown.values()] == [6, 4, 4]
    rows = [row for group in shown.values() for row in group]
    assert len(set(rows)) == len(rows)
    assert all(truth[row] for row in shown["At random"])
    assert {row % 4 for row in shown["Rare labels that were found"]} == {1}
    assert not any(found.hits[row, 0] for row in shown["Confident mistakes"])
