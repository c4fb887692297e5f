"""Compiled inner loops: module-level Numba functions that take and return only arrays and scalars.

Numba's cache of a kernel notices changes in its own file only. Kernels that call each other therefore share a file, but
for small helpers that many need: whoever changes `best`, `dense`, `ragged` or `splitmix` also touches the files that
import it. Arrays that belong together travel in one NamedTuple. Scratch is made in Python, around the kernel, where it
can be: that takes long to compile.
"""

from __future__ import annotations

import gc
from typing import Any

from numba.core import event

from tacit.progress import announce


class _Compilation(event.Listener):  # type: ignore[misc]
    """Announces, once per process, that kernels are being compiled rather than loaded from the cache.

    Meanwhile there is no garbage collection: Numba makes millions of objects, for which the collector would go
    through all those of the process again and again, a tenth to a fifth of the time.
    """

    announced = False

    def __init__(self) -> None:
        self._depth = 0  # kernels compile those that they call; Numba's lock allows one thread at a time
        self._collects = True

    def on_start(self, event: Any) -> None:
        """A kernel, or a function of Numba that one calls, is going to be compiled."""
        self._depth += 1
        if self._depth == 1:
            self._collects = gc.isenabled()
            gc.disable()
        kernel = event.data["dispatcher"].py_func
        if not self.announced and (kernel.__module__ or "").startswith("tacit."):
            _Compilation.announced = True
            announce("compiling kernels for this machine (first use only; the result is cached) …")

    def on_end(self, event: Any) -> None:  # noqa: ARG002 - as Numba calls it
        """It is compiled, or could not be."""
        self._depth -= 1
        if self._depth == 0 and self._collects:
            gc.enable()


event.register("numba:compile", _Compilation())


def has_compiled() -> bool:
    """Whether this process has compiled a kernel, rather than load all that it used."""
    return _Compilation.announced
