"""Finished tasks on disk, so that an interrupted fit resumes where it was."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from safetensors import SafetensorError

from tacit.errors import ModelFileError, TacitError
from tacit.progress import announce
from tacit.store.atomic import read_arrays, sha256, write_arrays
from tacit.store.packing import Arrays, Unpacker, pack

_current: ContextVar[Checkpoint | None] = ContextVar("tacit_checkpoint", default=None)


class Checkpoint:
    """A folder of finished tasks, with a subfolder for each fit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fits: set[Path] = set()
        self.has_resumed = False

    def n_kept(self) -> int:
        """Number of finished tasks in the fits of this process."""
        return sum(1 for fit in list(self.fits) for _ in fit.glob("*.safetensors"))

    def remove(self) -> bool:
        """Delete the finished tasks of this process; returns whether anything else remains."""
        for fit in self.fits:
            shutil.rmtree(fit, ignore_errors=True)
        self.remove_empty()
        return self.folder.exists()

    def remove_empty(self) -> None:
        """Delete empty folders."""
        for folder in (*self.fits, self.folder):
            with suppress(OSError):
                folder.rmdir()


@contextmanager
def checkpoint(folder: str | os.PathLike[str]) -> Iterator[Checkpoint]:
    """Store the finished tasks of every `fit` inside the block in `folder`.

    The same fit (model, parameters and data) in a later process resumes where it was interrupted.
    The caller is responsible for the folder: delete it when the model is saved.
    """
    kept = Checkpoint(Path(folder))
    token = _current.set(kept)
    try:
        yield kept
    finally:
        _current.reset(token)
        kept.remove_empty()


def of_fit(*identity: Any) -> FinishedTasks | None:
    """The finished tasks of one fit (model, parameters, data), if there is a checkpoint."""
    current = _current.get()
    return None if current is None else FinishedTasks(current, fingerprint(*identity)[:32])


class FinishedTasks:
    """Finished tasks of one fit, a file each; a file that does not match its name's checksum is ignored."""

    def __init__(self, checkpoint: Checkpoint, identity: str) -> None:
        self.folder = checkpoint.folder / identity
        self.checkpoint = checkpoint
        self._n_stages = 0
        checkpoint.fits.add(self.folder)
        with self._writing():
            self.folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, SafetensorError) as error:
            reason = error.strerror or error if isinstance(error, OSError) else error
            raise TacitError(f"{self.folder}: the checkpoint cannot be written ({reason})") from error

    def resumed(self, what: str, n_tasks: int, function: Callable[..., Any]) -> tuple[str, list[Any]]:
        """Name of the next stage, and the results of its tasks; None for those that are not finished."""
        self._n_stages += 1
        name = f"{self._n_stages:02d}-{'-'.join(what.split())}"
        results = [self._read(f"{name}-{index:06d}", function) for index in range(n_tasks)]
        n_found = sum(result is not None for result in results)
        if n_found and not self.checkpoint.has_resumed:
            self.checkpoint.has_resumed = True
            announce(f"resuming: {n_found:,} of {n_tasks:,} {what} are in {self.checkpoint.folder}")
        return name, results

    def _read(self, name: str, function: Callable[..., Any]) -> Any:
        for path in self.folder.glob(f"{name}-*.safetensors"):
            with suppress(ModelFileError):
                if path.stem.endswith(sha256(path)[:16]):
                    arrays = read_arrays(path)
                    tree = json.loads(arrays.pop("tree").tobytes())
                    return Unpacker(arrays, _no_models).value(tree, get_type_hints(function).get("return", Any))
        return None

    def write(self, name: str, result: Any) -> None:
        """Store the result of a task."""
        arrays: Arrays = {}
        tree = json.dumps(pack(result, arrays)).encode()
        arrays["tree"] = np.frombuffer(tree, np.uint8)
        draft = self.folder / f"{name}.draft"
        with self._writing():
            write_arrays(draft, arrays)
            draft.replace(draft.with_name(f"{draft.stem}-{sha256(draft)[:16]}.safetensors"))


def _no_models(name: str) -> Any:
    raise ModelFileError(f"a checkpoint holds no models; got '{name}'")


def fingerprint(*parts: Any) -> str:
    """Hexadecimal digest of numbers, strings, mappings, arrays and sparse matrices."""
    arrays: Arrays = {}
    tree = pack(list(parts), arrays)
    digest = hashlib.sha256(json.dumps(tree, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
