"""The algorithms of the baselines against slow references, rising objectives and planted answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import N_LABELS, planted
from reproduce.baselines import __main__ as script
from reproduce.baselines.cplst import CPLST
from reproduce.baselines.cs import pursuit_scores
from reproduce.baselines.dxml import DXML, walk_pairs
from reproduce.baselines.frank_wolfe import frank_wolfe_pass, project_masses
from reproduce.baselines.leml import LEML, LEMLIMC, LabelFeatures, Problem
from reproduce.baselines.lpsr import LPSR, Part, assign_labels
from reproduce.baselines.ml_cssp import MLCSSP, leverage_scores
from reproduce.baselines.pdsparse import DualState
from reproduce.baselines.settings import BASELINES, GRIDS, PRINTED, SETTINGS
from reproduce.baselines.wsabie import WSABIE
from tacit.data.split import hide_positives
from tacit.latent.model import with_constant
from tacit.numerics.rows import unit_rows
from tacit.registry import MODELS


@pytest.fixture(scope="module")
def data():
    return planted(n_samples=120)


def random_data(n_samples=60, n_features=15, n_labels=8, seed=0):
    """Labels that follow from the features through few factors, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features)).astype(np.float32)
    scores = X @ rng.standard_normal((n_features, 3)) @ rng.standard_normal((3, n_labels))
    Y = (scores + rng.standard_normal(scores.shape) > 2).astype(np.float32)
    return sparse.csr_matrix(X), sparse.csr_matrix(Y)


def ridge_weights(X, Y, ridge):
    dense = X.toarray().astype(np.float64)
    return np.linalg.solve(dense.T @ dense + ridge * np.eye(dense.shape[1]), dense.T @ Y)


def weights_of(model):
    """The weights (n_features, n_labels) of a model with a low-rank map."""
    return model.map_.projection @ model.map_.vectors.columns


# -- LEML and LEML-IMC ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["identity", "spectral"])
def test_leml_never_raises_its_objective(kind):
    X, Y = random_data()
    features = LabelFeatures.identity(Y.shape[1]) if kind == "identity" else LabelFeatures.spectral(Y.T @ Y)
    problem = Problem(X, Y, features, ridge=2.0)
    W = np.random.default_rng(1).standard_normal((X.shape[1], 3))
    H = np.zeros((len(features.scale), 3))
    values = [problem.objective(W, H)]
    for _ in range(5):
        H = problem.best_labels(W)
        values.append(problem.objective(W, H))
        W = problem.better_map(W, H, 4)
        values.append(problem.objective(W, H))
    assert (np.diff(values) < 0).all()


@pytest.mark.parametrize("kind", ["identity", "spectral"])
def test_the_steps_of_leml_end_where_gradients_vanish(kind):
    X, Y = random_data()
    features = LabelFeatures.identity(Y.shape[1]) if kind == "identity" else LabelFeatures.spectral(Y.T @ Y)
    F = np.asarray((features.basis.toarray() if kind == "identity" else features.basis) * np.sqrt(features.scale))
    problem = Problem(X, Y, features, ridge=2.0)
    W = np.random.default_rng(1).standard_normal((X.shape[1], 3))
    H = problem.best_labels(W)
    gap = X @ W @ H.T @ F.T - Y.toarray()
    assert np.allclose(F.T @ gap.T @ (X @ W) + 2.0 * H, 0, atol=1e-8)
    W = problem.better_map(W, H, 200)
    gap = X @ W @ H.T @ F.T - Y.toarray()
    assert np.allclose(X.T @ gap @ F @ H + 2.0 * W, 0, atol=1e-2)


