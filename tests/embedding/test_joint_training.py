from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from planted import planted
from tacit.embedding import joint_training
from tacit.embedding.joint_training import ExmldsStart, JointTrainer, Objective, RandomStart
from tacit.embedding.neighbors import cosine_neighbors, unit_vectors
from tacit.kernels.joint import joint_pass

X, Y = planted(600)
OBJECTIVES = [
    Objective(loss, similarity, 5.0, 20.0, -3.0) for loss in ("sgns", "softmax") for similarity in ("cosine", "dot")
]


def trainer(**changes):
    options = {"n_context": 10, "block": 32, "n_passes": 12, "rate": 0.05, "held_out": 0.1}
    return JointTrainer(**{"objective": OBJECTIVES[0], "start": RandomStart(16), **options, **changes})


def nearness_of_neighbours(V):
    """Mean cosine of label-space neighbours, less that of random samples."""
    points = unit_vectors(X @ V)
    first, second, _ = cosine_neighbors(Y, 10).pairs()
    return np.einsum("ij,ij->i", points[first], points[second]).mean() - (points @ points.T).mean()


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_the_objective_rises_over_the_passes(objective):
    watched = trainer(objective=objective).train(X, Y, seed=0)[1]
    trained = trainer(objective=objective, held_out=0.0).train(X, Y, seed=0)[1]
    for history in (watched, trained):
        assert np.polyfit(np.arange(len(history)), history, 1)[0] > 0
        first, *_, last = (np.mean(part) for part in np.array_split(history, 3))
        assert last > first + 0.01


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
@pytest.mark.parametrize("start", [RandomStart(16), ExmldsStart(16, 1.0)], ids=str)
def test_training_draws_neighbours_together(objective, start):
    V = trainer(objective=objective, start=start)(X, Y, seed=0)
    assert nearness_of_neighbours(V) > nearness_of_neighbours(start(X, Y, seed=0)) + 0.05


def test_training_stops_when_held_out_samples_gain_nothing_and_keeps_the_best_map(monkeypatch):
    looked = []

    def recording(indptr, indices, data, first, second, V, squares, *options):
        found = joint_pass(indptr, indices, data, first, second, V, squares, *options)
        if options[-1] == 0:
            looked.append((found, V.copy()))
        return found

    monkeypatch.setattr(joint_training, "joint_pass", recording)
    shuffled = Y[np.random.default_rng(0).permutation(Y.shape[0])]  # nothing to learn, much to learn by heart
    V, history = trainer(n_passes=100, rate=0.3).train(X, shuffled, seed=0)
    best = int(np.argmax(history))
    assert len(history) == best + 3 < 101
    assert history == [found for found, _ in looked]
    assert np.array_equal(V, looked[best][1])


def test_few_samples_are_all_trained_on():
    assert len(trainer(held_out=0.5).train(X[:30], Y[:30], seed=0)[1]) == 12  # 15 held out would be too few


def test_held_out_samples_are_not_trained_on():
    # Features of their own show it: those of held-out samples keep their random start.
    own = sparse.hstack([X, sparse.eye_array(X.shape[0])], format="csr", dtype=np.float32)
    subject = trainer(held_out=0.2, n_passes=1)
    moved = (subject(own, Y, seed=0) != RandomStart(16)(own, Y, seed=0)).any(axis=1)[X.shape[1] :]
    assert (~moved).sum() >= 0.2 * X.shape[0]
    assert moved.sum() >= 0.7 * X.shape[0]


def test_samples_without_neighbours_leave_the_start_as_it_is():
    alone = sparse.csr_matrix(np.eye(30, dtype=np.float32))
    assert np.array_equal(trainer()(alone, alone, seed=3), RandomStart(16)(alone, alone, seed=3))


def test_a_start_from_exmlds_puts_samples_at_a_distance_of_one():
    V = ExmldsStart(16, 1.0)(X, Y, seed=0)
    assert (np.asarray(X @ V) ** 2).sum(axis=1).mean() == pytest.approx(1, abs=0.01)
    assert V.any(axis=0).all()


def test_a_start_from_exmlds_is_random_where_label_sets_are_all_alike():
    same = sparse.csr_matrix(np.ones((20, 1), np.float32))
    V = ExmldsStart(4, 1.0)(X[:20], same, seed=0)
    assert V.any(axis=0).all()
    assert np.isfinite(V).all()
