from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info

import tacit
from tacit.progress import Stopped, announce, asked_to_stop
from tacit.progress import stop_if_asked as stop
from tacit.runtime.checkpoint import fingerprint
from tacit.runtime.tasks import fitting, run_tasks, task_seeds


@dataclass
class Answer:
    square: int
    values: npt.NDArray[np.float64]
    matrix: sparse.csr_matrix


def compute(number: int, log: str) -> Answer:
    with Path(log).open("a") as file:
        file.write(f"{number}\n")
    if number == 13:
        raise ZeroDivisionError("unlucky")
    return Answer(number**2, np.arange(number, dtype=float), sparse.eye(number + 1, format="csr"))


def blas_threads(number: int) -> list[int]:
    np.ones((number + 2, 2)) @ np.ones((2, 2))
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def log_of(path: Path) -> list[int]:
    return sorted(int(line) for line in path.read_text().split())


def run(numbers: list[int], log: Path, n_jobs: int = 1) -> list[Answer]:
    return run_tasks(compute, [{"number": n} for n in numbers], n_jobs=n_jobs, what="numbers", log=str(log))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_in_order(tmp_path, n_jobs):
    answers = run(list(range(12)), tmp_path / "log", n_jobs)
    assert [answer.square for answer in answers] == [n**2 for n in range(12)]


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_every_task_has_one_blas_thread(backend):
    with joblib.parallel_config(backend, n_jobs=2):
        results = run_tasks(blas_threads, [{"number": n} for n in range(4)], n_jobs=2, what="products")
    assert {count for counts in results for count in counts} == {1}


def test_a_checkpoint_keeps_what_was_finished(tmp_path):
    numbers, log = [3, 4, 5, 13, 6], tmp_path / "log"
    with tacit.checkpoint(tmp_path / "kept"), pytest.raises(ZeroDivisionError, match="unlucky"), fitting("a"):
        run(numbers, log)
    assert log_of(log) == [3, 4, 5, 13]
    numbers[3] = 7
    with tacit.checkpoint(tmp_path / "kept"), fitting("a"):
        answers = run(numbers, log)
    assert log_of(log) == [3, 4, 5, 6, 7, 13]  # 3, 4 and 5 were not computed again
    assert [answer.square for answer in answers] == [9, 16, 25, 49, 36]
    assert all(isinstance(answer, Answer) for answer in answers)
    assert np.array_equal(answers[1].values, np.arange(4.0))
    assert answers[1].matrix.shape == (5, 5)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_work_that_is_asked_to_stop_keeps_what_is_finished(tmp_path, monkeypatch, n_jobs):
    calls = iter(range(100))
    monkeypatch.setattr("tacit.progress.stop_if_asked", lambda: asked_to_stop.set() if next(calls) == 3 else stop())
    with (
        tacit.checkpoint(tmp_path / "kept") as kept,
        pytest.raises(Stopped, match="^$"),
        fitting("a"),
    ):
        run(list(range(20, 70)), tmp_path / "log", n_jobs)
    asked_to_stop.clear()
    assert kept.n_kept() == 4


def test_a_resumed_fit_says_so_once(tmp_path, capsys):
    for _ in range(2):
        with tacit.show_progress(), tacit.checkpoint(tmp_path / "a [folder]"), fitting("a"):
            run([3, 4], tmp_path / "log")
            run([5], tmp_path / "log")
    assert capsys.readouterr().err == f"resuming: 2 of 2 numbers are in {tmp_path / 'a [folder]'}\n"


def test_a_checkpoint_removes_what_is_its_own(tmp_path):
    folder = tmp_path / "kept"
    with tacit.checkpoint(folder) as other, fitting("other"):
        run([3], tmp_path / "log")
    with tacit.checkpoint(folder) as kept, fitting("a"):
        run([3], tmp_path / "log")
    assert len(list(folder.iterdir())) == 2
    assert kept.remove()
    assert len(list(folder.iterdir())) == 1
    (folder / "notes.txt").write_text("")
    assert other.remove()
    assert [entry.name for entry in folder.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("damage", [lambda raw: raw[:-5], lambda raw: b"", lambda raw: raw[:20] + b"x" + raw[21:]])
def test_a_damaged_checkpoint_is_computed_again(tmp_path, damage):
    with tacit.checkpoint(tmp_path / "kept"), fitting("a"):
        run([3], tmp_path / "log")
    file = next((tmp_path / "kept").rglob("*.safetensors"))
    file.write_bytes(damage(file.read_bytes()))
    with tacit.checkpoint(tmp_path / "kept"), fitting("a"):
        assert run([3], tmp_path / "log")[0].square == 9
    assert log_of(tmp_path / "log") == [3, 3]


def test_seeds_depend_on_the_place_alone():
    assert task_seeds(0, 5)[:3] == task_seeds(0, 3)
    assert len(set(task_seeds(0, 1000)) | set(task_seeds(1, 1000))) > 1990


def test_fingerprints_tell_data_apart():
    matrix = sparse.eye(3, format="csr")
    prints = [
        fingerprint("m", {"C": 1.0}, matrix),
        fingerprint("m", {"C": 1.5}, matrix),
        fingerprint("m", {"C": 1.0}, 2 * matrix),
        fingerprint("n", {"C": 1.0}, matrix),
        fingerprint("m", {"C": 1.0}, matrix.astype(np.float32)),
    ]
    assert len(set(prints)) == 5
    assert fingerprint("m", {"C": 1.0}, matrix.copy()) == prints[0]


def test_progress_is_shown_on_stderr_only_when_asked(tmp_path, capsys):
    run([1, 2], tmp_path / "log")
    announce("nobody asked")
    assert capsys.readouterr() == ("", "")
    with tacit.show_progress():
        run([1, 2], tmp_path / "log")
        announce("a line for the user")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "a line for the user" in captured.err
