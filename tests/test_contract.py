"""What every registered model promises; a new model is tested by its line in the registry."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import average_precision_score, log_loss
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import tacit
from planted import N_FEATURES, N_LABELS, planted
from small import small
from tacit.errors import DataError, ParameterError
from tacit.registry import MODELS, find_model

IGNORES_FEATURES = {"Popularity"}

#: Parameters with which scores are probabilities or log-odds; the other models have no `predict_proba`.
PROBABLE: dict[str, dict[str, Any]] = {
    "Popularity": {},
    "OneVsAll": {"loss": "logistic", "positives": "equal", "C": 2.0},
    "FastXML": {"refit": 0.0},
    "ExMLDS1": {},
    "ExMLDS2": {},
    "SLEEC": {},
    "JointExMLDS": {"tail_power": 0.0},
    "AnnexML": {"tail_power": 0.0},
    "LFM": {},
    "COSTA": {},
    "MLLCS": {},
    "MomentMatching": {},
}

#: scikit-learn's checks that cannot hold here: check → reason.
EXPECTED_FAILURES = {
    "check_dtype_object": "wrong data is a DataError, which is a ValueError; the check wants a TypeError",
}
TAKEN_FOR_CLASSIFIERS = {
    f"check_estimator_sparse_{kind}": "predict_proba makes the check look for tags of a classifier"
    for kind in ("array", "matrix")
}


NAMES = [f"näme {i:02d}" for i in range(N_LABELS)]


def checked_apart(name: str) -> tuple[Any, ...]:
    """What a model does with its input before `_fit`, and with its label names: one key for all that share it."""
    cls = find_model(name)
    return tuple(getattr(cls, each) for each in ("fit", "_fit_checked", "_checked", "_scaled", "takes_dense"))


#: One model for each way to take input; the rules of input are checked before `_fit`, where models are alike.
ONE_PER_INPUT = list({checked_apart(name): name for name in MODELS}.values())


@pytest.fixture(params=list(MODELS))
def model(request: pytest.FixtureRequest) -> Any:
    return find_model(request.param)(random_state=0, **small(request.param))


@pytest.fixture(params=ONE_PER_INPUT)
def taker(request: pytest.FixtureRequest) -> Any:
    """A model for each way to take input."""
    return find_model(request.param)(random_state=0, **small(request.param))


@pytest.fixture(scope="module")
def data() -> Iterator[Any]:
    made = planted()
    yield made
    fresh = planted()
    assert (made.X != fresh.X).nnz == (made.Y != fresh.Y).nnz == 0, "a model has changed its caller's matrices"


@pytest.fixture(scope="module", params=list(MODELS))
def fitted(request: pytest.FixtureRequest, data: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A model with the parameters it is shipped with, trained once for all checks that only read it."""
    folder = tmp_path_factory.mktemp("fitted")
    model = find_model(request.param)(random_state=0).fit(data.X, data.Y, label_names=NAMES)
    model.save(folder / "before")
    yield model
    model.save(folder / "after")
    assert folder_bytes(folder / "before") == folder_bytes(folder / "after"), "a check has changed the model it reads"


@pytest.fixture(scope="module", params=list(PROBABLE))
def probable(request: pytest.FixtureRequest, data: Any) -> Any:
    train = mostly_recorded(data, 2)
    return find_model(request.param)(random_state=0, **PROBABLE[request.param]).fit(train.X, train.Y)


