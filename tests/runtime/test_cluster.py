"""Tasks on a Dask cluster: what is sent, what workers must have, and what happens when a part of it dies."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from click.testing import CliRunner

import tacit
from cluster_tasks import N_BYTES, bytes_sent, data, fails, first_waits, total
from tacit.cli.commands import cli
from tacit.data.synthetic import make_dataset
from tacit.runtime import cluster
from tacit.runtime.tasks import AHEAD, fitting, run_tasks, stream_tasks

dask = pytest.importorskip("dask", reason="needs the extra 'dask'")
distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the cluster's own libraries
TASKS = [{"factor": factor} for factor in range(20)]


@pytest.fixture(scope="module")
def workers() -> Iterator[distributed.LocalCluster]:
    """A cluster of two processes; its scheduler is in this one."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as local:
        yield local


def run_totals() -> list[float]:
    return run_tasks(total, TASKS, n_jobs=2, what="totals", matrix=data())


EXPECTED = [float(task["factor"] * data().sum()) for task in TASKS]


# -- what is shared ---------------------------------------------------------------------------------------


def test_an_argument_that_is_sent_arrives_writeable_and_aligned():
    matrix = data()
    matrix.flags.writeable = False
    again = pickle.loads(pickle.dumps(cluster.Packed({"matrix": matrix, "options": {"C": 1.0}}))).value
    np.testing.assert_array_equal(again["matrix"], matrix)
    assert again["matrix"].flags.writeable
    assert again["matrix"].ctypes.data % 16 == 0
    assert again["options"] == {"C": 1.0}


@pytest.mark.slow
def test_data_reach_each_worker_once(workers):
    with tacit.on_cluster(workers.scheduler_address), bytes_sent() as sent:
        with fitting("a"):
            for _ in range(3):  # stages
                assert run_totals() == EXPECTED
        client = cluster.active_client()
        deadline = time.monotonic() + 10  # Dask drops released data a little later
        while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert N_BYTES < sum(sent) < 1.2 * 2 * N_BYTES


N_STREAMED = 200


def streamed_past_a_task_that_hangs(folder: Path) -> tuple[int, list[int]]:
    """How many tasks are taken while the first one hangs, and all results."""
    taken = []

    def tasks():
        for number in range(N_STREAMED):
            taken.append(number)
            yield {"number": number}

    with ThreadPoolExecutor(1) as other:
        results = other.submit(list, stream_tasks(first_waits, tasks(), n_jobs=2, folder=str(folder)))
        seen = -1
        while seen < len(taken) or not taken:  # until no more are taken
            seen = len(taken)
            time.sleep(1.0)
        n_taken = len(taken)
        (folder / "go").touch()
        return n_taken, results.result()


def test_a_stream_is_not_read_far_ahead_of_a_task_that_hangs(tmp_path):
    n_taken, results = streamed_past_a_task_that_hangs(tmp_path)
    assert n_taken == 2 * AHEAD
    assert results == list(range(N_STREAMED))


@pytest.mark.slow
def test_the_error_of_a_task_is_raised(workers):
    with tacit.on_cluster(workers.scheduler_address), pytest.raises(FileNotFoundError, match="no file"):
        run_tasks(fails, [{"number": number} for number in range(4)], n_jobs=2, what="failures")


# -- what workers must have -------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["local:0", "local:", "10.0.0.1", ""])
def test_addresses_are_checked(address):
    with pytest.raises(tacit.TacitError, match="cluster must be the address"), tacit.on_cluster(address):
        pass


def test_a_scheduler_that_is_not_there(monkeypatch):
    monkeypatch.setattr(cluster, "_WAIT", 1)
    with (
        pytest.raises(tacit.TacitError, match="tcp://127.0.0.1:9 does not answer; start it"),
        tacit.on_cluster("tcp://127.0.0.1:9"),
    ):
        pass


def test_other_versions_are_refused():
    ours = dict.fromkeys(cluster._PACKAGES, "1.0")
    cluster.check_versions("w", ours | {"pandas": "3"}, ours)
    with pytest.raises(tacit.TacitError, match=r"worker w has numba 0\.9, but the command has 1\.0"):
        cluster.check_versions("w", ours | {"numba": "0.9"}, ours)


# -- faults -----------------------------------------------------------------------------------------------


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


Fit = Callable[[Path], None]


