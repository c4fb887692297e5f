"""SIGKILL of workers at ten random moments of a fit on a cluster: it finishes, and the model has the same bytes."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import pytest

import tacit
from tacit.data.synthetic import make_dataset
from tacit.runtime import cluster

pytest.importorskip("distributed", reason="needs the extra 'dask'")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of the cluster's own libraries
    pytest.mark.skipif(not os.environ.get("TACIT_ATTACK"), reason="a long run: make attack"),
]

N_KILLS = 10
SECONDS = 600  # in which all of them must be survived
SEED = int(os.environ.get("TACIT_SEED", "0"))


@contextmanager
def kills(gap):
    """Kill a worker of the local cluster, or a process that is about to become one, again and again."""
    chance, over, killed = random.Random(SEED), Event(), []
    places = cluster.active_client().cluster.workers

    def kill():
        while len(killed) < N_KILLS and not over.wait(chance.uniform(0, gap)):
            running = [place.pid for place in list(places.values()) if place.pid]
            with suppress(ProcessLookupError):
                for pid in chance.sample(running, min(len(running), 1)):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    thread = Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def saved(model, folder):
    model.save(folder)
    return {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}


@pytest.mark.slow
def test_ten_killed_workers_do_not_change_the_model(tmp_path):
    made = make_dataset(n_samples=6_000, n_labels=6_000, labels_per_sample=8)

    def fitted(name):
        return saved(tacit.OneVsAll(tolerance=0.001, max_passes=200).fit(made.X, made.Y), tmp_path / name)

    expected, n_fits, began = fitted("here"), 0, time.monotonic()
    with tacit.on_cluster("local:2"), kills(gap=3.0) as killed:
        while len(killed) < N_KILLS:
            assert fitted(f"there{n_fits}") == expected, f"after {len(killed)} kills, TACIT_SEED={SEED}"
            assert time.monotonic() - began < SECONDS, f"{len(killed)} kills, TACIT_SEED={SEED}"
            n_fits += 1
    assert len(killed) == N_KILLS
