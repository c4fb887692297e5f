"""What an entry has found: a table of texts, what was left out, and the judgement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

NONE = "–"
HOLDS, ABOVE, BELOW, MIXED = "holds", "above", "below", "mixed"


@dataclass(frozen=True)
class Report:
    """A table and what follows from it.

    Attributes
    ----------
    header : list of str
    rows : list of list of str
    notes : list of str
        Sets that were left out and how to get them, and sets that stand in for others.
    judgement : list of str
        What holds and what does not, a sentence each.
    """

    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    judgement: list[str] = field(default_factory=list)

    def without_empty_columns(self) -> Report:
        """The same without columns that hold nothing."""
        kept = [place for place in range(len(self.header)) if any(row[place] not in {"", NONE} for row in self.rows)]
        rows = [[row[place] for place in kept] for row in self.rows]
        return Report([self.header[place] for place in kept], rows, self.notes, self.judgement)


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines of a table; figures are never folded, and a first cell is left out where it is that of the row above."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    last = ""
    for row in (header, *rows):
        cells = ["" if row[0] == last else row[0], *row[1:]]
        yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        last = row[0]


def figures(values: Sequence[float | None], digits: int = 1) -> str:
    """Numbers as one word, such as ``63.4/38.0/27.6``."""
    return "/".join(NONE if value is None else f"{value:,.{digits}f}" for value in values)


def spread(runs: np.ndarray, digits: int = 1) -> str:
    """Means of the columns; with several rows, the largest standard deviation after ±."""
    means = figures(list(runs.mean(axis=0)), digits)
    return means if len(runs) < 2 else f"{means} ±{runs.std(axis=0, ddof=1).max():.{digits}f}"


def verdict(printed: Sequence[float | None], found: Sequence[float], tolerance: float) -> tuple[str, str]:
    """One of holds, above, below and mixed, and the same in words."""
    gaps = [here - there for there, here in zip(printed, found, strict=True) if there is not None]
    low, high = min(gaps), max(gaps)
    if low >= -tolerance and high <= tolerance:
        return HOLDS, HOLDS
    if low >= -tolerance:
        return ABOVE, f"above by up to {high:.1f}"
    if high <= tolerance:
        return BELOW, f"below by up to {-low:.1f}"
    return MIXED, f"mixed, {low:+.1f} to {high:+.1f}"
