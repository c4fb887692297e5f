"""A Dask cluster of two worker processes against two threads: bytes sent, wall time, and whether models are the same.

Usage: ``TACIT_DATA=… python -m benchmarks cluster`` (EURLEX57K); ``python -m benchmarks.cluster SHARE`` takes a share
of its training samples. The scheduler and the workers are processes of their own on this machine. Bytes are those that
client and scheduler write to sockets. Ends with exit code 1 if these are more than 1.2 × workers × data + results, if a
model differs, or if Dask warns of a large graph; wall time should be at most 1.15 × that of two threads.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib

import tacit
from tacit.runtime import cluster
from tacit.sizes import format_size

N_WORKERS = 2
MODELS: tuple[Callable[[], Any], ...] = (
    lambda: tacit.LabelTree(n_jobs=N_WORKERS),
    lambda: tacit.OneVsAll(n_jobs=N_WORKERS),
    lambda: tacit.PfastreXML(n_jobs=N_WORKERS),
)
_DASK = (sys.executable, "-m", "distributed.cli.dask_")


@contextmanager
def dask_cluster() -> Iterator[str]:
    """The address of a scheduler with two workers of one thread."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        common = ("--scheduler-file", str(file), "--no-dashboard", "--host", "127.0.0.1")
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        kinds = [("scheduler", "--port", "0"), *(N_WORKERS * [("worker", "--nthreads", "1", "--memory-limit", "0")])]
        processes = [
            subprocess.Popen([*_DASK[:2], f"{_DASK[2]}{kind}", *common, *rest], **quiet) for kind, *rest in kinds
        ]
        try:
            while not file.exists():
                time.sleep(0.1)
            yield json.loads(file.read_text())["address"]
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait()


def count_sent() -> None:
    """Count the bytes that this process writes to sockets, in an attribute of Dask's own class."""
    from distributed.comm.tcp import TCP

    write = TCP.write

    async def counted(self: Any, *arguments: Any, **options: Any) -> int:
        n_bytes: int = await write(self, *arguments, **options)
        TCP.n_sent += n_bytes
        return n_bytes

    TCP.n_sent, TCP.write = 0, counted


def n_sent() -> int:
    """What `count_sent` has counted."""
    from distributed.comm.tcp import TCP

    found: int = TCP.n_sent
    return found


def size(value: Any) -> int:
    """Bytes of a pickled value."""
    buffers: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(rest) + sum(buffer.raw().nbytes for buffer in buffers)


def digest(model: Any) -> str:
    """Checksum of a saved model."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        files = sorted((Path(folder) / "model").iterdir())
        return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


class Results:
    """Adds up the sizes of the results of tasks."""

    def __init__(self) -> None:
        self.n_bytes = 0
        self._computed = cluster.computed
        cluster.computed = self.computed

    def computed(self, *arguments: Any) -> Iterator[Any]:
        """The same results, counted."""
        for result in self._computed(*arguments):
            self.n_bytes += size(result)
            yield result


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds of a call, CPU seconds of this process and all workers meanwhile, and what it returned."""
    client = cluster.active_client()

    def cpu() -> float:
        return time.process_time() + sum(client.run(time.process_time).values())

    began, cpu_began = time.perf_counter(), cpu()
    result = work()
    return time.perf_counter() - began, cpu() - cpu_began, result


def measure(make: Callable[[], Any], train: tacit.Dataset, results: Results) -> bool:
    """Print the figures of a model; whether all that must hold does."""
    threads, threads_cpu, here = timed(lambda: fitted_by_threads(make(), train))
    data, expected = size((train.X, train.Y)), digest(here)
    print(
        f"{type(here).__name__}: data {format_size(data)}, two threads {threads:.1f} s, CPU {threads_cpu:.1f} s",
        flush=True,
    )
    client = cluster.active_client()
    before = n_sent() + client.run_on_scheduler(n_sent)
    results.n_bytes = 0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        seconds, cpu_seconds, there = timed(lambda: make().fit(train.X, train.Y))
    sent = n_sent() + client.run_on_scheduler(n_sent) - before
    most = 1.2 * N_WORKERS * data + results.n_bytes
    is_same, is_warned = digest(there) == expected, any("large graph" in str(each.message) for each in told)
    print(
        f"  {format_size(sent)} sent, {sent / most:.2f} of what is allowed (results {format_size(results.n_bytes)}); "
        f"{seconds:.1f} s, {seconds / threads:.2f} x two threads, CPU {cpu_seconds / threads_cpu:.2f} x; "
        f"{'the same model' if is_same else 'ANOTHER MODEL'}{'; LARGE GRAPH' if is_warned else ''}",
        flush=True,
    )
    return is_same and not is_warned and sent <= most


def fitted_by_threads(model: Any, train: tacit.Dataset) -> Any:
    """The model, fitted in this process though there is a cluster."""
    with joblib.parallel_config("threading", n_jobs=N_WORKERS):
        return model.fit(train.X, train.Y)


def main() -> None:
    """Measure all models."""
    train = tacit.load_data(Path(os.environ["TACIT_DATA"]) / "eurlex57k" / "tfidf" / "X.trn.npz")
    shares = [float(word) for word in sys.argv[1:] if word.replace(".", "").isdigit()]
    train = train.rows(slice(int(shares[0] * len(train)))) if shares else train
    count_sent()
    results = Results()
    with dask_cluster() as address, tacit.on_cluster(address):
        client = cluster.active_client()
        client.wait_for_workers(N_WORKERS)
        client.run_on_scheduler(count_sent)
        for make in MODELS:  # kernels are compiled or loaded
            make().fit(train.X[:500], train.Y[:500])
        if not all([measure(make, train, results) for make in MODELS]):  # noqa: C419 - all of them are measured
            sys.exit(1)


if __name__ == "__main__":
    main()
