from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from tacit.core.labels import label_counts, relevant_labels
from tacit.errors import DataError, ParameterError
from tacit.evaluation.propensity import (
    PRESETS,
    inverse_propensities,
    propensities,
)


@pytest.fixture(name="Y")
def training_labels() -> np.ndarray:
    return (np.random.default_rng(0).random((40, 6)) < [0.0, 0.05, 0.1, 0.3, 0.6, 1.0]).astype(float)


@pytest.mark.parametrize("preset", PRESETS)
def test_follows_the_formula(Y, preset):
    A, B = PRESETS[preset]
    C = (math.log(40) - 1) * (B + 1) ** A
    expected = [1 / (1 + C * math.exp(-A * math.log(count + B))) for count in Y.sum(axis=0)]
    np.testing.assert_allclose(propensities(Y, A, B), expected, rtol=1e-12)


def test_tiny_training_sets_have_propensity_one():
    np.testing.assert_array_equal(propensities(np.eye(2)), [1, 1])  # log 2 < 1, so C = 0


@pytest.mark.parametrize(
    "container",
    [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.lil_matrix, sparse.csr_array, np.asarray],
)
@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float32])
def test_every_container_and_dtype_gives_the_same(Y, container, dtype):
    np.testing.assert_array_equal(propensities(container(Y.astype(dtype))), propensities(Y))


def test_only_ones_count_and_the_input_stays_as_it_was():
    indices = np.array([2, 0, 2, 1])
    stored = sparse.csr_matrix((np.array([1.0, 0.0, 1.0, 0.0]), indices, np.array([0, 3, 4])), shape=(2, 3))
    np.testing.assert_array_equal(label_counts(stored), [0, 0, 1])  # a label stored twice is one label
    np.testing.assert_array_equal(stored.indices, [2, 0, 2, 1])
    assert stored.nnz == 4


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_inverse_per_sample_and_label_or_per_label(Y, form):
    probabilities = np.random.default_rng(1).uniform(0.1, 1, Y.shape)
    per_label = inverse_propensities(relevant_labels(Y), probabilities[0])
    np.testing.assert_allclose(per_label.toarray(), Y / probabilities[0])
    inverse = inverse_propensities(relevant_labels(Y), form(probabilities))
    np.testing.assert_allclose(inverse.toarray(), Y / probabilities)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"A": -0.1}, "A must be"),
        ({"A": math.nan}, "A must be"),
        ({"B": 0}, "B a number"),
        ({"A": 65_536}, "finite"),
        ({"A": 3, "B": 1e-200}, "finite"),
    ],
)
def test_parameters_out_of_range_are_refused(Y, parameters, message):
    with pytest.raises(ParameterError, match=message):
        propensities(Y, **parameters)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.ones(5), r"shape \(6,\).*shape \(40, 6\); got shape \(5,\)"),
        (np.zeros(6), r"lie in \(0, 1\]; found 0"),
        (np.full(6, 1.5), r"lie in \(0, 1\]; found 1.5"),
        (np.full(6, np.nan), r"lie in \(0, 1\]; found nan"),
        (sparse.csr_matrix((40, 6)), "every positive of Y; none for row 0, column"),
    ],
)
def test_propensities_that_are_none_are_refused(Y, wrong, message):
    with pytest.raises(DataError, match=message):
        inverse_propensities(relevant_labels(Y), wrong)
