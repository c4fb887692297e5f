"""Co-occurrence of labels: counted in any texts, or read from a file."""

from __future__ import annotations

import csv
import itertools
import math
import os
import re
from collections.abc import Iterable, Sequence
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
        words = _words(str(name))
        if not words:
            raise DataError(f"label {label} has the name {name!r}, in which there is no word")
        names.setdefault(words, []).append(label)
    lengths = {len(words) for words in names}
    rows: list[list[int]] = []
    for text in texts:
        words = _words(text)
        spans = (words[start : start + length] for length in lengths for start in range(len(words) - length + 1))
        rows.append(sorted({label for span in spans for label in names.get(span, ())}))
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.fromiter(itertools.chain(*rows), np.int64, indptr[-1])
    occurs = sparse.csr_matrix((np.ones(len(indices), np.int64), indices, indptr), shape=(len(rows), len(label_names)))
    counts = sparse.csr_matrix(occurs.T @ occurs)
    counts.sort_indices()
    return counts


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in _WORD.findall(text))


def load_cooccurrence(path: str | os.PathLike[str], label_names: Sequence[str]) -> tuple[sparse.csr_matrix, list[str]]:
    """Read how often labels occur together from a file of lines ``label<TAB>label<TAB>count``, without a header.

    Files that end in ``.csv`` have commas. The order of the two labels does not matter; a label with itself gives its
    own count. Returns a symmetric matrix of counts and the names of its labels: `label_names`, which are those of the
    training data, then those that only the file has.
    """
    path = existing_file(path)
    columns = {str(name): column for column, name in enumerate(label_names)}
    counts: dict[tuple[int, int], float] = {}
    rows = csv.reader((line for _, line in text_lines(path, keep_ends=True)),
                      csv.excel if suffix(path) == ".csv" else csv.excel_tab, strict=True)  # fmt: skip
    try:
        for cells in rows:
            if cells:
                pair, count = _pair(path, rows.line_num, [cell.strip() for cell in cells], columns)
                if counts.setdefault(pair, count) != count:
                    message = f"{cells[0]!r} and {cells[1]!r} have another count above; give it once"
                    raise FileError(path, message, line=rows.line_num)
    except csv.Error as error:
        raise FileError(path, f"{error}; quote cells as CSV demands", line=rows.line_num) from error
    pairs = np.array(list(counts), dtype=np.int64).reshape(-1, 2)
    values, off = np.array(list(counts.values()), dtype=np.float64), pairs[:, 0] != pairs[:, 1]
    first, second = np.concatenate([pairs, pairs[off, ::-1]]).T
    matrix = sparse.csr_matrix((np.concatenate([values, values[off]]), (first, second)), shape=(len(columns),) * 2)
    return matrix, list(columns)


def _pair(path: Path, line: int, cells: Sequence[str], columns: dict[str, int]) -> tuple[tuple[int, int], float]:
    """The columns of two labels, in order, and their count."""
    if len(cells) != 3 or not all(cells):
        raise FileError(path, f"a line must have two labels and a count; got {len(cells)} fields", line=line)
    try:
        count = float(cells[2])
    except ValueError:
        count = math.nan
    if not (math.isfinite(count) and count >= 0):
        raise FileError(path, f"a count must be a number of at least 0; got {cells[2]!r}", line=line)
    first, second = sorted(columns.setdefault(name, len(columns)) for name in cells[:2])
    return (first, second), count
