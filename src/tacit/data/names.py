"""Names of columns: files that list them, labels turned into columns of Y."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import overload

import numpy as np
from scipy import sparse

from tacit.data.dataset import Dataset
from tacit.data.files import Staging, sibling, text_lines
from tacit.data.formats import Source, Target
from tacit.data.limits import LIMITS, Limits
from tacit.errors import DataError, FileError, did_you_mean

LABELS_FILE = "labels.txt"
FEATURES_FILE = "features.txt"
_MOST_SPELT_OUT = 1_000_000  # numbers as a list of names; of more columns they are made when asked for
_MOST_SPELLINGS = 50_000  # among more the search for the nearest would take too long


@dataclass(frozen=True)
class NamesFile:
    """A list of column names, and the ids by which data files may refer to them.

    Attributes
    ----------
    names : list of str
        One name per column, no two alike.
    ids : list of str
        For files with several fields per line the first one (an URI without its angle brackets, say),
        otherwise the names.
    """

    path: Path
    names: list[str]
    ids: list[str]

    def columns(self) -> dict[str, int]:
        """Column by id, or by name where no id is spelled like it."""
        by_name = {name: column for column, name in enumerate(self.names)}
        return by_name | {key: column for column, key in enumerate(self.ids)}


def read_names(path: Path, limits: Limits = LIMITS) -> NamesFile:
    """Read a file with one name per line, or with ``id<TAB>name`` (or ``id<TAB>…<TAB>name``).

    The first line says how many fields there are; further tabs are blanks in the name.
    """
    lines = list(text_lines(path, limits))
    while lines and not lines[-1][1]:
        lines.pop()
    if not lines:
        raise FileError(path, "the file is empty; it must name at least one column")
    n_tabs = lines[0][1].count("\t")
    ids, names = [], []
    seen: dict[str, int] = {}
    for number, line in lines:
        fields = line.split("\t", n_tabs)
        if len(fields) <= n_tabs:
            expected = f"must have {n_tabs + 1} fields separated by tabs, as line 1"
            raise FileError(path, f"{expected}; got {len(fields)}; correct the line", line=number)
        key, name = bare_uri(fields[0]), fields[-1].replace("\t", " ")
        if not key or not name:
            raise FileError(path, "a name must not be empty; name the column or remove the line", line=number)
        if key in seen:
            raise FileError(path, f"{key!r} stands in line {seen[key]} already; name each once", line=number)
        seen[key] = number
        ids.append(key)
        names.append(name if n_tabs else key)
    return NamesFile(path, _told_apart(names, ids), ids)


def bare_uri(text: str) -> str:
    """An URI without the angle brackets around it; other text as it is."""
    return text[1:-1].strip() if text.startswith("<") and text.endswith(">") else text


def _told_apart(names: list[str], ids: list[str]) -> list[str]:
    """Names that occur more than once get their id behind them."""
    uses = Counter(names)
    return [f"{name} ({key})" if uses[name] > 1 else name for name, key in zip(names, ids, strict=True)]


def label_names(
    path: Path, n_labels: int, given: Path | None, limits: Limits = LIMITS, *, first: int = 0
) -> Sequence[str]:
    """Names of the labels of a numeric file.

    Those of the file `given`, which must fit; or of ``labels.txt`` beside it, if that fits; or their numbers,
    counted from `first`.
    """
    limits.check_columns(path, n_labels, "label")
    if given is not None:
        names = read_names(given, limits).names
        if len(names) != n_labels:
            raise FileError(given, f"names {len(names)} columns, but {path.name} has {n_labels}; they must agree")
        return names
    return _names_beside(path, LABELS_FILE, n_labels, limits) or numbered(n_labels, first)


def feature_names(path: Path, n_features: int, limits: Limits = LIMITS) -> list[str] | None:
    """Names of the features of a numeric file, from ``features.txt`` beside it if that fits."""
    return _names_beside(path, FEATURES_FILE, n_features, limits)


def _names_beside(path: Path, name: str, n_columns: int, limits: Limits) -> list[str] | None:
    found = sibling(path, name)
    if found is None or sum(1 for _, line in text_lines(found, limits) if line) != n_columns:
        return None
    return read_names(found, limits).names


class Numbers(Sequence[str]):
    """Numbers as the names of columns, each made when it is asked for: a header of 13 bytes may announce millions."""

    def __init__(self, numbers: range) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        return map(str, self._numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Numbers: ...

    def __getitem__(self, place: int | slice) -> str | Numbers:
        return Numbers(self._numbers[place]) if isinstance(place, slice) else str(self._numbers[place])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Numbers):
            return self._numbers == other._numbers
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Numbers({self._numbers!r})"


def numbered(n_columns: int, first: int = 0) -> Sequence[str]:
    """Names for columns without names: their numbers."""
    names = Numbers(range(first, first + n_columns))
    return list(names) if n_columns <= _MOST_SPELT_OUT else names


def encode_labels(
    source: Source, rows: Sequence[Sequence[str]], lines: Sequence[int], names: NamesFile | None
) -> tuple[sparse.csr_matrix, list[str]]:
    """Lists of label names as Y and the names of its columns, those of `names` or all that occur, sorted."""
    path = source.path
    columns_named = names.names if names is not None else sorted({label for row in rows for label in row})
    source.limits.check_columns(path, len(columns_named), "label")
    if not columns_named:
        raise FileError(path, "no sample has a label; at least one must have, or name a file of labels")
    columns = names.columns() if names is not None else {name: i for i, name in enumerate(columns_named)}
    indptr, indices = np.zeros(len(rows) + 1, dtype=np.int32), []
    for row, (labels, line) in enumerate(zip(rows, lines, strict=True)):
        try:
            indices.extend(sorted({columns[label] for label in labels}))
        except KeyError as error:
            unknown, known = error.args[0], names.path.name if names is not None else ""
            hint = did_you_mean(unknown, islice(columns, _MOST_SPELLINGS))
            message = f"label {unknown!r} is not in {known}{hint}"
            raise FileError(path, f"{message}; correct it or add it there", line=line) from None
        indptr[row + 1] = len(indices)
    ids = np.array(indices, dtype=np.int32)
    Y = sparse.csr_matrix((np.ones(len(ids), dtype=np.float32), ids, indptr), shape=(len(rows), len(columns_named)))
    return Y, columns_named


def write_names(staging: Staging, path: Path, names: Sequence[str], *, replace: bool = False) -> None:
    """Write one name per line; a file that lists other names is only overwritten if `replace` is set."""
    for name in names:
        if not name or any(char in name for char in "\t\r\n"):
            raise DataError(f"{path.name} cannot hold the name {name!r}: it is empty or has a tab or line end")
    if path.is_file() and not replace and read_names(path).names != list(names):
        raise FileError(path, "lists other names already; delete it or write to another folder")
    with staging.open(path) as file:
        file.writelines(f"{name}\n".encode() for name in names)


def write_companions(staging: Staging, target: Target, dataset: Dataset) -> None:
    """Write ``labels.txt`` and ``features.txt`` beside a numeric file, where its columns have names."""
    if target.labels_path is not None:
        write_names(staging, target.labels_path, dataset.label_names, replace=True)
    elif dataset.label_names != numbered(dataset.n_labels):
        write_names(staging, target.path.with_name(LABELS_FILE), dataset.label_names)
    if dataset.feature_names is not None:
        write_names(staging, target.path.with_name(FEATURES_FILE), dataset.feature_names)
