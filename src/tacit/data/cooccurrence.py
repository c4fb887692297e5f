"""Co-occurrence of labels in any texts: the number of texts that name both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from scipy import sparse

from tacit.errors import DataError

_WORD = re.compile(r"\w+")


def cooccurrence(texts: Iterable[str], label_names: Sequence[str]) -> sparse.csr_matrix:
    """Count the texts in which the names of two labels occur; models take it as ``cooccurrence=``.

    Case is ignored. A name of several words occurs where its words follow each other. The diagonal counts the texts
    that name a label. For a model with unseen labels, keep only the rows of the seen labels, which come first:
    ``cooccurrence(texts, names)[:n_seen]``.

    Parameters
    ----------
    texts : iterable of str
        Any texts: articles, abstracts, the training texts themselves.
    label_names : sequence of str
        Names of all labels, in column order.

    Returns
    -------
    csr_matrix of int64, shape (n_labels, n_labels)
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


def _words(text: str) -> Iterator[str]:
    return (match.group().casefold() for match in _WORD.finditer(text))


def _named(words: list[str], names: dict[tuple[str, ...], list[int]], lengths: list[int]) -> set[int]:
    """Find the labels whose names occur in a text."""
    found: set[int] = set()
    for length in lengths:
        for start in range(len(words) - length + 1):
            found.update(names.get(tuple(words[start : start + length]), ()))
    return found
