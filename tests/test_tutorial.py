"""The tutorial does what it says: every block of it is run, in order, in an empty folder."""

from __future__ import annotations

import json
import re

from pages import DOCS, blocks_of, run_command

TUTORIAL = DOCS / "tutorial.md"
BLOCKS = blocks_of(TUTORIAL)


def test_tutorial(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    outputs: dict[str, str] = {}
    for kind, block in BLOCKS:
        if kind == "python":
            exec(compile(block, "tutorial.md", "exec"), names)
        elif kind == "sh":
            for line in block.splitlines():
                capfd.readouterr()
                run_command(line, monkeypatch)
                outputs[line] = capfd.readouterr().out
        else:
            assert json.loads(block)["suggestions"]

    suggested = next(out for line, out in outputs.items() if line.endswith("-k 3"))
    assert len(suggested.splitlines()) == 5
    assert all(len(json.loads(line)["suggestions"]) == 3 for line in suggested.splitlines())
    piped = next(out for line, out in outputs.items() if line.startswith("echo"))
    assert json.loads(piped)["suggestions"][0]["label"] == "bees"
    for report in ("report.html", "python-report.html"):
        assert "Expected calibration error" in (tmp_path / report).read_text(encoding="utf-8")
    assert (tmp_path / "joined.csv").read_text().startswith("row,title,tags,labels,scores\n1,")
    assert next(out for line, out in outputs.items() if line.endswith("--out -")).startswith("row,title,labels,")
    assert (tmp_path / "completed.csv").read_text().startswith('"title","body","tags"\n')
    assert len((tmp_path / "missing.csv").read_text().splitlines()) == 21
    assert len((tmp_path / "suggestions.csv").read_text().splitlines()) == 6
    assert "renamed 'tools' to 'equipment'" in outputs["tacit labels model"]
    said = capfd.readouterr().out
    assert float(re.search(r"micro F1 (\S+)", said)[1]) > 0.7
    assert "bees" in next(line for line in said.splitlines() if line.startswith("served"))
