"""Work that is cut off, spread over other processes or compiled otherwise gives the same model byte for byte."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import joblib
import pytest
from click.testing import CliRunner

import tacit
from planted import planted
from small import small
from tacit.cli.commands import cli
from tacit.data.synthetic import make_dataset
from tacit.registry import MODELS, find_model


def folder_bytes(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def training(data: Path, out: Path) -> list[str]:
    return ["train", str(data), "--model", "OneVsAll", "--out", str(out), "--jobs", "1", "--quiet"]


def start_training(data: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tacit", *training(data, out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def train_here(data: Path, out: Path) -> None:
    result = CliRunner().invoke(cli, training(data, out))
    assert result.exit_code == 0, result.output


@pytest.mark.slow
def test_a_killed_training_resumes_to_the_same_model(tmp_path):
    made = make_dataset(n_samples=3_000, n_labels=2_000, labels_per_sample=8)
    tacit.save_data(made.dataset(made.train), tmp_path / "data.txt")
    train_here(tmp_path / "data.txt", tmp_path / "whole")

    process = start_training(tmp_path / "data.txt", tmp_path / "killed")
    partial = tmp_path / "killed.partial"
    while len(kept := list(partial.rglob("*.safetensors"))) < 3:
        assert process.poll() is None, "the training ended before it could be killed; make it larger"
        with pytest.raises(subprocess.TimeoutExpired, match="timed out"):
            process.wait(timeout=0.01)
    process.kill()
    process.wait()
    assert not (tmp_path / "killed").exists()
    assert len(kept) >= 3

    train_here(tmp_path / "data.txt", tmp_path / "killed")
    assert not partial.exists()
    assert folder_bytes(tmp_path / "killed") == folder_bytes(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the cluster's own libraries
def test_a_dask_cluster_gives_the_same_model(tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    X, Y = planted()
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        for name in MODELS:
            find_model(name)(**small(name)).fit(X, Y).save(tmp_path / name / "here")
            with joblib.parallel_config("dask"):
                find_model(name)(**small(name)).fit(X, Y).save(tmp_path / name / "there")
            assert folder_bytes(tmp_path / name / "here") == folder_bytes(tmp_path / name / "there")


def train_every_model(folder: Path | str) -> None:
    made = make_dataset(n_samples=600, n_features=300, n_labels=60)
    for name in MODELS:
        find_model(name)(**small(name)).fit(made.X, made.Y).save(Path(folder) / name)


@pytest.mark.slow
def test_the_compiler_never_changes_the_model(tmp_path):
    """Kernels keep to IEEE arithmetic: fused or vector instructions, or their absence, must not matter."""
    code = """if True:
        import sys
        sys.path.insert(0, sys.argv[2])
        from test_reproducible import train_every_model
        train_every_model(sys.argv[1])
    """
    train_every_model(tmp_path / "this")
    # The cache of kernels keeps those of different processors apart, so that only the first run compiles.
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    command = [sys.executable, "-c", code, str(tmp_path / "plain"), str(Path(__file__).parent)]
    subprocess.run(command, check=True, env=environment, timeout=600)
    for name in MODELS:
        assert folder_bytes(tmp_path / "this" / name) == folder_bytes(tmp_path / "plain" / name), name
