"""All entries of all papers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from reproduce import exmlds, mllcs, pfastrexml
from reproduce.exmlds.entries import ENTRIES as EXMLDS
from reproduce.mllcs.entries import ENTRIES as MLLCS
from reproduce.pfastrexml.entries import ENTRIES as PFASTREXML
from reproduce.report import Report
from reproduce.tables import Options
from tacit.errors import ParameterError, did_you_mean


class Entry(Protocol):
    """A table, figure or theorem of a paper."""

    @property
    def paper(self) -> str:
        """The folder of its paper."""

    @property
    def name(self) -> str:
        """Such as ``table4``."""

    @property
    def title(self) -> str:
        """What it shows."""

    def report(self, options: Options) -> Report:
        """Run it."""


#: Title and entries of each paper, by the name of its folder.
PAPERS: Mapping[str, tuple[str, tuple[Entry, ...]]] = MappingProxyType(
    {
        "exmlds": (str(exmlds.__doc__), EXMLDS),
        "pfastrexml": (str(pfastrexml.__doc__), PFASTREXML),
        "mllcs": (str(mllcs.__doc__), MLLCS),
    }
)


def find_entry(paper: str, name: str) -> Entry:
    """An entry by the names of its paper and itself, in any case."""
    if paper.lower() not in PAPERS:
        raise ParameterError(f"unknown paper '{paper}'{did_you_mean(paper, PAPERS)} (there are: {', '.join(PAPERS)})")
    entries = {entry.name: entry for entry in PAPERS[paper.lower()][1]}
    if name.lower() not in entries:
        raise ParameterError(f"{paper} has no '{name}'{did_you_mean(name, entries)} (it has: {', '.join(entries)})")
    return entries[name.lower()]
