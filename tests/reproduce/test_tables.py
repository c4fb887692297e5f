"""Every entry of every paper runs at toy size; printed figures, keys of the cache and verdicts."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

from reproduce import document, recipes, tables
from reproduce.cache import Cache
from reproduce.command import main
from reproduce.exmlds import entries as exmlds
from reproduce.mllcs import printed as mllcs
from reproduce.papers import PAPERS, find_entry
from reproduce.pfastrexml import theorems
from reproduce.recipes import Case, Recipe, model_class, source_digest
from reproduce.report import spread, verdict
from reproduce.sets import SETS, Size, Source
from reproduce.tables import Method, Options, Order, Table
from tacit.core.labels import label_counts
from tacit.errors import ParameterError
from tacit.numerics.idf import samples_with

ENTRIES = [entry for _, entries in PAPERS.values() for entry in entries]
TABLES = [entry for entry in ENTRIES if isinstance(entry, Table)]


class Run(NamedTuple):
    """The key of a baseline's settings."""

    data: str
    hidden: float


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """One cache for all entries, which share runs."""
    return Options(Cache(tmp_path_factory.mktemp("results")), is_toy=True)


def named(entry):
    return f"{entry.paper}-{entry.name}"


@pytest.mark.parametrize("entry", ENTRIES, ids=named)
def test_every_entry_runs(entry, toy):
    report = entry.report(toy)
    assert report.rows
    assert {len(row) for row in report.rows} == {len(report.header)}
    assert not any("not run" in row for row in report.rows)
    assert len(document.discussion(entry)) > 80


@pytest.mark.parametrize("entry", TABLES, ids=named)
def test_printed_figures_belong_to_methods_and_cases(entry):
    assert set(entry.printed) <= {case.set for case in entry.cases}
    n_metrics = sum(len(group.metrics) for group in entry.groups)
    for key, methods in entry.printed.items():
        assert key in SETS
        assert set(methods) <= {method.name for method in entry.methods}
        assert {len(values) for values in methods.values()} <= {n_metrics, len(entry.groups[-1].metrics)}
    for order in entry.orders:
        assert {order.better, order.worse} <= {method.name for method in entry.methods}


def test_precision_falls_with_k_in_what_is_printed():
    """A guard against slips in transcription: P@k falls, and P@1 = nDCG@1."""
    for values in (v for sets in find_entry("exmlds", "table3").printed.values() for v in sets.values()):
        assert values[0] > values[1] > values[2]
    for values in (v for sets in find_entry("pfastrexml", "table1").printed.values() for v in sets.values()):
        assert values[0] == values[3]
    for values in (v for sets in find_entry("exmlds", "table5").printed.values() for v in sets.values()):
        assert values[0] == values[5]
        assert list(values[:5]) == sorted(values[:5], reverse=True)
    assert mllcs.TABLE3["bibtex"]["ML-LCS"] == (34, 20, 14)


@pytest.mark.parametrize("entry", [entry for entry in TABLES if entry.name != "small"], ids=named)
def test_what_the_papers_claim_is_what_they_print(entry, toy):
    """A guard against figures in the wrong row."""
    found = re.findall(r"printed (\d) of (\d)", " ".join(entry.report(replace(toy, runs=False)).judgement))
    assert all(2 * int(won) > int(n) for won, n in found)


def test_results_are_kept_and_found_again(tmp_path, monkeypatch):
    options = Options(Cache(tmp_path), is_toy=True, only=("SLEEC",), sets=("bibtex",))
    first = exmlds.table4.report(options)
    assert len(list(tmp_path.iterdir())) == 2  # the paper's settings and the default
    cached = Options(options.cache, is_toy=True, only=("SLEEC",), sets=("bibtex",), runs=False)
    assert exmlds.table4.report(cached).rows == first.rows
    monkeypatch.setattr(tables, "source_digest", lambda module: "changed")
    assert exmlds.table4.report(cached).rows == first.rows  # pages show what was run before
    exmlds.table4.report(options)
    assert len(list(tmp_path.iterdir())) == 4  # a run asked for is run again


