"""Names of columns: files that list them, and data sets built with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from tacit.data.dataset import Dataset
from tacit.data.files import Staging, plain_name, sibling, suffix, text_lines
from tacit.data.formats import Source, Target
from tacit.data.limits import LIMITS, FileLimits
from tacit.data.rdf import SYNTAXES
from tacit.errors import DataError, FileError, did_you_mean

LABELS_FILE = "labels.txt"
FEATURES_FILE = "features.txt"
_URI = re.compile(r"<[^<>\s]+>|[a-z][a-z0-9+.-]*://[^<>\s]+", re.IGNORECASE)
_MOST_SPELT_OUT = 1_000_000  # with more columns, numbers become names on access
_MOST_SPELLINGS = 50_000  # the search for the nearest spelling takes too long among more


@dataclass(frozen=True)
class NamesFile:
    """A file of column names, and the ids by which data files may refer to them, such as URIs, or else the names."""

    path: Path
    names: list[str]  # one per column, no two alike
    ids: list[str]
    others: dict[str, int] = field(default_factory=dict)  # columns by alternative name and notation

    def columns(self) -> dict[str, int]:
        """Map ids and names to columns; where an id of one column is a name of another, the id wins."""
        by_name = {name: column for column, name in enumerate(self.names)}
        return self.others | by_name | {key: column for column, key in enumerate(self.ids)}


def read_names(path: Path, limits: FileLimits = LIMITS) -> NamesFile:
    """Read a list of one name per line, or a vocabulary, such as ``id<TAB>name``."""
    from tacit.data.vocabulary import load_vocabulary, read_table

    if suffix(path) not in (".csv", ".json", *SYNTAXES):
        lines = list(text_lines(path, limits))
        if not any("\t" in line for _, line in lines):
            names = _listed(path, lines)
            return NamesFile(path, names, names)
        found = read_table(path, limits)
    else:
        found = load_vocabulary(path, **asdict(limits))
    others = {name: column for column, several in enumerate(found.alternatives) for name in several}
    others |= {code: column for column, code in enumerate(found.notations) if code}
    return NamesFile(path, _unambiguous(found.names, found.ids), found.ids, others)


def _listed(path: Path, lines: list[tuple[int, str]]) -> list[str]:
    """The names of a list, a line for each."""
    while lines and not lines[-1][1]:
        lines.pop()
    if not lines:
        raise FileError(path, "the file is empty; it must name at least one column")
    seen: dict[str, int] = {}
    for number, line in lines:
        name = bare_uri(line)
        if not name:
            raise FileError(path, "a name must not be empty; name the column or remove the line", line=number)
        if name in seen:
            raise FileError(path, f"{name!r} stands in line {seen[name]} already; name each once", line=number)
        seen[name] = number
    return list(seen)


def find_pair(
    source: Source, halves: tuple[str, str], word: str = "{}", *, has_both: bool
) -> tuple[Path, Path, Path | None]:
    """The files of the features, of the labels and (if given) of the label names, where samples are in a pair of files.

    `halves` are the words that tell the names of the two files apart; `word` is a pattern for where they stand. The
    caller says whether the source `has_both` files: otherwise its second is one of label names.
    """
    path, other = source.path, source.labels_path
    if has_both and other is not None:
        return path, other, None
    for here, there in (halves, halves[::-1]):
        name = other_half(path, here, there, word)
        found = None if name is None else sibling(path, name)
        if found is not None:
            return (path, found, other) if here == halves[0] else (found, path, other)
    message = f"is half of a pair; the other half, with {halves[1]} for {halves[0]} or the reverse, is not beside it"
    raise FileError(path, f"{message}; give both: the features as path, the labels as labels_path")


def other_half(path: Path, here: str, there: str, word: str = "{}") -> str | None:
    """The name of the other file of a pair, without ``.gz``; None if `here` is not in the name, or twice."""
    name, n_found = re.subn(word.format(here), there, plain_name(path))
    return name if n_found == 1 else None


def is_uri(text: str) -> bool:
    """Whether a text is a URI in angle brackets, or one that names its scheme and host."""
    return _URI.fullmatch(text) is not None


def bare_uri(text: str) -> str:
    """Strip the angle brackets around a URI; other text is returned unchanged."""
    return text[1:-1].strip() if text.startswith("<") and text.endswith(">") else text


def _unambiguous(names: list[str], ids: list[str]) -> list[str]:
    """Append the id to names that occur more than once."""
    uses = Counter(names)
    return [f"{name} ({key})" if uses[name] > 1 else name for name, key in zip(names, ids, strict=True)]


class _Numbers(Sequence[str]):
    """Column numbers as names, created on access, because a header of 13 bytes may announce millions of columns."""

    def __init__(self, numbers: range) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, column: Any) -> Any:
        return list(map(str, self._numbers[column])) if isinstance(column, slice) else str(self._numbers[column])


def _numbered(n_columns: int, first: int) -> Sequence[str]:
    """The names of columns that a file does not name."""
    names = _Numbers(range(first, first + n_columns))
    return names[:] if n_columns <= _MOST_SPELT_OUT else names


def numeric_dataset(
    X_path: Path,
    X: sparse.csr_matrix,
    Y: sparse.csr_matrix,
    limits: FileLimits,
    names_path: Path | None = None,
    *,
    Y_path: Path | None = None,
    Y_line: int | None = None,
    first_label: int = 0,
) -> Dataset:
    """Build the data set of a numeric file, or of a pair of files, with the names of its columns.

    Label names are read from `names_path`, which must fit, or from ``labels.txt`` beside the file if that fits;
    otherwise labels are numbered from `first_label`. `Y_line` is the line of `Y_path` that has the number of samples.
    """
    if Y_path is not None and X.shape[0] != Y.shape[0]:
        message = f"has {Y.shape[0]} samples, but {X_path.name} has {X.shape[0]}; they must agree"
        raise FileError(Y_path, message, line=Y_line)
    path, n_labels = Y_path or X_path, Y.shape[1]
    limits.check_columns(path, n_labels, "label")
    if names_path is None:
        names = _names_beside(path, LABELS_FILE, n_labels, limits) or _numbered(n_labels, first_label)
    elif len(names := read_names(names_path, limits).names) != n_labels:
        raise FileError(names_path, f"names {len(names)} columns, but {path.name} has {n_labels}; they must agree")
    return Dataset(X, Y, names, feature_names=_names_beside(X_path, FEATURES_FILE, X.shape[1], limits))


def _names_beside(path: Path, name: str, n_columns: int, limits: FileLimits) -> list[str] | None:
    found = sibling(path, name)
    if found is None or sum(1 for _, line in text_lines(found, limits) if line) != n_columns:
        return None
    return read_names(found, limits).names


def text_dataset(
    source: Source,
    lines: Sequence[int | None],
    texts: list[str],
    labels: Sequence[Sequence[str]],
    paths: Sequence[Path] = (),
) -> Dataset:
    """Build the data set of a text file from the line number, text and label names of each sample.

    The columns of Y are those of the file of label names, if there is one, or else all names that occur, sorted.
    `paths` are the files of the samples, for messages, if each has its own.
    """
    path = source.path
    if not texts:
        raise FileError(path, "the file has no rows; it must hold at least one sample")
    known = None if source.labels_path is None else read_names(source.labels_path, source.limits)
    names = known.names if known is not None else sorted({label for row in labels for label in row})
    source.limits.check_columns(path, len(names), "label")
    if not names:
        raise FileError(path, "no sample has a label; at least one must have, or name a file of labels")
    columns = known.columns() if known is not None else {name: column for column, name in enumerate(names)}
    indptr, indices = np.zeros(len(texts) + 1, dtype=np.int32), []
    for row, (row_labels, line) in enumerate(zip(labels, lines, strict=True)):
        try:
            indices.extend(sorted({columns[label] for label in row_labels}))
        except KeyError as error:
            unknown, file = error.args[0], known.path.name if known is not None else ""
            hint = did_you_mean(unknown, islice(columns, _MOST_SPELLINGS))
            message = f"label {unknown!r} is not in {file}{hint}; correct it or add it there"
            raise FileError(paths[row] if paths else path, message, line=line) from None
        indptr[row + 1] = len(indices)
    ids = np.array(indices, dtype=np.int32)
    Y = sparse.csr_matrix((np.ones(len(ids), dtype=np.float32), ids, indptr), shape=(len(texts), len(names)))
    return Dataset(None, Y, names, texts=texts)


def write_names(staging: Staging, path: Path, names: Sequence[str], *, replace: bool = False) -> None:
    """Write one name per line. An existing file with other names is overwritten only if `replace` is set."""
    for name in names:
        if not name or any(char in name for char in "\t\r\n"):
            raise DataError(f"{path.name} cannot hold the name {name!r}: it is empty or has a tab or line end")
    if path.is_file() and not replace and read_names(path).names != list(names):
        raise FileError(path, "lists other names already; delete it or write to another folder")
    with staging.open(path) as file:
        file.writelines(f"{name}\n".encode() for name in names)


def write_label_names(staging: Staging, target: Target, dataset: Dataset) -> None:
    """Write the names of all labels, in column order, if the caller names a file for them."""
    if target.labels_path is not None:
        write_names(staging, target.labels_path, dataset.label_names, replace=True)


def write_companions(staging: Staging, target: Target, dataset: Dataset) -> None:
    """Write ``labels.txt`` and ``features.txt`` beside a numeric file if its columns have names."""
    write_label_names(staging, target, dataset)
    is_named = any(name != str(label) for label, name in enumerate(dataset.label_names))
    if is_named and target.labels_path is None:
        write_names(staging, target.path.with_name(LABELS_FILE), dataset.label_names)
    if dataset.feature_names is not None:
        write_names(staging, target.path.with_name(FEATURES_FILE), dataset.feature_names)
