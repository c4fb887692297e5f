"""Compiled inner loops: module-level Numba functions that take and return only arrays and scalars.

Kernels that call each other share a file (Numba's cache does not notice a change in another file).
"""

from __future__ import annotations

from typing import Any

from numba.core import event

from tacit.progress import announce


class _CompilationNotice(event.Listener):  # type: ignore[misc]
    """Announces, once per process, that kernels are being compiled rather than loaded from the cache."""

    given = False

    def on_start(self, event: Any) -> None:
        kernel = event.data["dispatcher"].py_func
        if not self.given and kernel.__module__.startswith("tacit."):
            _CompilationNotice.given = True
            announce("compiling kernels for this machine (first use only; the result is cached) …")

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


event.register("numba:compile", _CompilationNotice())


def has_compiled() -> bool:
    """Whether this process has compiled a kernel, rather than load all that it used."""
    return _CompilationNotice.given
