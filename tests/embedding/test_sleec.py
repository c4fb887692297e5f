"""What SLEEC promises beyond the contract of all models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import planted
from reference import exmlds as reference
from tacit.embedding.neighbors import cosine_neighbors, product_neighbors
from tacit.embedding.sleec import label_products, singular_value_projection
from tacit.numerics.rows import unit_rows


def hidden_gram(share, seed=0):
    Z = np.random.default_rng(seed).standard_normal((60, 3)).astype(np.float32)
    gram = Z @ Z.T
    shown = sparse.random(60, 60, share, random_state=seed).toarray() > 0
    rows, columns = np.nonzero(shown | shown.T)
    return gram, sparse.csr_matrix((gram[rows, columns], (rows, columns)), shape=gram.shape)


def error_of(entries, factor):
    rows, columns = entries.nonzero()
    gap = entries.data - (factor @ factor.T)[rows, columns]
    return np.linalg.norm(gap) / np.linalg.norm(entries.data)


def test_entries_that_were_not_given_are_recovered():
    gram, entries = hidden_gram(0.4)
    factor = singular_value_projection(entries, 3, 0, 1e-5, 500)
    assert error_of(entries, factor) < 0.02
    assert factor @ factor.T == pytest.approx(gram, abs=0.1 * float(np.abs(gram).max()))


def test_errors_never_rise():
    _, entries = hidden_gram(0.2)
    errors = [error_of(entries, singular_value_projection(entries, 2, 0, 1e-3, n)) for n in range(1, 9)]
    assert (np.diff(errors) <= 1e-6).all()
    assert errors[-1] < errors[0]


def test_cosines_of_labels_are_symmetric_with_a_unit_diagonal():
    Y = sparse.csr_matrix((np.random.default_rng(0).random((15, 6)) < 0.4).astype(np.float32))
    Y = Y[np.diff(Y.indptr) > 0]
    entries = label_products(unit_rows(Y), cosine_neighbors(Y, 3))
    dense = Y.toarray() / np.linalg.norm(Y.toarray(), axis=1, keepdims=True)
    rows, columns = entries.nonzero()
    assert entries.data == pytest.approx((dense @ dense.T)[rows, columns], abs=1e-6)
    assert np.array_equal(entries.toarray(), entries.toarray().T)
    assert entries.diagonal() == pytest.approx(np.ones(Y.shape[0]))


def as_printed(Y, k):
    """P_Ω(YYᵀ) over samples, dense: Ω are the samples, their nearest by inner product, and these mirrored."""
    is_known = np.eye(len(Y), dtype=bool)
    for row, others in enumerate(reference.nearest(Y, k, np.dot)):
        is_known[row, others] = is_known[others, row] = True
    return Y @ Y.T, is_known


def test_the_printed_entries_are_inner_products_of_nearest_samples():
    Y = planted(40).Y
    gram, is_known = as_printed(Y.toarray(), 5)
    entries = label_products(Y, product_neighbors(Y, 5))
    assert np.array_equal(entries.toarray(), np.where(is_known, gram, 0))
    assert entries.nnz == is_known.sum()


def test_the_printed_model_embeds_samples_so_that_their_inner_products_are_kept():
    X, Y = planted(40)
    gram, is_known = as_printed(Y.toarray(), 5)
    Z, _ = tacit.SLEEC.paper(n_context=5, dimension=20, tolerance=1e-4)._embed(X, Y, 0)
    error = np.linalg.norm((gram - Z @ Z.T)[is_known]) / np.linalg.norm(gram[is_known])
    ours, _ = tacit.SLEEC(n_context=5, dimension=20, tolerance=1e-4)._embed(X, Y, 0)
    assert error < 0.1
    assert np.linalg.norm((gram - ours @ ours.T)[is_known]) / np.linalg.norm(gram[is_known]) > 3 * error
