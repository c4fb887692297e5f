"""Other systems, each in a virtual environment of its own, run on the same files in the same run.

An adapter is a script that reads ``X.trn.npz``, ``Y.trn.npz`` and ``X.tst.npz`` from a folder, trains and ranks with
its system's own defaults, writes the five best labels of each test row, and prints what it measured. Environments
are kept in the folder TACIT_PEERS, else in ~/.cache/tacit-peers; what is missing is installed.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tacit

#: What pip installs for each peer, one call after the other; the peer's own package comes last.
PEERS = {
    # Without its dependencies for deep learning, which XR-Linear does not import: they are gigabytes.
    "pecos": (("numpy<2", "scipy<1.14", "scikit-learn"), ("--no-deps", "libpecos")),
    "omikuji": (("numpy", "scipy", "omikuji"),),
    "napkinxc": (("numpy<2", "scipy", "napkinxc"),),
    # The same: only its linear models are used, which import none of the networks.
    "libmultilabel": (
        ("numpy", "scipy", "scikit-learn", "pandas", "pyyaml", "tqdm", "psutil", "liblinear-multicore", "sparsekmeans"),
        ("--no-deps", "libmultilabel"),
    ),
    "sklearn": (("numpy", "scipy", "scikit-learn"),),
}


class PeerError(Exception):
    """A system failed or took too long."""


def measure(
    peer: str, folder: str | Path, *, n_threads: int = 1, timeout: float | None = None, **options: Any
) -> dict[str, Any]:
    """Train and rank with a peer.

    Parameters
    ----------
    peer : str
        A key of `PEERS`.
    folder : path
        With the matrices.
    n_threads : int
        Threads of training and of ranking.
    timeout : float, optional
        Seconds after which it is ended.
    options
        What the adapter takes.

    Returns
    -------
    dict
        ``version``, ``train_cpu`` and ``train_wall`` seconds, ``peak_mb``, ``model_mb``, ``rows_per_second`` (of CPU
        time), ``row_ms``, and the `tacit.Ranking` of the test rows as ``ranking``.
    """
    return _run(_python(peer), peer, PEERS[peer][-1][-1], folder, n_threads, timeout, options)


def measure_ours(
    model: str, parameters: dict[str, Any], folder: str | Path, *, n_threads: int = 1, timeout: float | None = None
) -> dict[str, Any]:
    """Train and rank with a model of tacit, in a process of its own as the peers."""
    options = {"model": model, "parameters": parameters}
    return _run(Path(sys.executable), "tacit", "tacit", folder, n_threads, timeout, options)


def machine() -> str:
    """Processor, cores, memory and Python, in a line."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    names = [line.partition(":")[2] for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    processor = names[0].strip() if names else platform.processor()
    return f"{processor}, {os.cpu_count()} cores, {pages / 2**30:.0f} GB, Python {platform.python_version()}"


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def _run(
    python: Path, peer: str, package: str, folder: str | Path, n_threads: int, timeout: float | None, options: Any
) -> dict[str, Any]:
    adapter = Path(__file__).with_name(f"run_{peer}.py")
    with tempfile.TemporaryDirectory() as scratch:
        command = [python, adapter, folder, scratch, package, str(n_threads), json.dumps(options)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(n_threads), "OPENBLAS_NUM_THREADS": str(n_threads)}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env=environment, check=False, timeout=timeout
            )
        except subprocess.TimeoutExpired as error:
            raise PeerError(f"{peer} was ended after {timeout:.0f} s") from error
        if done.returncode:
            raise PeerError(f"{peer} failed (exit {done.returncode}):\n{done.stderr[-2000:]}")
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        stored = np.load(Path(scratch) / "ranking.npz")
        found["ranking"] = tacit.Ranking(stored["labels"].astype(np.int32), stored["scores"].astype(np.float32))
    return found


def _python(peer: str) -> Path:
    """The interpreter of a peer's environment, made and filled if need be."""
    home = Path(os.environ.get("TACIT_PEERS", Path.home() / ".cache" / "tacit-peers")) / peer
    python, ready = home / "bin" / "python", home / "ready"
    if not ready.exists():
        print(f"installing {peer} into {home}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        for packages in PEERS[peer]:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        ready.touch()
    return python