@pytest.fixture(scope="module")
def long_fit(tmp_path_factory) -> tuple[Fit, dict[str, bytes]]:
    """Trains a model of many tasks and saves it; its files if nothing goes wrong."""
    made = make_dataset(n_samples=2_000, n_labels=2_000, labels_per_sample=8)

    def fit(folder: Path) -> None:
        tacit.OneVsAll(tolerance=0.001, max_passes=200).fit(made.X, made.Y).save(folder)

    here = tmp_path_factory.mktemp("long") / "here"
    fit(here)
    return fit, bytes_of(here)


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_killed_worker_does_not_change_the_model(tmp_path, n_workers, long_fit):
    fit, expected = long_fit
    with tacit.on_cluster(f"local:{n_workers}"):
        client = cluster.active_client()
        address, pid = min(client.run(os.getpid).items())

        def kill_at_work():
            while not client.processing().get(address):
                time.sleep(0.01)
            os.kill(pid, signal.SIGKILL)

        waits = Thread(target=kill_at_work)
        waits.start()
        fit(tmp_path / "there")
        waits.join()
        assert pid not in client.run(os.getpid).values()
    assert bytes_of(tmp_path / "there") == expected


@contextmanager
def scheduler_and_worker(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A scheduler and a worker in processes of their own, as an existing cluster has them."""
    file, quiet = folder / "scheduler.json", {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "distributed.cli.dask_"]
    options = ["--scheduler-file", str(file), "--no-dashboard"]
    scheduler = subprocess.Popen([*dask[:2], f"{dask[2]}scheduler", *options, "--port", "0"], **quiet)
    worker = subprocess.Popen([*dask[:2], f"{dask[2]}worker", *options, "--nthreads", "1", "--no-nanny"], **quiet)
    try:
        yield scheduler, distributed.utils.json_load_robust(file)["address"]  # waits until it is written
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()


def train(data_file: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tacit", "train", data_file, "--model", "OneVsAll", "--out", out, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def finished_tasks(out: Path) -> int:
    return len(list(out.with_name(f"{out.name}.partial").rglob("*.safetensors")))


def wait_for_tasks(n_tasks: int, out: Path, process: subprocess.Popen[str]) -> None:
    while finished_tasks(out) < n_tasks:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


@pytest.fixture
def data_file(tmp_path) -> Path:
    made = make_dataset(n_samples=3_000, n_labels=3_000, labels_per_sample=8)
    tacit.save_data(made.dataset(made.train), tmp_path / "data.txt")
    return tmp_path / "data.txt"


@pytest.fixture
def hears_interrupts() -> Iterator[None]:
    """Processes that the test starts do not ignore Ctrl-C, as they would if the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("hears_interrupts")
def test_a_training_outlives_its_scheduler_and_its_client(tmp_path, data_file):
    out = tmp_path / "model"
    with scheduler_and_worker(tmp_path) as (scheduler, address):
        process = train(data_file, out, "--quiet", "--cluster", address)
        wait_for_tasks(3, out, process)
        scheduler.kill()
        _, told = process.communicate(timeout=60)
    assert process.returncode == 2
    assert re.search(rf"tacit: error: the Dask scheduler {address} has stopped; [^\n]*resumes[^\n]*\n\Z", told), told
    assert "Traceback" not in told, told

    process = train(data_file, out, "--quiet", "--cluster", "local:2")  # and with other workers
    wait_for_tasks(finished_tasks(out) + 3, out, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "Traceback" not in told

    process = train(data_file, out, "--cluster", "local:2")
    _, told = process.communicate(timeout=300)
    assert process.returncode == 0, told
    assert "resuming: " in told
    options = ["--model", "OneVsAll", "--out", str(tmp_path / "here"), "--quiet"]
    assert CliRunner().invoke(cli, ["train", str(data_file), *options]).exit_code == 0
    assert bytes_of(out) == bytes_of(tmp_path / "here")


# -- commands ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_commands_give_the_same_on_a_cluster(workers, tmp_path):
    made = make_dataset(n_samples=2_600, n_labels=40, n_features=300)
    tacit.save_data(made.dataset(made.train), tmp_path / "data.txt")
    found: dict[str, list[str]] = {"": [], workers.scheduler_address: []}
    for address, outputs in found.items():
        where = ["--cluster", address] if address else []
        model, file = str(tmp_path / f"model{len(address)}"), str(tmp_path / "data.txt")
        for command in (
            ["train", file, "--model", "OneVsAll", "--out", model],
            ["find-missing", model, file, "-n", "20"],
        ):
            result = CliRunner().invoke(cli, [*command, *where])
            assert result.exit_code == 0, result.output
            outputs.append(result.stdout.replace(model, "MODEL"))
        outputs.append(str(bytes_of(Path(model))))
    assert found[""] == found[workers.scheduler_address]
    tuned = CliRunner().invoke(
        cli, ["tune", file, "--model", "OneVsAll", "--budget", "1s", "--cluster", workers.scheduler_address]
    )
    assert tuned.exit_code == 0, tuned.output