def test_side_information_helps_where_labels_are_hidden():
    train, test = planted(seed=3), planted(seed=14)
    Y, Y_test = (sparse.csr_matrix(sparse.hstack([part.Y, part.Y])) for part in (train, test))
    hidden = hide_positives(Y, 0.9, 0)  # of labels that always occur with a twin
    options = {"n_factors": 12, "ridge": 0.3}
    plain = LEML(**options).fit(train.X, hidden)
    informed = LEMLIMC(**options).fit(train.X, hidden, cooccurrence=Y.T @ Y)
    scores = [tacit.evaluate(model.rank(test.X), Y_test)["P@5"] for model in (plain, informed)]
    assert scores[1] > scores[0] + 0.02


# -- CPLST, ML-CSSP and CS --------------------------------------------------------------------------------


def test_cplst_explains_as_much_as_any_directions_can():
    X, Y = random_data()
    X = unit_rows(X)
    model = CPLST(dimension=3, ridge=0.5).fit(X, Y)
    Z = Y.toarray() - Y.toarray().mean(axis=0)
    hat = X @ ridge_weights(X, np.eye(X.shape[0]), 0.5)
    V = np.linalg.eigh(Z.T @ hat @ Z)[1][:, -3:]
    assert np.allclose(weights_of(model), ridge_weights(X, Z, 0.5) @ V @ V.T, atol=1e-4)


def test_leverage_is_that_of_the_singular_vectors():
    _, Y = random_data()
    _, _, right = np.linalg.svd(Y.toarray())
    assert np.allclose(leverage_scores(Y, 4), (right[:4] ** 2).sum(axis=0) / 4, atol=1e-6)


def test_ml_cssp_with_all_labels_is_ridge_regression():
    X, Y = random_data()
    model = MLCSSP(n_chosen=Y.shape[1], ridge=0.5, normalize=False).fit(X, Y)
    assert np.allclose(weights_of(model), ridge_weights(X, Y.toarray(), 0.5), atol=1e-3)


def test_the_pursuit_follows_a_slow_one():
    rng = np.random.default_rng(1)
    atoms = rng.standard_normal((6, 10))
    atoms /= np.linalg.norm(atoms, axis=0)
    target = rng.standard_normal(6)
    selected: list[int] = []
    residual = target
    for _ in range(4):
        selected.append(max(set(range(10)) - set(selected), key=lambda label: atoms[:, label] @ residual))
        fitted = np.linalg.lstsq(atoms[:, selected], target, rcond=None)[0]
        residual = target - atoms[:, selected] @ fitted
    scores = pursuit_scores(atoms.T @ target, atoms.T @ atoms, 4)
    assert set(selected) == set(np.argsort(-scores, kind="stable")[:4])
    assert (np.diff(scores[selected]) <= 0).all()


# -- PD-Sparse --------------------------------------------------------------------------------------------


def nearest_masses(relevant, others, C):
    """The projection by a grid over the common sum."""

    def to_sum(values, total):
        if total == 0:
            return np.zeros_like(values)
        ordered = np.sort(values)[::-1]
        shifts = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
        return np.maximum(values - shifts[np.flatnonzero(ordered > shifts)[-1]], 0)

    pairs = ((to_sum(relevant, total), to_sum(others, total)) for total in np.linspace(0, C, 2001))
    return min(pairs, key=lambda pair: ((pair[0] - relevant) ** 2).sum() + ((pair[1] - others) ** 2).sum())


@pytest.mark.parametrize("seed", range(8))
def test_masses_are_projected_to_the_nearest(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.3, 1, 3), rng.normal(0, 1, 5)
    expected = nearest_masses(a.copy(), b.copy(), 1.5)
    project_masses(a, b, 1.5)
    assert a.sum() == pytest.approx(b.sum(), abs=1e-9)
    assert np.allclose(np.concatenate([a, b]), np.concatenate(expected), atol=2e-3)


def dual_objective(state, Y):
    """½‖W‖² + the sum of the dual variables of labels that are not relevant."""
    relevant = Y.toarray()[np.arange(Y.shape[0])[:, None], np.maximum(state.active, 0)] > 0
    others = (state.active >= 0) & ~relevant
    return 0.5 * float((state.W.astype(np.float64) ** 2).sum()) + float(state.alphas[others].sum())


