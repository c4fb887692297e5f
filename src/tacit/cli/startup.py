"""Faster start-up: scikit-learn without what its shims import, and no garbage collection meanwhile."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType

_UNUSED = ("scipy.stats", "pandas")  # by `sklearn.utils.fixes` when it is imported; half of the start-up time


@contextmanager
def quick_start() -> Iterator[None]:
    """Speed up imports and the loading of a model; objects made here are never collected, as nearly all live on."""
    gc.disable()
    try:
        _import_sklearn()
        yield
    finally:
        gc.freeze()
        gc.enable()


def _import_sklearn() -> None:
    stand_ins = {name: ModuleType(name) for name in _UNUSED if name not in sys.modules}
    sys.modules.update(stand_ins)
    with suppress(ImportError, AttributeError):  # another version may need them: then it is imported as usual
        import sklearn.utils.fixes  # noqa: F401
    for name in stand_ins:
        del sys.modules[name]
