"""Features weighted by inverse document frequency: the same rule in every model that has `idf`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import tacit
from planted import N_FEATURES, planted
from small import small
from tacit.errors import DataError
from tacit.numerics.idf import inverse_document_frequencies, samples_with, weighted_columns
from tacit.numerics.storage import large_on_disk
from tacit.registry import MODELS, find_model

WEIGHTED = [name for name in MODELS if hasattr(find_model(name), "idf")]
PRINTED = [name for name in WEIGHTED if find_model(name).PAPER]


@pytest.fixture(scope="module")
def data():
    """Planted labels with counts of words for features, from rare to frequent."""
    made = planted()
    rng = np.random.default_rng(1)
    noise = rng.poisson(np.geomspace(0.02, 2, N_FEATURES), made.X.shape)
    return made._replace(X=sparse.csr_matrix((2 * made.X.sign() + noise).astype(np.float32)))


@pytest.fixture(params=WEIGHTED)
def model(request):
    return find_model(request.param)(random_state=0, **small(request.param))


def by_hand(X):
    return X @ sparse.diags(np.log((1 + X.shape[0]) / (1 + np.diff(X.tocsc().indptr))) + 1)


def same(found, expected):
    """Up to what rounding of the weighted features to float32 changes."""
    return np.array_equal(found.labels, expected.labels) and np.allclose(found.scores, expected.scores, 0.01, 0.01)


def test_counts_give_the_model_of_features_weighted_by_hand(model, data, tmp_path):
    weighted = by_hand(data.X)
    expected = clone(model).set_params(idf=False).fit(weighted, data.Y).rank(weighted, 3)
    model.set_params(idf=True).fit(data.X, data.Y)
    assert same(model.rank(data.X, 3), expected)
    assert not same(clone(model).set_params(idf=False).fit(data.X, data.Y).rank(data.X, 3), expected)
    model.save(tmp_path / "model")
    loaded = tacit.load_model(tmp_path / "model")
    assert np.array_equal(loaded.idf_, model.idf_)
    assert np.array_equal(loaded.rank(data.X, 3).scores, model.rank(data.X, 3).scores)


def test_the_rule_takes_counts_and_in_trees_flags(model, data):
    model.set_params(idf=None)
    expected = inverse_document_frequencies(samples_with(data.X), data.X.shape[0])
    assert np.array_equal(model.fit(data.X, data.Y).idf_, expected)
    is_tree = isinstance(model, tacit.FastXML)
    assert (model.fit(data.X.sign(), data.Y).idf_ is not None) == is_tree


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("cls", [tacit.OneVsAll, tacit.ExMLDS1, tacit.LFM])
def test_dense_features_have_no_weights(cls, data, normalize):
    vectors = np.random.default_rng(2).random((data.X.shape[0], 4), np.float32)
    mixed, weighted = (tacit.Features(words, vectors, 0.5) for words in (data.X, by_hand(data.X)))
    model = cls(idf=True, normalize=normalize, **small(cls.__name__)).fit(mixed, data.Y)
    assert model.idf_[-4:].tolist() == [1, 1, 1, 1]
    expected = clone(model).set_params(idf=False).fit(weighted, data.Y).rank(weighted, 3)
    assert same(model.rank(mixed, 3), expected)
    assert model.set_params(idf=None).fit(np.ceil(3 * vectors), data.Y).idf_ is None


def test_batches_have_the_weights_of_the_first(data):
    online, plain = tacit.MLLCS(idf=True, n_factors=5), tacit.MLLCS(idf=False, n_factors=5)
    first, second = data.X[:100], data.X[100:]
    weights = inverse_document_frequencies(samples_with(first), 100)
    for X, Y in ((first, data.Y[:100]), (second, data.Y[100:])):
        online.partial_fit(X, Y)
        plain.partial_fit(weighted_columns(X, weights), Y)
        assert np.array_equal(online.idf_, weights)
    assert same(online.rank(data.X), plain.rank(weighted_columns(data.X, weights)))
    online.fit(data.X, data.Y).partial_fit(second, data.Y[100:])
    assert np.array_equal(online.idf_, inverse_document_frequencies(samples_with(data.X), data.X.shape[0]))


def test_a_new_fit_has_its_own_weights_unless_it_fails(data):
    model = tacit.OneVsAll().fit(data.X, data.Y)
    before = model.rank(data.X)
    with pytest.raises(DataError, match="one row per sample"):
        model.fit(0.5 * data.X[:50], data.Y)
    assert np.array_equal(model.rank(data.X).scores, before.scores)
    assert model.fit(0.5 * data.X, data.Y).idf_ is None


def test_weights_do_not_depend_on_where_large_arrays_are(data, tmp_path):
    expected = tacit.LabelTree().fit(data.X, data.Y).rank(data.X)
    with large_on_disk(tmp_path, least_bytes=1, entries=100):
        model = tacit.LabelTree().fit(data.X, data.Y)
    assert np.array_equal(model.rank(data.X).scores, expected.scores)
