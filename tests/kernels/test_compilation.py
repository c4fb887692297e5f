from __future__ import annotations

import gc

import pytest
from numba import njit
from numba.core import event
from numba.core.errors import TypingError

import tacit.kernels  # noqa: F401 - listens to compilation


class Collections(event.Listener):
    def __init__(self):
        self.enabled = []

    def on_start(self, event):
        pass

    def on_end(self, event):
        self.enabled.append(gc.isenabled())


@pytest.mark.parametrize("is_enabled", [True, False])
def test_garbage_is_not_collected_while_kernels_are_compiled(is_enabled):
    seen = Collections()
    (gc.enable if is_enabled else gc.disable)()
    try:
        with event.install_listener("numba:llvm_lock", seen):
            assert njit(lambda number: number + 1)(1) == 2
        assert gc.isenabled() == is_enabled
        with pytest.raises(TypingError):
            njit(lambda number: number.missing)(1)
        assert gc.isenabled() == is_enabled
    finally:
        gc.enable()
    assert seen.enabled
    assert not any(seen.enabled)
