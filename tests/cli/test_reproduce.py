from __future__ import annotations

from tacit.cli import reproduce


def test_lists_and_runs_entries_of_the_repository(tacit, tmp_path):
    listed = tacit("reproduce")
    assert listed.code == 0, listed.err
    assert "theorem4.3" in listed.out
    shown = tacit("reproduce", "exmlds", "table4", "--toy", "--cached", "--folder", tmp_path)
    assert shown.code == 0, shown.err
    assert "48.5/28.4/20.7" in shown.out


def test_without_a_clone_one_line_says_so(tacit, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "_ROOT", tmp_path)
    outcome = tacit("reproduce", "exmlds", "table4")
    assert outcome.code == 2
    assert outcome.err.startswith("tacit: error: tacit reproduce needs a clone of the repository")
    assert outcome.err.count("\n") == 1


def test_names_that_are_not_there(tacit):
    assert "exmlds has no 'table9'" in tacit("reproduce", "exmlds", "table9").err
    assert "unknown paper 'mlcs' (did you mean 'mllcs'?)" in tacit("reproduce", "mlcs", "table2").err
