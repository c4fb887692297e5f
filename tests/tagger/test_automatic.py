"""Which model ``model="auto"`` is."""

from __future__ import annotations

import pytest
from scipy import sparse

from tacit.tagger.automatic import MAX_ONE_VS_ALL, DataSize, choose


@pytest.mark.parametrize(
    ("size", "with_names", "model"),
    [
        (DataSize(1_000, 2_239, 11_000, 2_400), False, "OneVsAll"),  # a thousand titles, hardly two samples per label
        (DataSize(20_000, 14_000, 220_000, 49_000), False, "OneVsAll"),
        (DataSize(100_000, 20_000, 1_100_000, 244_000), False, "LabelTree"),
        (DataSize(40_000, 4_100, 6_100_000, 203_000), False, "OneVsAll"),  # whole texts
        (DataSize(1_000_000, 100, 10_000_000, 2_000_000), False, "OneVsAll"),  # few labels, whatever the samples
        (DataSize(1_000, 1_000_000, 11_000, 2_000_000), False, "LabelTree"),
        (DataSize(20_000, 14_000, 220_000, 49_000), True, "LabelTree"),  # names know more of labels with few samples
        (DataSize(20_000, 14_000, 220_000, 140_000), True, "OneVsAll"),
        (DataSize(2_000, 14_000, 22_000, 49_000), True, "OneVsAll"),
    ],
)
def test_the_choice_is_by_cost_and_by_what_names_can_say(size, with_names, model):
    assert choose(size, with_names=with_names)[0] == model


def test_the_limit_is_a_cost_and_counts_dimensions():
    n_labels = int(MAX_ONE_VS_ALL / (60 * 10_000))
    at_limit = DataSize(10_000, n_labels, 100_000, 1_000_000)
    assert choose(at_limit)[0] == "OneVsAll"
    assert choose(at_limit._replace(n_labels=n_labels + 1))[0] == "LabelTree"
    X, Y = sparse.csr_matrix((10, 5)), sparse.csr_matrix((10, 7))
    assert DataSize.of(X, Y, n_dimensions=256) == DataSize(10, 7, 2_560, 0)
