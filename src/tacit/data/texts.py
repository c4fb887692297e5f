"""Texts alone, to suggest labels for: those a file may have are not read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tacit.data.dataset import texts_of
from tacit.data.files import existing_file, plain_name, text_lines
from tacit.data.formats import Source, detect_format, named_format
from tacit.data.load import field_names, load_data
from tacit.data.text import RECORDS, texts_of_records


def load_texts(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    text: str | Sequence[str] | None = None,
) -> list[str]:
    """Read the texts of a file in any text format, or of a ``.txt`` file with one text per line.

    Parameters
    ----------
    path, format, text
        As for `tacit.load_data`.
    """
    path = existing_file(path)
    if format is None and plain_name(path).lower().endswith(".txt"):
        return [line for _, line in text_lines(path)]
    chosen = detect_format(path) if format is None else named_format(format)
    if chosen.name in RECORDS:
        return texts_of_records(Source(path, text=field_names(text)), RECORDS[chosen.name](path))
    return texts_of(load_data(path, format=chosen.name))
