"""fastText: one sample per line, ``__label__a __label__b the text``.

Every word that starts with ``__label__`` is a label, wherever it occurs in the line. Words are separated by blanks, so
line breaks and repeated blanks of a text are not preserved. Blanks in a label are percent-encoded:
``__label__machine%20learning``.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from tacit.data.dataset import Dataset, label_lists, texts_of
from tacit.data.files import Staging, text_lines
from tacit.data.formats import Source, Target
from tacit.data.label_names import text_dataset, write_label_names
from tacit.errors import DataError, FileError

PREFIX = "__label__"


def read(source: Source) -> Dataset:
    """Read a fastText file."""
    lines, texts, rows = [], [], []
    for number, line in text_lines(source.path, source.limits, encoding=source.encoding):
        words = line.split()
        if not words:
            continue
        labels = [unquote(word[len(PREFIX) :]) for word in words if word.startswith(PREFIX)]
        if not all(labels):
            raise FileError(source.path, f"'{PREFIX}' must be followed by a label; name it", line=number)
        lines.append(number)
        texts.append(" ".join(word for word in words if not word.startswith(PREFIX)))
        rows.append(labels)
    return text_dataset(source, lines, texts, rows)


def write(dataset: Dataset, target: Target, staging: Staging) -> None:
    """Write a fastText file; line ends and other blanks in a text become single spaces."""
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
