"""Annif's text corpus: one sample per line, the text, a tab, then the URIs of its subjects: ``text<TAB><uri> <uri>``.

Its vocabulary, ``<uri><TAB>name``, goes into `labels_path` and gives the labels their names.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from tacit.data.dataset import Dataset, label_lists, texts_of
from tacit.data.files import Staging, text_lines
from tacit.data.formats import Source, Target
from tacit.data.names import bare_uri, encode_labels, read_names
from tacit.errors import DataError, FileError

VOCABULARY_FILE = "labels.tsv"


def read(source: Source) -> Dataset:
    """Read an Annif text corpus; the last tab of a line separates text and URIs."""
    texts, rows, lines = [], [], []
    for number, line in text_lines(source.path, source.limits):
        if not line:
            continue
        text, tab, uris = line.rpartition("\t")
        if not tab:
            raise FileError(
                source.path, "must be text, a tab and URIs in angle brackets; the tab is missing", line=number
            )
        labels = [bare_uri(uri) for uri in uris.split()]
        if not all(labels):
            raise FileError(source.path, "an URI must not be empty; write it between < and >", line=number)
        texts.append(text)
        rows.append(labels)
        lines.append(number)
    if not rows:
        raise FileError(source.path, "the file has no rows; it must hold at least one sample")
    names = None if source.labels_path is None else read_names(source.labels_path, source.limits)
    Y, label_names = encode_labels(source, rows, lines, names)
    return Dataset(None, Y, label_names, texts=texts)


def write(dataset: Dataset, target: Target, staging: Staging) -> None:
    """Write a corpus and, beside it, its vocabulary; tabs and line ends in a text become spaces."""
    uris = {name: _uri(name) for name in dataset.label_names}
    if len(set(uris.values())) < len(uris):
        raise DataError("two label names differ only in how a blank is written; Annif's URIs cannot tell them apart")
    with staging.open(target.path) as file:
        for labels, text in zip(label_lists(dataset), texts_of(dataset), strict=True):
            tags = " ".join(f"<{uris[label]}>" for label in labels)
            file.write(f"{_one_line(text)}\t{tags}\n".encode())
    vocabulary = target.labels_path or target.path.with_name(VOCABULARY_FILE)
    if target.labels_path is None and vocabulary.is_file() and read_names(vocabulary).names != dataset.label_names:
        raise FileError(vocabulary, "lists other names already; delete it or write to another folder")
    with staging.open(vocabulary) as file:
        file.writelines(f"<{uri}>\t{_one_line(name)}\n".encode() for name, uri in uris.items())


def _one_line(text: str) -> str:
    return re.sub(r"[\t\r\n]", " ", text)


def _uri(name: str) -> str:
    """A name as it may stand between angle brackets; URIs stay as they are."""
    return re.sub(r"[\s<>]", lambda found: quote(found.group()), name)
