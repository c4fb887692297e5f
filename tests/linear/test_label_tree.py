from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import tacit
from planted import N_LABELS, metrics_of, planted
from tacit.linear import label_tree
from tacit.linear.label_tree import LabelNode, even_groups, nodes_of
from tacit.numerics.clusters import cluster_labels

# -- nodes ------------------------------------------------------------------------------------------------


def test_nodes_cover_their_children():
    centres = sparse.random(30, 15, density=0.4, format="csr", dtype=np.float32, random_state=0)
    levels = nodes_of(cluster_labels(np.arange(30, dtype=np.int32), centres, 3, 4, 0))
    nodes = [node for level in levels for node in level]
    assert sorted(np.concatenate([node.labels for node in nodes if node.is_leaf])) == list(range(30))
    for node in nodes:
        assert node.bounds[0] == 0
        assert node.bounds[-1] == len(node.labels)
        assert (np.diff(node.bounds) == 1).all() == node.is_leaf


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20))
def test_groups_are_no_more_work_than_the_largest_node(work):
    groups = even_groups(work)
    assert [i for group in groups for i in range(len(work))[group]] == list(range(len(work)))
    assert all(sum(work[group]) <= max(work) for group in groups)


def test_samples_of_a_node_are_copied_only_if_that_takes_less_memory(made, monkeypatch):
    train = made.dataset(made.train)
    wide = sparse.hstack([train.X, sparse.csr_matrix((train.X.shape[0], 20_000), dtype=np.float32)], format="csr")
    taken = []
    sparse_part_of = label_tree._sparse_part_of

    def spy(X, rows, n_children):
        found = sparse_part_of(X, rows, n_children)
        taken.append(found[2] is X)
        return found

    monkeypatch.setattr(label_tree, "_sparse_part_of", spy)
    rankings = [tacit.LabelTree(max_leaf=20).fit(X, train.Y).rank(X) for X in (train.X, wide)]
    n_nodes = len(taken) // 2
    assert all(taken[:n_nodes])
    assert not any(taken[n_nodes:])
    assert (rankings[0].labels == rankings[1].labels).all()
    assert (rankings[0].scores == rankings[1].scores).all()


# -- negatives --------------------------------------------------------------------------------------------


@pytest.fixture
def trained_leaves(monkeypatch):
    """Every leaf that is trained, with the samples it is trained on."""
    found = []
    train_node = label_tree._train_node

    def spy(X, Y, node, seed, objective, options):
        if node.is_leaf:
            found.append((node, label_tree._samples_of(Y, node, options, seed)[0]))
        return train_node(X, Y, node, seed, objective, options)

    monkeypatch.setattr(label_tree, "_train_node", spy)
    return found


def own_samples(Y: sparse.csr_matrix, node: LabelNode) -> set[int]:
    return set(Y[:, node.labels].nonzero()[0].tolist())


def test_hard_negatives_reach_the_leaf_and_have_none_of_its_labels(made, trained_leaves):
    train = made.dataset(made.train)
    model = tacit.LabelTree(max_leaf=5, negatives=1.0, hard_negatives=1.0).fit(train.X, train.Y)
    n_leaves = len(trained_leaves)
    for node, rows in trained_leaves:
        own, near = own_samples(train.Y, node), set(node.near.tolist())
        drawn = set(rows.tolist()) - own
        assert not own & near
        assert drawn <= near or near <= drawn  # others are drawn only where too few reach the leaf
    assert model.forest_.n_leaves == n_leaves > 10


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_share_of_hard_negatives_is_kept(made, trained_leaves, share):
    train = made.dataset(made.train)
    tacit.LabelTree(max_leaf=5, negatives=1.0, hard_negatives=share).fit(train.X, train.Y)
    for node, rows in trained_leaves:
        own = own_samples(train.Y, node)
        n_hard = len(set(rows.tolist()) & set(node.near.tolist()))
        assert len(rows) <= 2 * len(own)
        assert n_hard >= min(int(share * len(own)), len(node.near))
    assert any(len(node.near) for node, _ in trained_leaves) == bool(share)


# -- the model --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("arity", "max_leaf"), [(2, 1), (3, 4), (64, 5)])
def test_trees_of_any_shape_learn(arity, max_leaf, dtype):
    X, Y = planted()
    model = tacit.LabelTree(arity=arity, max_leaf=max_leaf, dtype=dtype).fit(X, Y)
    test = planted(seed=1)
    assert tacit.evaluate(model.rank(test.X), test.Y)["P@1"] > 0.95
    assert model.forest_.entry_values.dtype == dtype


def test_a_wide_beam_sees_every_label():
    X, Y = planted()
    model = tacit.LabelTree(arity=2, max_leaf=1, beam=N_LABELS).fit(X, Y)
    ranking = model.rank(X, k=N_LABELS)
    assert (ranking.scores > 0).all()
    model.beam = 1
    assert (model.rank(X, k=N_LABELS).scores[:, -1] == model.unranked_score).all()


def test_included_labels_are_found_outside_the_beam_too():
    X, Y = planted()
    model = tacit.LabelTree(arity=2, max_leaf=1, beam=1, n_trees=1).fit(X, Y)
    for label in range(N_LABELS):
        assert (model.rank(X[:5], k=1, include=[label]).scores > 0).all()


def test_weights_too_large_for_halves_are_kept_whole():
    X, Y = planted()
    model = tacit.LabelTree(dtype="float16", normalize=False, C=1e12, bias=1e-6).fit(X * 1e-6, Y)
    assert np.abs(model.forest_.entry_values).max() > np.finfo(np.float16).max
    assert tacit.evaluate(model.rank(X * 1e-6), Y)["P@1"] > 0.95


def test_logistic_loss_gives_probabilities(made):
    model = tacit.LabelTree(loss="logistic", C=3.0, max_leaf=20)
    assert metrics_of(model, made)["P@1"] > 0.5
    scores = model.rank(made.dataset(made.test).X, k=5).scores
    assert (scores > 0).all()
    assert (scores <= 1).all()


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "floors"),
    [
        ("bibtex", {"P@1": 62.5, "P@3": 38.3, "P@5": 28.0, "PSP@1": 49.0}),
        ("delicious", {"P@1": 66.0, "P@3": 60.0, "P@5": 55.0}),
    ],
)
def test_accuracy_on_public_data(real_data, name, floors):
    train, test = (tacit.load_data(real_data / name / f"{part}.txt") for part in ("train", "test"))
    ranking = tacit.LabelTree(n_jobs=2).fit(train.X, train.Y).rank(test.X)
    metrics = tacit.evaluate(ranking, test.Y, tacit.propensities(train.Y))
    assert {key: 100 * metrics[key] for key in floors if 100 * metrics[key] < floors[key]} == {}
