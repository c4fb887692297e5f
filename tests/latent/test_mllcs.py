"""What MLLCS promises beyond the contract of all models; batches after a fit are in test_online."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tacit
from tacit.data.split import hold_out_labels
from tacit.errors import ParameterError
from topics import HELD, N_SEEN, TRUTH, X, fitted, unseen_precision


@pytest.mark.parametrize(
    "parameters",
    [{"mapping": "linear"}, {"mapping": "linear", "inference": "variational"}, {"mapping": "moments"}],
    ids=str,
)
def test_unseen_labels_are_found_by_their_topic(parameters):
    assert unseen_precision(fitted(tacit.MLLCS, **parameters)) > 0.4  # a third of that by chance


def test_seen_labels_lean_on_their_counts_the_rarer_they_are():
    matrix = HELD.cooccurrence.toarray().astype(float)
    matrix[:, 0] = np.nan  # nothing is known of the first label but its samples
    own, mixed, counts = (
        tacit.MLLCS(calibration_folds=0, count_positives=n).fit(X, HELD.Y_seen, cooccurrence=matrix).vectors_.columns
        for n in (0.0, 10.0, 1e9)
    )
    shares = 10 / (10 + np.asarray(HELD.Y_seen.sum(axis=0)).ravel())
    shares[0] = 0
    expected = (1 - shares) * own[:, :N_SEEN] + shares * counts[:, :N_SEEN]
    assert mixed[:, :N_SEEN] == pytest.approx(expected, abs=1e-4)
    assert np.array_equal(mixed[:, 0], own[:, 0])


def test_batches_learn_what_all_samples_teach():
    batch = copy.copy(fitted(tacit.MLLCS, mapping="linear", n_factors=8))
    online = tacit.MLLCS(n_factors=8, online_samples=X.shape[0])
    rng = np.random.default_rng(0)
    for _ in range(6):
        for rows in np.array_split(rng.permutation(X.shape[0]), 4):
            online.partial_fit(X[rows], HELD.Y_seen[rows], cooccurrence=HELD.cooccurrence)
    with_all, with_batches = (tacit.evaluate(model.rank(X, k=3), TRUTH)["P@1"] for model in (batch, online))
    assert with_batches > with_all - 0.1
    assert unseen_precision(online) > 0.4
    batch.partial_fit(X, HELD.Y_seen)  # goes on from what fit found
    assert tacit.evaluate(batch.rank(X, k=3), TRUTH)["P@1"] > with_all - 0.1
    with pytest.raises(ParameterError, match="labels were added or removed"):
        batch.remove_labels([0]).partial_fit(X, HELD.Y_seen)


@pytest.mark.parametrize("inference", ["em", "variational"])
def test_what_is_not_known_is_asked(inference):
    model = fitted(tacit.MLLCS, inference=inference)
    asked = model.uncertain(X, k=3)
    assert asked.labels.shape == (X.shape[0], 3)
    assert ((asked.scores >= 0) & (asked.scores <= 1)).all()
    assert (np.diff(asked.scores, axis=1) <= 0).all()
    assert set(model.uncertain(X[:3], k=2, include=[1, 4]).labels.ravel()) <= {1, 4}


# -- public data ----------------------------------------------------------------------------------------------


@pytest.mark.real_data
@pytest.mark.slow
def test_unseen_labels_of_bibtex(real_data):
    train, test = (tacit.load_data(real_data / "bibtex" / f"{part}.txt") for part in ("train", "test"))
    found = []
    for seed in range(5):
        held = hold_out_labels(train.Y, 0.5, seed=seed)
        model = tacit.MLLCS(mapping="linear").fit(train.X, held.Y_seen, cooccurrence=held.cooccurrence)
        truth = test.Y[:, held.order]
        for include in (None, np.arange(len(held.seen), truth.shape[1])):
            metrics = tacit.evaluate(model.rank(test.X, include=include), truth)
            found.append([100 * metrics[f"P@{k}"] for k in (1, 3, 5)])
    assert (np.mean(found[::2], axis=0) >= (48.0, 28.5, 21.0)).all()
    assert (np.mean(found[1::2], axis=0) >= (23.0, 13.0, 10.0)).all()
