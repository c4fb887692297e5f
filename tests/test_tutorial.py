"""The tutorial does what it says: every block of it is run, in order, in an empty folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.cli.main import main

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TUTORIAL.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def run_command(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a line of the shell; one that needs none of its features runs in this process, which spares the start."""
    if re.search(r"[|<>&;]", line):
        own = Path(sys.executable).parent
        path = f"{own}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(["bash", "-ec", line], check=True, env=os.environ | {"PATH": path}, timeout=120)
        return
    monkeypatch.setattr(sys, "argv", shlex.split(line))
    main()


def test_every_block_is_of_a_kind_that_is_run():
    assert {kind for kind, _ in BLOCKS} == {"python", "sh", "json"}
    assert [line.split()[1] for line in BLOCKS[1][1].splitlines()] == ["train", "suggest", "evaluate"]


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
    assert len((tmp_path / "missing.csv").read_text().splitlines()) == 21
    assert len((tmp_path / "suggestions.csv").read_text().splitlines()) == 6
    assert "renamed 'tools' to 'equipment'" in outputs["tacit labels model"]
    said = capfd.readouterr().out
    assert float(re.search(r"micro F1 (\S+)", said)[1]) > 0.7
    assert "bees" in next(line for line in said.splitlines() if line.startswith("served"))


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", TUTORIAL.read_text(encoding="utf-8")):
        assert (TUTORIAL.parent / target).exists(), target
