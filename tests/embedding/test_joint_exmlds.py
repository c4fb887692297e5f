"""What JointExMLDS promises beyond the contract of all models."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import planted
from tacit.embedding import joint_exmlds
from tacit.embedding.joint_exmlds import exmlds1_start, memory_needed, random_start
from tacit.embedding.neighbors import cosine_neighbors, unit_vectors
from tacit.errors import ParameterError
from tacit.kernels.joint import joint_pass

X, Y = planted()
TEST = planted(seed=1)
MORE_X, MORE_Y = planted(600)
OBJECTIVES = [{"loss": loss, "similarity": kind} for loss in ("sgns", "softmax") for kind in ("cosine", "dot")]


def precision(model):
    return tacit.evaluate(model.fit(X, Y).rank(TEST.X, k=1), TEST.Y, ks=(1,))["P@1"]


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_cluster": 70, "n_learners": 3},
        {"max_cluster": 70, "n_learners": 3, "partition": "features"},
        {"start": "random", "rate": 0.1},
        {"similarity": "dot"},
        {"loss": "softmax"},
        {"offset": 0.0, "gamma": 1.0},
        {"held_out": 0.2},
        {"block": 2},
    ],
    ids=str,
)
def test_choices_find_the_planted_labels(parameters):
    assert precision(tacit.JointExMLDS(dimension=20, **parameters)) > 0.9


@pytest.mark.parametrize("partition", ["graph", "features"])
def test_several_clusters_are_trained_and_asked(partition):
    model = tacit.JointExMLDS(max_cluster=70, n_learners=2, partition=partition).fit(X, Y)
    assert len(model.learners_) == 2
    for learner in model.learners_:
        assert len(learner.cells) > 1
        assert max(len(cell.samples) for cell in learner.cells) <= 70
        assert sorted(np.concatenate([cell.samples for cell in learner.cells])) == list(range(X.shape[0]))


def test_learners_of_one_cluster_differ():
    first, second = (learner.cells[0] for learner in tacit.JointExMLDS(n_learners=2).fit(X, Y).learners_)
    assert np.array_equal(first.samples, second.samples)
    assert not np.array_equal(first.weights, second.weights)


def test_neighbours_of_training_samples_have_their_labels():
    near = tacit.JointExMLDS().fit(X, Y).neighbors(X, k=2)
    assert np.mean([(Y[row] != Y[found]).nnz == 0 for row, found in enumerate(near.samples[:, 0])]) > 0.95


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "sgnss"}, "'loss' must be str, one of 'sgns', 'softmax'; got 'sgnss' .did you mean 'sgns'"),
        ({"block": 1}, "'block' must be int, >= 2 and <= 1000; got 1"),
        ({"held_out": 1.0}, "'held_out' must be float, >= 0 and < 1; got 1.0"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        tacit.JointExMLDS(**parameters).fit(X, Y)


@pytest.mark.parametrize("partition", ["graph", "features"])
def test_memory_is_stated_before_training(caplog, partition):
    caplog.set_level("INFO", "tacit")
    model = tacit.JointExMLDS(max_cluster=70, dimension=30, partition=partition).fit(X, Y)
    cells = [cell for learner in model.learners_ for cell in learner.cells]
    stated, training = memory_needed([len(cell.samples) for cell in cells], X.shape[1], 30)
    assert f"take {stated / 1e6:,.0f} MB, training up to {training / 1e6:,.0f} MB for" in caplog.text
    centers = sum(learner.centers.nbytes for learner in model.learners_)
    assert stated == centers + sum(c.samples.nbytes + c.weights.nbytes + c.points.nbytes for c in cells)


def test_training_stays_within_the_stated_memory():
    many = planted(3000)
    subject = tacit.JointExMLDS(dimension=40)
    subject._train(many.X[:100], many.Y[:100], 0)  # compiles
    tracemalloc.start()
    subject._train(many.X, many.Y, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= memory_needed([3000], many.X.shape[1], 40)[1]


# -- the training of one cell -----------------------------------------------------------------------------


def train(X, Y, seed=0, **changes):
    options = {"n_context": 10, "block": 32, "n_passes": 12, "rate": 0.05, "held_out": 0.1, "start": "random"}
    model = tacit.JointExMLDS(dimension=16, gamma=5.0, n_negatives=20.0, offset=-3.0, **{**options, **changes})
    return model._train(X, Y, seed)


def nearness_of_neighbours(V):
    """Mean cosine of label-space neighbours, less that of random samples."""
    points = unit_vectors(MORE_X @ V)
    first, second, _ = cosine_neighbors(MORE_Y, 10).pairs()
    return np.einsum("ij,ij->i", points[first], points[second]).mean() - (points @ points.T).mean()


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_the_objective_rises_over_the_passes(objective):
    watched = train(MORE_X, MORE_Y, **objective)[1]
    trained = train(MORE_X, MORE_Y, **objective, held_out=0.0)[1]
    for history in (watched, trained):
        assert np.polyfit(np.arange(len(history)), history, 1)[0] > 0
        first, *_, last = (np.mean(part) for part in np.array_split(history, 3))
        assert last > first + 0.01


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
@pytest.mark.parametrize("start", ["random", "exmlds1"])
def test_training_draws_neighbours_together(objective, start):
    V, _ = train(MORE_X, MORE_Y, **objective, start=start)
    start_V = random_start(MORE_X.shape[1], 16, 0) if start == "random" else exmlds1_start(MORE_X, MORE_Y, 16, 1.0, 0)
    assert nearness_of_neighbours(V) > nearness_of_neighbours(start_V) + 0.05


def test_training_stops_when_held_out_samples_gain_nothing_and_keeps_the_best_map(monkeypatch):
    looked = []

    def recording(rows, first, second, V, squares, *options):
        found = joint_pass(rows, first, second, V, squares, *options)
        if options[-1] == 0:
            looked.append((found, V.copy()))
        return found

    monkeypatch.setattr(joint_exmlds, "joint_pass", recording)
    shuffled = MORE_Y[np.random.default_rng(0).permutation(MORE_Y.shape[0])]  # nothing to learn, much to learn by heart
    V, history = train(MORE_X, shuffled, n_passes=100, rate=0.3)
    best = int(np.argmax(history))
    assert len(history) == best + 3 < 101
    assert history == [found for found, _ in looked]
    assert np.array_equal(V, looked[best][1])


def test_few_samples_are_all_trained_on():
    assert len(train(MORE_X[:30], MORE_Y[:30], held_out=0.5)[1]) == 12  # 15 held out would be too few


def test_held_out_samples_are_not_trained_on():
    # Features of their own show it: those of held-out samples keep their random start.
    own = sparse.hstack([MORE_X, sparse.eye_array(MORE_X.shape[0])], format="csr", dtype=np.float32)
    moved = train(own, MORE_Y, held_out=0.2, n_passes=1)[0] != random_start(own.shape[1], 16, 0)
    moved = moved.any(axis=1)[MORE_X.shape[1] :]
    assert (~moved).sum() >= 0.2 * MORE_X.shape[0]
    assert moved.sum() >= 0.7 * MORE_X.shape[0]


def test_samples_without_neighbours_leave_the_start_as_it_is():
    alone = sparse.csr_matrix(np.eye(30, dtype=np.float32))
    assert np.array_equal(train(alone, alone, seed=3)[0], random_start(30, 16, 3))


def test_a_start_from_exmlds_puts_samples_at_a_distance_of_one():
    V = exmlds1_start(MORE_X, MORE_Y, 16, 1.0, seed=0)
    assert (np.asarray(MORE_X @ V) ** 2).sum(axis=1).mean() == pytest.approx(1, abs=0.01)
    assert V.any(axis=0).all()


def test_a_start_from_exmlds_is_random_where_label_sets_are_all_alike():
    same = sparse.csr_matrix(np.ones((20, 1), np.float32))
    V = exmlds1_start(MORE_X[:20], same, 4, 1.0, seed=0)
    assert V.any(axis=0).all()
    assert np.isfinite(V).all()


# -- public data ------------------------------------------------------------------------------------------


@pytest.mark.real_data
@pytest.mark.slow
def test_accuracy_on_bibtex(real_data):
    train, test = (tacit.load_data(real_data / "bibtex" / f"{part}.txt") for part in ("train", "test"))
    metrics = tacit.evaluate(tacit.JointExMLDS().fit(train.X, train.Y).rank(test.X), test.Y)
    assert all(100 * metrics[f"P@{k}"] >= floor for k, floor in zip((1, 3, 5), (63.5, 38.3, 27.8), strict=True))
