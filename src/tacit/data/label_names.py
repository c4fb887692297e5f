"""Names of columns: files that list them, and data sets built with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

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


class NamesFile(NamedTuple):
    """What a file says of the names of columns."""

    names: list[str]  # one per column, no two alike
    columns: dict[str, int]  # by id, such as a URI, by name, alternative name and notation


def read_names(path: Path, limits: FileLimits = LIMITS) -> NamesFile:
    """Read a list of one name per line, or a vocabulary, such as ``id<TAB>name``."""
    from tacit.data.vocabulary import load_vocabulary, read_table

    if suffix(path) in (".csv", ".json", *SYNTAXES):
        found = load_vocabulary(path, **asdict(limits))
    elif any("\t" in line for _, line in text_lines(path, limits)):
        found = read_table(path, limits)
    else:
        listed = _listed(path, limits)
        return NamesFile(list(listed), listed)
    uses = Counter(found.names)
    names = [f"{name} ({key})" if uses[name] > 1 else name for name, key in zip(found.names, found.ids, strict=True)]
    columns = {name: column for column, several in enumerate(found.alternatives) for name in several}
    for keys in (found.notations, names, found.ids):  # an id goes before a name that is spelled like it
        columns |= {key: column for column, key in enumerate(keys) if key}
    return NamesFile(names, columns)


def _listed(path: Path, limits: FileLimits) -> dict[str, int]:
    """The columns by the names of a list, a line for each."""
    found: dict[str, int] = {}
    blank = None
    for number, line in text_lines(path, limits):
        name = bare_uri(line)
        if not name:
            blank = blank or number
        elif blank is not None:
            raise FileError(path, "a name must not be empty; name the column or remove the line", line=blank)
        elif name in found:
            raise FileError(path, f"{name!r} stands in line {found[name] + 1} already; name each once", line=number)
        else:
            found[name] = len(found)
    if not found:
        raise FileError(path, "the file is empty; it must name at least one column")
    return found


def find_pair(source: Source, halves: tuple[str, str], word: str = "{}") -> tuple[Path, Path]:
    """The files of the features and of the labels, where samples are in a pair of files, given either or both.

    `halves` are the words that tell the names of the two files apart; `word` is a pattern for where they stand.
    """
    path = source.path
    if source.labels_path is not None:
        return path, source.labels_path
    for here, there in (halves, halves[::-1]):
        name = other_half(path, here, there, word)
        if name is not None and (found := sibling(path, name)) is not None:
            return (path, found) if here == halves[0] else (found, path)
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


def numeric_dataset(
    X_path: Path, X: sparse.csr_matrix, Y: sparse.csr_matrix, limits: FileLimits, names_path: Path | None = None,
    *, Y_path: Path | None = None, first_label: int = 0,
) -> Dataset:  # fmt: skip
    """Build the data set of a numeric file, or of a pair of files.

    Label names are read from `names_path`, which must fit, or from ``labels.txt`` beside the file if that fits;
    otherwise labels are numbered from `first_label`.
    """
    path, n_labels = Y_path or X_path, Y.shape[1]
    if X.shape[0] != Y.shape[0]:
        raise FileError(path, f"has {Y.shape[0]} samples, but {X_path.name} has {X.shape[0]}; they must agree")
    limits.check_columns(path, n_labels, "label")
    names: Sequence[str] | None = None
    if names_path is None:
        names = _names_beside(path, LABELS_FILE, n_labels, limits)
    elif len(names := read_names(names_path, limits).names) != n_labels:
        raise FileError(names_path, f"names {len(names)} columns, but {path.name} has {n_labels}; they must agree")
    names = names or _numbered(range(first_label, first_label + n_labels))
    return Dataset(X, Y, names, feature_names=_names_beside(X_path, FEATURES_FILE, X.shape[1], limits))


class _Numbers(Sequence[str]):
    """Numbers as names, created on access, because a header of 13 bytes may announce millions of columns."""

    def __init__(self, numbers: range) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, column: Any) -> Any:
        return list(map(str, self._numbers[column])) if isinstance(column, slice) else str(self._numbers[column])


def _numbered(numbers: range) -> Sequence[str]:
    names = _Numbers(numbers)
    return names[:] if len(numbers) <= _MOST_SPELT_OUT else names


def _names_beside(path: Path, name: str, n_columns: int, limits: FileLimits) -> list[str] | None:
    found = sibling(path, name)
    if found is None or sum(1 for _, line in text_lines(found, limits) if line) != n_columns:
        return None
    return read_names(found, limits).names


def text_dataset(
    source: Source, lines: Sequence[int | None], texts: list[str], labels: Sequence[Sequence[str]],
    paths: Sequence[Path] = (),
) -> Dataset:  # fmt: skip
    """Build the data set of a text file from the line number, text and label names of each sample.

    The columns of Y are those of the file of label names, if there is one, or else all names that occur, sorted.
    `paths` are the files of the samples, for messages, if each has its own.
    """
    path, names_path, limits = source.path, source.labels_path, source.limits
    if not texts:
        raise FileError(path, "the file has no rows; it must hold at least one sample")
    if names_path is not None:
        names, columns = read_names(names_path, limits)
    else:
        names = sorted({label for row in labels for label in row})
        columns = {name: column for column, name in enumerate(names)}
    limits.check_columns(path, len(names), "label")
    if not names:
        raise FileError(path, "no sample has a label; at least one must have, or name a file of labels")
    rows, ids = [], []
    for row, (row_labels, line) in enumerate(zip(labels, lines, strict=True)):
        for label in row_labels:
            if label not in columns:
                hint = did_you_mean(label, islice(columns, _MOST_SPELLINGS))
                message = f"label {label!r} is not in {names_path and names_path.name}{hint}"
                place = paths[row] if paths else path
                raise FileError(place, f"{message}; correct it or add it there", line=line)
            rows.append(row)
            ids.append(columns[label])
    entries = np.ones(len(ids), np.float32), (np.array(rows, np.int32), np.array(ids, np.int32))
    Y = sparse.csr_matrix(entries, shape=(len(texts), len(names)))
    Y.data[:] = 1  # a label that a row repeats counts once
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
