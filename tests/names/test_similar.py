"""Labels of similar training samples and labels near to texts, against dense references."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from planted import planted
from tacit import OneVsAll
from tacit.kernels.dense import Rows
from tacit.kernels.knn import similar_rows
from tacit.names import similar
from tacit.names.boosting import BoostedTrees
from tacit.names.evidence import EVIDENCE, NameCounts, NameEvidence
from tacit.names.index import Name, NameIndex
from tacit.names.similar import Meaning, SampleIndex
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
    ids, scores = similar_rows(Rows.of(queries), Rows.of(by_feature), largest, 3000, 30)
    cosines = (queries @ points.T).toarray()
    assert scores == pytest.approx(-np.sort(-cosines, axis=1)[:, :30], abs=1e-6)
    assert np.take_along_axis(cosines, ids, axis=1) == pytest.approx(scores, abs=1e-6)


def unit_vectors(seed, *shape):
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


@pytest.mark.parametrize("values_per_block", [1, 70, 10**6])
def test_the_nearest_are_those_of_a_sort(values_per_block, monkeypatch):
    monkeypatch.setattr(similar, "_VALUES_PER_BLOCK", values_per_block)
    labels, vectors = unit_vectors(0, 30, 8), unit_vectors(1, 20, 8)
    near = Meaning(labels).nearest(vectors)
    similarities = vectors @ labels.T
    assert np.array_equal(near.labels, np.argsort(-similarities, axis=1)[:, :10])
    assert near.similarities == pytest.approx(np.sort(similarities, axis=1)[:, :-11:-1], abs=1e-6)
    monkeypatch.setattr(similar, "_VALUES_PER_BLOCK", 24)
    rows, columns = np.array([3, 0, 19, 5]), np.array([29, 0, 7, 7])
    assert near.similarity(rows, columns) == pytest.approx(similarities[rows, columns], abs=1e-6)
    some = near.of_rows(np.array([5, 19]))
    assert some.similarity(np.array([1]), np.array([7])) == pytest.approx(similarities[[19], [7]], abs=1e-6)


def test_a_label_that_nobody_names_is_a_candidate():
    """Evidence is that of all samples, and there is none where vectors are not given."""
    X, Y = planted(50)
    model = OneVsAll().fit(X, Y)
    n_labels = Y.shape[1] + 1
    index = NameIndex.of([Name(n_labels - 1, "apple")], None)
    trees = BoostedTrees.of_rules(-4.0, [(EVIDENCE.index("similarity of meaning"), 0.9, 8.0)])
    labels = np.eye(n_labels, dtype=np.float32)
    evidence = NameEvidence(
        n_labels, index, NameCounts.none(index, n_labels), trees, ["apple"], n_ranked=3, meaning=Meaning(labels)
    )
    nothing = index.matches([""] * 50)
    found = evidence.rank(model, X, nothing, 1, vectors=np.repeat(labels[-1:], 50, axis=0))
    assert (found.labels == n_labels - 1).all()
    assert (evidence.rank(model, X, nothing, 1).labels != n_labels - 1).all()
