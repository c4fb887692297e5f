"""A quick start: modules that scikit-learn imports on its way, and that no command needs, wait until they are used.

They are half of the time that ``tacit suggest`` takes to start.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

#: scikit-learn imports these for compatibility shims.
SELDOM_NEEDED = ("scipy.stats", "pandas")


class _Later(ModuleType):
    """Stands for a module until an attribute of it is wanted; then the module itself is imported."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name != "__version__":  # what is asked of any module, such as its file
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = importlib.import_module(self.__name__)
        self.__dict__.update(vars(module))
        return getattr(module, name)


def postpone(names: tuple[str, ...] = SELDOM_NEEDED) -> None:
    """Let the modules be imported only when something of them is used."""
    for name in names:
        package, _, child = name.rpartition(".")
        if name in sys.modules or importlib.util.find_spec(name.partition(".")[0]) is None:
            continue
        spec = importlib.util.find_spec(name)
        if spec is None:
            continue
        later = _Later(name)
        later.__spec__ = spec
        later.__path__ = list(spec.submodule_search_locations or [])
        sys.modules[name] = later
        if package:
            setattr(sys.modules[package], child, later)


@contextmanager
def quick_start() -> Iterator[None]:
    """Around the imports and the loading of a model: nothing of it becomes garbage, so nothing is searched for it."""
    postpone()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
