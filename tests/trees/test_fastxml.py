from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import N_LABELS, planted
from reference.tree import forest_scores, node_weights, refitted
from tacit.kernels.forest_ranking import find_leaves, quantised
from tacit.kernels.tree import PRINTED, REFINED, grow_tree
from tacit.runtime.tasks import task_seeds
from tacit.trees.fastxml import balanced_gains, grow, normalised_gains
from tacit.trees.forest import Forest


@pytest.fixture(scope="module")
def data():
    return planted()


def grown(data, seed, max_leaf):
    rules, levels = REFINED._replace(C=4.0, max_leaf=max_leaf), quantised(data.X.data, data.X.indptr, np.int16)
    return grow(seed, data.X, levels, normalised_gains(data.Y), ONES, data.Y, rules, None, True)


ONES = (np.ones(1), np.zeros(0, np.intp))  # of commonness, which is not read without balance


def test_gains_are_divided_by_the_ideal_dcg():
    Y = sparse.csr_matrix(np.array([[1, 0, 0], [0, 0, 0], [1, 1, 0]], dtype=np.float32))
    assert normalised_gains(Y).data == pytest.approx([1, *[1 / (1 + 1 / np.log2(3))] * 2])
    weighted = normalised_gains(Y @ sparse.diags([0.5, 2.0, 1.0]))
    assert weighted.toarray()[0] == pytest.approx([1, 0, 0])
    assert weighted.toarray()[2] == pytest.approx(np.array([0.5, 2.0, 0]) / (2.0 + 0.5 / np.log2(3)))


def test_given_propensities_replace_the_model(data):
    p = tacit.propensities(data.Y, A=0.9, B=2.0)
    by_label, by_entry, by_model = (
        tacit.PfastXML(n_trees=2, A=0.9, B=2.0, propensities=given).fit(data.X, data.Y).rank(data.X)
        for given in (p, data.Y.multiply(p).tocsr(), None)
    )
    assert np.array_equal(by_label.scores, by_model.scores)
    assert np.array_equal(by_label.labels, by_entry.labels)


def test_alpha_one_keeps_the_order_of_the_trees(data):
    trees = tacit.PfastXML(n_trees=5, refit=1.0).fit(data.X, data.Y).rank(data.X, k=3)
    both = tacit.PfastreXML(n_trees=5, alpha=1.0, refit=1.0).fit(data.X, data.Y).rank(data.X, k=3)
    assert np.exp(both.scores) == pytest.approx(trees.scores, rel=1e-5)


def test_a_tree_without_inner_nodes_joins_a_forest(data):
    trees = [grown(data, seed, max_leaf=size) for seed, size in zip(task_seeds(0, 2), (1000, 10), strict=True)]
    forest = Forest.of(trees, data.Y, data.X.shape[1], refit=1.0)
    assert list(forest.roots) == [-1, 0]
    assert forest.children.min() == -len(forest.leaf_steps)
    assert (forest.children[forest.children < 0] < -1).all()


@pytest.mark.parametrize("refit", [0.0, 1.5])
def test_leaves_make_up_for_what_the_forest_gets_wrong(data, refit):
    trees = [grown(data, seed, max_leaf=20) for seed in task_seeds(0, 3)]
    forest = Forest.of(trees, data.Y, data.X.shape[1], refit)
    scores, starts, leaf_of, first = np.zeros((len(forest.leaf_steps), N_LABELS)), forest.leaf_starts.astype(int), [], 0
    for tree in trees:
        leaf_of.append(tree.leaf_of + first)
        for leaf in range(len(tree.leaf_starts) - 1):
            part = slice(tree.leaf_starts[leaf], tree.leaf_starts[leaf + 1])
            scores[first + leaf, tree.leaf_labels[part]] = tree.leaf_scores[part]
        first += len(tree.leaf_starts) - 1
    expected = refitted(scores, np.stack(leaf_of, axis=1), data.Y.toarray(), refit)
    for leaf in range(len(scores)):
        part = slice(starts[leaf], starts[leaf + 1])
        found = forest.leaf_levels[part] * forest.leaf_steps[leaf]
        assert found == pytest.approx(expected[leaf, forest.leaf_labels[part]], abs=1e-4)


def test_rare_labels_gain_more():
    Y = sparse.csr_matrix(np.array([[1, 1, 1], [0, 0, 1]], dtype=np.float32))
    commonness = np.array([20.0, 100.0, 400.0]), np.array([0, 1, 2, 2])
    gains = balanced_gains(Y, commonness, 0.5, rescaled=False).toarray()
    assert gains[0] / gains[0, 0] == pytest.approx(np.sqrt(20 / commonness[0]))
    assert gains[1, 2] == gains[0, 2]
    assert balanced_gains(Y, commonness, 0.0, rescaled=False).data == pytest.approx(Y.data)
    rescaled = balanced_gains(Y, commonness, 0.5, rescaled=True).toarray()
    assert rescaled[1, 2] == pytest.approx(1)
    assert rescaled[0] @ (1 / np.log2([2, 3, 4])) == pytest.approx(1)


