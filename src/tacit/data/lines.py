"""Texts with labels, one sample per line, as fastText and Annif have them.

fastText: ``__label__a __label__b the text``; line breaks and repeated blanks of a text are not preserved, and blanks in
a label are percent-encoded. Annif (read only): ``text<TAB><uri> <uri>``; a vocabulary with lines ``<uri><TAB>name``
supplies the label names as `labels_path`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote, unquote

from tacit.data.dataset import Dataset, label_lists, texts_of
from tacit.data.files import Staging, text_lines
from tacit.data.formats import Source, Target
from tacit.data.label_names import bare_uri, text_dataset, write_label_names
from tacit.errors import DataError, FileError, ParameterError

PREFIX = "__label__"


def _split_fasttext(line: str) -> tuple[str, list[str]]:
    words = line.split()
    labels = [unquote(word[len(PREFIX) :]) for word in words if word.startswith(PREFIX)]
    if not all(labels):
        raise ValueError(f"'{PREFIX}' must be followed by a label; name it")
    return " ".join(word for word in words if not word.startswith(PREFIX)), labels


def _split_annif(line: str) -> tuple[str, list[str]]:
    text, tab, uris = line.rpartition("\t")
    labels = [bare_uri(uri) for uri in uris.split()]
    if not tab or not all(labels):
        raise ValueError("must be text, a tab and URIs in angle brackets, none of them empty")
    return text, labels


_SPLITTERS: dict[str, Callable[[str], tuple[str, list[str]]]] = {"fasttext": _split_fasttext, "annif": _split_annif}


def read(source: Source, *, syntax: str) -> Dataset:
    """Read a file; blank lines are left out."""
    lines, texts, rows = [], [], []
    for number, line in text_lines(source.path, source.limits, encoding=source.encoding):
        if not line.strip():
            continue
        try:
            text, labels = _SPLITTERS[syntax](line)
        except ValueError as error:
            raise FileError(source.path, str(error), line=number) from None
        lines.append(number)
        texts.append(text)
        rows.append(labels)
    return text_dataset(source, lines, texts, rows)


def write(dataset: Dataset, target: Target, staging: Staging, *, syntax: str) -> None:
    """Write a fastText file; line ends and other blanks in a text become single spaces."""
    if syntax == "annif":
        raise ParameterError("annif can be read, but not written; choose another format")
    with staging.open(target.path) as file:
        for labels, text in zip(label_lists(dataset), texts_of(dataset), strict=True):
            words = text.split()
            if any(word.startswith(PREFIX) for word in words):
                raise DataError(f"a text has a word that starts with '{PREFIX}', which fastText takes for a label")
            if not labels and not words:
                raise DataError("a sample has neither labels nor text, which a fastText file cannot hold")
            tags = [PREFIX + re.sub(r"[\s%]", lambda found: quote(found.group()), label) for label in labels]
            file.write((" ".join(tags + words) + "\n").encode())
    write_label_names(staging, target, dataset)