@pytest.fixture(scope="module", params=list(MODELS))
def saved(request: pytest.FixtureRequest, data: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An untrained model and the files that it saves, trained in one task at a time."""
    model, folder = find_model(request.param)(random_state=0, **small(request.param)), tmp_path_factory.mktemp("saved")
    clone(model).fit(data.X, data.Y).save(folder / "one")
    return model, folder_bytes(folder / "one")


@pytest.fixture(scope="module")
def saved_mixed(saved: Any, data: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same with mixed features."""
    model, folder = saved[0], tmp_path_factory.mktemp("saved")
    clone(model).fit(mixed(), data.Y).save(folder / "one")
    return model, folder_bytes(folder / "one")


def folder_bytes(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def same_ranking(a: tacit.Ranking, b: tacit.Ranking) -> bool:
    return np.array_equal(a.labels, b.labels) and np.array_equal(a.scores, b.scores)


# -- what it learns ---------------------------------------------------------------------------------------


def test_finds_the_planted_labels(fitted):
    test = planted(seed=1)
    metrics = tacit.evaluate(fitted.rank(test.X, k=1), test.Y, ks=(1,))
    if type(fitted).__name__ in IGNORES_FEATURES:
        assert metrics["P@1"] > 1 / N_LABELS
    else:
        assert metrics["P@1"] > 0.95


def test_a_second_fit_forgets_the_first(model, data):
    other = planted(seed=5)
    again = clone(model).fit(other.X, other.Y).fit(data.X, data.Y)
    assert same_ranking(model.fit(data.X, data.Y).rank(data.X), again.rank(data.X))


# -- rankings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 5, N_LABELS])
def test_ranking_has_unique_labels_and_falling_scores(fitted, data, k):
    ranking = fitted.rank(data.X, k=k)
    assert ranking.labels.shape == ranking.scores.shape == (len(ranking), k)
    assert ranking.labels.dtype == np.int32
    assert ranking.scores.dtype == np.float32
    assert all(len(set(row)) == k for row in ranking.labels)
    assert (np.diff(ranking.scores, axis=1) <= 0).all()


def test_k_above_the_number_of_labels_pads(fitted, data):
    ranking = fitted.rank(data.X[:3], k=N_LABELS + 2)
    assert (ranking.labels[:, N_LABELS:] == -1).all()
    assert np.isneginf(ranking.scores[:, N_LABELS:]).all()
    assert same_ranking(ranking.top(N_LABELS), fitted.rank(data.X[:3], k=N_LABELS))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, list])
def test_include_and_exclude_restrict_the_labels(fitted, data, dtype):
    chosen = [1, 4, 6] if dtype is list else np.array([1, 4, 6], dtype=dtype)
    full = fitted.rank(data.X, k=N_LABELS)
    included = fitted.rank(data.X, k=3, include=chosen)
    excluded = fitted.rank(data.X, k=N_LABELS, exclude=chosen)
    for row in range(len(full)):
        order = full.labels[row]
        assert list(included.labels[row]) == [label for label in order if label in (1, 4, 6)]
        assert list(excluded.labels[row, :-3]) == [label for label in order if label not in (1, 4, 6)]
    assert (excluded.labels[:, -3:] == -1).all()


def test_include_by_name(fitted, data):
    assert list(fitted.classes_) == NAMES
    assert same_ranking(fitted.rank(data.X, include=["näme 02", "näme 09"]), fitted.rank(data.X, include=[2, 9]))
    with pytest.raises(ParameterError, match="unknown label 'nmäe 02' .did you mean 'näme 02'"):
        fitted.rank(data.X, include=["nmäe 02"])


def test_labels_without_names_are_columns(taker, data):
    taker.fit(data.X, data.Y)
    assert list(taker.classes_) == list(range(N_LABELS))
    assert (np.sort(taker.rank(data.X, k=2, include=[2, 9]).labels, axis=1) == [2, 9]).all()
    with pytest.raises(ParameterError, match="exclude names column 12, but there are 12 labels"):
        taker.rank(data.X, exclude=[N_LABELS])


def test_nothing_to_rank_gives_pads(fitted, data):
    ranking = fitted.rank(data.X[:2], k=3, include=[])
    assert (ranking.labels == -1).all()
    assert np.isneginf(ranking.scores).all()


def test_one_row_ranks_as_it_does_in_a_batch(fitted, data):
    batch = fitted.rank(data.X, k=4)
    for row in (0, 7, 100):
        assert same_ranking(fitted.rank(data.X[row], k=4), batch.rows(slice(row, row + 1)))


