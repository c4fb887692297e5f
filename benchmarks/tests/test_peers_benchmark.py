"""The comparison with other systems, with systems that are made up: processes, turns, what is kept, tables."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import tacit
from benchmarks import growth
from benchmarks.peers import __main__ as command
from benchmarks.peers import environments, load, pages, sets, systems, tables
from benchmarks.peers import runs as runs_module

#: Ranks labels by how often they occur; tells in a log what it was asked to do, and by which process.
FAKE = """
import json, os, sys
sys.path.insert(0, {adapters!r})
import matrices
import numpy as np
from matrices import N_THREADS, OPTIONS, STEP, K, run, top_of_blocks, top_of_lists, top_of_sparse
from scipy import sparse

matrices.MIN_SECONDS = 0.01
with open(OPTIONS["log"], "a") as log:
    log.write(json.dumps([OPTIONS["name"], STEP, N_THREADS, os.getpid()]) + "\\n")

def save(counts, folder):
    folder.mkdir()
    np.save(folder / "counts.npy", counts)

def blocks(counts, X):
    return top_of_blocks(lambda rows: np.tile(counts, (rows.shape[0], 1)), X, 7)

def lists(counts, X):
    return [[(int(label), float(counts[label])) for label in np.argsort(-counts)]] * X.shape[0]

def matrix(counts, X):
    return sparse.csr_matrix(np.tile(counts, (X.shape[0], 1)))

rank, arrays = dict(
    blocks=(blocks, lambda found: found), lists=(lists, top_of_lists), matrix=(matrix, top_of_sparse)
)[OPTIONS.get("form", "blocks")]
if __name__ == "__main__":
    load = lambda folder: np.load(folder / "counts.npy")
    run(lambda X, Y: np.asarray(Y.sum(axis=0)).ravel(), save, load, rank, arrays)
"""
COUNTS = [1, 6, 2, 7, 3, 8, 4]  # of each label


def toy_matrices() -> tuple[sparse.csr_matrix, ...]:
    X = sparse.random(40, 9, density=0.5, format="csr", dtype=np.float32, random_state=0)
    Y = sparse.csr_matrix((np.arange(40)[:, None] < COUNTS).astype(np.float32))
    return X, Y, X[:20].copy(), Y[:20].copy()


@pytest.fixture
def two(monkeypatch):
    """Replaces all systems: an anchor in the place of PECOS, and another."""
    found = {
        name: systems.System(title, Path(), "numpy", manual=f"of {title}")
        for name, title in (("pecos", "the anchor"), ("other", "the other"))
    }
    for module in (systems, runs_module, tables, command, growth):
        monkeypatch.setattr(module, "SYSTEMS", found)


class FakeMeasure:
    """Ranks the labels 5, 3, 1 … first for every row; remembers what it was asked to measure."""

    def __init__(self):
        self.asked: list[str] = []
        self.errors: dict[str, Exception] = {}

    def __call__(self, name, matrices, *, before, **limits):
        self.asked.append(name)
        before()
        if name in self.errors:
            raise self.errors[name]
        n_rows = sparse.load_npz(matrices / "X.tst.npz").shape[0]
        ranking = tacit.Ranking(np.tile(np.int32([5, 3, 1]), (n_rows, 1)), np.ones((n_rows, 3), np.float32))
        return result() | {"ranking": ranking}


def result(**figures) -> dict:
    """What is measured of a system."""
    return dict.fromkeys(tables.FIGURES, 1.0) | {"version": "1.0", "loads": [[0.1, 0.2], [0.3, 0.1]]} | figures


@pytest.fixture
def measure(two, monkeypatch):
    found = FakeMeasure()
    monkeypatch.setattr(runs_module, "measure", found)
    monkeypatch.setattr(load, "WINDOW", 0.0)
    return found


@pytest.fixture
def bench(measure, tmp_path):
    return runs_module.Bench("toy", tmp_path / "kept", toy_matrices, runs_module.Conditions(is_busy=True))


# -- processes --------------------------------------------------------------------------------------------


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A system whose adapter is a script, and the matrices that it reads."""
    adapter, log = tmp_path / "run_fake.py", tmp_path / "log"
    adapter.write_text(FAKE.format(adapters=str(environments.ADAPTERS)))
    sets.write_matrices(toy_matrices(), tmp_path / "matrices")

    def measured(form: str, **options):
        system = systems.System("fake", adapter, "numpy", options={"log": str(log), "name": "fake", "form": form})
        monkeypatch.setattr(systems, "SYSTEMS", {"fake": system})
        found = systems.measure("fake", tmp_path / "matrices", **options)
        return found, [json.loads(line) for line in log.read_text().splitlines()]

    return measured


