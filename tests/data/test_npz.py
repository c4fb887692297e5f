"""NPZ pairs."""

from __future__ import annotations

import io

import numpy as np
import pytest
from scipy import sparse

from data.samples import assert_same, assert_sound, numeric_dataset
from tacit.data.load import load_data
from tacit.data.save import save_data
from tacit.errors import FileError, ParameterError


def write_pair(folder, X, Y):
    for name, matrix in (("X.trn.npz", X), ("Y.trn.npz", Y)):
        if sparse.issparse(matrix):
            sparse.save_npz(folder / name, matrix)
        else:
            np.savez(folder / name, matrix)
    return folder / "X.trn.npz"


X = np.array([[0, 1.5, 0], [2, 0, 0]])
Y = np.array([[1, 0], [0, 1]])


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, np.asarray])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
def test_containers_and_types(tmp_path, kind, dtype):
    path = write_pair(tmp_path, kind(X.astype(np.float64)), kind(Y.astype(dtype)))
    for name in (path, tmp_path / "Y.trn.npz"):
        data = load_data(name)
        assert_sound(data)
        np.testing.assert_array_equal(data.X.toarray(), X)
        np.testing.assert_array_equal(data.Y.toarray(), Y)


def test_stored_zeros_of_sparse_labels_are_kept(tmp_path):
    known = sparse.csr_matrix(([1.0, 0.0], [0, 1], [0, 2, 2]), shape=(2, 2))
    assert load_data(write_pair(tmp_path, X, known)).Y.data.tolist() == [1.0, 0.0]


def test_nan_in_dense_labels_is_unknown_and_zeros_are_then_known(tmp_path):
    data = load_data(write_pair(tmp_path, X, np.array([[1, np.nan], [0, 1]])))
    assert data.Y.indices.tolist() == [0, 0, 1]
    assert data.Y.data.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("name", ["X.trn.npz", "X.npz", "train_X.npz", "X.tst.npz.gz"])
def test_round_trip(tmp_path, name):
    data = numeric_dataset()
    data.Y.data[0] = 0
    written = save_data(data, tmp_path / name)
    assert len(written) == 4
    for path in written[:2]:
        assert_same(load_data(path), data)


def parts(**changes):
    matrix = sparse.csr_matrix(X)
    whole = {
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "shape": np.array(matrix.shape),
        "format": np.array(b"csr"),
    }
    return {name: part for name, part in (whole | changes).items() if part is not None}


BAD = {
    "column too large": parts(indices=np.array([1, 3])),
    "column negative": parts(indices=np.array([-1, 1])),
    "rows fall": parts(indptr=np.array([0, 3, 2])),
    "rows too long": parts(indptr=np.array([0, 1, 9])),
    "rows too few": parts(indptr=np.array([0, 2])),
    "values too few": parts(data=np.array([1.0])),
    "negative shape": parts(shape=np.array([2, -3])),
    "shape of three": parts(shape=np.array([2, 3, 4])),
    "coordinates": parts(format=np.array(b"coo")),
    "no indices": parts(indices=None),
    "nan": parts(data=np.array([np.nan, 1])),
    "too large": parts(data=np.array([1, 1e300])),
    "words": {"a": np.array([["a", "b"]])},
    "a vector": {"a": np.arange(3)},
    "no columns": {"a": np.empty((2, 0))},
    "no rows": {"a": np.empty((0, 2))},
    "pickle": {"a": np.array([[{}]], dtype=object)},
    "nothing": {},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_features(tmp_path, name):
    path = write_pair(tmp_path, X, Y)
    np.savez(path, **BAD[name])
    with pytest.raises(FileError, match=r"X\.trn\.npz: "):
        load_data(path)


def test_labels_must_be_0_or_1(tmp_path):
    with pytest.raises(FileError, match=r"Y\.trn\.npz: Y must hold only 0 and 1 .*; row 1, column \d holds 2"):
        load_data(write_pair(tmp_path, X, Y * 2 - np.array([[1, 0], [0, 0]])))


def test_other_files_are_refused(tmp_path):
    path = write_pair(tmp_path, X, Y)
    plain = io.BytesIO()
    np.save(plain, X)
    for content in (b"junk", path.read_bytes()[:-30], plain.getvalue()):
        path.write_bytes(content)
        with pytest.raises(FileError, match=r"must hold one matrix"):
            load_data(path)


def test_the_other_half_is_asked_for(tmp_path):
    np.savez(tmp_path / "X.npz", X)
    with pytest.raises(FileError, match=r"half of a pair.*not beside it; give both"):
        load_data(tmp_path / "X.npz")
    np.savez(tmp_path / "tags.npz", Y)
    assert load_data(tmp_path / "X.npz", tmp_path / "tags.npz").n_labels == 2


def test_a_name_that_says_nothing_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"must contain a single X.*got 'data\.npz'"):
        save_data(numeric_dataset(), tmp_path / "data.npz")
