"""What the models of this family promise beyond the contract of all models."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse

import tacit
from tacit.errors import DataError, ParameterError
from topics import HELD, N_SEEN, X, fitted, unseen_precision

FAMILY = [tacit.LFM, tacit.COSTA, tacit.MLLCS, tacit.MomentMatching]
ZERO_SHOT = FAMILY[1:]


@pytest.mark.parametrize("cls", FAMILY)
def test_all_labels_are_ranked(cls):
    ranking = fitted(cls).rank(X[:5], k=24)
    assert (np.sort(ranking.labels, axis=1) == np.arange(24)).all()


@pytest.mark.parametrize("cls", ZERO_SHOT)
def test_unseen_labels_neither_drown_nor_are_drowned(cls):
    top = fitted(cls).rank(X, k=4).labels
    assert 0.2 < (top >= N_SEEN).mean() < 0.8  # half of the labels of a sample are unseen


@pytest.mark.parametrize("cls", ZERO_SHOT)
def test_labels_that_never_occur_together_are_learned(cls):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 60)
    Y_single = np.eye(4, dtype=np.float32)[labels]
    model = cls().fit(Y_single + 0.1 * rng.random((60, 4)), Y_single)
    assert (model.rank(np.eye(4), k=1).labels[:, 0] == np.arange(4)).all()


# -- labels that come and go ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", ZERO_SHOT)
@pytest.mark.parametrize("form", [np.asarray, sparse.csc_matrix])
def test_an_added_label_is_the_one_the_fit_gave(cls, form):
    model = copy.copy(fitted(cls))
    before = model._scores(model._features(X))
    columns = HELD.cooccurrence[:, 20:].toarray()
    model.remove_labels(np.arange(20, 24)).add_labels(form(columns))
    assert len(model.classes_) == 24
    np.testing.assert_allclose(model._scores(model._features(X)), before, atol=0.15)


@pytest.mark.parametrize("cls", ZERO_SHOT)
def test_labels_are_added_and_removed_by_name(cls, tmp_path):
    names = [f"label {i}" for i in range(24)]
    model = cls().fit(X, HELD.Y_seen, label_names=names, cooccurrence=HELD.cooccurrence)
    before = model.rank(X, k=24, exclude=["label 0", "label 20"])
    model.remove_labels(["label 0", "label 20"])
    after = model.rank(X, k=22)
    assert np.array_equal(model.classes_[after.labels], np.array(names, object)[before.labels[:, :22]])
    model.add_labels(HELD.cooccurrence[:, 20], ["label 20 again"])
    assert model.classes_[-1] == "label 20 again"
    model.save(tmp_path / "model")
    loaded = tacit.load_model(tmp_path / "model").add_labels(HELD.cooccurrence[:, 21], ["one more"])
    assert len(loaded.classes_) == 24
    assert np.isfinite(loaded.rank(X, k=24).scores).all()


@pytest.mark.parametrize("cls", ZERO_SHOT)
def test_a_label_without_counts_ranks_last(cls):
    model = copy.copy(fitted(cls)).add_labels(np.zeros(N_SEEN))
    assert (model.rank(X, k=25).labels[:, -1] == 24).all()


def test_wrong_labels_are_refused():
    model = copy.copy(fitted(tacit.COSTA))
    for columns in (np.ones((3, 1)), -np.ones((N_SEEN, 1))):
        with pytest.raises(DataError):
            model.add_labels(columns)
    for ids in ([99], np.arange(24)):
        with pytest.raises((ParameterError, DataError)):
            model.remove_labels(ids)
    named = tacit.COSTA().fit(
        X, HELD.Y_seen, label_names=[f"l{i}" for i in range(12)], cooccurrence=HELD.cooccurrence[:, :12]
    )
    for names in (None, ["l3"], [" "]):
        with pytest.raises(DataError, match="name"):
            named.add_labels(HELD.cooccurrence[:, 12], names)


# -- counts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", ZERO_SHOT)
@pytest.mark.parametrize("form", [np.asarray, sparse.coo_array, sparse.csc_matrix, lambda M: M.astype(np.int16)])
def test_any_form_of_cooccurrence_gives_the_same_model(cls, form):
    expected = fitted(cls, calibration_folds=0).rank(X)
    found = cls(calibration_folds=0).fit(X, HELD.Y_seen, cooccurrence=form(HELD.cooccurrence.toarray())).rank(X)
    assert np.array_equal(found.labels, expected.labels)


@pytest.mark.parametrize("cls", ZERO_SHOT)
def test_counts_from_another_source_are_rescaled(cls):
    scaled = sparse.diags(np.linspace(2, 9, N_SEEN)) @ HELD.cooccurrence
    model = cls().fit(X, HELD.Y_seen, cooccurrence=scaled)
    assert unseen_precision(model) > 0.4


@pytest.mark.parametrize("cls", ZERO_SHOT)
def test_unobserved_counts_are_left_out(cls):
    partly = HELD.cooccurrence.toarray().astype(float)
    partly[np.random.default_rng(0).random(partly.shape) < 0.2] = np.nan
    assert unseen_precision(cls().fit(X, HELD.Y_seen, cooccurrence=partly)) > 0.4


@pytest.mark.parametrize("matrix", [np.ones((3, 24)), np.ones((12, 5)), -np.ones((12, 24)), [["many"] * 24] * 12])
def test_wrong_cooccurrence_is_refused(matrix):
    with pytest.raises(DataError, match="cooccurrence must"):
        tacit.MomentMatching().fit(X, HELD.Y_seen, cooccurrence=matrix)


def test_lists_of_names_need_names_for_unseen_labels():
    names = [f"t{i:02d}" for i in range(24)]
    lists = [[names[i] for i in row.indices] for row in HELD.Y_seen]
    with pytest.raises(DataError, match="12 labels without a name"):
        tacit.COSTA().fit(X, lists, cooccurrence=HELD.cooccurrence)
    model = tacit.COSTA().fit(X, lists, label_names=names, cooccurrence=HELD.cooccurrence)
    assert list(model.classes_) == names


def test_a_column_without_positives_is_unseen_too():
    labels = sparse.hstack([HELD.Y_seen, sparse.csr_matrix((X.shape[0], 12))], format="csr")
    square = sparse.vstack([HELD.cooccurrence, sparse.csr_matrix((12, 24))], format="csr")
    model = tacit.MomentMatching().fit(X, labels, cooccurrence=square)
    assert unseen_precision(model) > 0.4
