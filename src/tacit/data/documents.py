"""A folder of documents, one per file, like Annif's full-text corpora.

A document is a ``.txt`` file whose labels are in the file of the same stem beside it: ``.tsv`` with lines
``<uri><TAB>name``, or else ``.key`` with one name per line. Or it is a ``.json`` file with the fields of a record of
JSONL, such as ``text``, ``metadata`` and ``subjects``. A URI goes before a name. Documents without labels are samples
without labels; other files are ignored. Samples are in the order of the file names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacit.data.dataset import Dataset, Table
from tacit.data.fields import default_label_fields, default_text_fields, joined_text, label_names
from tacit.data.files import Staging, plain_name, sibling, suffix, text_lines
from tacit.data.formats import Source, Target
from tacit.data.label_names import bare_uri, text_dataset
from tacit.data.records import json_record
from tacit.errors import FileError

_TEXT, _JSON = ".txt", ".json"
_FILE = "file"  # the field with the name of a document


def read(source: Source) -> Dataset:
    """Read the documents of a folder, which is named by its own path or by that of a file in it."""
    paths, texts, rows, kept = [], [], [], []
    for path, record in _records(source):
        paths.append(path)
        kept.append(record)
        texts.append(_text(source, path, record))
        if suffix(path) == _TEXT:
            rows.append(_labels_beside(path, source))
        else:
            values = [record.get(name) for name in source.labels or default_label_fields(record)]
            rows.append([label for value in values for label in label_names(path, None, value)])
    if source.labels_path is None and not any(rows):
        message = "no document has labels: a.txt must have a.key or a.tsv beside it, and a.json a field for them"
        raise FileError(source.path, f"{message}; if this is no folder of documents, name a data file in it")
    dataset = text_dataset(source, [None] * len(texts), texts, rows, paths)
    if source.keep:
        fields = source.labels or next(filter(None, map(default_label_fields, kept)), ())
        dataset.table = Table(kept, fields, rows, dataset.Y)
    return dataset


def write(_dataset: Dataset, target: Target, _staging: Staging) -> None:
    """Raise: parts of a folder are written in one file."""
    raise FileError(target.path, "a folder of documents can be read, not written; write .jsonl")


def samples_of_folder(source: Source) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield text and fields of each document, with the name of its file; labels are ignored."""
    for path, record in _records(source):
        yield _text(source, path, record), record


def _records(source: Source) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The documents; pipes and devices are none, as opening them may wait forever."""
    folder = source.path if source.path.is_dir() else source.path.parent
    try:
        found = sorted(path for path in folder.iterdir() if suffix(path) in (_TEXT, _JSON) and path.is_file())
    except OSError as error:
        raise FileError(folder, f"cannot be read: {error.strerror or error}") from error
    documents = [path for path in found if not path.name.startswith(".")]
    if not documents:
        message = "holds no documents, which are .txt files with .key or .tsv files beside them, or .json files"
        raise FileError(folder, f"{message}; name another folder, or a data file")
    for path in documents:
        content = "".join(line for _, line in text_lines(path, source.limits, keep_ends=True, encoding=source.encoding))
        record = {"text": content} if suffix(path) == _TEXT else json_record(path, content)
        yield path, {**record, _FILE: record.get(_FILE, path.name)}


def _text(source: Source, path: Path, record: Mapping[str, Any]) -> str:
    return joined_text(path, None, record, source.text or default_text_fields(path, None, record))


def _labels_beside(path: Path, source: Source) -> list[str]:
    stem = plain_name(path)[: -len(_TEXT)]
    found = sibling(path, f"{stem}.tsv") or sibling(path, f"{stem}.key")
    lines = [] if found is None else [line for _, line in text_lines(found, source.limits, encoding=source.encoding)]
    return [label for label in map(_label_of_line, lines) if label]


def _label_of_line(line: str) -> str:
    """The URI of a line, which is in angle brackets, or else the first cell."""
    cells = [cell.strip() for cell in line.split("\t") if cell.strip()]
    return next((bare_uri(cell) for cell in cells if bare_uri(cell) != cell), cells[0] if cells else "")
