from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from tacit.core.ranking import Ranking
from tacit.data.synthetic import make_dataset
from tacit.errors import ParameterError
from tacit.evaluation.curves import calibration_error
from tacit.tagger.calibration import Trade, calibrate
from tagger.articles import articles

N_SAMPLES, N_LABELS = 4000, 40


def held_out(seed: int, bias: np.ndarray) -> tuple[Ranking, sparse.csr_matrix]:
    """Rankings whose labels are right with a known probability: that of the score, shifted by the label's bias."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(N_SAMPLES, N_LABELS)) * 2 - 2
    truth = rng.random(scores.shape) < 1 / (1 + np.exp(-scores - bias))
    order = np.argsort(-scores, axis=1)[:, :20]
    ranking = Ranking(order.astype(np.int32), np.take_along_axis(scores, order, axis=1).astype(np.float32))
    return ranking, sparse.csr_matrix(truth, dtype=np.float32)


def hits_of(ranking: Ranking, truth: sparse.csr_matrix) -> np.ndarray:
    return np.take_along_axis(truth.toarray() > 0, ranking.labels, axis=1)


def test_probabilities_are_the_planted_ones_for_rare_and_frequent_labels():
    counts = np.where(np.arange(N_LABELS) < 20, 3, 500)
    bias = np.where(counts == 3, -1.5, 1.0)
    calibration = calibrate(*held_out(0, bias), counts)
    assert len(calibration.curves) == 2
    fresh, truth = held_out(1, bias)
    found = calibration.apply(fresh)
    first = Ranking(found.labels[:, :5], found.scores[:, :5])
    assert calibration_error(first.scores.ravel(), hits_of(first, truth).ravel()) < 0.02
    assert calibration.error < 0.02
    for rarity in (3, 500):
        chosen = counts[first.labels] == rarity
        expected = 1 / (1 + np.exp(-np.quantile(fresh.scores, 0.9) - bias[counts == rarity][0]))
        curve = calibration.curves[0 if rarity == 3 else 1]
        assert curve(np.array([np.quantile(fresh.scores, 0.9)]))[0] == pytest.approx(expected, abs=0.06)
        assert abs(first.scores[chosen].mean() - hits_of(first, truth)[chosen].mean()) < 0.03


def test_labels_that_a_model_does_not_rank_do_not_stretch_the_curve():
    rng = np.random.default_rng(0)
    scores = rng.random((400, 3)).astype(np.float32)
    hits = rng.random((400, 3)) < np.where(scores > 0.5, 0.9, 0.0)
    scores[:, 2], hits[:, 2] = np.finfo(np.float32).min, False
    labels = np.tile(np.arange(3, dtype=np.int32), (400, 1))
    order = np.argsort(-scores, axis=1)
    ranking = Ranking(np.take_along_axis(labels, order, 1), np.take_along_axis(scores, order, 1))
    found = calibrate(ranking, sparse.csr_matrix(hits.astype(np.float32)), np.array([100, 100, 100]))
    low, high = found.curves[0](np.array([0.1, 0.9]))
    assert low < 0.3
    assert high > 0.7


@pytest.mark.parametrize(("target", "measure"), [("precision=0.7", "precision"), ("recall=0.4", "recall")])
def test_thresholds_reach_their_target_on_fresh_samples(target, measure):
    calibration = calibrate(*held_out(0, np.zeros(N_LABELS)), np.full(N_LABELS, 50))
    threshold = calibration.trade.threshold(target)
    fresh, truth = held_out(1, np.zeros(N_LABELS))
    found = calibration.apply(fresh)
    chosen = found.scores >= threshold
    right = hits_of(found, truth) & chosen
    reached = right.sum() / (chosen.sum() if measure == "precision" else truth.nnz)
    assert reached == pytest.approx(float(target.split("=")[1]), abs=0.03)


def test_labels_per_sample_and_f1():
    calibration = calibrate(*held_out(0, np.zeros(N_LABELS)), np.full(N_LABELS, 50))
    found = calibration.apply(held_out(1, np.zeros(N_LABELS))[0])
    assert (found.scores >= calibration.trade.threshold("labels=4")).sum() / N_SAMPLES == pytest.approx(4, abs=0.2)
    trade = calibration.trade
    f1 = 2 * trade.precision * trade.recall / (trade.precision + trade.recall)
    assert f1[np.searchsorted(trade.thresholds, trade.threshold("f1"))] == f1.max()


def test_targets_out_of_reach_or_misspelt():
    ones = np.ones(1, np.float32)
    trade = Trade(0.5 * ones, 0.6 * ones, 0.3 * ones, ones)
    with pytest.raises(ParameterError, match=r"precision 0.9 is out of reach: the most on held-out samples is 0.60"):
        trade.threshold("precision=0.9")
    for wrong in ("precison=0.8", "precision", "recall=much", "labels=-1", "f1=0.5", "precision=2"):
        with pytest.raises(ParameterError, match="a threshold must be a number, 'auto', or a target"):
            trade.threshold(wrong)


@pytest.mark.parametrize("n_samples", [2, 5, 20, 30, 60])
def test_few_samples_are_calibrated_too(n_samples):
    texts, tags = articles(n_samples, seed=1)
    tagger = tacit.Tagger("OneVsAll").fit(texts, tags)
    assert tagger.calibration_ is not None
    assert tagger.calibration_.trade.n_samples == n_samples
    scores = np.array([score for row in tagger.suggest(articles(50, seed=2).texts) for _, score in row])
    assert ((scores >= 0) & (scores <= 1)).all()
    assert len(tagger.suggest(["rain and wind"], threshold="f1")) == 1


def test_probabilities_of_few_samples_are_near_the_true_ones():
    errors = []
    for seed in range(4):
        made = make_dataset(1000, 300, 12, seed=seed)
        data = made.dataset(made.train, complete=True)
        tagger = tacit.Tagger("OneVsAll", random_state=seed).fit(data.X[:60], data.Y[:60])
        ranking = tagger.rank(data.X[60:], 5)
        hits = hits_of(ranking, data.Y[60:])
        errors.append(calibration_error(ranking.scores.ravel(), hits.ravel()))
    assert np.mean(errors) < 0.08


@pytest.mark.parametrize("n_texts", [100, 1600])
def test_held_out_texts_get_the_scores_of_new_ones(n_texts, monkeypatch):
    """Most words of these texts are in no other, so that a new one has hardly any word of the vocabulary."""
    texts = [f"topic{place % 4} " + " ".join(f"w{place}x{word}" for word in range(8)) for place in range(n_texts + 50)]
    tags = [[f"t{place % 4}"] for place in range(n_texts)]
    seen = []
    monkeypatch.setattr(
        "tacit.tagger.learning.calibrate", lambda ranking, *others: seen.append(ranking) or calibrate(ranking, *others)
    )
    tagger = tacit.Tagger("OneVsAll", names=False).fit(texts[:n_texts], tags)
    new = tagger.model_.rank(tagger.vectorizer_.transform(texts[n_texts:]), 1)
    assert np.median(seen[0].scores[:, 0]) == pytest.approx(np.median(new.scores), rel=0.3)


def test_a_calibration_says_how_sure_it_is():
    found = {}
    for n_samples in (40, 4000):
        ranking, truth = held_out(0, np.zeros(N_LABELS))
        found[n_samples] = calibrate(ranking.rows(slice(n_samples)), truth[:n_samples], np.full(N_LABELS, 50))
    assert 0.03 < found[40].spread < 0.1
    assert found[4000].spread == pytest.approx(found[40].spread / 10, rel=0.2)
    assert "measured on 40 samples; a probability is uncertain by ±" in found[40].summary
    tagger = tacit.Tagger("OneVsAll").fit(*articles(40))
    assert tagger.card_["calibration_samples"] == 40
    assert tagger.card_["calibration_spread"] == tagger.calibration_.spread
