"""Online EM ends where EM ends, and batches after a fit add to what the fit learned."""

from __future__ import annotations

import copy
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import planted
from reference import latent as reference
from tacit.data.split import hold_out_labels
from tacit.errors import DataError, ParameterError
from tacit.latent import online
from tacit.latent.counts import read_cooccurrence
from tacit.latent.em import EMProblem, sweep, train
from tacit.latent.model import Priors, weighted_counts, with_constant
from tacit.latent.moment_matching import Samples, joined_samples
from tacit.numerics.ridge import improving_solver

N_LABELS = 30
PLAIN = {"calibration_folds": 0}


def blurred(n_samples: int, seed: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """A label or more, each a direction among 60 features, under noise: some hundred samples do not teach it all."""
    directions = np.random.default_rng(99).standard_normal((N_LABELS, 60)) * 0.26
    rng = np.random.default_rng(seed)
    labels = rng.random((n_samples, N_LABELS)) < 0.06
    labels[np.arange(n_samples), rng.integers(0, N_LABELS, n_samples)] = True
    features = labels @ directions + 0.4 * rng.standard_normal((n_samples, 60))
    return sparse.csr_matrix(features.astype(np.float32)), sparse.csr_matrix(labels.astype(np.float32))


X, Y = blurred(600, 0)
X_TEST, Y_TEST = blurred(2000, 1)
HELD = hold_out_labels(Y, 0.3, seed=1)
N_SEEN = len(HELD.seen)
COUNTS = HELD.cooccurrence.toarray()


def precision(model) -> float:
    return tacit.evaluate(model.rank(X_TEST, k=1), Y_TEST, ks=(1,))["P@1"]


def scores(model, labels=slice(None)):
    return model._scores(model._features(X_TEST))[:, labels].ravel()


def correlation(first, second) -> float:
    return float(np.corrcoef(first, second)[0, 1])


@pytest.fixture(scope="module")
def whole():
    return tacit.MLLCS(**PLAIN).fit(X, Y)


@pytest.mark.parametrize("size", [300, 50])
def test_a_fit_and_batches_teach_what_a_fit_on_all_teaches(whole, size):
    model = tacit.MLLCS(**PLAIN).fit(X[:300], Y[:300])
    first, before = precision(model), correlation(scores(model), scores(whole))
    for start in range(300, 600, size):
        model.partial_fit(X[start : start + size], Y[start : start + size])
    assert first < precision(whole) - 0.003
    assert precision(model) > precision(whole) - 0.003
    assert before < 0.95
    assert correlation(scores(model), scores(whole)) > 0.965
    assert model.n_samples_ == 600
    assert np.array_equal(model.label_counts_, whole.label_counts_)


def test_many_small_batches_do_not_drift():
    whole = tacit.MLLCS(count_positives=0.0, **PLAIN).fit(X, Y)  # counts would hold the scores of seen labels
    model = copy.copy(whole)
    for rows in np.array_split(np.random.default_rng(0).permutation(600), 60):
        model.partial_fit(X[rows], Y[rows])
    assert correlation(scores(model), scores(whole)) > 0.995
    assert precision(model) > precision(whole) - 0.005


@pytest.mark.parametrize("mapping", ["moments", "linear"])
def test_a_label_added_after_batches_is_the_one_a_fit_on_all_gives(mapping):
    known, new = slice(N_SEEN + 4), slice(N_SEEN + 4, None)
    options = PLAIN | {"mapping": mapping}
    model = tacit.MLLCS(**options).fit(X[:400], HELD.Y_seen[:400], cooccurrence=COUNTS[:, known])
    model.partial_fit(X[400:], HELD.Y_seen[400:]).add_labels(COUNTS[:, new])
    all_at_once = tacit.MLLCS(**options).fit(X, HELD.Y_seen, cooccurrence=COUNTS[:, known]).add_labels(COUNTS[:, new])
    assert correlation(scores(model, new), scores(all_at_once, new)) > 0.95
    assert correlation(scores(model), scores(all_at_once)) > 0.95


@pytest.mark.parametrize("options", [{"absent": "missing"}, {"inference": "variational"}])
def test_every_kind_of_fit_goes_on(options):
    data, test = planted(), planted(seed=1)
    labels = data.Y
    if "absent" in options:
        known = np.where(np.random.default_rng(0).random(labels.shape) < 0.5, labels.toarray(), np.nan)
        labels = known.astype(np.float32)
    model = tacit.MLLCS(**options).fit(data.X, labels)
    before = tacit.evaluate(model.rank(test.X, k=1), test.Y, ks=(1,))["P@1"]
    for start in range(0, 40, 10):
        model.partial_fit(data.X[start : start + 10], labels[start : start + 10])
    assert tacit.evaluate(model.rank(test.X, k=1), test.Y, ks=(1,))["P@1"] > before - 0.02
    assert np.isfinite(model.uncertain(test.X, k=3).scores).all()


def test_online_steps_on_all_samples_end_where_em_ends(monkeypatch):
    X, Y = planted(60)
    X, seen = with_constant(X), Y[:, :8].tocsr()
    M = (Y.T @ Y).toarray()[:8]
    counts = weighted_counts(read_cooccurrence(M, 8), 5.0, 0.5, own=True)
    priors = Priors(0.7, 1.3, 0.9, 0.6)
    problem = EMProblem(X, seen, counts, priors, improving_solver(X, priors.w / priors.u, 5))
    monkeypatch.setattr(online, "_FORGETTING", 0.0)
    state = online.online_start(X.shape[1], counts, 5, 0)
    for _ in range(140):
        state = online.online_step(state, problem, X.shape[0], None)
    reached, _ = sweep(replace(problem, n_steps=30), replace(state.factors, U=X @ state.factors.W))
    data = (X.toarray(), seen.toarray(), M.astype(float), 5.0)
    ends = [
        reference.penalised_log_likelihood(*data, each.U, each.V, each.B, each.W, (0.7, 1.3, 0.9, 0.6), weight=0.5)
        for each in (reached, train(problem, 5, 300, seed=0).factors)
    ]
    assert ends[0] == pytest.approx(ends[1], rel=5e-3)


# -- what is kept ---------------------------------------------------------------------------------------------


def test_a_loaded_model_goes_on_as_the_one_that_was_saved(tmp_path):
    model = tacit.MLLCS(**PLAIN).fit(X[:300], Y[:300])
    model.save(tmp_path / "fitted")
    model.partial_fit(X[300:350], Y[300:350])
    loaded = tacit.load_model(tmp_path / "fitted").partial_fit(X[300:350], Y[300:350])
    assert np.array_equal(scores(loaded), scores(model))
    model.save(tmp_path / "learned on")
    loaded = tacit.load_model(tmp_path / "learned on").partial_fit(X[350:400], Y[350:400])
    assert np.array_equal(scores(loaded), scores(model.partial_fit(X[350:400], Y[350:400])))


def test_samples_kept_are_a_random_choice_of_all():
    numbers = sparse.csr_matrix(np.arange(1, 1001, dtype=np.float32)[:, None])
    kept = Samples(numbers[:100], numbers[:100])
    for start in range(100, 1000, 30):
        new = numbers[start : start + 30]
        kept = joined_samples(kept, Samples(new, new), start, 100, seed=0)
    chosen = kept.X.toarray().ravel()
    assert len(np.unique(chosen)) == 100
    assert 30 < (chosen <= 500).sum() < 70
    assert np.array_equal(kept.Y.toarray().ravel(), chosen)


def test_batches_that_cannot_be_learned_from_are_refused(whole):
    with pytest.raises(DataError, match="inconsistent numbers of samples, 5 in X and 4 in Y"):
        copy.copy(whole).partial_fit(X[:5], Y[:4])
    with pytest.raises(DataError, match="Found array with 0 sample"):
        copy.copy(whole).partial_fit(X[:0], Y[:0])
    with pytest.raises(ParameterError, match="cannot continue from draws"):
        tacit.MLLCS(inference="gibbs").partial_fit(X, Y)
    changed = copy.copy(whole).add_labels(np.ones((N_LABELS, 1))).remove_labels([2])
    with pytest.raises(ParameterError, match="labels were added or removed"):
        changed.partial_fit(X[:5], Y[:5])


# -- memory ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_fitted", [True, False])
def test_many_features_need_no_matrix_of_features_by_features(is_fitted):
    X, Y = planted(300)
    wide = sparse.random(300, 20_000 - X.shape[1], density=1e-3, format="csr", dtype=np.float32, random_state=0)
    X = sparse.hstack([X, 0.1 * wide], format="csr")
    model = tacit.MLLCS(n_factors=6, n_sweeps=10, **PLAIN)
    if is_fitted:
        model.fit(X[:200], Y[:200])
    tracemalloc.start()
    try:
        for start in range(200 if is_fitted else 0, 300, 50):
            model.partial_fit(X[start : start + 50], Y[start : start + 50])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20e6  # features by features: 1.6 GB
    assert tacit.evaluate(model.rank(X, k=1), Y, ks=(1,))["P@1"] > 0.9


# -- texts and public data ------------------------------------------------------------------------------------