def primal_objective(X, Y, W, l1, C):
    scores, relevant = X @ W, Y.toarray() > 0
    worst = np.where(relevant, scores, np.inf).min(axis=1)
    best = np.where(relevant, -np.inf, scores).max(axis=1)
    losses = np.maximum(1 + best - worst, 0)[relevant.any(axis=1) & ~relevant.all(axis=1)]
    return l1 * np.abs(W).sum() + 0.5 * (W**2).sum() + C * losses.sum()


def test_pd_sparse_lowers_the_dual_until_it_meets_the_primal():
    X, Y = random_data()
    X, l1, C = with_constant(X), 0.05, 0.3
    state = DualState.zero(X.shape[0], X.shape[1], Y.shape[1], Y.shape[1])
    duals = [0.0]
    for _ in range(300):
        order = np.arange(X.shape[0])
        parts = (X.indptr, X.indices, X.data, Y.indptr, Y.indices, order, l1, C, 2)
        frank_wolfe_pass(*parts, state.active, state.alphas, state.sums, state.W)
        duals.append(dual_objective(state, Y))
    assert (np.diff(duals) <= 1e-4).all()
    primal = primal_objective(X, Y, state.W.astype(np.float64), l1, C)
    assert primal == pytest.approx(-duals[-1], rel=1e-3)  # no gap: both are optimal
    assert (state.W == 0).any()


# -- WSABIE -----------------------------------------------------------------------------------------------


def warp_loss(model, X, Y):
    """The mean over positives of L(rank), rank counting labels within the margin."""
    scores = model.map_.scores(unit_rows(X))
    losses = []
    for row, labels in enumerate(Y.toarray() > 0):
        for label in np.flatnonzero(labels):
            rank = int((scores[row][~labels] > scores[row, label] - 1).sum())
            losses.append((1 / np.arange(1, rank + 1)).sum())
    return np.mean(losses)


def test_warp_steps_lower_the_loss(data):
    few, many = (WSABIE(dimension=20, n_passes=n).fit(data.X, data.Y) for n in (1, 30))
    assert warp_loss(many, data.X, data.Y) < 0.2 * warp_loss(few, data.X, data.Y)


# -- DXML -------------------------------------------------------------------------------------------------


def test_pairs_of_walks_are_those_of_many_walks():
    _, Y = random_data(n_labels=5)
    graph = (Y.T @ Y).toarray()
    rng = np.random.default_rng(0)
    counts = np.zeros((5, 5))
    label = int(graph.sum(axis=1).argmax())
    path = [label]
    for _ in range(20_000):
        label = int(rng.choice(5, p=graph[label] / graph[label].sum()))
        path.append(label)
    for apart in (1, 2):
        np.add.at(counts, (path[:-apart], path[apart:]), 1)
    counts = (counts + counts.T) / 2
    expected = walk_pairs(Y, 2)
    assert np.allclose(counts / counts.sum(), expected / expected.sum(), atol=0.01)


def test_samples_of_other_clusters_do_not_vote(data):
    model = DXML(max_cluster=40, n_neighbors=5, n_epochs=30).fit(data.X, data.Y)
    assert len(model.centers_) >= 3
    queries = model.network_.embed(unit_rows(data.X))
    nearest = (queries @ model.centers_.T).argmax(axis=1)
    expected = np.zeros((len(queries), N_LABELS))
    for row, cluster in enumerate(nearest):
        members = np.flatnonzero(model.clusters_ == cluster)
        cosines = model.points_[members] @ queries[row]
        voters = np.argsort(-cosines, kind="stable")[:5]
        weights = np.maximum(cosines[voters], 0) ** model.vote_power
        expected[row] = weights @ data.Y.toarray()[model.samples_[members[voters]]] / weights.sum()
    ranking = model.rank(data.X, k=1)
    assert np.allclose(ranking.scores[:, 0], expected.max(axis=1), atol=1e-3)


# -- LPSR -------------------------------------------------------------------------------------------------


