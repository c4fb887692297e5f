"""Co-occurrence of labels: counted in any texts, or read from a file."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

from tacit.data.files import existing_file, suffix, text_lines
from tacit.errors import DataError, FileError

_WORD = re.compile(r"\w+")


def cooccurrence(texts: Iterable[str], label_names: Sequence[str]) -> sparse.csr_matrix:
    """Count the texts in which the names of two labels occur; models take it as ``cooccurrence=``.

    Case is ignored. A name of several words occurs where its words follow each other. The diagonal counts the texts
    that name a label. For a model with unseen labels, keep only the rows of the seen labels, which come first:
    ``cooccurrence(texts, names)[:n_seen]``.
    """
    if isinstance(texts, str) or isinstance(label_names, str):
        raise DataError("texts and label_names must be lists of str; got a single str")
    names: dict[tuple[str, ...], list[int]] = {}
    for label, name in enumerate(label_names):
        words = tuple(_words(str(name)))
        if not words:
            raise DataError(f"label {label} has the name {name!r}, in which there is no word")
        names.setdefault(words, []).append(label)
    lengths = sorted({len(words) for words in names})
    indices: list[int] = []
    indptr = [0]
    for text in texts:
        indices.extend(sorted(_named(list(_words(text)), names, lengths)))
        indptr.append(len(indices))
    shape = (len(indptr) - 1, len(label_names))
    occurs = sparse.csr_matrix((np.ones(len(indices), np.int64), indices, indptr), shape=shape)
    counts = sparse.csr_matrix(occurs.T @ occurs)
    counts.sort_indices()
    return counts


def load_cooccurrence(path: str | os.PathLike[str], label_names: Sequence[str]) -> tuple[sparse.csr_matrix, list[str]]:
    """Read how often labels occur together from a file of lines ``label<TAB>label<TAB>count``, without a header.

    Files that end in ``.csv`` have commas. The order of the two labels does not matter; a label with itself gives its
    own count. Pairs that are not in the file count 0.

    Returns a symmetric matrix of counts and the names of its labels: `label_names`, which are those of the
    training data, then those that only the file has, in the order of the file.
    """
    path = existing_file(path)
    columns = {str(name): column for column, name in enumerate(label_names)}
    counts: dict[tuple[int, int], float] = {}
    for line, cells in _rows(path):
        if len(cells) != 3 or not all(cells):
            raise FileError(path, f"a line must have two labels and a count; got {len(cells)} fields", line=line)
        first, second = sorted(columns.setdefault(name, len(columns)) for name in cells[:2])
        count = _count(path, line, cells[2])
        if counts.setdefault((first, second), count) != count:
            raise FileError(path, f"{cells[0]!r} and {cells[1]!r} have another count above; give it once", line=line)
    pairs = np.array(list(counts), dtype=np.int64).reshape(-1, 2)
    values, off = np.array(list(counts.values()), dtype=np.float64), pairs[:, 0] != pairs[:, 1]
    rows, cols = np.concatenate([pairs, pairs[off, ::-1]]).T
    matrix = sparse.csr_matrix((np.concatenate([values, values[off]]), (rows, cols)), shape=(len(columns),) * 2)
    return matrix, list(columns)


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of a table that are not blank, by number."""
    lines = (line for _, line in text_lines(path, keep_ends=True))
    rows = csv.reader(lines, csv.excel if suffix(path) == ".csv" else csv.excel_tab, strict=True)
    try:
        for row in rows:
            if cells := [cell.strip() for cell in row]:
                yield rows.line_num, cells
    except csv.Error as error:
        raise FileError(path, f"{error}; quote cells as CSV demands", line=rows.line_num) from error


def _count(path: Path, line: int, text: str) -> float:
    try:
        count = float(text)
    except ValueError:
        count = math.nan
    if not (math.isfinite(count) and count >= 0):
        raise FileError(path, f"a count must be a number of at least 0; got {text!r}", line=line)
    return count


def _words(text: str) -> Iterator[str]:
    return (match.group().casefold() for match in _WORD.finditer(text))


def _named(words: list[str], names: dict[tuple[str, ...], list[int]], lengths: list[int]) -> set[int]:
    """Find the labels whose names occur in a text."""
    found: set[int] = set()
    for length in lengths:
        for start in range(len(words) - length + 1):
            found.update(names.get(tuple(words[start : start + length]), ()))
    return found
