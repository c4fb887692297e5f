"""Every example runs, without a warning."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOK = json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))
CELLS = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example_runs(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.slow
def test_the_notebook_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra 'plots'")
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, cell in enumerate(CELLS):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    from matplotlib import pyplot as plt

    assert len(plt.get_fignums()) == 3
    plt.close("all")
    assert "best: {" in capsys.readouterr().out
    assert names["missing"]["is_right"].mean() > 0.8  # type: ignore[index]
    assert "How good is OneVsAll?" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "model" / "manifest.json").exists()


def test_the_notebook_shows_what_it_gave():
    assert [cell["execution_count"] for cell in CELLS] == list(range(1, len(CELLS) + 1))
    outputs = [output for cell in CELLS for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} == {"stream", "display_data", "execute_result"}
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 3
    shown = json.dumps(outputs)
    assert "Traceback" not in shown
    assert "/tmp" not in shown
