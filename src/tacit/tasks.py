"""Running independent tasks in parallel through joblib, with finished tasks stored in a checkpoint.

A task is a module-level function of arrays, parameters and a seed. Results are returned in the order of the
tasks, for any number of threads, any backend of joblib and on a Dask cluster (`tacit.on_cluster`), and every task
uses one BLAS thread, so that the same seed gives bit-identical models.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import joblib
import numpy as np
from safetensors import SafetensorError
from threadpoolctl import ThreadpoolController

from tacit import cluster
from tacit.errors import ModelFileError, TacitError
from tacit.progress import announce, stage
from tacit.publish import Shared, publishing
from tacit.store.files import read_arrays, sha256, write_arrays
from tacit.store.state import Arrays, Unpacker, pack

Result = TypeVar("Result")

_kept_in: ContextVar[Checkpoint | None] = ContextVar("tacit_checkpoint", default=None)
_running: ContextVar[_KeptFit | None] = ContextVar("tacit_checkpoint_running", default=None)
_limited = threading.local()  # some libraries have a thread limit per calling thread
AHEAD = 4  # tasks per task that runs
_FIT_NAME = 32  # hexadecimal digits


class Checkpoint:
    """A folder of finished tasks, with a subfolder for each fit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._fits: set[Path] = set()
        self._has_resumed = False

    def check(self) -> None:
        """Raise if the folder contains anything that is not part of a checkpoint."""
        if not self.folder.exists():
            return
        others = _names_of_others(self.folder) if self.folder.is_dir() else ["a file"]
        if others:
            raise TacitError(
                f"{self.folder}: is needed for the checkpoint of this training, but contains something else "
                f"({others[0]}); move it, or choose another name for the model"
            )

    def n_kept(self) -> int:
        """Number of finished tasks in the fits of this process."""
        return sum(1 for fit in list(self._fits) for _ in fit.glob("*.safetensors"))

    def remove(self) -> bool:
        """Delete the finished tasks of this process; returns whether those of another training remain."""
        for fit in self._fits:
            shutil.rmtree(fit, ignore_errors=True)
        self.remove_empty()
        return self.folder.exists()

    def remove_empty(self) -> None:
        """Delete empty folders."""
        for folder in (*self._fits, self.folder):
            with suppress(OSError):
                folder.rmdir()

    def of_fit(self, identity: str) -> _KeptFit:
        """The finished tasks of one fit."""
        self._fits.add(self.folder / identity)
        return _KeptFit(self.folder / identity, self)

    def tell_resumed(self, what: str, n_found: int, n_tasks: int) -> None:
        """Announce once that this process resumes an interrupted one."""
        if not self._has_resumed:
            self._has_resumed = True
            announce(f"resuming: {n_found:,} of {n_tasks:,} {what} are in {self.folder}")


def _names_of_others(folder: Path) -> list[str]:
    """Names of files in a folder that cannot be part of a checkpoint."""
    names = []
    for entry in folder.iterdir():
        if entry.is_symlink() or not entry.is_dir() or not re.fullmatch(rf"[0-9a-f]{{{_FIT_NAME}}}", entry.name):
            names.append(entry.name)
            continue
        names += [f"{entry.name}/{part.name}" for part in entry.iterdir() if not part.name.endswith(_KeptFit.ENDINGS)]
    return sorted(names)


@contextmanager
def checkpoint(folder: str | os.PathLike[str]) -> Iterator[Checkpoint]:
    """Store the finished tasks of every `fit` inside the block in `folder`.

    The same fit (model, parameters and data) in a later process resumes where it was interrupted.
    The caller is responsible for the folder: delete it when the model is saved.
    """
    kept = Checkpoint(Path(folder))
    token = _kept_in.set(kept)
    try:
        yield kept
    finally:
        _kept_in.reset(token)
        kept.remove_empty()


