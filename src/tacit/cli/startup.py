"""Faster start-up: modules that scikit-learn imports but commands rarely need are loaded on first use.

They take half of the start-up time of ``tacit suggest``.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

#: scikit-learn imports these for compatibility shims.
SELDOM_NEEDED = ("scipy.stats", "pandas")


class _DeferredModule(ModuleType):
    """A module whose code runs on the first access to an attribute that its code defines.

    `importlib.util.LazyLoader` does not help: it runs the code as soon as a second module imports the first.
    """

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name != "__version__":  # attributes that any module has, such as its file
            raise AttributeError(name)
        state = self.__dict__["__deferred__"]
        with state.lock:
            if state.is_running:  # the code itself reads an attribute that it has not defined yet
                raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
            if self.__class__ is _DeferredModule:
                state.is_running = True
                try:
                    state.loader.exec_module(self)
                finally:
                    state.is_running = False
                self.__class__ = ModuleType  # type: ignore[assignment]
        return getattr(self, name)


class _DeferringLoader(Loader):
    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self.lock = threading.RLock()
        self.is_running = False

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _DeferredModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__deferred__"] = self


class _DeferringFinder(MetaPathFinder):
    """Finds some modules like Python's own finder, and defers their code."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in self._names else None
        if spec is not None and spec.loader is not None:
            spec.loader = _DeferringLoader(spec.loader)
        return spec


@contextmanager
def quick_start(names: Sequence[str] = SELDOM_NEEDED) -> Iterator[None]:
    """Speed up imports and the loading of a model: defers modules and disables the garbage collector meanwhile.

    Nearly all objects created here live as long as the process, so they are then excluded from garbage collection.
    """
    finder = _DeferringFinder(names)
    sys.meta_path.insert(0, finder)
    gc.disable()
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        gc.freeze()
        gc.enable()