def test_the_source_of_a_model_is_a_part_of_its_key():
    found = {path.name for path in recipes._computing_modules("tacit.embedding.sleec")}
    assert {"sleec.py", "pipeline.py", "ridge.py", "knn.py"} <= found
    assert not {"base.py", "mllcs.py", "tree.py"} & found
    assert source_digest("tacit.embedding.sleec") != source_digest("tacit.embedding.exmlds1")


def test_sets_that_are_not_there_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    report = exmlds.table4.report(Options(Cache(tmp_path / "results")))
    assert [note.split(": ")[1] for note in report.notes] == [
        "Bibtex is not under TACIT_DATA", "EURLex-4K is not under TACIT_DATA", "rcv1v2 is not under TACIT_DATA",
    ]  # fmt: skip
    assert "tacit data eurlex-4k --fetch" in report.notes[1]
    assert all(row[4] == "–" for row in report.rows)
    monkeypatch.delenv("TACIT_DATA")
    assert not Source("bibtex").folder
    assert "proprietary" in Source("ads-9m").left_out


def test_a_sample_of_a_larger_set_has_the_size_asked_for():
    whole = Source("eurlex", is_toy=True).load()
    part = Size(n_train=100, n_test=20, n_features=50).sample(whole)
    assert (part.X.shape, part.X_test.shape) == ((100, 50), (20, 50))
    assert part.Y.shape[1] == part.Y_test.shape[1] <= whole.Y.shape[1]
    assert ((label_counts(part.Y) + label_counts(part.Y_test)) > 0).all()
    assert sparse.linalg.norm(part.X, axis=1) == pytest.approx(np.ones(100), abs=1e-6)
    again = Size(n_train=100, n_test=20, n_features=50).sample(whole)
    assert all((one != other).nnz == 0 for one, other in zip(part, again, strict=True))
    rows = Size(whole.X.shape[0], whole.X_test.shape[0], n_features=50).sample(whole).X
    assert sorted(samples_with(rows)) == sorted(samples_with(whole.X))[-50:]


@pytest.mark.parametrize(
    ("entry", "wrong"),
    [
        (exmlds.table4, {"only": ("SLEC",)}),
        (exmlds.table1, {"only": ("SLEEC",)}),
        (exmlds.table4, {"sets": ("delicious",)}),
        (theorems.theorem41, {"sets": ("rcv1",)}),
    ],
)
def test_unknown_methods_and_sets_are_refused(toy, entry, wrong):
    with pytest.raises(ParameterError, match="has no"):
        entry.report(replace(toy, **wrong))


def test_verdicts():
    assert verdict((60.0, 40.0), (61.0, 39.0), 1.5) == ("holds", "holds")
    assert verdict((60.0, None), (63.0, 0.0), 1.5) == ("above", "above by up to 3.0")
    assert verdict((60.0, 40.0), (60.0, 36.0), 1.5) == ("below", "below by up to 4.0")
    assert verdict((60.0, 40.0), (65.0, 36.0), 1.5) == ("mixed", "mixed, -4.0 to +5.0")
    assert spread(np.array([[60.0, 40.0], [62.0, 40.0]])) == "61.0/40.0 ±1.4"
    assert spread(np.array([[60.0, 40.0]])) == "60.0/40.0"


def test_rows_are_judged_and_counted(tmp_path, monkeypatch):
    data = Source("bibtex", is_toy=True).load()
    monkeypatch.setattr(Source, "folder", "some")
    monkeypatch.setattr(Source, "fingerprint", "some")
    monkeypatch.setattr(Source, "load", lambda self: data)
    table = Table(
        "paper", "table", "title", (Case("bibtex"),),
        (Method("A", Recipe("Popularity"), Recipe("OneVsAll")), Method("B", Recipe("OneVsAll"))),
        {"bibtex": {"A": (99.0, 99.0, 99.0), "B": (0.0, 0.0, 0.0)}}, orders=(Order("A", "B"),), n_seeds=2,
    )  # fmt: skip
    report = table.report(Options(Cache(tmp_path)))
    assert report.rows[0][-1].startswith("below by up to")
    assert report.rows[1][-1].startswith("above by up to")
    assert "±0.0" in report.rows[0][4]
    assert report.judgement == [
        "Of 2 printed rows that were run: 1 above, 1 below (holds: within 1.5 points).",
        "A above B in P@1: printed 1 of 1; paper's settings, here 0 of 1.",
    ]


