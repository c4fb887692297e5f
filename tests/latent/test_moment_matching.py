"""What MomentMatching promises beyond the contract of all models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

import tacit
from planted import planted
from reference import latent as reference
from tacit.data.split import hold_out_labels
from tacit.latent.counts import read_cooccurrence
from tacit.latent.moment_matching import (
    Samples,
    match_logistic,
    moments_of,
    sample_scales,
)
from topics import fitted, unseen_precision

X, Y = planted()
SEEN = Samples(X, Y[:, :10].tocsr())
M = (Y.T @ Y).toarray()[:10]


def moments(matrix=M):
    counts = read_cooccurrence(matrix, 10)
    return moments_of(SEEN, sample_scales(SEEN, counts), counts.columns(slice(10, None)))


def test_logistic_matching_finds_the_minimum():
    found = match_logistic(SEEN, moments(), 0.05, 300)
    of = moments()
    for label in range(2):

        def objective(z, label=label):
            arrays = (X.toarray(), SEEN.Y.toarray(), of.targets[:, label], of.weights[:, label], 0.05)
            return reference.moment_objective(*arrays, z[:-1], z[-1])

        best = minimize(objective, np.zeros(X.shape[1] + 1), options={"maxiter": 500}).fun
        assert objective(found[:, label]) <= best * 1.01 + 1e-4


def test_counts_from_a_larger_source_are_brought_to_scale():
    assert moments(7 * M).targets == pytest.approx(moments().targets, rel=1e-6)


def test_dense_features_match_as_sparse_ones_do():
    dense = match_logistic(Samples(X.toarray(), SEEN.Y), moments(), 0.05, 60)
    assert dense == pytest.approx(match_logistic(SEEN, moments(), 0.05, 60), abs=5e-2)
    assert sparse.issparse(X)


@pytest.mark.parametrize("parameters", [{}, {"max_samples": 100, "classifier": "one_vs_all"}], ids=str)
def test_unseen_labels_are_found_by_their_topic(parameters):
    assert unseen_precision(fitted(tacit.MomentMatching, **parameters)) > 0.4  # a third of that by chance


@pytest.mark.real_data
@pytest.mark.slow
def test_unseen_labels_of_bibtex(real_data):
    train, test = (tacit.load_data(real_data / "bibtex" / f"{part}.txt") for part in ("train", "test"))
    found = []
    for seed in range(5):
        held = hold_out_labels(train.Y, 0.5, seed=seed)
        model = tacit.MomentMatching().fit(train.X, held.Y_seen, cooccurrence=held.cooccurrence)
        truth = test.Y[:, held.order]
        for include in (None, np.arange(len(held.seen), truth.shape[1])):
            metrics = tacit.evaluate(model.rank(test.X, include=include), truth)
            found.append([100 * metrics[f"P@{k}"] for k in (1, 3, 5)])
    assert (np.mean(found[::2], axis=0) >= (52.3, 32.0, 23.8)).all()
    assert (np.mean(found[1::2], axis=0) >= (30.5, 17.5, 13.0)).all()
