"""What JointExMLDS promises beyond the contract of all models."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import tacit
from planted import planted
from tacit.embedding.joint import Memory
from tacit.errors import ParameterError

X, Y = planted()
TEST = planted(seed=1)


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
    stated = Memory.needed([len(cell.samples) for cell in cells], X.shape[1], 30)
    assert str(stated) in caplog.text
    centers = sum(learner.centers.nbytes for learner in model.learners_)
    assert stated.cells == centers + sum(c.samples.nbytes + c.weights.nbytes + c.points.nbytes for c in cells)


def test_training_stays_within_the_stated_memory():
    many = planted(3000)
    trainer = tacit.JointExMLDS(dimension=40)._trainer()
    trainer(many.X[:100], many.Y[:100], 0)  # compiles
    tracemalloc.start()
    trainer(many.X, many.Y, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= Memory.needed([3000], many.X.shape[1], 40).training


@pytest.mark.real_data
@pytest.mark.slow
def test_accuracy_on_bibtex(real_data):
    train, test = (tacit.load_data(real_data / "bibtex" / f"{part}.txt") for part in ("train", "test"))
    metrics = tacit.evaluate(tacit.JointExMLDS().fit(train.X, train.Y).rank(test.X), test.Y)
    assert all(100 * metrics[f"P@{k}"] >= floor for k, floor in zip((1, 3, 5), (63.5, 38.3, 27.8), strict=True))
