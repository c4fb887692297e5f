"""The one way work is run: independent tasks through joblib, finished ones kept in a checkpoint.

A task is a module-level function of arrays, parameters and a seed. Results come back in the order of the
tasks, whatever the number of threads or the backend (``joblib.parallel_config("dask")``), and every task
has one BLAS thread, so that the same seed gives the same model bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from tacit.errors import ModelFileError, TacitError
from tacit.progress import stage
from tacit.store.files import read_arrays, sha256, write_arrays
from tacit.store.state import Arrays, Unpacker, pack

Result = TypeVar("Result")

_folder: ContextVar[Path | None] = ContextVar("tacit_checkpoint_folder", default=None)
_running: ContextVar[_Checkpoint | None] = ContextVar("tacit_checkpoint_running", default=None)
_limited = threading.local()  # some libraries count their threads per thread that calls them


@contextmanager
def checkpoint(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Keep the finished tasks of every `fit` inside the block in `folder`.

    The same fit (model, parameters and data) in a later process takes them up where it was interrupted.
    The folder is the caller's: remove it when the model is saved.
    """
    token = _folder.set(Path(folder))
    try:
        yield
    finally:
        _folder.reset(token)


@contextmanager
def fitting(*identity: Any) -> Iterator[None]:
    """Around one fit: `identity` (model, parameters, data) tells it from all others in a checkpoint."""
    folder = _folder.get()
    token = _running.set(None if folder is None else _Checkpoint(folder / fingerprint(*identity)[:32]))
    try:
        yield
    finally:
        _running.reset(token)


def run_tasks(
    function: Callable[..., Result],
    tasks: Sequence[Mapping[str, Any]],
    *,
    n_jobs: int | None,
    what: str,
    keep: bool = True,
    **shared: Any,
) -> list[Result]:
    """Results of ``function(**task, **shared)`` for every task, in order.

    Parameters
    ----------
    function : callable
        A module-level function that depends on its arguments alone; its return annotation says what it gives.
    tasks : sequence of mappings
        The arguments that differ from task to task.
    n_jobs : int or None
        How many run at a time, as in scikit-learn.
    what : str
        What the tasks are, in the plural; shown beside the progress bar.
    keep : bool
        Whether results go into a checkpoint; those of steps within a larger kept task need not.
    shared
        Arguments common to all tasks.
    """
    kept = _running.get() if keep else None
    stage_of_fit = kept.next_stage(what) if kept else ""
    results: list[Any] = [kept.read(stage_of_fit, i, function) if kept else None for i in range(len(tasks))]
    missing = [i for i, result in enumerate(results) if result is None]
    calls = (joblib.delayed(_run_limited)(function, {**tasks[i], **shared}) for i in missing)
    with stage(what, len(tasks)) as advance, one_blas_thread():
        advance(len(tasks) - len(missing))
        computed = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(calls)
        for i, result in zip(missing, computed, strict=True):
            results[i] = result
            if kept:
                kept.write(stage_of_fit, i, result)
            advance(1)
    return results


def _run_limited(function: Callable[..., Result], arguments: dict[str, Any]) -> Result:
    """Run a task in a thread that is limited once; `run_tasks` takes the limit back in its own process."""
    if not hasattr(_limited, "limits"):
        _limited.limits = one_blas_thread()
    return function(**arguments)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Until the end of the block, products of matrices use one thread."""
    limits: AbstractContextManager[Any] = _thread_pools(len(sys.modules)).limit(limits=1)
    return limits


@lru_cache(maxsize=1)
def _thread_pools(_n_modules: int) -> ThreadpoolController:
    """The thread pools of all loaded libraries; to find them takes milliseconds, so only after new imports."""
    return ThreadpoolController()


def row_blocks(n_rows: int, size: int) -> list[tuple[int, int]]:
    """Consecutive (start, stop) blocks of at most `size` rows."""
    return [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def task_seeds(random_state: int | None, n_tasks: int) -> list[int]:
    """A seed for each task that depends on the model's seed and the task's place alone."""
    children = np.random.SeedSequence(random_state).spawn(n_tasks)
    return [int(child.generate_state(1, np.uint32)[0]) for child in children]


def fingerprint(*parts: Any) -> str:
    """Hexadecimal digest of numbers, strings, mappings, arrays and sparse matrices."""
    arrays: Arrays = {}
    tree = pack(list(parts), arrays)
    digest = hashlib.sha256(json.dumps(tree, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


class _Checkpoint:
    """Finished tasks of one fit, a file each; a file that does not match its name's checksum is ignored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stages = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TacitError(f"{folder}: the checkpoint cannot be written ({error.strerror})") from error

    def next_stage(self, what: str) -> str:
        self.stages += 1
        return f"{self.stages:02d}-{'-'.join(what.split())}"

    def read(self, stage_of_fit: str, index: int, function: Callable[..., Any]) -> Any:
        for path in self.folder.glob(f"{stage_of_fit}-{index:06d}-*.safetensors"):
            if path.stem.endswith(sha256(path)[:16]):
                try:
                    arrays = read_arrays(path)
                except ModelFileError:
                    continue
                tree = json.loads(arrays.pop("tree").tobytes())
                kind = get_type_hints(function).get("return", Any)
                return Unpacker(arrays, _no_models).value(tree, kind)
        return None

    def write(self, stage_of_fit: str, index: int, result: Any) -> None:
        arrays: Arrays = {}
        tree = json.dumps(pack(result, arrays)).encode()
        arrays["tree"] = np.frombuffer(tree, np.uint8)
        draft = self.folder / f"{stage_of_fit}-{index:06d}.draft"
        write_arrays(draft, arrays)
        draft.replace(draft.with_name(f"{draft.stem}-{sha256(draft)[:16]}.safetensors"))


def _no_models(name: str) -> Any:
    raise ModelFileError(f"a checkpoint holds no models; got '{name}'")
