"""What ExMLDS2 promises beyond the contract of all models."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from planted import planted
from reference import exmlds as reference
from tacit.embedding.neighbors import cosine_neighbors, label_nodes

X, Y = planted()


def precision(model):
    test = planted(seed=1)
    return tacit.evaluate(model.fit(X, Y).rank(test.X, k=1), test.Y, ks=(1,))["P@1"]


@pytest.mark.parametrize(
    "parameters",
    [
        {"objective": "nce", "n_passes": 60},
        {"noise_power": 0.0},
        {"context_space": "features", "n_context": 20},
        {"nodes": "samples"},
        {"nodes": "samples", "objective": "nce", "n_passes": 60},
        {"negatives_per": "sample", "n_negatives": 15},
    ],
    ids=str,
)
def test_choices_find_the_planted_labels(parameters):
    assert precision(tacit.ExMLDS2(dimension=20, **parameters)) > 0.9


def test_the_printed_term_is_equation_3():
    some = planted(30)
    model = tacit.ExMLDS2.paper(n_context=4)
    near = cosine_neighbors(some.Y, 4)
    term = model._term(label_nodes(some.Y, model.nodes), near)
    expected = reference.nearest(some.Y.toarray(), 4)
    assert sorted(zip(term.first, term.second, strict=True)) == sorted(
        (i, j) for i, others in enumerate(expected) for j in others
    )
    assert (term.pair_weights == 1).all()
    assert (term.noise_weights == 1).all()
    assert len(term.noise_nodes) == 30
    assert np.bincount(term.first, term.negatives) == pytest.approx(np.full(30, 15))  # n₋ for every sample


def test_negatives_per_sample_are_the_same_for_label_sets_and_for_samples():
    some = planted(200)
    sets = label_nodes(some.Y, "sets")
    model = tacit.ExMLDS2(negatives_per="sample", n_negatives=15)
    term = model._term(sets, cosine_neighbors(sets.matrix, 10))
    total = np.bincount(term.first, term.pair_weights * term.negatives)
    assert total == pytest.approx(15 * sets.counts)
    assert sets.counts.max() > 1


@pytest.mark.real_data
@pytest.mark.slow
def test_accuracy_on_bibtex(real_data):
    train, test = (tacit.load_data(real_data / "bibtex" / f"{part}.txt") for part in ("train", "test"))
    metrics = tacit.evaluate(tacit.ExMLDS2().fit(train.X, train.Y).rank(test.X), test.Y)
    assert all(100 * metrics[f"P@{k}"] >= floor for k, floor in zip((1, 3, 5), (64.9, 38.5, 28.0), strict=True))
