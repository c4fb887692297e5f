from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.core.ranking import Ranking
from tacit.errors import DataError
from tacit.evaluation.bands import evaluate_by_band

COUNTS = np.array([0, 1, 5, 6, 20, 21, 100, 101, 5000, 0])


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    Y = (rng.random((120, 10)) < 0.25).astype(float)
    Y[:10] = 0
    labels = np.argsort(-(Y + 1.5 * rng.random(Y.shape)), axis=1)[:, :5].astype(np.int32)
    labels[::7, 3:] = -1
    return Ranking(labels, np.zeros(labels.shape, np.float32)), Y


def test_recall_of_each_band(case):
    ranking, Y = case
    bands = evaluate_by_band(ranking, sparse.csr_matrix(Y), COUNTS)
    members = [{0, 9}, {1, 2}, {3, 4}, {5, 6}, {7, 8}]
    assert [band.name for band in bands] == ["unseen", "1-5", "6-20", "21-100", ">100"]
    for band, labels in zip(bands, members, strict=True):
        positives = [(row, label) for row, label in np.argwhere(Y).tolist() if label in labels]
        assert (band.n_labels, band.n_positives) == (len(labels), len(positives))
        expected = {
            f"R@{k}": np.mean([label in ranking.labels[row, :k] for row, label in positives]) for k in (1, 3, 5)
        }
        assert band.values == pytest.approx(expected, abs=1e-12)
        assert band.intervals.keys() == expected.keys()
        assert all(low < band.values[name] < high for name, (low, high) in band.intervals.items())
    assert bands == evaluate_by_band(ranking, Y, COUNTS)
    assert bands != evaluate_by_band(ranking, Y, COUNTS, seed=1)


def test_a_band_without_positives_is_zero(case):
    ranking, Y = case
    unseen, *_ = evaluate_by_band(ranking, Y, np.full(10, 7))
    assert (unseen.n_labels, unseen.n_positives) == (0, 0)
    assert set(unseen.values.values()) == {0.0}
    assert set(unseen.intervals.values()) == {(0.0, 0.0)}


def test_resamples_without_a_positive_do_not_count():
    Y = np.zeros((3, 2))
    Y[0, 0] = 1
    ranking = Ranking(np.zeros((3, 1), np.int32), np.zeros((3, 1), np.float32))
    unseen = evaluate_by_band(ranking, Y, [0, 1], ks=(1,))[0]
    assert unseen.intervals["R@1"] == (1.0, 1.0)  # found whenever it is there


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (np.ones(3), r"shape \(10,\); got shape \(3,\)"),
        (np.full(10, -1), "at least 0"),
        (np.full(10, np.nan), "at least 0"),
        (["a"] * 10, "hold numbers"),
    ],
)
def test_counts_that_do_not_fit_are_refused(case, counts, message):
    ranking, Y = case
    with pytest.raises(DataError, match=message):
        evaluate_by_band(ranking, Y, counts)