def test_no_rows_give_an_empty_ranking(fitted, data):
    assert fitted.rank(data.X[:0], k=3).labels.shape == (0, 3)


# -- scores, dense and as probabilities -------------------------------------------------------------------


def with_ties_and_empty_labels(data: Any) -> sparse.csr_matrix:
    """Labels 3 and 7 have no positives, label 11 is label 0 again."""
    Y = data.Y.toarray()
    Y[:, [3, 7]], Y[:, 11] = 0, Y[:, 0]
    return sparse.csr_matrix(Y)


def test_labels_without_positives_rank_last_and_dense_scores_have_the_order_of_the_ranking(model, data):
    ranking = model.fit(data.X, with_ties_and_empty_labels(data)).rank(data.X, k=N_LABELS)
    assert set(ranking.labels[:, -2:].ravel()) == {3, 7}
    assert np.isfinite(ranking.scores).all()
    scores = model.decision_function(data.X)
    assert scores.dtype == np.float32
    assert scores.shape == data.Y.shape
    assert np.isfinite(scores).all()
    assert np.array_equal(np.take_along_axis(scores, ranking.labels, axis=1), ranking.scores)
    assert np.array_equal(model.decision_function(data.X[5]), scores[5:6])
    assert model.decision_function(data.X[:0]).shape == (0, N_LABELS)


def test_decision_function_serves_metrics_of_scikit_learn(fitted, data):
    test = planted(seed=1)
    scores = fitted.decision_function(test.X)
    shares = np.broadcast_to(data.Y.mean(axis=0), scores.shape)
    chance, found = (average_precision_score(test.Y.toarray(), each, average="micro") for each in (shares, scores))
    assert found == pytest.approx(chance) if type(fitted).__name__ in IGNORES_FEATURES else found > chance + 0.5


def mostly_recorded(data: Any, seed: int) -> Any:
    """Three of four labels: what their features say of them is no longer sure."""
    kept = np.random.default_rng(seed).random(data.Y.shape) < 0.75
    return data._replace(Y=data.Y.multiply(kept).tocsr())


@pytest.mark.parametrize("name", [name for name in MODELS if name not in PROBABLE])
def test_other_scores_are_no_probabilities(name):
    assert not hasattr(find_model(name)(), "predict_proba")


def test_probabilities_are_better_than_shares_of_labels(probable, data):
    train, test = mostly_recorded(data, 2), mostly_recorded(planted(seed=1), 3)
    found = probable.predict_proba(test.X).toarray()
    truth, shares = test.Y.toarray().ravel(), np.broadcast_to(train.Y.mean(axis=0), found.shape)
    by_share, by_model = (log_loss(truth, np.clip(each.ravel(), 1e-4, 1 - 1e-4)) for each in (shares, found))
    ignores_features = type(probable).__name__ in IGNORES_FEATURES
    assert by_model == pytest.approx(by_share) if ignores_features else by_model < by_share / 2
    assert found.sum() == pytest.approx(test.Y.sum(), rel=0.2)


def test_probabilities_are_those_of_the_first_places(probable, data):
    everything = probable.predict_proba(data.X).toarray()
    assert ((everything >= 0) & (everything <= 1)).all()
    ranking, found = probable.rank(data.X, k=3), probable.predict_proba(data.X, k=3)
    assert found.dtype == np.float32
    assert np.array_equal(found.indices.reshape(-1, 3), np.sort(ranking.labels, axis=1))
    ordered = np.take_along_axis(everything, ranking.labels, axis=1)
    assert np.array_equal(ordered, np.take_along_axis(found.toarray(), ranking.labels, axis=1))
    assert (np.diff(ordered, axis=1) <= 0).all()
    assert (ordered[:, -1] >= np.sort(everything, axis=1)[:, -3]).all()


