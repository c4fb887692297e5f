"""Annif's text corpus: one sample per line, the text, a tab, then the URIs of its subjects: ``text<TAB><uri> <uri>``.

The vocabulary, with lines ``<uri><TAB>name``, is given as `labels_path` and supplies the label names.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from tacit.data.dataset import Dataset, label_lists, texts_of
from tacit.data.files import Staging, text_lines
from tacit.data.formats import Source, Target
from tacit.data.label_names import bare_uri, read_names, text_dataset
from tacit.errors import DataError, FileError

VOCABULARY_FILE = "labels.tsv"


def read(source: Source) -> Dataset:
    """Read an Annif text corpus; the last tab of a line separates text and URIs."""
    lines, texts, rows = [], [], []
    for number, line in text_lines(source.path, source.limits, encoding=source.encoding):
        if not line:
            continue
        text, tab, uris = line.rpartition("\t")
        labels = [bare_uri(uri) for uri in uris.split()]
        if not tab or not all(labels):
            message = "must be text, a tab and URIs in angle brackets; the tab is missing"
            message = "a URI must not be empty; write it between < and >" if tab else message
            raise FileError(source.path, message, line=number)
        lines.append(number)
        texts.append(text)
        rows.append(labels)
    return text_dataset(source, lines, texts, rows)


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
    """Make a name fit between angle brackets; URIs stay as they are."""
    return re.sub(r"[\s<>]", lambda found: quote(found.group()), name)
