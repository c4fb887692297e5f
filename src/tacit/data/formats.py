"""The formats data can be read from and written to: one line each, and how a file shows which it is.

Readers and writers are named, not imported, so that the table costs nothing until a file is opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.data.files import first_line, plain_name
from tacit.data.limits import LIMITS, Limits
from tacit.errors import FileError, ParameterError, did_you_mean

if TYPE_CHECKING:
    from tacit.data.dataset import Dataset
    from tacit.data.files import Staging


@dataclass(frozen=True)
class Source:
    """What a reader is asked for: a file, and what the caller says about it."""

    path: Path
    labels_path: Path | None = None
    text: tuple[str, ...] = ()
    labels: str | None = None
    limits: Limits = LIMITS


@dataclass(frozen=True)
class Target:
    """What a writer is asked for: where the samples go, and where the labels if the caller says so."""

    path: Path
    labels_path: Path | None = None


Reader = Callable[[Source], "Dataset"]
Writer = Callable[["Dataset", Target, "Staging"], None]


@dataclass(frozen=True)
class Format:
    """A format: its name, whether it holds texts or numbers, who reads and writes it, how it is recognised."""

    name: str
    is_text: bool
    reader: str
    writer: str
    suffixes: tuple[str, ...] = ()
    opening: str | None = None

    def read(self, source: Source) -> Dataset:
        """The data set in a file."""
        reader: Reader = _function(self.reader)
        return reader(source)

    def write(self, dataset: Dataset, target: Target, staging: Staging) -> None:
        """Put a data set into the files of this format."""
        writer: Writer = _function(self.writer)
        writer(dataset, target, staging)


def _function(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(f"tacit.data.{module}"), name)


# A file's suffix decides; where formats share one, the first whose opening fits the first line, else the last.
# Behind other suffixes (.txt, .dat, none) the first format whose opening fits.
FORMATS = {
    entry.name: entry
    for entry in (
        Format("xmc", False, "xmc:read", "xmc:write", (".xmc",), r"\s*\d+\s+\d+\s+\d+\s*$"),
        Format("xmc-pair", False, "xmc_pair:read", "xmc_pair:write", (), r"\s*\d+\s+\d+\s*$"),
        Format("jsonl", True, "text:read_jsonl", "text:write_jsonl", (".jsonl", ".ndjson"), r"\s*\{"),
        Format("csv", True, "text:read_csv", "text:write_csv", (".csv",)),
        Format("annif", True, "annif:read", "annif:write", (".annif", ".tsv"), r"[^\t]*\t\s*<[^>\s]+>"),
        Format("tsv", True, "text:read_tsv", "text:write_tsv", (".tsv",)),
        Format("npz", False, "npz:read", "npz:write", (".npz",)),
        Format("arff", False, "arff:read", "arff:write", (".arff",), r"(?i)\s*(%|@relation\b)"),
        Format("fasttext", True, "fasttext:read", "fasttext:write", (".ft", ".fasttext"), r"\s*__label__\S"),
        Format("svmlight0", False, "svmlight:read_zero_based", "svmlight:write"),
        Format("svmlight1", False, "svmlight:read_one_based", "svmlight:write_one_based"),
        Format("libsvm", False, "svmlight:read_libsvm", "svmlight:write_libsvm", (".libsvm",)),
        Format(
            "svmlight",
            False,
            "svmlight:read",
            "svmlight:write",
            (".svm", ".svmlight"),
            r"#|\d+:|(\d+(,\d+)*)?\s+\d+:|\d+(,\d+)*\s*(#|$)",
        ),
    )
}


def named_format(name: str) -> Format:
    """The format of that name, in any case; ``_`` and ``-`` are one."""
    key = name.lower().replace("_", "-")
    if key not in FORMATS:
        known = ", ".join(FORMATS)
        raise ParameterError(f"format must be one of {known}; got '{name}'{did_you_mean(key, FORMATS)}")
    return FORMATS[key]


def detect_format(path: Path) -> Format:
    """The format of an existing file, by its name and its first line."""
    rivals = [entry for entry in FORMATS.values() if _suffix(path) in entry.suffixes]
    if len(rivals) == 1:
        return rivals[0]
    line = first_line(path).decode("utf-8", errors="replace")
    for entry in rivals or FORMATS.values():
        if entry.opening is not None and re.match(entry.opening, line):
            return entry
    if rivals:
        return rivals[-1]
    known = ", ".join(FORMATS)
    raise FileError(path, f"the first line fits no known format; name the format, one of {known}", line=1)


def format_to_write(path: Path) -> Format:
    """The format a new file should have, by its name."""
    if _suffix(path) == ".txt":
        return FORMATS["xmc-pair" if "_X_Xf" in path.name else "xmc"]
    rivals = [entry for entry in FORMATS.values() if _suffix(path) in entry.suffixes]
    if not rivals:
        known = ", ".join(FORMATS)
        raise ParameterError(f"'{path.name}' does not say which format to write; name it, one of {known}")
    return rivals[-1]


def _suffix(path: Path) -> str:
    return Path(plain_name(path)).suffix.lower()
