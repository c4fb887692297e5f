"""fastText: one sample per line, ``__label__a __label__b the text``.

Every word that starts with ``__label__`` is a label, wherever it stands. Words are separated by blanks, so a text
comes back with single spaces. Blanks in a label are written, and read, as in URLs: ``__label__machine%20learning``.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from tacit.data.dataset import Dataset, label_lists, texts_of
from tacit.data.files import Staging, text_lines
from tacit.data.formats import Source, Target
from tacit.data.names import encode_labels, read_names, write_names
from tacit.errors import DataError, FileError

PREFIX = "__label__"


def read(source: Source) -> Dataset:
    """Read a fastText file."""
    texts, rows, lines = [], [], []
    for number, line in text_lines(source.path, source.limits):
        words = line.split()
        if not words:
            continue
        labels = [unquote(word[len(PREFIX) :]) for word in words if word.startswith(PREFIX)]
        if not all(labels):
            raise FileError(source.path, f"'{PREFIX}' must be followed by a label; name it", line=number)
        texts.append(" ".join(word for word in words if not word.startswith(PREFIX)))
        rows.append(labels)
        lines.append(number)
    if not rows:
        raise FileError(source.path, "the file has no rows; it must hold at least one sample")
    names = None if source.labels_path is None else read_names(source.labels_path, source.limits)
    Y, label_names = encode_labels(source, rows, lines, names)
    return Dataset(None, Y, label_names, texts=texts)


def write(dataset: Dataset, target: Target, staging: Staging) -> None:
    """Write a fastText file; line ends and other blanks in a text become spaces."""
    with staging.open(target.path) as file:
        for labels, text in zip(label_lists(dataset), texts_of(dataset), strict=True):
            words = text.split()
            if any(word.startswith(PREFIX) for word in words):
                raise DataError(f"a text has a word that starts with '{PREFIX}', which fastText takes for a label")
            if not labels and not words:
                raise DataError("a sample has neither labels nor text, which a fastText file cannot hold")
            tags = [PREFIX + _one_word(label) for label in labels]
            file.write((" ".join(tags + words) + "\n").encode())
    if target.labels_path is not None:
        write_names(staging, target.labels_path, dataset.label_names, replace=True)


def _one_word(label: str) -> str:
    return re.sub(r"[\s%]", lambda found: quote(found.group()), label)
