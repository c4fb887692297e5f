from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import tacit
from planted import N_LABELS, metrics_of, planted
from tacit.linear.label_tree import even_groups, nodes_of
from tacit.numerics.clusters import cluster_labels

# -- nodes ------------------------------------------------------------------------------------------------


def test_nodes_cover_their_children():
    centres = sparse.random(30, 15, density=0.4, format="csr", dtype=np.float32, random_state=0)
    nodes = list(nodes_of(cluster_labels(np.arange(30, dtype=np.int32), centres, 3, 4, 0)))
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


# -- the model --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("arity", "max_leaf"), [(2, 1), (3, 4), (64, 5)])
def test_trees_of_any_shape_learn(arity, max_leaf, dtype):
    X, Y = planted()
    model = tacit.LabelTree(arity=arity, max_leaf=max_leaf, dtype=dtype).fit(X, Y)
    test = planted(seed=1)
    assert tacit.evaluate(model.rank(test.X), test.Y)["P@1"] > 0.95
    assert model.forest_.entry_values.dtype == dtype


def test_it_is_nearly_as_good_as_one_vs_all(made):
    trees = metrics_of(tacit.LabelTree(max_leaf=10, C=0.25), made)
    assert trees["P@1"] > metrics_of(tacit.OneVsAll(), made)["P@1"] - 0.03


def test_propensity_weights_help_the_tail(made):
    psp = {
        positives: metrics_of(tacit.LabelTree(max_leaf=20, positives=positives), made)["PSP@5"]
        for positives in ("equal", "propensity")
    }
    assert psp["propensity"] > psp["equal"]


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


def test_float16_halves_the_weights_and_hardly_moves_scores(made):
    train = made.dataset(made.train)
    full, half = (tacit.LabelTree(dtype=dtype, max_leaf=10).fit(train.X, train.Y) for dtype in ("float32", "float16"))
    assert half.forest_.entry_values.nbytes * 2 == full.forest_.entry_values.nbytes
    np.testing.assert_allclose(half.rank(train.X).scores, full.rank(train.X).scores, atol=0.01)


@pytest.mark.parametrize(("n_labels", "dtype"), [(256, np.uint8), (257, np.uint16)])
def test_children_take_no_more_bytes_than_they_need(n_labels, dtype):
    X = sparse.identity(n_labels, dtype=np.float32, format="csr")
    model = tacit.LabelTree(max_leaf=300, n_trees=1).fit(X, X)
    assert model.forest_.entry_children.dtype == dtype
    assert model.rank(X, k=1).labels.ravel().tolist() == list(range(n_labels))


def test_weights_too_large_for_halves_are_kept_whole():
    X, Y = planted()
    model = tacit.LabelTree(dtype="float16", normalize=False, C=1e12, bias=1e-6).fit(X * 1e-6, Y)
    assert np.abs(model.forest_.entry_values).max() > np.finfo(np.float16).max
    assert tacit.evaluate(model.rank(X * 1e-6), Y)["P@1"] > 0.95


def test_a_loaded_model_with_halves_ranks_alike(tmp_path):
    X, Y = planted()
    model = tacit.LabelTree(dtype="float16", max_leaf=3).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = tacit.load_model(tmp_path / "model")
    assert np.array_equal(loaded.rank(X).scores, model.rank(X).scores)


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
