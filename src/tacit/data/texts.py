"""Texts alone, to suggest labels for: those a file may have are not read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from tacit.data.dataset import texts_of
from tacit.data.files import STDIN, existing_file, plain_name, text_lines
from tacit.data.formats import Source, detect_format, named_format
from tacit.data.limits import Limits
from tacit.data.load import field_names
from tacit.data.text import RECORDS, texts_of_records


def stream_texts(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    text: str | Sequence[str] | None = None,
    **limits: int | None,
) -> Iterator[str]:
    """The texts of a file in any text format, of a ``.txt`` file with one text per line, or of stdin (``-``).

    JSONL, CSV, TSV and lines are read as they are asked for, so that a file may be larger than memory.

    Parameters
    ----------
    path, format, text, **limits
        As for `tacit.load_data`; stdin holds lines unless `format` says otherwise.
    """
    allowed = Limits.of(**limits)
    path = existing_file(path)
    if format is None and (path == STDIN or plain_name(path).lower().endswith(".txt")):
        yield from (line for _, line in text_lines(path, allowed))
        return
    chosen = detect_format(path) if format is None else named_format(format)
    if chosen.name in RECORDS:
        source = Source(path, text=field_names(text), limits=allowed)
        yield from texts_of_records(source, RECORDS[chosen.name](path, allowed))
    else:
        yield from texts_of(chosen.read(Source(path, limits=allowed)))
