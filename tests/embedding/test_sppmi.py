from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from reference import sppmi as reference
from tacit.embedding import sppmi as module
from tacit.embedding.neighbors import distinct_label_sets
from tacit.embedding.sppmi import factorise, sample_counts, sppmi


def labels(n_rows, n_labels, seed, share=0.3):
    return (np.random.default_rng(seed).random((n_rows, n_labels)) < share).astype(np.float32)


def as_dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("dense_share", [0.0, 10.0])
@given(n_rows=st.integers(1, 12), n_labels=st.integers(1, 6), seed=st.integers(0, 999), shift=st.sampled_from([1, 2.5]))
def test_distinct_sets_give_the_matrix_of_all_samples(dense_share, n_rows, n_labels, seed, shift):
    Y = labels(n_rows, n_labels, seed)
    sets = distinct_label_sets(sparse.csr_matrix(Y))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "DENSE_SHARE", dense_share)
        counts = sample_counts(sets.matrix)
    assert as_dense(counts)[np.ix_(sets.of_sample, sets.of_sample)] == pytest.approx(Y @ Y.T)
    found = as_dense(sppmi(counts, sets.counts.astype(float), shift))
    assert found[np.ix_(sets.of_sample, sets.of_sample)] == pytest.approx(reference.sppmi(Y @ Y.T, shift), abs=1e-5)


def test_factors_of_distinct_sets_are_those_of_all_samples():
    Y = labels(60, 5, seed=1)
    full = reference.sppmi(Y @ Y.T, 1)
    values = np.linalg.eigvalsh(full)[::-1][:4]
    sets = distinct_label_sets(sparse.csr_matrix(Y))
    weights = sets.counts.astype(float)
    Z = factorise(sppmi(sample_counts(sets.matrix), weights), weights, 4, seed=0, tolerance=1e-5)
    repeated = Z[sets.of_sample]
    assert (repeated.astype(np.float64) ** 2).sum(axis=0) == pytest.approx(values, rel=1e-4)
    assert repeated.T @ repeated == pytest.approx(np.diag(values), abs=1e-2)
    assert full @ repeated == pytest.approx(repeated * values, abs=1e-2)
