from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit.kernels.score import fill_open_places


def filled_slowly(row: list[int], order: list[int]) -> list[int]:
    held = [label for label in row if label >= 0]
    return (held + [label for label in order if label not in held])[: len(row)]


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 8))
def test_agrees_with_the_slow_form(seed, n_rows, n_labels):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, n_labels + 1))
    labels = np.argsort(rng.random((n_rows, n_labels)), axis=1)[:, :k].astype(np.int32)
    labels[np.arange(k) >= rng.integers(0, k + 1, size=n_rows)[:, None]] = -1
    order = rng.permutation(n_labels).astype(np.int32)
    scores = np.where(labels < 0, -np.inf, 1).astype(np.float32)
    expected = [filled_slowly(row, order.tolist()) for row in labels.tolist()]
    fill_open_places(labels, scores, order, -2.0)
    assert labels.tolist() == expected
    assert set(np.unique(scores)) <= {np.float32(1), np.float32(-2)}
