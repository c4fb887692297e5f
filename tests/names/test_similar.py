"""Labels of similar training samples, against a dense reference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.kernels.knn import similar_rows
from tacit.names import similar
from tacit.names.similar import SampleIndex
from tacit.numerics.rows import unit_rows

rng = np.random.default_rng(0)
X = sparse.random(60, 12, 0.4, format="csr", dtype=np.float32, random_state=1)
Y = sparse.csr_matrix((rng.random((60, 7)) < 0.3).astype(np.float32))


def slowly(index_rows, queries):
    """Vote shares, largest similarities, and the best similarity of each query."""
    unit = [np.nan_to_num(each / np.linalg.norm(each, axis=1, keepdims=True)) for each in (index_rows, queries)]
    cosines = unit[1] @ unit[0].T
    shares, largest = np.zeros((len(queries), 7)), np.zeros((len(queries), 7))
    for row, cosine in enumerate(cosines):
        nearest = [one for one in np.argsort(-cosine)[: similar._N_SIMILAR] if cosine[one] > 0]
        total = sum(cosine[one] ** similar._POWER for one in nearest)
        for one in nearest:
            for label in Y[one].indices:
                shares[row, label] += cosine[one] ** similar._POWER / total
                largest[row, label] = max(largest[row, label], cosine[one])
    return shares, largest, np.maximum(cosines.max(axis=1), 0)


def added_up(votes):
    shares, largest = np.zeros((len(votes.best), 7)), np.zeros((len(votes.best), 7))
    np.add.at(shares, (votes.rows, votes.labels), votes.shares)
    np.maximum.at(largest, (votes.rows, votes.labels), votes.similarities)
    return shares, largest, votes.best


def test_votes_are_those_of_a_loop():
    queries = sparse.vstack([X[:20], sparse.csr_matrix((1, 12), dtype=np.float32)], format="csr")
    with np.errstate(invalid="ignore"):
        expected = slowly(X.toarray(), queries.toarray())
    for found, right in zip(added_up(SampleIndex.of(X, Y).votes(queries)), expected, strict=True):
        assert found == pytest.approx(right, abs=1e-5)


def test_rows_and_hidden_labels():
    votes = SampleIndex.of(X, Y).votes(X)
    rows = np.array([3, 8, 50])
    for found, right in zip(added_up(votes.of_rows(rows)), added_up(votes), strict=True):
        assert found == pytest.approx(right[rows])
    hidden = np.arange(7) == 2
    shares, largest, _ = added_up(votes.without(hidden))
    assert not shares[:, 2].any()
    assert not largest[:, 2].any()
    assert shares[:, 3] == pytest.approx(added_up(votes)[0][:, 3])


def test_further_samples_and_labels_in_another_order():
    columns = np.array([1, 0, 2, 3, 4, 5, 8])  # two more labels, and the first two in another order
    wider = sparse.csr_matrix((rng.random((5, 9)) < 0.3).astype(np.float32))
    more = SampleIndex.of(X, Y).extended(X[:5], wider, columns)
    moved = np.zeros((60, 9), np.float32)
    moved[:, columns] = Y.toarray()
    whole = SampleIndex.of(sparse.vstack([X, X[:5]], format="csr"), sparse.vstack([moved, wider], format="csr"))
    assert (more.by_feature != whole.by_feature).nnz == 0
    assert (more.labels != whole.labels).nnz == 0


def test_points_that_cannot_be_among_the_best_are_left_out_and_no_others():
    """Words as frequent as in texts: the lists of frequent words are looked up for few points, the answer is exact."""
    shares = 1 / np.arange(1, 401)
    chosen = rng.random((3000, 400)) < np.minimum(4 * shares, 0.9)
    weights = (chosen * np.log(1 / np.minimum(shares, 0.9)) * rng.uniform(0.5, 1, chosen.shape)).astype(np.float32)
    points = unit_rows(sparse.csr_matrix(weights))
    queries, by_feature = points[:200], points.T.tocsr()
    largest = np.asarray(by_feature.max(axis=1).todense()).ravel()
    parts = (each for matrix in (queries, by_feature) for each in (matrix.indptr, matrix.indices, matrix.data))
    ids, scores = similar_rows(*parts, largest, 3000, 30)
    cosines = (queries @ points.T).toarray()
    assert scores == pytest.approx(-np.sort(-cosines, axis=1)[:, :30], abs=1e-6)
    assert np.take_along_axis(cosines, ids, axis=1) == pytest.approx(scores, abs=1e-6)
