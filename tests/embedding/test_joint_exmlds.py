"""What JointExMLDS promises beyond the contract of all models; accuracy is in test_pipeline."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import planted
from tacit.embedding import joint_exmlds
from tacit.embedding.joint_exmlds import exmlds1_start, random_start
from tacit.embedding.neighbors import cosine_neighbors, unit_vectors
from tacit.kernels.joint import joint_pass

X, Y = planted()
TEST = planted(seed=1)
MORE_X, MORE_Y = planted(600)


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_cluster": 70, "n_learners": 3},
        {"start": "random", "rate": 0.1},
        {"similarity": "dot"},
        {"offset": 0.0, "gamma": 1.0},
        {"held_out": 0.2},
        {"block": 2},
    ],
    ids=str,
)
def test_choices_find_the_planted_labels(parameters):
    ranking = tacit.JointExMLDS(dimension=20, **parameters).fit(X, Y).rank(TEST.X, k=1)
    assert tacit.evaluate(ranking, TEST.Y, ks=(1,))["P@1"] > 0.9


def test_learners_of_one_cluster_differ():
    first, second = (learner.cells[0] for learner in tacit.JointExMLDS(n_learners=2).fit(X, Y).learners_)
    assert np.array_equal(first.samples, second.samples)
    assert not np.array_equal(first.weights, second.weights)


# -- the training of one cell -----------------------------------------------------------------------------


def train(X, Y, cls=tacit.JointExMLDS, **changes):
    options = {"n_context": 10, "block": 32, "n_passes": 12, "rate": 0.05, "held_out": 0.1}
    special = {} if cls is tacit.AnnexML else {"start": "random", "n_negatives": 20.0, "offset": -3.0}
    return cls(dimension=16, gamma=5.0, **{**options, **special, **changes})._train(X, Y, 0)


def nearness_of_neighbours(V):
    """Mean cosine of label-space neighbours, less that of random samples."""
    points = unit_vectors(MORE_X @ V)
    first, second, _ = cosine_neighbors(MORE_Y, 10).pairs()
    return np.einsum("ij,ij->i", points[first], points[second]).mean() - (points @ points.T).mean()


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize(
    ("cls", "start"), [(tacit.JointExMLDS, "exmlds1"), (tacit.JointExMLDS, "random"), (tacit.AnnexML, "random")]
)
def test_training_draws_neighbours_together(cls, start, similarity):
    V = train(MORE_X, MORE_Y, cls, similarity=similarity, **({} if cls is tacit.AnnexML else {"start": start}))
    before = random_start(MORE_X.shape[1], 16, 0) if start == "random" else exmlds1_start(MORE_X, MORE_Y, 16, 1.0, 0)
    assert nearness_of_neighbours(V) > nearness_of_neighbours(before) + 0.05


@pytest.fixture
def checks(monkeypatch):
    """The objective of held-out samples and the map, at each time that training looks at them."""
    found = []

    def recording(rows, first, second, V, *options):
        objective = joint_pass(rows, first, second, V, *options)
        if options[-1] == 0:
            found.append((objective, V.copy()))
        return objective

    monkeypatch.setattr(joint_exmlds, "joint_pass", recording)
    return found


def test_training_stops_when_held_out_samples_gain_nothing_and_keeps_the_best_map(checks):
    shuffled = MORE_Y[np.random.default_rng(0).permutation(MORE_Y.shape[0])]  # nothing general to learn
    V = train(MORE_X, shuffled, n_passes=100, rate=0.3)
    best = int(np.argmax([objective for objective, _ in checks]))
    assert len(checks) == best + 3 < 101
    assert np.array_equal(V, checks[best][1])


def test_few_samples_are_all_trained_on(checks):
    train(MORE_X[:30], MORE_Y[:30], held_out=0.5)
    assert not checks  # 15 held out would be too few


def test_held_out_samples_are_not_trained_on():
    # Features of their own show it: those of held-out samples keep their random start.
    own = sparse.hstack([MORE_X, sparse.eye_array(MORE_X.shape[0])], format="csr", dtype=np.float32)
    moved = train(own, MORE_Y, held_out=0.2, n_passes=1) != random_start(own.shape[1], 16, 0)
    moved = moved.any(axis=1)[MORE_X.shape[1] :]
    assert (~moved).sum() >= 0.2 * MORE_X.shape[0]
    assert moved.sum() >= 0.7 * MORE_X.shape[0]


def test_samples_without_neighbours_leave_the_start_as_it_is():
    alone = sparse.csr_matrix(np.eye(30, dtype=np.float32))
    assert np.array_equal(train(alone, alone), random_start(30, 16, 0))


def test_a_start_from_exmlds_puts_samples_at_a_distance_of_one():
    V = exmlds1_start(MORE_X, MORE_Y, 16, 1.0, seed=0)
    assert (np.asarray(MORE_X @ V) ** 2).sum(axis=1).mean() == pytest.approx(1, abs=0.01)
    assert V.any(axis=0).all()


def test_a_start_from_exmlds_is_random_where_label_sets_are_all_alike():
    same = sparse.csr_matrix(np.ones((20, 1), np.float32))
    V = exmlds1_start(MORE_X[:20], same, 4, 1.0, seed=0)
    assert V.any(axis=0).all()
    assert np.isfinite(V).all()