@pytest.mark.parametrize("cls", [tacit.FastXML, tacit.PfastXML])
def test_balanced_nodes_part_by_rare_labels(cls):
    """Of two independent ways to part samples, that of forty rare labels rather than that of two frequent ones."""
    rng = np.random.default_rng(0)
    n, half = 4000, 20
    frequent, side = rng.integers(2, size=n), rng.integers(2, size=n)
    rare = side * half + rng.integers(half, size=n)
    rows = np.arange(n)
    Y = sparse.csr_matrix((np.ones(2 * n), (np.tile(rows, 2), np.concatenate([frequent, 2 + rare]))))
    X = sparse.csr_matrix(np.column_stack([frequent, 1 - frequent, side, 1 - side]).astype(np.float32))
    used = {}
    for balance in (None, 1.0):
        forest = cls(n_trees=20, max_leaf=n // 2 + 500, balance=balance).fit(X, Y).forest_
        weights = np.abs(node_weights(forest, X.shape[1])[forest.roots])
        used[balance] = int((weights[:, 2:].sum(axis=1) > weights[:, :2].sum(axis=1)).sum())
    assert used[1.0] > used[None]


def arguments_of_trees(monkeypatch, model, data):
    """What `grow_tree` gets for each tree of a model."""
    got = []

    def spy(*arguments):
        got.append(arguments)
        return grow_tree(*arguments)

    monkeypatch.setattr("tacit.trees.fastxml.grow_tree", spy)
    model.fit(data.X, data.Y)
    return got


@pytest.mark.parametrize("cls", [tacit.FastXML, tacit.PfastXML, tacit.PfastreXML])
def test_the_papers_trees_are_printed_ones(cls, data, monkeypatch):
    """From random sides, by the printed rules, with the paper's gains, and leaves that are plain means."""
    trees = arguments_of_trees(monkeypatch, cls.paper(n_trees=20, random_state=1), data)
    assert not any(tree[6].starts_by_features for tree in trees)
    assert all(tree[6][:8] == PRINTED[:8] for tree in trees)
    p = tacit.propensities(data.Y)[data.Y.indices]
    expected = normalised_gains(data.Y).data if cls is tacit.FastXML else 1 / p
    assert trees[0][2].values == pytest.approx(expected, rel=1e-5)
    assert trees[0][3] == pytest.approx(1 if cls is tacit.FastXML else 1 / p, rel=1e-5)


@pytest.mark.parametrize("few", [slice(None), slice(30)])
def test_scores_as_printed_are_those_of_the_paper(data, few):
    """α log Q + (1 − α) log P with P = 1/(1 + exp(γ/2 ‖x − μ‖²)), μ the mean of the samples, however few there are."""
    X, Y = 2 * data.X[few], data.Y[few]
    model = tacit.PfastreXML.paper(n_trees=4, C=20.0).fit(X, Y)
    Q = forest_scores(model.forest_, X.toarray(), N_LABELS, min_share=1.0)
    unit = X.toarray() / np.linalg.norm(X.toarray(), axis=1, keepdims=True)
    means = (Y.T @ unit) / np.asarray(Y.sum(axis=0)).reshape(-1, 1)
    distances = np.square(unit[:, None, :] - means[None]).sum(axis=2)
    with np.errstate(divide="ignore"):
        expected = 0.8 * np.log(Q) - 0.2 * np.logaddexp(0, 30 / 2 * distances)
    ranking = model.rank(X, k=N_LABELS)
    found = ranking.to_dense()
    is_ranked = (Q > 0) & np.isfinite(found) & (found > model.unranked_score)
    assert is_ranked.sum() > Y.nnz
    assert found[is_ranked] == pytest.approx(expected[is_ranked], abs=0.05)


@pytest.mark.parametrize("cls", [tacit.FastXML, tacit.PfastreXML])
def test_training_rows_are_ranked_from_the_leaves_that_counted_them(cls, monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.normal(size=(3_000, 40)).astype(np.float32))
    Y = sparse.csr_matrix((X.toarray()[:, :10] + rng.normal(size=(3_000, 10)) > 1.5).astype(np.float32))
    grown, found = [], []
    of, leaves = Forest.of, find_leaves
    monkeypatch.setattr(Forest, "of", lambda trees, *rest: (grown.extend(trees), of(trees, *rest))[1])
    monkeypatch.setattr("tacit.trees.forest.find_leaves", lambda *rest: found.append(leaves(*rest)) or found[-1])
    model = cls(n_trees=10, max_leaf=2, min_share=1.0).fit(X, Y)
    found.clear()
    model.rank(X)
    first = np.cumsum([0] + [len(tree.leaf_starts) - 1 for tree in grown])
    counted = np.stack([tree.leaf_of + start for tree, start in zip(grown, first, strict=False)], axis=1)
    assert np.array_equal(np.sort(np.concatenate([reached.leaves for reached in found])[:, :10], axis=1), counted)


@pytest.mark.slow
@pytest.mark.real_data
def test_bibtex_with_fewer_trees(real_data):
    train, test = (tacit.load_data(real_data / "bibtex" / f"{part}.txt") for part in ("train", "test"))
    p = tacit.propensities(train.Y)
    found = {
        cls.__name__: tacit.evaluate(cls(n_trees=15).fit(train.X, train.Y).rank(test.X), test.Y, propensities=p)
        for cls in (tacit.FastXML, tacit.PfastXML, tacit.PfastreXML)
    }
    assert found["FastXML"]["P@1"] > 0.61
    assert found["FastXML"]["P@3"] > 0.365
    assert found["PfastreXML"]["PSP@5"] > 0.55
    assert found["FastXML"]["PSP@1"] < found["PfastXML"]["PSP@1"] < found["PfastreXML"]["PSP@1"]
