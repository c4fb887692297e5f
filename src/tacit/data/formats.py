"""The table of data formats: what the loader, the saver, the command line and the docs know about each.

To add a format, write a module with two functions (the second is optional) and add one line to `FORMATS`::

    read(source: Source, **options) -> Dataset
    write(dataset: Dataset, target: Target, staging: Staging, **options) -> None

The module is imported when a file of its format is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tacit.data.limits import LIMITS, FileLimits
from tacit.errors import ParameterError, did_you_mean, how_to_install

if TYPE_CHECKING:
    from tacit.data.dataset import Dataset
    from tacit.data.files import Staging


@dataclass(frozen=True)
class Source:
    """The input of a reader: a file or folder, and what the caller says about it."""

    path: Path
    labels_path: Path | None = None
    text: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    limits: FileLimits = LIMITS
    keep: bool = False  # whether to keep all columns
    separator: str | None = None  # of labels in a cell; None: as the column has it
    encoding: str = "utf-8"
    default_text: tuple[str, ...] = ()  # fields that hold the text, where a file has them, unless `text` names some


class Target(NamedTuple):
    """The output of a writer: the file for the samples and, if the caller names one, the file for the labels."""

    path: Path
    labels_path: Path | None = None


@dataclass(frozen=True)
class Format:
    """A data format."""

    name: str
    is_text: bool  # whether samples are texts; otherwise they are feature vectors
    module: str  # of `tacit.data`, which reads and writes the format
    layout: str  # what the files look like, for the docs
    suffixes: tuple[str, ...] = ()
    opening: str | None = None  # what the first line matches (a regular expression)
    options: Mapping[str, Any] = field(default_factory=dict)  # keyword arguments of the module's `read` and `write`

    def read(self, source: Source) -> Dataset:
        """Read a data set."""
        dataset: Dataset = import_module(f"tacit.data.{self.module}").read(source, **self.options)
        return dataset

    def write(self, dataset: Dataset, target: Target, staging: Staging) -> None:
        """Write a data set."""
        write = getattr(import_module(f"tacit.data.{self.module}"), "write", None)
        if write is None:
            raise ParameterError(f"{self.name} can be read, but not written; choose another format")
        write(dataset, target, staging, **self.options)


_SVMLIGHT_OPENING = r"#|\d+:|(\d+(,\d+)*)?\s+\d+:|\d+(,\d+)*\s*(#|$)"

#: Every format by name. The suffix of a file decides; among formats with the same suffix, the first whose opening
#: matches the first line, else the last. For other suffixes (.txt, .dat, none) the first format whose opening matches.
#: A folder is read as `folder`.
FORMATS = {
    entry.name: entry
    for entry in (
        Format("xmc", False, "xmc", "header `N D L`, rows `l1,l2 f:v f:v`, ids from 0",
               (".xmc",), r"\s*\d+\s+\d+\s+\d+\s*$"),
        Format("xmc-pair", False, "xmc", "`trn_X_Xf.txt` + `trn_X_Y.txt`",
               (), r"\s*\d+\s+\d+\s*$", {"pair": True}),
        Format("jsonl", True, "records", "one JSON object per line",
               (".jsonl", ".ndjson"), r"\s*\{", {"syntax": "jsonl"}),
        Format("csv", True, "records", "a header line; cells separated by commas, semicolons, tabs or bars",
               (".csv",), None, {"syntax": "csv"}),
        Format("annif", True, "lines", "`text<TAB><uri> <uri>`; read only",
               (".annif", ".tsv"), r".*\t\s*(<[^>\s]+>|$)", {"syntax": "annif"}),
        Format("tsv", True, "records", "tab-separated, with a header line",
               (".tsv",), None, {"syntax": "tsv"}),
        Format("xlsx", True, "records", f"the first sheet of an Excel file; needs `{how_to_install('excel')}`",
               (".xlsx",), "PK", {"syntax": "xlsx"}),
        Format("parquet", True, "records", f"Apache Parquet; needs `{how_to_install('parquet')}`",
               (".parquet",), "PAR1", {"syntax": "parquet"}),
        Format("folder", True, "documents", "a folder of documents: `a.txt` + `a.key` or `a.tsv`, or `a.json`"),
        Format("npz", False, "npz", "`X.trn.npz` + `Y.trn.npz`, sparse or dense",
               (".npz",)),
        Format("arff", False, "arff", "Mulan ARFF, dense or sparse, + XML with the labels; read only",
               (".arff",), r"(?i)\s*(%|@relation\b)"),
        Format("fasttext", True, "lines", "`__label__a __label__b text`",
               (".ft", ".fasttext"), r"\s*__label__\S", {"syntax": "fasttext"}),
        Format("svmlight0", False, "svmlight", "svmlight, ids from 0",
               (), None, {"first_feature": 0, "first_label": 0}),
        Format("svmlight1", False, "svmlight", "svmlight, ids from 1",
               (), None, {"first_feature": 1, "first_label": 1}),
        Format("libsvm", False, "svmlight", "svmlight, features from 1, labels from 0",
               (".libsvm",), None, {"first_feature": 1, "first_label": 0}),
        Format("svmlight", False, "svmlight", "rows `l1,l2 f:v`, no header; ids from 0 if a 0 occurs, else from 1",
               (".svm", ".svmlight"), _SVMLIGHT_OPENING),
    )
}  # fmt: skip
NAMES = ", ".join(FORMATS)


def named_format(name: str) -> Format:
    """Look up a format by name; case does not matter, nor does ``_`` for ``-``."""
    key = name.lower().replace("_", "-")
    if key not in FORMATS:
        raise ParameterError(f"format must be one of {NAMES}; got '{name}'{did_you_mean(key, FORMATS)}")
    return FORMATS[key]