def test_baselines_take_the_settings_chosen_for_their_set(monkeypatch):
    chosen = {"LEML": {Run("bibtex", 0.0): {"ridge": 1}, Run("bibtex", 0.8): {"ridge": 9}}}
    monkeypatch.setattr(recipes, "_baselines", lambda table: chosen if table == "SETTINGS" else {})
    settings = recipes._baseline_settings
    assert settings("baseline:LEML", "bibtex", Case("bibtex")) == {"ridge": 1}
    assert settings("baseline:LEML", "bibtex", Case("bibtex", "hidden")) == {"ridge": 9}
    assert settings("baseline:LEML", "delicious", Case("delicious")) == {}
    with pytest.raises(recipes.NotBuiltError, match="CS is not built"):
        model_class("baseline:CS")


def test_theorems_are_simulated_from_observed_labels_only(toy):
    world = theorems.World.of(Source("bibtex", is_toy=True).load())
    rng = np.random.default_rng(0)
    assert (world.observed(rng) > world.complete).nnz == 0
    naive = theorems.Statement("", theorems.hidden_only, theorems._gain_truth).run(world, 30)
    assert naive["naive"] < naive["truth"] - 3 * naive["formula error"]
    assert naive["formula"] == pytest.approx(naive["library"], rel=1e-6)
    rows = theorems.theorem43.report(toy).rows
    assert rows[0][3] == rows[0][4] == "100.0 %"


def test_the_page_has_every_entry(toy, tmp_path):
    path = tmp_path / "page.md"
    document.write(Options(toy.cache, is_toy=True, runs=False), path)
    page = path.read_text(encoding="utf-8")
    for entry in ENTRIES:
        assert f"### {entry.name}: {entry.title}" in page
    assert "| Bibtex | ExMLDS3 | P@1/3/5 | 48.5/28.4/20.7 |" in page


def test_the_command(tmp_path):
    runner = CliRunner()
    listed = runner.invoke(main, ["exmlds"])
    assert listed.exit_code == 0
    assert "table5" in listed.output
    assert "figure3" not in listed.output
    arguments = ["pfastrexml", "small", "--toy", "--only", "popularity", "--set", "bibtex", "--folder", str(tmp_path)]
    shown = runner.invoke(main, arguments)
    assert shown.exit_code == 0, shown.output
    assert "Popularity" in shown.output
    wrong = runner.invoke(main, ["exmlds", "table9"])
    assert wrong.exit_code == 2


def test_pages_show_results_of_earlier_code(tmp_path):
    cache = Cache(tmp_path)
    key = {"set": "bibtex", "model": "SLEEC", "seed": 0, "parameters": {"k": 10}, "source": "old"}
    cache.put(key, {"P@1": 0.5})
    cache.put(key | {"parameters": {"k": 20}, "source": "other"}, {"P@1": 0.6})
    changed = key | {"source": "new", "tacit": "2.0"}
    assert cache.get(changed) is None
    assert cache.earlier(changed) == {"P@1": 0.5}
    assert cache.earlier(changed | {"seed": 1}) is None
    assert cache.earlier(changed | {"parameters": {"k": 10, "idf": False}}) == {"P@1": 0.5}  # new, and off
    assert cache.earlier(changed | {"parameters": {"k": 10, "idf": True}}) is None
    assert cache.earlier(changed | {"parameters": {"idf": False}}) is None
    cache.put(key | {"source": "newer"}, {"P@1": 0.7})
    assert cache.earlier(changed) == {"P@1": 0.7}
