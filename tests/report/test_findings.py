"""Curves, labels and examples against small evaluations worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.samples import evaluation
from tacit.evaluation.metrics import label_set_scores
from tacit.report import findings
from tacit.report.findings import examples, operating_points, reliability

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
    point, none = operating_points(curve, [0.65, 0.95])
    assert point[1:] == pytest.approx((1, 3 / 5, 3 / 4))
    assert point.f1 == pytest.approx(0.75)
    assert none == (0.95, 0, 0, 0)
    assert none.f1 == 0


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_a_threshold_gives_what_label_sets_say(seed, threshold):
    rng = np.random.default_rng(seed)
    ranked = [
        sorted(((label, round(rng.random(), 1)) for label in rng.permutation(6)[:4]), key=lambda pair: -pair[1])
        for _ in range(8)
    ]
    truth = [[0], *(rng.permutation(6)[: rng.integers(0, 4)].tolist() for _ in range(7))]
    found = evaluation(ranked, truth, counts=[1] * 6, threshold=threshold)
    expected = label_set_scores(found.truth, found.suggested)
    (place,) = operating_points(found.curve, [threshold])
    assert place[1:3] == pytest.approx(expected[:2])
    assert place.f1 == pytest.approx(expected.f1)
    assert place.labels == pytest.approx(found.suggested.nnz / 8)


def test_reliability_of_probabilities_that_are_true():
    rng = np.random.default_rng(0)
    probabilities = np.sort(rng.random((2000, 5)))[:, ::-1]
    is_true = rng.random((2000, 5)) < probabilities
    ranked = [list(enumerate(row)) for row in probabilities.tolist()]
    truth = [np.flatnonzero(row).tolist() for row in is_true]
    found = reliability(evaluation(ranked, truth, counts=[9] * 5))
    assert len(found.bins) == 15
    assert {part.size for part, _ in found.bins} <= {666, 667}
    assert found.error < 0.03
    assert sum(low <= part.probability <= high for part, (low, high) in found.bins) >= 12
    weighted = sum(part.size * abs(part.probability - part.rate) for part, _ in found.bins) / 10_000
    assert found.error == pytest.approx(weighted)


def test_few_suggestions_make_few_bins(small):
    bins = reliability(small).bins
    assert sum(part.size for part, _ in bins) == 7
    assert all(0 <= low <= part.rate <= high <= 1 for part, (low, high) in bins)


def test_best_and_worst_labels(small):
    ends = findings.extremes(small)
    assert [score.label for score in ends.best] == [0, 1]
    assert ends.best[0].n_positives == 2
    assert ends.best[0][2:] == pytest.approx((2 / 3, 1, 0.8))
    assert [score.label for score in ends.worst] == [2, 3]
    assert ends.worst[0].f1 == 0
    assert ends.worst[0].precision is None  # never suggested
    assert (ends.n_positives, ends.n_labels) == (1, 4)


def test_a_label_is_never_both_best_and_worst():
    for n_labels in (1, 2, 3, 25):
        ranked = [[(label, 0.9)] for label in range(n_labels)]
        ends = findings.extremes(evaluation(ranked, [[label] for label in range(n_labels)], counts=[1] * n_labels))
        best, worst = ({score.label for score in scores} for scores in (ends.best, ends.worst))
        assert not best & worst
        assert len(best | worst) == min(n_labels, 20)


def test_labels_with_few_positives_stay_out_where_there_are_enough_others():
    ranked = [[(label, 0.9)] for label in range(25) for _ in range(10)] + [[(25, 0.9)]]
    truth = [[label] for label in range(25) for _ in range(10)] + [[25]]
    ends = findings.extremes(evaluation(ranked, truth, counts=[1] * 26))
    assert (ends.n_positives, ends.n_labels) == (10, 25)


def test_confused_pairs(small):
    assert findings.confusions(small) == [(0, 2, 1, 1)]  # sample 3; sample 2 reaches no suggestion


def test_frequent_confusions_come_first():
    ranked = [[(0, 0.9)], [(0, 0.9)], [(1, 0.9)], [(2, 0.9)]]
    found = findings.confusions(evaluation(ranked, [[1], [1], [0], [2]], counts=[1, 1, 1]))
    assert found == [(0, 1, 2, 2), (1, 0, 1, 1)]


def test_examples_are_of_three_kinds_and_none_comes_twice():
    ranked = [[(row % 4, 0.9 - row / 100), (4, 0.1)] for row in range(40)]
    truth = [[row % 4] if row % 2 else [5] for row in range(40)]
    shown = examples(evaluation(ranked, truth, counts=[50, 5, 40, 30, 3, 1]))
    assert [len(group) for group in shown.values()] == [6, 2, 2]  # a label once each
    rows = [example.row for group in shown.values() for example in group]
    assert len(set(rows)) == len(rows)
    assert [example.suggested[0].label for example in shown["Rare labels that were found"]] == [1, 3]
    wrong = shown["Confident mistakes"][0]
    assert not wrong.suggested[0].is_right
    assert wrong.missed == [5]
    assert wrong.text == ""


def test_samples_without_labels_are_no_examples(small):
    found = evaluation([[(0, 0.9)]] * 3, [[], [0], []], counts=[1])
    assert [example.row for example in examples(found)["At random"]] == [1]


def test_examples_tell_which_suggestions_reach_the_threshold():
    found = examples(evaluation([[(0, 0.9), (1, 0.5), (2, 0.49)]], [[0, 2]], counts=[3, 2, 1]))
    (sample,) = found["At random"]
    assert [(each.label, each.is_right, each.is_chosen) for each in sample.suggested] == [
        (0, True, True),
        (1, False, True),
        (2, True, False),
    ]
