"""Running independent tasks in parallel through joblib, with finished tasks stored in a checkpoint.

A task is a module-level function of arrays, parameters and a seed. Results are returned in the order of the
tasks, for any number of threads, any backend of joblib and on a Dask cluster (`tacit.on_cluster`), and every task
uses one BLAS thread, so that the same seed gives bit-identical models.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from itertools import islice
from typing import Any, TypeVar

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from tacit.progress import stage
from tacit.runtime import checkpoint, cluster

Result = TypeVar("Result")

AHEAD = 4  # tasks per task that runs
_running: ContextVar[checkpoint.FinishedTasks | None] = ContextVar("tacit_finished_tasks", default=None)
_sent: ContextVar[cluster.Futures | None] = ContextVar("tacit_sent", default=None)
_limited = threading.local()  # some libraries have a thread limit per calling thread


@contextmanager
def fitting(*identity: Any) -> Iterator[None]:
    """Context of one fit; `identity` (model, parameters, data) identifies it in a checkpoint."""
    sent = _sent.get()
    token = _running.set(checkpoint.of_fit(*identity))
    outer = _sent.set({} if sent is None else sent)
    try:
        yield
    finally:
        _sent.reset(outer)
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
    """Results of ``function(**task, **shared)`` for every task, in order; `what` they are is shown with their progress.

    With `keep`, results are stored in a checkpoint, and computed on a cluster if there is one; the steps within a
    larger task need neither. `function` is of a module and depends only on its arguments; its return annotation is used
    to read results.
    """
    kept = _running.get() if keep else None
    none: list[Any] = [None] * len(tasks)
    name, results = kept.resumed(what, len(tasks), function) if kept else ("", none)
    missing = [i for i, result in enumerate(results) if result is None]
    is_near = not keep or len(missing) < 2  # moving the data of a single task would cost more than it saves
    found = _computed(function, (tasks[i] for i in missing), n_jobs, shared, is_near=is_near)
    with stage(what, len(tasks)) as advance, closing(found) as computed:
        advance(len(tasks) - len(missing))
        for i, result in zip(missing, computed, strict=True):
            results[i] = result
            if kept:
                kept.write(f"{name}-{i:06d}", result)
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
    with closing(_computed(function, iter(tasks), n_jobs, shared, AHEAD, is_near=is_near)) as computed:
        yield from computed


def _computed(
    function: Callable[..., Result],
    tasks: Iterator[Mapping[str, Any]],
    n_jobs: int | None,
    shared: Mapping[str, Any],
    n_ahead: int | None = None,
    *,
    is_near: bool,
) -> Generator[Result, None, None]:
    """The result of each task, in order; `is_near`: on this machine, even if there is a cluster."""
    client = cluster.active_client()
    run = partial(_run_limited, function)
    with one_blas_thread():
        if client is not None and not is_near:
            sent = _sent.get()
            yield from cluster.computed(client, run, tasks, shared, {} if sent is None else sent)
            return
        where: dict[str, Any] = {"prefer": "threads"} if client is None else {"backend": "threading"}
        # Copy-on-write for processes: kernels would be compiled again for read-only arrays.
        with joblib.Parallel(n_jobs=n_jobs, return_as="generator", mmap_mode="c", **where) as parallel:
            n_together = None if n_ahead is None else n_ahead * joblib.effective_n_jobs(n_jobs)
            while together := list(islice(tasks, n_together)):
                yield from _computed_here(parallel, [joblib.delayed(run)(task, shared) for task in together])


def _computed_here(parallel: joblib.Parallel, calls: Sequence[Any]) -> Generator[Any, None, None]:
    found = parallel(calls)
    try:
        for each in found:  # noqa: UP028 - `yield from` would close it before the warning is silenced
            yield each
    finally:
        with warnings.catch_warnings():  # joblib warns of results that nobody takes, as when work is interrupted
            warnings.simplefilter("ignore", UserWarning)
            found.close()


def _run_limited(function: Callable[..., Result], task: Mapping[str, Any], shared: Mapping[str, Any]) -> Result:
    """Run a task with one BLAS thread; the limit is set once per thread, and `run_tasks` lifts it in its process."""
    if not hasattr(_limited, "limits"):
        _limited.limits = one_blas_thread()
    return function(**task, **shared)


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
