from __future__ import annotations

import numpy as np
import pytest

from tacit.tagger.missing_share import Omission, estimate_omission, missing_probabilities, most_missing

N_PAIRS = 40_000
COUNTS = np.array([10, 30, 100, 300, 1000])


def corpus(omission: Omission, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Certainty, whether recorded, whether true, and label of pairs; the least certain ones are wrong."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(COUNTS), N_PAIRS)
    certainty = rng.normal(size=N_PAIRS)
    is_true = rng.random(N_PAIRS) < 1 / (1 + np.exp(3 - 8 * certainty))
    is_kept = rng.random(N_PAIRS) < 1 / (1 + omission.odds(COUNTS)[labels])
    return certainty, is_true & is_kept, is_true, labels


@pytest.mark.parametrize("omission", [Omission(-2.2, 0.0), Omission(-0.8, 0.0), Omission(0.5, 0.5)])
def test_the_odds_of_omission_are_found(omission):
    certainty, recorded, _, labels = corpus(omission)
    found = estimate_omission(certainty, recorded, labels, COUNTS)
    assert found.share(COUNTS) == pytest.approx(omission.share(COUNTS), abs=0.03)
    assert found.power == pytest.approx(omission.power, abs=0.1)


def test_a_complete_corpus_lacks_nothing():
    certainty, _, is_true, labels = corpus(Omission(0.0, 0.0))
    found = estimate_omission(certainty, is_true, labels, COUNTS)
    assert found.share(COUNTS) < 0.01
    stated = missing_probabilities(certainty, is_true, labels, found.odds(COUNTS)[labels])
    assert np.sort(stated[~is_true])[-100:].sum() < 10


@pytest.mark.parametrize("omission", [Omission(-2.2, 0.0), Omission(0.5, 0.5)])
@pytest.mark.parametrize("n", [20, 100, 1000, 3000])
def test_stated_precision_is_the_true_one(omission, n):
    certainty, recorded, is_true, labels = corpus(omission)
    stated = missing_probabilities(certainty, recorded, labels, omission.odds(COUNTS)[labels])
    best = np.flatnonzero(~recorded)[np.argsort(-stated[~recorded], kind="stable")[:n]]
    assert stated[best].mean() == pytest.approx(is_true[best].mean(), abs=0.1)


def test_a_lucky_start_of_the_list_does_not_raise_what_is_stated():
    """Where certainty says little, a few recorded pairs among the first ones are chance."""
    rng = np.random.default_rng(0)
    stated = []
    for _ in range(20):
        labels = rng.integers(0, 4000, N_PAIRS // 8)
        recorded = rng.random(len(labels)) < 0.1
        found = missing_probabilities(rng.normal(size=len(labels)), recorded, labels, np.full(len(labels), 1.5))
        stated.append(np.sort(found[~recorded])[-20:].mean())
    assert np.mean(stated) < 0.1 * 1.5 / 0.9 + 0.1


def test_of_equally_certain_pairs_those_are_stated_first_whose_labels_are_missing_more_often():
    """Each of many labels has too few pairs to be measured alone."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4000, N_PAIRS)
    odds = np.where(labels < 2000, 0.5, 0.05)
    true = 1 / (1 + np.exp(2 - 2 * rng.normal(size=N_PAIRS)))
    chance = true / (1 + odds)
    is_true = rng.random(N_PAIRS) < true
    recorded = is_true & (rng.random(N_PAIRS) < 1 / (1 + odds))
    stated = missing_probabilities(np.log(chance / (1 - chance)), recorded, labels, odds)
    for group in (labels < 2000, labels >= 2000):
        absent = ~recorded & group
        assert stated[absent].sum() == pytest.approx((is_true & absent).sum(), rel=0.1)


def test_a_label_that_is_seldom_recorded_where_it_is_certain_loses_its_place():
    certainty, recorded, _, labels = corpus(Omission(-1.0, 0.0))
    is_false = labels == 4
    certainty[is_false], recorded[is_false] = certainty[is_false] + 1.5, False
    stated = missing_probabilities(certainty, recorded, labels, np.full(N_PAIRS, np.exp(-1.0)))
    best = np.argsort(-np.where(recorded, 0, stated), kind="stable")[:200]
    assert (labels[best] != 4).all()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_labels_that_are_right_more_often_than_others_are_stated_so(seed):
    """Equally certain pairs of labels with long records, some of which are nearly always right."""
    rng = np.random.default_rng(seed)
    labels, certainty = rng.integers(0, 100, N_PAIRS), rng.normal(size=N_PAIRS)
    is_true = rng.random(N_PAIRS) < np.where(certainty > 0.5, np.where(labels < 40, 0.98, 0.7), 0.02)
    recorded = is_true & (rng.random(N_PAIRS) < 0.9)
    stated = missing_probabilities(certainty, recorded, labels, np.full(N_PAIRS, 1 / 9))
    best = np.flatnonzero(~recorded)[np.argsort(-stated[~recorded], kind="stable")[:200]]
    assert stated[best].mean() == pytest.approx(is_true[best].mean(), abs=0.25)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_samples_without_labels_bound_what_is_missing(share):
    rng = np.random.default_rng(0)
    true = 1 + rng.poisson(1.5, 5000)
    most = most_missing(rng.binomial(true, 1 - share))
    assert share - 0.02 <= most <= share + 0.12


def test_without_samples_that_have_no_label_there_is_no_bound():
    assert most_missing(np.full(100, 2)) == 1.0
    assert most_missing(np.array([0] + 999 * [2])) == 1.0


def test_a_bound_flattens_the_odds_before_it_lowers_them():
    omission = Omission(1.0, 0.8)
    share = omission.share(COUNTS)
    assert omission.at_most(1.0, COUNTS) is omission
    flatter = omission.at_most(0.9 * share, COUNTS)
    assert flatter.share(COUNTS) == pytest.approx(0.9 * share)
    assert 0 < flatter.power < 0.8
    assert flatter.odds(COUNTS)[-1] == pytest.approx(omission.odds(COUNTS)[-1])
    low = omission.at_most(0.001, COUNTS)
    assert low.share(COUNTS) == pytest.approx(0.001)
    assert low.power == 0
    given = omission.with_share(0.3, COUNTS)
    assert (given.power, given.share(COUNTS)) == (0.8, pytest.approx(0.3))