@contextmanager
def fitting(*identity: Any) -> Iterator[None]:
    """Context of one fit; `identity` (model, parameters, data) identifies it in a checkpoint."""
    kept = _kept_in.get()
    token = _running.set(None if kept is None else kept.of_fit(fingerprint(*identity)[:_FIT_NAME]))
    try:
        with publishing(for_all=True):
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
        A module-level function that depends only on its arguments; its return annotation is used to read results.
    tasks : sequence of mappings
        The arguments that differ between tasks.
    n_jobs : int or None
        Number of parallel tasks, as in scikit-learn.
    what : str
        What the tasks are, in the plural; shown beside the progress bar.
    keep : bool
        Whether results are stored in a checkpoint, and computed on a cluster if there is one; not needed for steps
        within a larger task.
    shared
        Arguments common to all tasks.
    """
    kept = _running.get() if keep else None
    stage_of_fit = kept.next_stage(what) if kept else ""
    results: list[Any] = [kept.read(stage_of_fit, i, function) if kept else None for i in range(len(tasks))]
    missing = [i for i, result in enumerate(results) if result is None]
    if kept and len(missing) < len(tasks):
        kept.checkpoint.tell_resumed(what, len(tasks) - len(missing), len(tasks))
    calls = ((i, tasks[i]) for i in missing)
    is_near = not keep or len(missing) < 2  # moving the data of a single task would cost more than it saves
    found = _computed(function, calls, n_jobs, shared, is_near)
    with stage(what, len(tasks)) as advance, closing(found) as computed:
        advance(len(tasks) - len(missing))
        for i, result in computed:
            results[i] = result
            if kept:
                kept.write(stage_of_fit, i, result)
            advance(1)
    return results


def stream_tasks(
    function: Callable[..., Result],
    tasks: Iterable[Mapping[str, Any]],
    *,
    n_jobs: int | None,
    is_near: bool = False,
    **shared: Any,
) -> Iterator[Result]:
    """Like `run_tasks`, but tasks are taken and results returned one by one, as long as they last.

    At most `AHEAD` times as many tasks are taken ahead of the oldest that is not done as run at a time. With `is_near`
    tasks run on this machine, even if there is a cluster.
    """
    waiting: dict[int, Result] = {}
    n_taken = 0
    calls = enumerate(tasks)
    with closing(_computed(function, calls, n_jobs, shared, is_near, lambda: len(waiting))) as computed:
        for number, result in computed:
            waiting[number] = result
            while n_taken in waiting:
                yield waiting.pop(n_taken)
                n_taken += 1


def _computed(
    function: Callable[..., Result],
    calls: Iterator[tuple[int, Mapping[str, Any]]],
    n_jobs: int | None,
    arguments: Mapping[str, Any],
    is_near: bool = False,
    n_waiting: Callable[[], int] | None = None,
) -> Generator[tuple[int, Result], None, None]:
    """Number and result of each call, in any order; `is_near`: on this machine, even if there is a cluster.

    If there is `n_waiting`, the number of results that wait for earlier ones, calls are not taken far ahead of these.
    """
    client = cluster.active_client()
    run = partial(_run_limited, function)
    with publishing() as published, one_blas_thread():
        shared = Shared(arguments, published)
        if client is not None and not is_near:
            yield from cluster.computed(client, run, calls, shared, published, n_waiting)
            return
        where: dict[str, Any] = {"prefer": "threads"} if client is None else {"backend": "threading"}
        with joblib.Parallel(n_jobs=n_jobs, return_as="generator", **where) as parallel:
            n_together = None if n_waiting is None else AHEAD * joblib.effective_n_jobs(n_jobs)
            while n_together is None or (together := list(islice(calls, n_together))):
                yield from _computed_here(parallel, run, calls if n_together is None else together, shared)
                if n_together is None:
                    return


def _computed_here(
    parallel: joblib.Parallel,
    run: Callable[..., tuple[int, Result]],
    calls: Iterable[tuple[int, Mapping[str, Any]]],
    shared: Shared,
) -> Generator[tuple[int, Result], None, None]:
    found = parallel(joblib.delayed(run)(number, task, shared) for number, task in calls)
    try:
        for each in found:  # noqa: UP028 - `yield from` would close it before the warning is silenced
            yield each
    finally:
        with warnings.catch_warnings():  # joblib warns of results that nobody takes, as when work is interrupted
            warnings.simplefilter("ignore", UserWarning)
            found.close()


def _run_limited(
    function: Callable[..., Result], number: int, task: Mapping[str, Any], shared: Shared
) -> tuple[int, Result]:
    """Run a task with one BLAS thread; the limit is set once per thread, and `run_tasks` lifts it in its process."""
    if not hasattr(_limited, "limits"):
        _limited.limits = one_blas_thread()
    return number, function(**task, **shared.value)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit matrix products to one thread inside the block."""
    limits: AbstractContextManager[Any] = _thread_pools(len(sys.modules)).limit(limits=1)
    return limits


@lru_cache(maxsize=1)
def _thread_pools(_n_modules: int) -> ThreadpoolController:
    """The thread pools of all loaded libraries, cached until new imports, as finding them takes milliseconds."""
    return ThreadpoolController()


def row_blocks(n_rows: int, size: int) -> list[tuple[int, int]]:
    """Consecutive (start, stop) blocks of at most `size` rows."""
    return [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def task_seeds(random_state: int | None, n_tasks: int) -> list[int]:
    """A seed for each task, which depends only on the model's seed and the index of the task."""
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


class _KeptFit:
    """Finished tasks of one fit, a file each; a file that does not match its name's checksum is ignored."""

    ENDINGS = (".safetensors", ".draft", ".tmp")

    def __init__(self, folder: Path, checkpoint: Checkpoint) -> None:
        self.folder = folder
        self.checkpoint = checkpoint
        self.stages = 0
        with self._writing():
            folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, SafetensorError) as error:
            reason = error.strerror or error if isinstance(error, OSError) else error
            raise TacitError(f"{self.folder}: the checkpoint cannot be written ({reason})") from error

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
        with self._writing():
            write_arrays(draft, arrays)
            draft.replace(draft.with_name(f"{draft.stem}-{sha256(draft)[:16]}.safetensors"))


def _no_models(name: str) -> Any:
    raise ModelFileError(f"a checkpoint holds no models; got '{name}'")
