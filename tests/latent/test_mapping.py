from __future__ import annotations

import numpy as np
import pytest

from tacit.latent.mapping import fit_mapping
from tacit.runtime.tasks import one_blas_thread

RNG = np.random.default_rng(0)
B = RNG.standard_normal((200, 3)).astype(np.float32)
V = np.stack([np.sin(B[:, 0]) * B[:, 1], B[:, 2] ** 2], axis=1).astype(np.float32)  # nothing a line can follow


@pytest.fixture(autouse=True)
def _one_thread():
    with one_blas_thread():
        yield


def error(kind):
    return float(np.mean((fit_mapping(kind, B[:150], V[:150], 0.1, 0)(B[150:]) - V[150:]) ** 2))


@pytest.mark.parametrize("kind", ["kernel", "neural"])
def test_curved_maps_follow_what_a_line_cannot(kind):
    assert error(kind) < 0.5 * error("linear")


@pytest.mark.parametrize("kind", ["linear", "kernel", "neural"])
def test_the_same_seed_gives_the_same_map(kind):
    first, again = (fit_mapping(kind, B, V, 0.1, 3)(B) for _ in range(2))
    assert np.array_equal(first, again)
