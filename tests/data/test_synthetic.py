from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse, stats

from tacit.data.synthetic import CHUNK_ROWS, Recipe, feature_names, label_name, make_dataset
from tacit.errors import ParameterError


@pytest.fixture(scope="module")
def data():
    return make_dataset(as_text=True)


@pytest.fixture(scope="module")
def large():
    return make_dataset(40_000, 3_000, 2_000)


def counts(matrix):
    return np.asarray(matrix.sum(axis=0)).ravel()


def same(left, right):
    np.testing.assert_array_equal(left.indptr, right.indptr)
    np.testing.assert_array_equal(left.indices, right.indices)
    np.testing.assert_array_equal(left.data, right.data)


def test_default_is_a_well_formed_data_set(data):
    assert data.X.shape == (5_000, 3_000)
    assert data.Y.shape == data.Y_complete.shape == (5_000, 500)
    for matrix in (data.X, data.Y, data.Y_complete):
        assert isinstance(matrix, sparse.csr_matrix)
        assert matrix.dtype == np.float32
        assert matrix.has_canonical_format
    assert (data.X.data > 0).all()
    np.testing.assert_allclose(sparse.linalg.norm(data.X, axis=1), 1, rtol=1e-5)
    assert (data.Y_complete.data == 1).all()
    assert (np.diff(data.Y_complete.indptr) > 0).all()
    np.testing.assert_array_equal(np.concatenate([data.train, data.test]), np.arange(5_000))
    assert len(data.test) == 1_000


def test_labels_of_a_topic_occur_together(large):
    topic = np.arange(2_000) // 20
    share = counts(large.Y_complete) / 40_000
    together = sparse.triu(large.Y_complete.T @ large.Y_complete, k=1).tocoo()
    inside = topic[together.row] == topic[together.col]
    by_chance = 40_000 * share[together.row] * share[together.col]
    assert together.data[inside].sum() > 10 * by_chance[inside].sum()
    assert together.data[~inside].sum() < 2 * by_chance[~inside].sum()


def test_features_tell_the_labels(data):
    """Ridge regression on the observed labels finds complete ones far better than popularity does."""
    X, Y, truth = data.X[data.train], data.Y[data.train], data.Y_complete[data.test].toarray()
    gram = (X.T @ X).toarray() + 0.3 * np.eye(3_000, dtype=np.float32)
    weights = linalg.solve(gram, (X.T @ Y).toarray(), assume_a="pos")
    best = np.asarray(data.X[data.test] @ weights).argmax(axis=1)
    precision = truth[np.arange(len(truth)), best].mean()
    popularity = truth[:, counts(Y).argmax()].mean()
    assert precision > 0.8
    assert precision > 4 * popularity


def test_positives_are_hidden_at_their_propensities(large):
    train, test = large.train, large.test
    assert (large.Y.multiply(large.Y_complete) != large.Y).nnz == 0
    complete, observed = counts(large.Y_complete[test]), counts(large.Y[test])
    seen = np.setdiff1d(np.arange(2_000), large.unseen)
    complete[seen] += counts(large.Y_complete[train])[seen]
    observed[seen] += counts(large.Y[train])[seen]
    pvalues = [
        stats.binomtest(int(found), int(there), p).pvalue
        for found, there, p in zip(observed, complete, large.propensities, strict=True)
        if there > 30
    ]
    assert len(pvalues) > 300
    assert min(pvalues) > 1e-3 / len(pvalues)
    expected = (complete * large.propensities).sum()
    assert observed.sum() == pytest.approx(expected, rel=0.01)


def test_unseen_labels_occur_in_test_alone(data, large):
    for made, n_unseen in ((data, 20), (large, 80)):
        assert len(made.unseen) == n_unseen
        assert not counts(made.Y[made.train])[made.unseen].any()
        assert (counts(made.Y_complete[made.train])[made.unseen] > 0).all()
        assert (counts(made.Y_complete[made.test])[made.unseen] > 0).all()
        assert counts(made.Y[made.test])[made.unseen].any()


def test_same_seed_same_data(data):
    again, other = make_dataset(), make_dataset(seed=1)
    same(again.X, data.X)
    same(again.Y, data.Y)
    assert not np.array_equal(other.X.indices[:100], data.X.indices[:100])
    assert not np.array_equal(other.unseen, data.unseen)


def test_streaming_gives_the_rows_of_the_whole():
    whole = make_dataset(10_000, 300, 200, seed=5)
    blocks = list(Recipe(n_samples=10_000, n_features=300, n_labels=200, seed=5).blocks())
    assert [block.X.shape[0] for block in blocks[:-1]] == [CHUNK_ROWS] * (len(blocks) - 1)
    for name in ("X", "Y", "Y_complete"):
        same(sparse.vstack([getattr(block, name) for block in blocks], format="csr"), getattr(whole, name))


def test_texts_spell_the_counts(data):
    (block, *_) = Recipe(n_samples=5_000, n_features=3_000, n_labels=500).blocks()
    for row in (0, 77):
        words = data.texts[row].split()
        spelled = {data.feature_names.index(word): words.count(word) for word in words}
        assert spelled == dict(zip(block.counts[row].indices, block.counts[row].data, strict=True))


def test_names_differ():
    numbers = [*range(20_000), *range(505_000, 520_000)]
    assert len(set(feature_names(numbers))) == len(numbers)
    assert len({label_name(*divmod(label, 20), 20) for label in range(60_000)}) == 60_000


def test_smallest_and_odd_shapes():
    for made in (make_dataset(2, 1, 1), make_dataset(50, 1, 3, topic_size=2), make_dataset(40, 9, 7, noise_words=0)):
        assert made.Y_complete.nnz
    assert len(make_dataset(20, 5, 5, test_share=0).test) == 0
    assert len(make_dataset(100, 5, 10, unseen_share=1.0).unseen) == 9  # the most frequent label stays


def test_wrong_options_are_refused():
    with pytest.raises(ParameterError, match="at least two samples"):
        make_dataset(n_samples=1)
    with pytest.raises(TypeError, match="'sed'"):
        make_dataset(sed=3)