# -- forms of input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array, np.float64, "dense"])
def test_any_form_of_features_gives_the_same_model(taker, data, form):
    convert = (lambda X: X.toarray()) if form == "dense" else (lambda X: X.astype(form)) if form is np.float64 else form
    expected = clone(taker).fit(data.X, data.Y).rank(data.X)
    assert same_ranking(taker.fit(convert(data.X), data.Y).rank(convert(data.X)), expected)


# -- dense and mixed features -----------------------------------------------------------------------------


def vectors(seed: int = 0) -> Any:
    """Dense vectors that tell the planted labels, and the planted data themselves."""
    made = planted(seed=seed)
    turn = np.random.default_rng(7).standard_normal((N_FEATURES, 24))
    noise = np.random.default_rng(seed).standard_normal((made.X.shape[0], 24))
    return made._replace(X=(made.X @ turn / 3 + 0.02 * noise).astype(np.float32))


def mixed(seed: int = 0, weight: float = 0.7) -> tacit.Features:
    """The first planted features as words, and the vectors."""
    return tacit.Features(planted(seed=seed).X[:, :10], vectors(seed).X, weight)


def like(found: tacit.Ranking, expected: tacit.Ranking) -> bool:
    """Sums in another order differ by what the processor's rounding makes of them; log-odds are tens."""
    is_close = np.allclose(found.scores, expected.scores, rtol=0.003, atol=0.03)
    return np.array_equal(found.labels, expected.labels) and is_close


