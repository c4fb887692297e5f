"""What every registered model promises; a new model is tested by its line in the registry."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import tacit
from planted import N_FEATURES, N_LABELS, planted
from tacit.errors import DataError, ParameterError
from tacit.registry import MODELS, find_model

IGNORES_FEATURES = {"Popularity"}

#: scikit-learn's checks that cannot hold here: check → reason.
EXPECTED_FAILURES = {
    "check_dtype_object": "wrong data is a DataError, which is a ValueError; the check wants a TypeError",
}


@pytest.fixture(params=list(MODELS))
def model(request: pytest.FixtureRequest) -> Any:
    return find_model(request.param)(random_state=0)


@pytest.fixture(scope="module")
def data() -> Any:
    return planted()


def folder_bytes(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def same_ranking(a: tacit.Ranking, b: tacit.Ranking) -> bool:
    return np.array_equal(a.labels, b.labels) and np.array_equal(a.scores, b.scores)


# -- what it learns ---------------------------------------------------------------------------------------


def test_finds_the_planted_labels(model, data):
    test = planted(seed=1)
    metrics = tacit.evaluate(model.fit(data.X, data.Y).rank(test.X, k=1), test.Y, ks=(1,))
    if type(model).__name__ in IGNORES_FEATURES:
        assert metrics["P@1"] > 1 / N_LABELS
    else:
        assert metrics["P@1"] > 0.95


def test_labels_without_positives_rank_last(model, data):
    Y = data.Y.tolil()
    Y[:, [3, 7]] = 0
    ranking = model.fit(data.X, Y.tocsr()).rank(data.X, k=N_LABELS)
    assert set(ranking.labels[:, -2:].ravel()) == {3, 7}
    assert np.isfinite(ranking.scores).all()


def test_a_second_fit_forgets_the_first(model, data):
    other = planted(seed=5)
    again = clone(model).fit(other.X, other.Y).fit(data.X, data.Y)
    assert same_ranking(model.fit(data.X, data.Y).rank(data.X), again.rank(data.X))


# -- rankings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 5, N_LABELS])
def test_ranking_has_unique_labels_and_falling_scores(model, data, k):
    ranking = model.fit(data.X, data.Y).rank(data.X, k=k)
    assert ranking.labels.shape == ranking.scores.shape == (len(ranking), k)
    assert ranking.labels.dtype == np.int32
    assert ranking.scores.dtype == np.float32
    assert all(len(set(row)) == k for row in ranking.labels)
    assert (np.diff(ranking.scores, axis=1) <= 0).all()


def test_k_above_the_number_of_labels_pads(model, data):
    ranking = model.fit(data.X, data.Y).rank(data.X[:3], k=N_LABELS + 2)
    assert (ranking.labels[:, N_LABELS:] == -1).all()
    assert np.isneginf(ranking.scores[:, N_LABELS:]).all()
    assert same_ranking(ranking.top(N_LABELS), model.rank(data.X[:3], k=N_LABELS))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, list])
def test_include_and_exclude_restrict_the_labels(model, data, dtype):
    chosen = [1, 4, 6] if dtype is list else np.array([1, 4, 6], dtype=dtype)
    model.fit(data.X, data.Y)
    full = model.rank(data.X, k=N_LABELS)
    included = model.rank(data.X, k=3, include=chosen)
    excluded = model.rank(data.X, k=N_LABELS, exclude=chosen)
    for row in range(len(full)):
        order = full.labels[row]
        assert list(included.labels[row]) == [label for label in order if label in (1, 4, 6)]
        assert list(excluded.labels[row, :-3]) == [label for label in order if label not in (1, 4, 6)]
    assert (excluded.labels[:, -3:] == -1).all()


def test_include_by_name(model, data):
    names = [f"label {i}" for i in range(N_LABELS)]
    model.fit(data.X, data.Y, label_names=names)
    assert list(model.classes_) == names
    assert same_ranking(model.rank(data.X, include=["label 2", "label 9"]), model.rank(data.X, include=[2, 9]))
    with pytest.raises(ParameterError, match="unknown label 'lable 2' .did you mean 'label 2'"):
        model.rank(data.X, include=["lable 2"])


def test_nothing_to_rank_gives_pads(model, data):
    ranking = model.fit(data.X, data.Y).rank(data.X[:2], k=3, include=[])
    assert (ranking.labels == -1).all()
    assert np.isneginf(ranking.scores).all()


def test_one_row_ranks_as_it_does_in_a_batch(model, data):
    batch = model.fit(data.X, data.Y).rank(data.X, k=4)
    for row in (0, 7, 100):
        assert same_ranking(model.rank(data.X[row], k=4), batch.rows(slice(row, row + 1)))


def test_no_rows_give_an_empty_ranking(model, data):
    ranking = model.fit(data.X, data.Y).rank(data.X[:0], k=3)
    assert ranking.labels.shape == (0, 3)


# -- forms of input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array, np.float64, "dense"])
def test_any_form_of_features_gives_the_same_model(model, data, form):
    convert = (lambda X: X.toarray()) if form == "dense" else (lambda X: X.astype(form)) if form is np.float64 else form
    expected = clone(model).fit(data.X, data.Y).rank(data.X)
    assert same_ranking(model.fit(convert(data.X), data.Y).rank(convert(data.X)), expected)


@pytest.mark.parametrize("form", [sparse.csc_matrix, sparse.coo_array, sparse.lil_matrix, "dense", "bool", "lists"])
def test_any_form_of_labels_gives_the_same_ranking(model, data, form):
    convert = {
        "dense": lambda Y: Y.toarray().astype(np.int8),
        "bool": lambda Y: Y.astype(bool),
        "lists": lambda Y: [list(row.indices) for row in Y],
    }.get(form, form)
    expected = clone(model).fit(data.X, data.Y).rank(data.X)
    assert same_ranking(model.fit(data.X, convert(data.Y)).rank(data.X), expected)


def test_unsorted_and_duplicate_indices_are_mended_on_a_copy(model, data):
    messy = data.X.copy()
    messy.indices, messy.data = messy.indices.copy(), messy.data.copy()
    for row in range(messy.shape[0]):
        part = slice(messy.indptr[row], messy.indptr[row + 1])
        messy.indices[part], messy.data[part] = messy.indices[part][::-1].copy(), messy.data[part][::-1].copy()
    indptr = 2 * messy.indptr
    messy = sparse.csr_matrix((np.repeat(messy.data / 2, 2), np.repeat(messy.indices, 2), indptr), shape=messy.shape)
    messy.has_canonical_format = messy.has_sorted_indices = False
    before = (messy.indptr.copy(), messy.indices.copy(), messy.data.copy())
    expected = clone(model).fit(data.X, data.Y).rank(data.X)
    assert same_ranking(model.fit(messy, data.Y).rank(messy), expected)
    assert all(np.array_equal(a, b) for a, b in zip(before, (messy.indptr, messy.indices, messy.data), strict=True))


def test_empty_rows_are_legal(model, data):
    X, Y = data.X.tolil(), data.Y.tolil()
    X[0], Y[0], X[1], Y[2] = 0, 0, 0, 0
    ranking = model.fit(X.tocsr(), Y.tocsr()).rank(X.tocsr()[:3], k=N_LABELS)
    assert np.isfinite(ranking.scores).all()


def test_predict_gives_label_sets_in_the_form_of_the_training_labels(model, data):
    as_sparse = clone(model).fit(data.X, data.Y).predict(data.X)
    as_dense = clone(model).fit(data.X, data.Y.toarray()).predict(data.X)
    as_lists = clone(model).fit(data.X, [[f"t{i:02d}" for i in row.indices] for row in data.Y]).predict(data.X)
    assert sparse.issparse(as_sparse)
    assert np.array_equal(as_sparse.toarray(), as_dense)
    assert [[int(name[1:]) for name in labels] for labels in as_lists] == [list(row.indices) for row in as_sparse]


def test_predict_matches_the_mean_number_of_labels(model, data):
    if type(model).__name__ in IGNORES_FEATURES:
        pytest.skip("gives every sample the same set")
    predicted = model.fit(data.X, data.Y).predict(data.X)
    assert predicted.sum() == pytest.approx(data.Y.sum(), rel=0.05)


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
    "X has the column index -1": lambda X, Y: (break_index(X, -1), Y),
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
def test_fit_refuses(model, data, message):
    X, Y = BAD_FITS[message](data.X, data.Y)
    with pytest.raises(DataError, match=message):
        model.fit(X, Y)


def test_rank_refuses_what_is_wrong(model, data):
    model.fit(data.X, data.Y)
    with pytest.raises(DataError, match="NaN at row 0, column"):
        model.rank(with_value(data.X, np.nan))
    with pytest.raises(DataError, match="X has the column index 99"):
        model.rank(break_index(data.X, 99))
    with pytest.raises(DataError, match=f"X has {N_FEATURES - 1} features, but .* is expecting {N_FEATURES}"):
        model.rank(data.X[:, :-1])
    with pytest.raises(ParameterError, match="k must be a whole number of at least 1; got 0"):
        model.rank(data.X, k=0)
    with pytest.raises(ParameterError, match="exclude names column 12, but there are 12 labels"):
        model.rank(data.X, exclude=[N_LABELS])


def test_an_unfitted_model_says_so(model, data, tmp_path):
    for use in (lambda: model.rank(data.X), lambda: model.predict(data.X), lambda: model.save(tmp_path / "m")):
        with pytest.raises(NotFittedError, match="is not fitted"):
            use()


def test_parameters_are_checked(model, data):
    with pytest.raises(ParameterError, match="parameter 'random_state' must be int or None, >= 0; got -1"):
        clone(model).set_params(random_state=-1).fit(data.X, data.Y)


# -- same seed, same model --------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_jobs", "backend"), [(2, "threading"), (2, "loky")])
def test_the_number_of_jobs_never_changes_the_model(model, data, tmp_path, n_jobs, backend):
    model.fit(data.X, data.Y).save(tmp_path / "one")
    with joblib.parallel_config(backend, n_jobs=n_jobs):
        clone(model).set_params(n_jobs=n_jobs).fit(data.X, data.Y).save(tmp_path / "many")
    assert folder_bytes(tmp_path / "one") == folder_bytes(tmp_path / "many")


def test_a_loaded_model_ranks_alike_and_saves_alike(model, data, tmp_path):
    model.fit(data.X, data.Y, label_names=[f"näme {i}" for i in range(N_LABELS)]).save(tmp_path / "first")
    for verify in (True, False):
        loaded = tacit.load_model(tmp_path / "first", verify=verify)
        assert type(loaded) is type(model)
        assert same_ranking(loaded.rank(data.X), model.rank(data.X))
        assert (loaded.predict(data.X) != model.predict(data.X)).nnz == 0
    loaded.save(tmp_path / "second")
    assert folder_bytes(tmp_path / "first") == folder_bytes(tmp_path / "second")


def test_a_checkpoint_gives_the_same_model(model, data, tmp_path):
    model.fit(data.X, data.Y).save(tmp_path / "plain")
    for name in ("first", "resumed"):
        with tacit.checkpoint(tmp_path / "partial"):
            clone(model).fit(data.X, data.Y).save(tmp_path / name)
        assert folder_bytes(tmp_path / name) == folder_bytes(tmp_path / "plain")


# -- scikit-learn's own checks ----------------------------------------------------------------------------


def for_scikit_learn(name: str) -> Any:
    """The model with one label: whether a target, as scikit-learn's checks make them, is the largest."""
    cls = find_model(name)

    def with_one_label(learn: Any) -> Any:
        def method(self: Any, X: Any, Y: Any) -> Any:
            if Y is None:
                raise ValueError("requires y to be passed, but the target y is None")
            column = np.asarray(Y).reshape(-1, 1)
            return learn(self, X, (column == column.max()).astype(int))

        return method

    methods = {name: with_one_label(getattr(cls, name)) for name in ("fit", "partial_fit") if hasattr(cls, name)}
    place = {"__module__": __name__, "__qualname__": f"Single{name}"}  # where pickle finds the class
    view = type(f"Single{name}", (cls,), {**methods, **place})
    globals()[view.__name__] = view
    return view()


@parametrize_with_checks(
    [for_scikit_learn(name) for name in MODELS], expected_failed_checks=lambda _: EXPECTED_FAILURES
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