def test_the_gradient_of_the_relaxed_precision_is_right():
    rng = np.random.default_rng(0)
    part = Part.of(rng.standard_normal((20, 9)), rng.random((20, 9)) < 0.3)
    alpha = rng.random(9)
    _, gradient = part.objective(alpha)
    for label in range(9):
        step = 1e-6 * np.eye(9)[label]
        slope = (part.objective(alpha + step)[0] - part.objective(alpha - step)[0]) / 2e-6
        assert gradient[label] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_nearly_the_best_labels_are_assigned(seed):
    rng = np.random.default_rng(seed)
    part = Part.of(rng.standard_normal((30, 10)), rng.random((30, 10)) < rng.random(10) / 2)

    def value(labels):
        return part.objective(np.isin(np.arange(10), labels).astype(float))[0]

    best = max(value(labels) for labels in itertools.combinations(range(10), 6))
    assert value(assign_labels(part, 10, 6)) >= 0.97 * best


def test_a_part_ranks_its_own_labels_first(data):
    model = LPSR(max_part=30, n_assigned=4).fit(data.X, data.Y)
    assert (model.assigned_.sum(axis=1) <= 4).all()
    ranking = model.rank(data.X, k=4)
    near = (unit_rows(data.X) @ model.centers_.T).argmax(axis=1)
    for row, labels in enumerate(ranking.labels):
        assert set(labels) >= set(np.flatnonzero(model.assigned_[near[row]]))


# -- the list of baselines, and the script ----------------------------------------------------------------


@pytest.mark.parametrize("entry", BASELINES.values(), ids=BASELINES)
def test_every_baseline_finds_the_planted_labels_and_is_saved(entry, tmp_path, monkeypatch):
    monkeypatch.setitem(MODELS, entry.name, entry)
    options = {"DXML": {"n_epochs": 150, "rate": 0.01, "decay": 0.001}, "CS": {"dimension": 30}}.get(entry.name, {})
    model, test = entry.load()(random_state=0, **options).fit(*planted()), planted(seed=1)
    ranking = model.rank(test.X, k=3)
    assert tacit.evaluate(ranking, test.Y, ks=(1,))["P@1"] > 0.9
    model.save(tmp_path / "model")
    assert np.array_equal(tacit.load_model(tmp_path / "model").rank(test.X, k=3).scores, ranking.scores)


def test_every_baseline_has_figures_a_grid_and_settings():
    assert PRINTED.keys() == BASELINES.keys() == GRIDS.keys() == SETTINGS.keys()
    for name, runs in PRINTED.items():
        assert runs.keys() == SETTINGS[name].keys()
        for chosen in SETTINGS[name].values():
            assert all(value in GRIDS[name][parameter] for parameter, value in chosen.items())


def test_the_script_chooses_and_measures(tmp_path, monkeypatch, capsys):
    (tmp_path / "bibtex").mkdir()
    for part, seed in (("train", 0), ("test", 1)):
        made = planted(seed=seed)
        rows = [f"{made.X.shape[0]} {made.X.shape[1]} {N_LABELS}"]
        for x, y in zip(made.X, made.Y, strict=True):
            features = " ".join(f"{i}:{v}" for i, v in zip(x.indices, x.data, strict=True))
            rows.append(f"{','.join(map(str, y.indices))} {features}")
        (tmp_path / "bibtex" / f"{part}.txt").write_text("\n".join(rows) + "\n")
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    monkeypatch.setitem(GRIDS, "CPLST", {"dimension": (2, 10, 100), "ridge": (1.0,)})
    run = next(iter(PRINTED["CPLST"]))
    script.choose("CPLST", run)
    script.test("CPLST", run)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 4  # vectors of 100 are no compression of 12 labels
    assert printed[-2] == "CPLST on bibtex: {'dimension': 10, 'ridge': 1.0}"
    assert "62.4/37.8/27.6" in printed[-1]
    assert printed[-1].endswith("holds")
