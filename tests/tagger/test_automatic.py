"""Which model ``model="auto"`` is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.tagger.automatic import MAX_ONE_VS_ALL, DataSize, choose, choose_for


@pytest.mark.parametrize(
    ("n_samples", "n_labels", "per_sample", "with_names", "model"),
    [
        (1_000, 500, 2, False, "OneVsAll"),
        (1_000, 500, 2, True, "OneVsAll"),
        (20_000, 17_000, 2, False, "OneVsAll"),
        (20_000, 17_000, 2, True, "LabelTree"),  # names know more of labels with few samples
        (20_000, 10_000, 6, True, "OneVsAll"),  # 12 samples per label
        (100_000, 20_000, 2, False, "LabelTree"),
    ],
)
def test_the_choice_is_by_cost_and_by_what_names_can_say(n_samples, n_labels, per_sample, with_names, model):
    X = sparse.csr_matrix(
        (np.ones(10 * n_samples, np.float32), np.zeros(10 * n_samples, np.int32), range(0, 10 * n_samples + 1, 10))
    )
    entries = np.arange(per_sample * n_samples) % n_labels
    Y = sparse.csr_matrix(
        (np.ones(len(entries)), entries, range(0, len(entries) + 1, per_sample)), shape=(n_samples, n_labels)
    )
    assert choose(X, Y, with_names=with_names).model == model


@pytest.mark.parametrize(
    ("size", "model"),
    [
        (DataSize(1_000, 2_239, 11_000, 2_400), "OneVsAll"),  # a thousand titles, hardly two samples per label
        (DataSize(20_000, 14_000, 220_000, 49_000), "OneVsAll"),
        (DataSize(100_000, 20_000, 1_100_000, 244_000), "LabelTree"),
        (DataSize(40_000, 4_100, 6_100_000, 203_000), "OneVsAll"),  # whole texts
        (DataSize(1_000_000, 100, 10_000_000, 2_000_000), "OneVsAll"),  # few labels, whatever the samples
        (DataSize(1_000, 1_000_000, 11_000, 2_000_000), "LabelTree"),
    ],
)
def test_the_corners_of_the_grid(size, model):
    assert choose_for(size).model == model


def test_the_limit_is_a_cost_and_counts_dimensions():
    n_labels = int(MAX_ONE_VS_ALL / (60 * 10_000))
    at_limit = DataSize(10_000, n_labels, 100_000, 1_000_000)
    assert at_limit.cost <= MAX_ONE_VS_ALL < at_limit._replace(n_labels=n_labels + 1).cost
    assert choose_for(at_limit).model == "OneVsAll"
    assert choose_for(at_limit._replace(n_labels=n_labels + 1)).model == "LabelTree"
    X, Y = sparse.csr_matrix((10, 5)), sparse.csr_matrix((10, 7))
    assert DataSize.of(X, Y, n_dimensions=256) == DataSize(10, 7, 2_560, 0)


def test_names_replace_classifiers_of_few_samples_between_two_costs():
    few = DataSize(20_000, 14_000, 220_000, 49_000)
    assert choose_for(few, with_names=True).model == "LabelTree"
    assert choose_for(few._replace(n_positives=140_000), with_names=True).model == "OneVsAll"
    assert choose_for(few._replace(n_samples=2_000, n_entries=22_000), with_names=True).model == "OneVsAll"