@pytest.mark.parametrize("form", ["blocks", "lists", "matrix"])
def test_a_model_is_ranked_with_by_processes_that_did_not_train_it(fake, form):
    found, asked = fake(form, n_threads=2)
    assert [(step, threads) for _, step, threads, _ in asked] == [("train", 2), ("rank", 2), ("rank", 1)]
    assert len({process for *_, process in asked}) == 3
    np.testing.assert_array_equal(found["ranking"].labels, np.tile([5, 3, 1, 6, 4], (20, 1)))
    np.testing.assert_array_equal(found["ranking"].scores[0], [8, 7, 6, 4, 3])
    assert found["version"] == np.__version__
    assert set(tables.FIGURES) - set(runs_module.METRICS) <= set(found)
    assert found["model_mb"] == pytest.approx((128 + 4 * len(COUNTS)) / 1e6)
    assert 0 <= found["train_mb"] < 50
    assert 0 < found["row_ms"] <= found["row_p95_ms"]
    assert len(found["loads"]) == 3


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("import sys; sys.exit('it broke')", "PeerError", r"script failed \(exit 1\):\nit broke"),
        ("import time; time.sleep(60)", "PeerTimeoutError", r"script was ended after 1 s \(train\)"),
    ],
)
def test_a_step_that_fails(tmp_path, code, error, message):
    (tmp_path / "run_script.py").write_text(code)
    with pytest.raises(getattr(environments, error), match=message):
        environments.run_step(Path(sys.executable), tmp_path / "run_script.py", "train", tmp_path, {}, timeout=1)


QUICK = """
import runpy, sys
sys.path.insert(0, {adapters!r})
import matrices

matrices.MIN_SECONDS = 0.01
runpy.run_path({adapter!r}, run_name="__main__")
"""


@pytest.mark.slow
def test_adapter_of_tacit(tmp_path, monkeypatch):
    system = systems.SYSTEMS["LabelTree-3"]
    quick = tmp_path / "run_quick.py"
    quick.write_text(QUICK.format(adapters=str(environments.ADAPTERS), adapter=str(system.adapter)))
    monkeypatch.setitem(systems.SYSTEMS, "LabelTree-3", dataclasses.replace(system, adapter=quick))
    X = sparse.csr_matrix(np.eye(60, dtype=np.float32)[np.arange(300) % 60])
    sets.write_matrices((X, X.copy(), X[:60].copy(), X[:60].copy()), tmp_path)
    found = systems.measure("LabelTree-3", tmp_path, n_threads=2)
    np.testing.assert_array_equal(found["ranking"].labels[:, 0], np.arange(60))
    assert min(found[name] for name in ("train_cpu", "train_mb", "model_mb", "rows_per_second", "row_ms")) > 0


# -- runs -------------------------------------------------------------------------------------------------


def test_systems_take_turns_and_what_is_measured_is_kept(measure, bench):
    runs = bench.runs(["pecos", "other"], 2)
    assert measure.asked == ["pecos", "other", "pecos", "other"]
    assert [list(run) for run in runs] == [["pecos", "other"]] * 2
    assert runs[0]["other"]["P@1"] == pytest.approx(100 * 8 / 20)
    assert dataclasses.replace(bench).runs(["pecos", "other"], 2) == runs
    assert len(measure.asked) == 4
    (bench.home / "run-2" / "other.json").unlink()
    bench.runs(["pecos", "other"], 2)
    assert measure.asked[4:] == ["other"]


def test_other_settings_and_other_sources_are_measured_anew(bench, monkeypatch, tmp_path):
    threads = dataclasses.replace(bench, conditions=runs_module.Conditions(n_threads=1, is_busy=True))
    idle = dataclasses.replace(bench, conditions=runs_module.Conditions(is_busy=False))
    patient = dataclasses.replace(bench, conditions=runs_module.Conditions(is_busy=True, minutes=99))
    assert len({bench.home, threads.home, idle.home}) == 3
    assert patient.home == bench.home
    (tmp_path / "module.py").write_text("one = 1\n")
    monkeypatch.setattr(runs_module, "SOURCES", tmp_path)
    assert dataclasses.replace(bench).home != bench.home


def test_a_system_that_is_too_slow_is_tried_once(measure, bench, capsys):
    measure.errors["other"] = environments.PeerTimeoutError("it was ended")
    assert [list(run) for run in bench.runs(["other", "pecos"], 2)] == [["pecos"]] * 2
    assert measure.asked == ["other", "pecos", "pecos"]
    assert capsys.readouterr().err.count("it was ended") == 2


# -- load -------------------------------------------------------------------------------------------------


# -- tables -----------------------------------------------------------------------------------------------