def test_a_dense_matrix_ranks_as_its_sparse_copy_does(model, tmp_path):
    train, test = vectors(), vectors(1)
    copies = sparse.csr_matrix(train.X), sparse.csr_matrix(test.X)
    expected = clone(model).fit(copies[0], train.Y).rank(copies[1], k=2)
    model.fit(train.X, train.Y)
    assert like(model.rank(test.X, k=2), expected)
    assert same_ranking(model.rank(copies[1], k=2), model.rank(test.X, k=2))
    np.save(tmp_path / "X.npy", train.X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert same_ranking(clone(model).fit(mapped, train.Y).rank(mapped), model.rank(train.X))
    half = clone(model).fit(train.X.astype(np.float16), train.Y).rank(test.X.astype(np.float16), k=1)
    wanted = 1 / N_LABELS if type(model).__name__ in IGNORES_FEATURES else 0.95
    assert tacit.evaluate(half, test.Y, ks=(1,))["P@1"] > wanted


def test_mixed_features_rank_as_their_sparse_copy_does(model, data, tmp_path):
    X = mixed()
    copy = X.balanced().tocsr() if model.get_params().get("normalize", True) else X.tocsr()
    expected = clone(model).fit(copy, data.Y).rank(copy, k=2)
    model.fit(X, data.Y)
    found = model.rank(X, k=2)
    assert like(found, expected)
    assert same_ranking(model.rank(X[7], k=2), found.rows(slice(7, 8)))
    model.save(tmp_path / "model")
    assert same_ranking(tacit.load_model(tmp_path / "model").rank(X, k=2), found)
    assert same_ranking(clone(model).fit(data.X, data.Y).rank(data.X), model.fit(data.X, data.Y).rank(data.X))


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_the_number_of_jobs_never_changes_a_model_of_mixed_features(saved_mixed, data, tmp_path, backend):
    model, files = saved_mixed
    with joblib.parallel_config(backend, n_jobs=2):
        clone(model).set_params(n_jobs=2).fit(mixed(), data.Y).save(tmp_path / "two")
    assert folder_bytes(tmp_path / "two") == files


def test_a_checkpoint_of_mixed_features_gives_the_same_model(saved_mixed, data, tmp_path):
    model, files = saved_mixed
    for name in ("first", "resumed"):
        with tacit.checkpoint(tmp_path / "partial"):
            clone(model).fit(mixed(), data.Y).save(tmp_path / name)
        assert folder_bytes(tmp_path / name) == files


BAD_RANKS = {
    "X must have 34 features, 24 of them dense with the weight 0.7, as in training; got 10, 0": lambda X: X.sparse,
    "as in training; got 34, 0 and 0": lambda X: X.tocsr(),
    "as in training; got 33, 23 and 0.7": lambda X: tacit.Features(X.sparse, X.dense[:, 1:], 0.7),
    "as in training; got 24, 24 and 0.7": lambda X: tacit.Features(None, X.dense, 0.7),
    "as in training; got 34, 24 and 1": lambda X: tacit.Features(X.sparse, X.dense),
    "contains NaN at row 0, column 0": lambda X: tacit.Features(X.sparse, X.dense * np.nan),
    "inconsistent numbers of samples, 5 in the sparse part": lambda X: tacit.Features(X.sparse[:5], X.dense),
}


def test_other_parts_than_in_training_are_refused(taker, data):
    taker.fit(mixed(), data.Y)
    for message, change in BAD_RANKS.items():
        with pytest.raises(DataError, match=message):
            taker.rank(change(mixed()))
    with pytest.raises(DataError, match="X must have 20 features, 0 of them dense .* as in training; got 34, 24"):
        clone(taker).fit(data.X, data.Y).rank(mixed())
    with pytest.raises(DataError, match="X has 23 features, but .* is expecting 24"):
        clone(taker).fit(vectors().X, data.Y).rank(vectors().X[:, 1:])
    with pytest.raises(DataError, match="inconsistent numbers of samples, 5 in X"):
        clone(taker).fit(mixed()[:5], data.Y)


@pytest.mark.parametrize("form", [sparse.csc_matrix, sparse.coo_array, sparse.lil_matrix, "dense", "bool", "lists"])
def test_any_form_of_labels_gives_the_same_ranking(taker, data, form):
    convert = {
        "dense": lambda Y: Y.toarray().astype(np.int8),
        "bool": lambda Y: Y.astype(bool),
        "lists": lambda Y: [list(row.indices) for row in Y],
    }.get(form, form)
    expected = clone(taker).fit(data.X, data.Y).rank(data.X)
    assert same_ranking(taker.fit(data.X, convert(data.Y)).rank(data.X), expected)


def test_unsorted_and_duplicate_indices_are_mended_on_a_copy(taker, data):
    messy = data.X.copy()
    messy.indices, messy.data = messy.indices.copy(), messy.data.copy()
    for row in range(messy.shape[0]):
        part = slice(messy.indptr[row], messy.indptr[row + 1])
        messy.indices[part], messy.data[part] = messy.indices[part][::-1].copy(), messy.data[part][::-1].copy()
    indptr = 2 * messy.indptr
    messy = sparse.csr_matrix((np.repeat(messy.data / 2, 2), np.repeat(messy.indices, 2), indptr), shape=messy.shape)
    messy.has_canonical_format = messy.has_sorted_indices = False
    before = (messy.indptr.copy(), messy.indices.copy(), messy.data.copy())
    expected = clone(taker).fit(data.X, data.Y).rank(data.X)
    assert same_ranking(taker.fit(messy, data.Y).rank(messy), expected)
    assert all(np.array_equal(a, b) for a, b in zip(before, (messy.indptr, messy.indices, messy.data), strict=True))


def test_empty_rows_are_legal(model, data):
    X, Y = data.X.tolil(), data.Y.tolil()
    X[0], Y[0], X[1], Y[2] = 0, 0, 0, 0
    ranking = model.fit(X.tocsr(), Y.tocsr()).rank(X.tocsr()[:3], k=N_LABELS)
    assert np.isfinite(ranking.scores).all()


def test_predict_gives_label_sets_in_the_form_of_the_training_labels(taker, data):
    as_sparse = clone(taker).fit(data.X, data.Y).predict(data.X)
    as_dense = clone(taker).fit(data.X, data.Y.toarray()).predict(data.X)
    as_lists = clone(taker).fit(data.X, [[f"t{i:02d}" for i in row.indices] for row in data.Y]).predict(data.X)
    assert sparse.issparse(as_sparse)
    assert np.array_equal(as_sparse.toarray(), as_dense)
    assert [[int(name[1:]) for name in labels] for labels in as_lists] == [list(row.indices) for row in as_sparse]


def test_predict_matches_the_mean_number_of_labels(fitted, data):
    if type(fitted).__name__ in IGNORES_FEATURES:
        pytest.skip("gives every sample the same set")
    assert fitted.predict(data.X).sum() == pytest.approx(data.Y.sum(), rel=0.05)


def test_score_takes_any_form_of_labels(fitted):
    test = planted(seed=1)
    expected = tacit.evaluate(fitted.rank(test.X, k=5), test.Y, ks=(5,))["nDCG@5"]
    assert 0.2 < expected <= 1.0
    assert fitted.score(test.X, test.Y) == expected
    assert fitted.score(test.X, test.Y.toarray()) == expected
    assert fitted.score(test.X, [[NAMES[i] for i in row.indices[::-1]] for row in test.Y]) == expected


def test_cross_validation_needs_no_scoring(model, data):
    tags = [[f"t{i:02d}" for i in row.indices] for row in data.Y]
    share_of_labels = data.Y.mean()  # no more than the nDCG@5 of labels in any order
    found = cross_val_score(model, data.X, tags, cv=2)
    assert (found > (0.8 if type(model).__name__ in IGNORES_FEATURES else 1.9) * share_of_labels).all()


# -- bad input --------------------------------------------------------------------------------------------


def break_index(matrix: sparse.csr_matrix, value: int) -> sparse.csr_matrix:
    broken = matrix.copy()
    broken.indices = broken.indices.copy()
    broken.indices[5] = value
    return broken


def with_value(matrix: sparse.csr_matrix, value: float) -> sparse.csr_matrix:
    broken = matrix.copy()
    broken.data[3] = value
    return broken


BAD_FITS = {
    "NaN at row 0": lambda X, Y: (with_value(X, np.nan), Y),
    "infinity at row 0": lambda X, Y: (with_value(X, np.inf), Y),
    "too large for float32": lambda X, Y: (with_value(X.astype(np.float64), 1e300), Y),
    "X has the column index 99": lambda X, Y: (break_index(X, 99), Y),
    "Y has the column index 12": lambda X, Y: (X, break_index(Y, 12)),
    "must hold only 0 and 1": lambda X, Y: (X, with_value(Y, 2)),
    "inconsistent numbers of samples": lambda X, Y: (X[:-1], Y),
    "no positive label anywhere": lambda X, Y: (X, sparse.csr_matrix(Y.shape)),
    r"0 sample\(s\)": lambda X, Y: (X[:0], Y[:0]),
    r"0 feature\(s\)": lambda X, Y: (X[:, :0], Y),
    "list of labels per sample": lambda X, Y: (X, np.ones(X.shape[0])),
    "Expected 2D array": lambda X, Y: (np.ones(4), Y[:1]),
}


@pytest.mark.parametrize("message", BAD_FITS)
def test_fit_refuses(taker, data, message):
    X, Y = BAD_FITS[message](data.X, data.Y)
    with pytest.raises(DataError, match=message):
        taker.fit(X, Y)


def test_rank_refuses_what_is_wrong(fitted, data):
    with pytest.raises(DataError, match="NaN at row 0, column"):
        fitted.rank(with_value(data.X, np.nan))
    with pytest.raises(DataError, match="X has the column index 99"):
        fitted.rank(break_index(data.X, 99))
    with pytest.raises(DataError, match=f"X has {N_FEATURES - 1} features, but .* is expecting {N_FEATURES}"):
        fitted.rank(data.X[:, :-1])
    with pytest.raises(ParameterError, match="k must be a whole number of at least 1; got 0"):
        fitted.rank(data.X, k=0)
    with pytest.raises(ParameterError, match="exclude names column 12, but there are 12 labels"):
        fitted.rank(data.X, exclude=[N_LABELS])


def test_an_unfitted_model_says_so(model, data, tmp_path):
    uses = {
        "rank": [data.X],
        "predict": [data.X],
        "decision_function": [data.X],
        "predict_proba": [data.X],
        "score": [data.X, data.Y],
        "save": [tmp_path / "m"],
    }
    for name, arguments in uses.items():
        if hasattr(model, name):
            with pytest.raises(NotFittedError, match="is not fitted"):
                getattr(model, name)(*arguments)


def test_parameters_are_checked(taker, data):
    with pytest.raises(ParameterError, match="parameter 'random_state' must be int or None, >= 0; got -1"):
        taker.set_params(random_state=-1).fit(data.X, data.Y)


# -- same seed, same model --------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_jobs", "backend"), [(2, "threading"), (2, "loky")])
def test_the_number_of_jobs_never_changes_the_model(saved, data, tmp_path, n_jobs, backend):
    model, files = saved
    with joblib.parallel_config(backend, n_jobs=n_jobs):
        clone(model).set_params(n_jobs=n_jobs).fit(data.X, data.Y).save(tmp_path / "many")
    assert folder_bytes(tmp_path / "many") == files


def test_a_checkpoint_gives_the_same_model(saved, data, tmp_path):
    model, files = saved
    for name in ("first", "resumed"):
        with tacit.checkpoint(tmp_path / "partial"):
            clone(model).fit(data.X, data.Y).save(tmp_path / name)
        assert folder_bytes(tmp_path / name) == files


def test_a_loaded_model_ranks_alike_and_saves_alike(fitted, data, tmp_path):
    fitted.save(tmp_path / "first")
    for verify in (True, False):
        loaded = tacit.load_model(tmp_path / "first", verify=verify)
        assert type(loaded) is type(fitted)
        assert same_ranking(loaded.rank(data.X), fitted.rank(data.X))
        assert (loaded.predict(data.X) != fitted.predict(data.X)).nnz == 0
    loaded.save(tmp_path / "second")
    assert folder_bytes(tmp_path / "first") == folder_bytes(tmp_path / "second")


# -- scikit-learn's own checks ----------------------------------------------------------------------------


def for_scikit_learn(name: str) -> Any:
    """The model with one label: whether a target, as scikit-learn's checks make them, is the largest."""
    cls = find_model(name)

    def with_one_label(learn: Any) -> Any:
        def method(self: Any, X: Any, y: Any) -> Any:
            if y is None:
                raise ValueError("requires y to be passed, but the target y is None")
            column = np.asarray(y).reshape(-1, 1)
            return learn(self, X, (column == column.max()).astype(int))

        return method

    methods = {
        name: with_one_label(getattr(cls, name)) for name in ("fit", "partial_fit", "score") if hasattr(cls, name)
    }
    place = {"__module__": __name__, "__qualname__": f"Single{name}"}  # where pickle finds the class
    view = type(f"Single{name}", (cls,), {**methods, **place})
    globals()[view.__name__] = view
    return view(**small(name))


def expected_failures(estimator: Any) -> dict[str, str]:
    name = type(estimator).__name__.removeprefix("Single")
    is_probable = PROBABLE.get(name) == {} and name not in {"COSTA", "MomentMatching"}  # their curves want two labels
    return EXPECTED_FAILURES | (TAKEN_FOR_CLASSIFIERS if is_probable else {})


def run_check(estimator: Any, check: Any) -> None:
    """Run a check; an expected failure has no traceback, for which pytest would parse the long files of the checks."""
    reason = expected_failures(estimator).get(check.func.__name__)
    if reason is None:
        check(estimator)
    elif is_failing(estimator, check):  # otherwise the mark says that it should
        pytest.xfail(reason)


def is_failing(estimator: Any, check: Any) -> bool:
    try:
        check(estimator)
    except Exception:  # noqa: BLE001 - as the mark does
        return True
    return False


@parametrize_with_checks([for_scikit_learn(name) for name in MODELS], expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    run_check(estimator, check)
