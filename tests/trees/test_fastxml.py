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
from tacit.trees.fastxml import FEW, balanced_gains, grow, normalised_gains
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


def test_more_trees_begin_with_the_same_trees(data):
    few, many = (tacit.FastXML(n_trees=n, refit=0).fit(data.X, data.Y).forest_ for n in (2, 4))
    assert np.array_equal(many.children[: len(few.children)], few.children)
    assert np.array_equal(many.leaf_levels[: len(few.leaf_levels)], few.leaf_levels)


def test_a_forest_of_bare_leaves_ranks_by_frequency(data):
    ranking = tacit.FastXML(n_trees=2, max_leaf=1000).fit(data.X, data.Y).rank(data.X[:5], k=N_LABELS)
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    assert (np.diff(counts[ranking.labels], axis=1) <= 0).all()
    assert ranking.scores == pytest.approx(counts[ranking.labels] / data.Y.shape[0], abs=1e-4)


def test_given_propensities_replace_the_model(data):
    p = tacit.propensities(data.Y, A=0.9, B=2.0)
    by_label, by_entry, by_model = (
        tacit.PfastXML(n_trees=2, A=0.9, B=2.0, propensities=given).fit(data.X, data.Y).rank(data.X)
        for given in (p, data.Y.multiply(p).tocsr(), None)
    )
    assert np.array_equal(by_label.scores, by_model.scores)
    assert np.array_equal(by_label.labels, by_entry.labels)


@pytest.mark.parametrize("cls", [tacit.PfastXML, tacit.PfastreXML])
@pytest.mark.parametrize("balance", [1.0, None])
def test_given_propensities_act_in_the_nodes(data, cls, balance):
    """Not only in the leaves: other propensities part the samples in another way."""
    first, other, again = (
        cls(n_trees=3, balance=balance, propensities=p).fit(data.X, data.Y).forest_
        for p in np.random.default_rng(0).uniform(0.05, 1, (2, N_LABELS))[[0, 1, 0]]
    )
    assert not np.array_equal(first.weight_levels, other.weight_levels)
    assert np.array_equal(first.weight_levels, again.weight_levels)


def test_positives_gain_by_the_count_that_their_propensity_stands_for(data, monkeypatch):
    """(1/p − 1)/C = (n + B)^-A has one solution n; it lies between no sample and all."""
    powers = []

    def spy(gains, commonness, power, rescaled):
        powers.append(power)
        values, places = commonness
        assert values[places] == pytest.approx(n[data.Y.indices] + FEW, rel=0.01)
        return balanced_gains(gains, commonness, power, rescaled)

    p, A, B = np.random.default_rng(0).uniform(0.05, 1, N_LABELS), 0.6, 2.6
    n_samples = data.Y.shape[0]
    C = (np.log(n_samples) - 1) * (B + 1) ** A
    n = np.clip((C * p / (1 - p)) ** (1 / A) - B, 0, n_samples)
    assert n.min() == 0 < np.median(n) < n.max() == n_samples
    monkeypatch.setattr("tacit.trees.fastxml.balanced_gains", spy)
    model = tacit.PfastXML(n_trees=5, propensities=p, A=A, B=B)
    trees = arguments_of_trees(monkeypatch, model, data)
    for tree, power in zip(trees, powers, strict=True):
        expected = normalised_gains(data.Y).data * (n + FEW)[data.Y.indices] ** -power
        assert tree[2].values == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("parameters", [{}, {"A": 0.9, "B": 20.0}, {"A": 0.0}])
def test_the_propensity_model_stands_for_the_counts_themselves(data, parameters):
    model = tacit.PfastXML(**parameters)
    model.label_counts_ = np.bincount(data.Y.indices, minlength=N_LABELS)
    found = model._commonness(data.Y)
    if parameters.get("A") == 0.0:  # all labels have the same propensity
        assert len(set(found)) == 1
    else:
        assert np.array_equal(found, model.label_counts_[data.Y.indices] + FEW)


def test_alpha_one_keeps_the_order_of_the_trees(data):
    trees = tacit.PfastXML(n_trees=5, refit=1.0).fit(data.X, data.Y).rank(data.X, k=3)
    both = tacit.PfastreXML(n_trees=5, alpha=1.0, refit=1.0).fit(data.X, data.Y).rank(data.X, k=3)
    assert np.exp(both.scores) == pytest.approx(trees.scores, rel=1e-5)


def test_quantised_values_keep_faint_entries():
    levels, steps = quantised(np.array([1.0, 1e-9, 0.0, 0.5]), np.array([0, 3, 3, 4]), np.uint8)
    assert list(levels) == [255, 1, 0, 255]
    assert steps == pytest.approx([1 / 255, 0, 0.5 / 255])
    levels, steps = quantised(np.array([-2.0, 1.0, -1e-9]), np.array([0, 3]), np.int8)
    assert list(levels) == [-127, 64, -1]
    assert steps == pytest.approx([2 / 127])


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


def gains_of_nodes(monkeypatch, cls, data, balance):
    gains = arguments_of_trees(monkeypatch, cls(n_trees=1, balance=balance), data)[0][2].values
    return sparse.csr_matrix((gains, data.Y.indices, data.Y.indptr), shape=data.Y.shape).toarray()


def ideal_dcg(gains):
    return -np.sort(-gains, axis=1) @ (1 / np.log2(np.arange(gains.shape[1]) + 2))


def test_without_balance_nodes_gain_as_in_the_papers(data, monkeypatch):
    Y = data.Y.toarray()
    per_sample = gains_of_nodes(monkeypatch, tacit.FastXML, data, None)
    assert per_sample == pytest.approx(Y / np.maximum(ideal_dcg(Y), 1e-9)[:, None], rel=1e-5)
    per_label = gains_of_nodes(monkeypatch, tacit.PfastXML, data, None)
    assert per_label == pytest.approx(Y / tacit.propensities(data.Y), rel=1e-5)


def test_samples_of_rare_labels_gain_more_with_propensities_only(data, monkeypatch):
    has_labels = np.diff(data.Y.indptr) > 0
    plain = ideal_dcg(gains_of_nodes(monkeypatch, tacit.FastXML, data, 1.0))[has_labels]
    assert plain == pytest.approx(1, rel=1e-5)
    weighted = ideal_dcg(gains_of_nodes(monkeypatch, tacit.PfastXML, data, 1.0))[has_labels]
    assert weighted.max() > 1.05 * weighted.min()


@pytest.mark.parametrize("cls", [tacit.FastXML, tacit.PfastXML])
def test_half_of_the_trees_start_from_coins(cls, data, monkeypatch):
    trees = arguments_of_trees(monkeypatch, cls(n_trees=40, max_leaf=300), data)
    assert 10 <= sum(tree[6].starts_by_features for tree in trees) <= 30


@pytest.mark.parametrize("cls", [tacit.FastXML, tacit.PfastXML, tacit.PfastreXML])
def test_the_papers_trees_are_printed_ones(cls, data, monkeypatch):
    """From coins, by the printed rules, with the paper's gains, and leaves that are plain means."""
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


def test_a_refitted_forest_fits_better(data):
    errors = []
    for refit in (0.0, 0.5, 1.0):
        model = tacit.FastXML(n_trees=10, max_leaf=30, min_share=1.0, refit=refit).fit(data.X, data.Y)
        scores = model.rank(data.X, k=N_LABELS).to_csr(N_LABELS)
        errors.append(float(np.square((scores - data.Y).toarray()).sum()))
    assert errors[0] > errors[1] > errors[2]


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