def test_ratios_are_within_runs(two):
    """The machine was ten times slower in one run: the ratio of medians would be 5, the ratio within runs is 0.5."""
    speeds = [(10, 5), (100, 50), (1, 0.5)]
    runs = [{"pecos": result(train_cpu=one), "other": result(train_cpu=two)} for one, two in speeds]
    runs[2]["other"]["train_cpu"] = 0.6
    headings, row = tables.ratios_table(runs)
    assert dict(zip(headings, row, strict=True))["train CPU"] == "0.50"
    assert tables.spread(runs) == pytest.approx(0.2)
    assert tables.medians(runs, "other")["train_cpu"] == 5


def test_a_run_without_the_anchor_has_no_ratio(two):
    runs = [{"other": result(train_cpu=1)}, {"pecos": result(train_cpu=4), "other": result(train_cpu=1)}]
    assert tables.ratios(runs, "other", "train_cpu") == [0.25]
    assert tables.ratios_table(runs[:1]) == [("", *tables.RATIOS)]


# -- the command ------------------------------------------------------------------------------------------


@pytest.fixture
def toy(measure, tmp_path, monkeypatch):
    """The command on a toy set, with pages of its own."""
    monkeypatch.setitem(sets.SETS, "eurlex57k", sets.Set("Toy", lambda folder: toy_matrices(), ("pecos", "other")))
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    for name in ("PAGE", "README"):
        page = tmp_path / f"{name}.md"
        page.write_text("above\n<!-- peers eurlex57k -->\nold\n<!-- end of peers eurlex57k -->\nbelow\n")
        monkeypatch.setattr(command, name, page)
    monkeypatch.setattr(tables, "SHORT", ("pecos", "other"))
    monkeypatch.setattr(pages, "FIGURES", tmp_path)
    return lambda *options: command.main("--sets", "eurlex57k", "--folder", str(tmp_path / "kept"), *options)


def test_command_writes_pages(toy, tmp_path):
    pytest.importorskip("matplotlib")
    toy("--busy", "--runs", "1", "--write")
    for name, n_tables in (("PAGE", 2), ("README", 1)):
        text = (tmp_path / f"{name}.md").read_text()
        assert text.startswith("above\n<!-- peers eurlex57k -->\n")
        assert text.endswith("\n<!-- end of peers eurlex57k -->\nbelow\n")
        assert text.count("| --- |") >= n_tables
        assert "old" not in text
    assert "Other processes were at work" in (tmp_path / "README.md").read_text()
    assert "<svg" in (tmp_path / "label-tree-time.svg").read_text()


def test_command_refuses_a_busy_machine(toy, monkeypatch):
    monkeypatch.setattr(load.OtherWork, "load", lambda self: 3.0)
    with pytest.raises(SystemExit, match="3.0 cores busy"):
        toy("--wait", "0")


def test_pages_have_the_blocks_that_are_written():
    for name in sets.SETS:
        assert f"<!-- peers {name} -->" in pages.PAGE.read_text(encoding="utf-8")
    assert f"<!-- peers {command.SHOWN} -->" in pages.README.read_text(encoding="utf-8")
    assert "<!-- growth -->" in pages.PAGE.read_text(encoding="utf-8")


# -- environments -----------------------------------------------------------------------------------------


# -- growth -----------------------------------------------------------------------------------------------


@pytest.fixture
def grow(measure, tmp_path, monkeypatch):
    for name, value in {"N_SAMPLES": 60, "N_LABELS": 12, "N_FEATURES": 30, "N_TEST": 20}.items():
        monkeypatch.setattr(growth, name, value)
    (tmp_path / "page.md").write_text("<!-- growth -->\n<!-- end of growth -->\n")
    monkeypatch.setattr(growth, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(pages, "FIGURES", tmp_path)
    return lambda *options: growth.main(
        "--busy", "--systems", "pecos", "other", "--folder", str(tmp_path / "kept"), *options
    )


def test_growth(grow, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    grow("--labels", "10", "20", "--samples", "50", "--write")
    _, labels, samples = capsys.readouterr().out.strip().split("\n\n")
    cells = [[cell.strip() for cell in line.split("|")[1:5]] for line in labels.splitlines()[2:]]
    assert [row[:2] + row[3:] for row in cells] == [
        ["60", n_labels, system] for n_labels in ("10", "20") for system in ("the anchor", "the other")
    ]
    assert all(0 < int(row[2]) <= int(row[1]) for row in cells)
    assert len(samples.splitlines()) == 4
    assert labels in (tmp_path / "page.md").read_text()
    assert "<svg" in (tmp_path / "growth.svg").read_text()


def test_what_is_too_slow_is_not_tried_on_more(measure, grow):
    measure.errors["other"] = environments.PeerTimeoutError("it was ended")
    grow("--labels", "20", "10", "--samples")
    assert measure.asked == ["pecos", "other", "pecos"]
