"""Which model ``model="auto"`` is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit.tagger.automatic import choose


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
