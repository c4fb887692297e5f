"""Other systems, each in a virtual environment of its own, run on the same files in the same run.

An adapter is a script that reads ``X.trn.npz``, ``Y.trn.npz`` and ``X.tst.npz`` from a folder, trains and ranks with
its system's own defaults on one thread, writes the five best labels of each test row, and prints what it measured.
Environments are kept in the folder TACIT_PEERS, else in ~/.cache/tacit-peers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import tacit

#: What pip installs for each peer, one call after the other.
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
}


def measure(peer: str, folder: str | Path) -> dict[str, Any]:
    """Train and rank with a peer.

    Returns
    -------
    dict
        ``train_cpu`` and ``train_wall`` seconds, ``peak_mb``, ``model_mb``, ``rows_per_second``, ``row_ms``, and the
        `tacit.Ranking` of the test rows as ``ranking``.
    """
    return _run(_python(peer), peer, folder)


def measure_ours(model: str, parameters: dict[str, Any], folder: str | Path) -> dict[str, Any]:
    """Train and rank with a model of tacit, in a process of its own as the peers."""
    return _run(Path(sys.executable), "tacit", folder, json.dumps([model, parameters]))


def _run(python: Path, peer: str, folder: str | Path, *arguments: str) -> dict[str, Any]:
    adapter = Path(__file__).with_name(f"run_{peer}.py")
    with tempfile.TemporaryDirectory() as scratch:
        command = [python, adapter, folder, scratch, *arguments]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            sys.exit(f"{peer} failed:\n{done.stderr[-2000:]}")
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
