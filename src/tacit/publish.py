"""What the tasks of a fit share, published once: tasks in other processes carry references to it.

A value is pickled with its arrays apart (pickle protocol 5), and each part is named by its fingerprint: what several
stages of a fit share is published once. A part is a file that workers map into memory, or bytes that a cluster sends.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import pickle
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.progress import drafts

_SMALL = 1 << 16  # bytes; smaller arrays are pickled together with the rest
_ALIGNMENT = 16  # bytes, as NumPy has it; kernels would be compiled again for arrays that are not aligned

Put = Callable[[str, memoryview], Any]
References = tuple[tuple[str, ...], list[Any]]


@dataclass
class _Held:
    """The value that this process loaded last, and the names of its parts."""

    names: tuple[str, ...] = ()
    value: Any = None


_held = _Held()
_loading = threading.Lock()
_published: ContextVar[Published | None] = ContextVar("tacit_published", default=None)


class Published:
    """Parts that are published for one fit, by fingerprint."""

    def __init__(self) -> None:
        self.parts: dict[str, Any] = {}
        self.are_files: bool | None = None  # what the workers of a cluster can read; None: not known yet
        self.is_direct = True  # whether parts are sent to workers past the scheduler
        self.brought: list[Any] = []  # tasks that bring parts to each worker of a cluster
        self.at_end: dict[str, Callable[[], None]] = {}  # further actions when all parts are withdrawn
        self._lock = threading.Lock()

    def put(self, value: Any, put: Put) -> References:
        """The names of the parts of a value, and a reference to each; `put` publishes those that are not published."""
        names, found = [], []
        for part in _parts_of(value):
            name = hashlib.sha256(part).hexdigest()
            with self._lock:
                if name not in self.parts or getattr(self.parts[name], "status", "") == "cancelled":  # of a future
                    self.parts[name] = put(name, part)
                names.append(name)
                found.append(self.parts[name])
        return tuple(names), found

    def close(self) -> None:
        """Withdraw all parts."""
        for action in self.at_end.values():
            action()
        for part in self.parts.values():
            if isinstance(part, Path):
                remove_part(part)
        self.parts.clear()
        self.brought.clear()


@contextmanager
def publishing(*, for_all: bool = False) -> Iterator[Published]:
    """What is published inside the block is withdrawn at its end.

    `for_all`: blocks within this one publish together with it, and withdraw nothing. A generator must not ask for that:
    while it waits, work of others would be taken for its own.
    """
    outer = _published.get()
    if outer is not None:
        yield outer
        return
    published = Published()
    token = _published.set(published) if for_all else None
    try:
        yield published
    finally:
        if token is not None:
            _published.reset(token)
        published.close()


class Shared:
    """Arguments that tasks share: the object itself in this process; pickled, references to its published parts."""

    def __init__(self, value: Any, published: Published | None = None) -> None:
        self.value = value
        self.published = published
        self._files: References | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._files is None:
            published = self.published or Published()
            self._files = published.put(self.value, write_part)
        return load, self._files


def load(names: tuple[str, ...], parts: Sequence[Any]) -> Shared:
    """The value of published parts; it is held until another one is loaded, or `forget` is called."""
    with _loading:
        if _held.names != names:
            forget()  # before the next one takes memory
            *arrays, rest = [_mapped(part) if isinstance(part, Path) else _aligned(part) for part in parts]
            _held.value = pickle.loads(rest, buffers=arrays)  # noqa: S301 - what our own process has pickled
            _held.names = names
        return Shared(_held.value)


def forget() -> None:
    """Drop what this process has loaded."""
    _held.names, _held.value = (), None


def write_part(name: str, part: memoryview) -> Path:
    """Write a part to a file in the folder for temporary files, which only this user can read."""
    handle, path = tempfile.mkstemp(prefix=f"tacit-{name[:16]}-")
    drafts.add(Path(path))
    with os.fdopen(handle, "wb") as file:
        file.write(part)
    return Path(path)


def remove_part(path: Path) -> None:
    """Delete the file of a part; processes that have mapped it can still read it."""
    path.unlink(missing_ok=True)
    drafts.discard(path)


def _parts_of(value: Any) -> list[memoryview]:
    """The large arrays of a value, then the rest of it."""
    import cloudpickle  # not needed in a process of its own

    parts: list[memoryview] = []

    def is_small(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < _SMALL:
            return True
        parts.append(raw)
        return False

    rest = cloudpickle.dumps(value, protocol=5, buffer_callback=is_small)
    return [*parts, memoryview(rest)]


def _mapped(path: Path) -> Any:
    """A file in memory; copy-on-write, because kernels would be compiled again for read-only arrays."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def _aligned(part: Any) -> Any:
    is_aligned = part.flags.writeable and part.ctypes.data % _ALIGNMENT == 0
    return part if is_aligned else part.copy()
