"""System calls that fail, one at a time, from some call on, or after they have taken effect."""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from safetensors import SafetensorError
from safetensors.numpy import save_file

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

Call = Callable[..., Any]

_OF_OS = ("open", "close", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "chmod", "listdir", "scandir")


@dataclass
class Faults:
    """Calls that fail: number `at`, and all after it if `lasting`; with `late`, after they have taken effect."""

    at: int = 0
    errno: int = 0
    lasting: bool = False
    late: bool = False
    calls: list[str] = field(default_factory=list)  # by name, in order

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Let the calls fail that writers of models make."""
        for name in _OF_OS:
            patch.setattr(os, name, self.failing(name, getattr(os, name)))
        if fcntl is not None and not self.lasting:  # locks are not on the disk
            patch.setattr(fcntl, "flock", self.failing("flock", fcntl.flock))
        opened = self._opening(io.open)
        patch.setattr(io, "open", opened)
        patch.setattr(builtins, "open", opened)
        patch.setattr("tacit.store.atomic.save_file", self._save_file)

    def failing(
        self, name: str, call: Callable[..., Any], half: Callable[..., Any] | None = None
    ) -> Callable[..., Any]:
        """`call`, failing in its turn, then without effect or with that of `half`."""

        def attempt(*given: Any, **named: Any) -> Any:
            self.calls.append(name)
            fails = self.at and (len(self.calls) == self.at or (self.lasting and len(self.calls) > self.at))
            if not fails:
                return call(*given, **named)
            if name == "close" or self.late:
                call(*given, **named)
            elif half is not None:
                half(*given, **named)
            raise OSError(self.errno, os.strerror(self.errno))

        return attempt

    def _opening(self, opener: Call) -> Call:
        def attempt(file: Any, mode: str = "r", *given: Any, **named: Any) -> Any:
            found = self.failing("io.open", opener)(file, mode, *given, **named)
            return _Written(found, self) if {*mode} & {*"wax"} else found

        return attempt

    def _save_file(self, arrays: Any, path: Any) -> None:
        def half(_: Any, path: Any) -> None:
            save_file(arrays, path)
            os.truncate(path, Path(path).stat().st_size // 2)

        try:
            self.failing("save_file", save_file, half)(arrays, path)
        except OSError as error:
            raise SafetensorError(f"Error while serializing: {error}") from None


class _Written:
    """A file open for writing, whose calls may fail; a write that fails has written a half."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self._file = file
        self.write = faults.failing("write", file.write, lambda content: file.write(content[: len(content) // 2]))
        self.truncate = faults.failing("truncate", file.truncate)
        self.close = faults.failing("close", file.close)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _Written:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
