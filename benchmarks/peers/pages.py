"""Tables and figures in the documentation, written by the commands that measure them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "label-trees.md"
README = ROOT / "README.md"
FIGURES = ROOT / "docs" / "figures"


def write_block(page: Path, name: str, text: str) -> None:
    """Replace what a page has between ``<!-- name -->`` and ``<!-- end of name -->``."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(start)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page} has no block {start} … {end}")
    page.write_text(f"{before}{start}\n{text.strip()}\n{end}{after}", encoding="utf-8")


def canvas(n_rows: int, n_columns: int, width: float, height: float) -> tuple[Any, Any]:
    """A matplotlib figure, the same bytes for the same content, and its panels as a matrix."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "tacit"
    from matplotlib import pyplot as plt

    return plt.subplots(n_rows, n_columns, figsize=(width, height), squeeze=False)


def save_figure(figure: Any, name: str) -> None:
    """Write docs/figures/NAME.svg."""
    from matplotlib import pyplot as plt

    figure.tight_layout()
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
