"""Reading data files of any format: whole data sets, or their texts one by one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.data.columns import without_untagged
from tacit.data.dataset import TableStyle, texts_of
from tacit.data.documents import samples_of_folder
from tacit.data.files import (
    STDIN,
    UTF8,
    check_encoding,
    existing_data,
    existing_file,
    first_lines,
    suffix,
    text_lines,
)
from tacit.data.formats import FORMATS, NAMES, Format, Source, named_format
from tacit.data.frames import FRAME, is_frame
from tacit.data.limits import FileLimits
from tacit.data.records import RECORDS, read_frame, samples_of_records, table_style
from tacit.errors import FileError, ParameterError

if TYPE_CHECKING:
    from tacit.data.dataset import Dataset


def load_data(
    path: str | os.PathLike[str] | Any,
    labels_path: str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
    text: str | Sequence[str] | None = None,
    labels: str | Sequence[str] | None = None,
    *,
    label_separator: str | None = None,
    untagged: str | None = None,
    encoding: str | None = None,
    default_text: Sequence[str] = (),
    keep_columns: bool = False,
    **limits: int | None,
) -> Dataset:
    """Read samples and their labels from a file, plain or gzip, a folder of documents, or a DataFrame.

    Parameters
    ----------
    path : path or DataFrame
        For formats that keep samples and labels in two files, either of the two. Labels of a DataFrame (pandas, polars
        or pyarrow) are lists, or cells as in CSV.
    labels_path : path, optional
        For formats with two files, the other file, if its name does not follow from `path`. For all other formats, a
        list of label names, one per line, or a vocabulary that `load_vocabulary` reads: the columns, in their order.
    format : str, optional
        One of `tacit.data.formats.FORMATS`; by default detected from the file's name and first line.
    text : str or sequence of str, optional
        For files with named fields, folders and DataFrames: the field(s) with the text, by default ``text``, or else
        all of ``title``, ``body``, ``content`` and ``document`` that occur.
    labels : str or sequence of str, optional
        For the same files: the field with the labels, or several with one label each; by default the first of
        ``labels``, ``tags``, ``subjects``, ``keywords`` and the like that occurs.
    label_separator : str, optional
        What separates labels in a cell; by default line ends, ``|``, ``;`` or ``,``, the first that many cells have.
    untagged : "skip" or "negative", optional
        Leave out rows without labels, or keep them, as by default.
    encoding : str, optional
        The encoding of a text file without a byte order mark, such as ``cp1252``; by default UTF-8.
    default_text : sequence of str
        If `text` names no fields: those with the text, where the file has them, before the usual ones.
    keep_columns : bool
        Keep all fields of these files in `table`, so that `save_data` writes them.
    **limits : int, optional
        Protection against hostile files: ``max_labels`` (default ten million), ``max_features`` (a hundred million),
        ``max_line`` (8 MiB) and ``max_expansion``, the unpacked bytes per byte of a compressed file (500).
    """
    file = FRAME if is_frame(path) else existing_data(path)
    names_path = None if labels_path is None else existing_file(Path(labels_path))
    source = Source(
        file, names_path, _field_names(text), _field_names(labels), FileLimits.of(**limits), keep_columns,
        _read_separator(label_separator), check_encoding(encoding or UTF8), tuple(default_text),
    )  # fmt: skip
    if is_frame(path):
        dataset = read_frame(path, source)
    else:
        chosen = format_of(file, format)
        if not chosen.is_text and (text is not None or labels is not None):
            raise ParameterError(f"text= and labels= name fields of text files; {file.name} is read as {chosen.name}")
        dataset = chosen.read(source)
    return without_untagged(dataset, untagged)


def stream_samples(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    text: str | Sequence[str] | None = None,
    encoding: str | None = None,
    default_text: Sequence[str] = (),
    **limits: int | None,
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield text and fields of each sample of a text file, of a ``.txt`` file of a text per line, or of stdin (``-``).

    Folders, JSONL, CSV, TSV, Parquet and plain lines are read lazily, so a file may be larger than memory. Formats
    without named fields have none. Parameters are as for `load_data`; stdin holds plain lines unless `format` says so.
    """
    encoding = check_encoding(encoding or UTF8)
    path = STDIN if Path(path) == STDIN else existing_data(path)
    source = Source(
        path, None, _field_names(text), (), FileLimits.of(**limits), False, None, encoding, (*default_text,)
    )
    if format is None and _is_lines(path, format):
        yield from ((line, {}) for _, line in text_lines(path, source.limits, encoding=encoding))
        return
    chosen = format_of(path, format)
    if chosen.name in RECORDS:
        yield from samples_of_records(source, chosen.name)
    elif chosen.name == "folder":
        yield from samples_of_folder(source)
    else:
        yield from ((sample, {}) for sample in texts_of(chosen.read(source)))


def output_style(path: Path, format: str | None = None, encoding: str | None = None) -> TableStyle:  # noqa: A002
    """How to write a table that belongs to a data file, so that the same programs open both."""
    if _is_lines(path, format) or existing_data(path).is_dir():
        return TableStyle()
    return table_style(Source(path, encoding=check_encoding(encoding or UTF8)), format_of(path, format).name)


def _is_lines(path: Path, name: str | None) -> bool:
    """Whether a file is read as a text per line."""
    return path == STDIN or (name is None and suffix(path) == ".txt" and not path.is_dir())


def _read_separator(mark: str | None) -> str | None:
    r"""What separates labels: as it is, or ``\n`` and ``\t`` as they are typed."""
    if mark == "":
        raise ParameterError("label_separator must have at least one character; got none")
    return None if mark is None else mark.replace("\\n", "\n").replace("\\t", "\t")


def format_of(path: Path, name: str | None) -> Format:
    """The format of this name, or else the one detected."""
    chosen = detect_format(path) if name is None else named_format(name)
    if path.is_dir() and chosen.name != "folder":
        raise FileError(path, f"must be a data file to be read as {chosen.name}, but is a folder; name a file in it")
    return chosen


def detect_format(path: Path) -> Format:
    """Detect the format of an existing file from its name and its first lines; that of a folder is ``folder``."""
    if path.is_dir():
        return FORMATS["folder"]
    candidates = [entry for entry in FORMATS.values() if suffix(path) in entry.suffixes]
    if len(candidates) == 1:
        return candidates[0]
    line = next(first_lines(path), "")
    for entry in candidates or FORMATS.values():
        if entry.opening is not None and re.match(entry.opening, line):
            return entry
    if candidates:
        return candidates[-1]
    raise FileError(path, f"the first line fits no known format; name the format, one of {NAMES}", line=1)


def _field_names(fields: str | Sequence[str] | None) -> tuple[str, ...]:
    """``"title,body"`` or a sequence of names as a tuple of names."""
    names = fields.split(",") if isinstance(fields, str) else fields or ()
    return tuple(name.strip() for name in names if name.strip())
