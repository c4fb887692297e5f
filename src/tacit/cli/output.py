"""Write suggestions to a file or stdout, block by block."""

from __future__ import annotations

import csv
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from tacit.data.cells import cell_of
from tacit.data.dataset import TableStyle
from tacit.data.files import UTF8_MARK
from tacit.data.record_writer import as_cell
from tacit.errors import FileError, ParameterError
from tacit.store.atomic import replacing
from tacit.tagger.suggest import DECIMALS, Suggestion

Row = list[Suggestion]
Readable = Callable[[str], str]
_PLAIN = TableStyle()


class Output(ABC):
    """A destination of suggestions; `n_done` samples are written. `readable` gives the name of a label.

    Each sample has its row in the input, counted from 1, and the `columns` of the input that are kept.
    """

    own: tuple[str, ...]  # columns beside those of the input

    n_done = 0

    def __init__(
        self, file: TextIO, readable: Readable = str, columns: Sequence[str] = (), style: TableStyle = _PLAIN
    ) -> None:
        self.file, self.style = file, style
        self.readable = readable
        self.columns = columns

    @classmethod
    def check(cls, columns: Sequence[str]) -> None:
        """Raise if a column of the input has the name of one that is written anyway."""
        for name in columns:
            if name in cls.own:
                raise ParameterError(f"the output has a column '{name}' of its own; rename the one of the input")

    def write(self, rows: Iterable[tuple[Mapping[str, Any], Row]]) -> None:
        """Write a block of samples, each with the fields of its input, and flush it."""
        number = self.n_done
        for number, (fields, row) in enumerate(rows, self.n_done + 1):
            self.write_row({"row": number} | {name: fields.get(name) for name in self.columns}, row)
        self.file.flush()
        self.n_done = number

    @abstractmethod
    def write_row(self, sample: Mapping[str, Any], row: Row) -> None:
        """Write the suggestions for one sample."""


class JsonLines(Output):
    """A JSON object with the list ``suggestions`` per sample; labels have a ``name`` if it differs from the label."""

    own = ("row", "suggestions")

    def write_row(self, sample: Mapping[str, Any], row: Row) -> None:
        """Write one sample."""
        found = [self._named(label) | {"score": round(score, DECIMALS)} for label, score in row]
        self.file.write(json.dumps({**sample, "suggestions": found}, ensure_ascii=False, default=str) + "\n")

    def _named(self, label: str) -> dict[str, object]:
        name = self.readable(label)
        return {"label": label} if name == label else {"label": label, "name": name}


class CsvLines(Output):
    """A line per sample: labels, names and scores, each separated by bars as `tacit.load_data` reads them.

    Its cells are separated as those of the input are, and a byte order mark tells Excel that it is UTF-8.
    Names are left out if each is the label itself: if `readable` is `str`.
    """

    own = ("row", "labels", "names", "scores")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._table = csv.writer(self.file, delimiter=self.style.delimiter, lineterminator="\n")
        self._own = [name for name in self.own if name != "names" or self.readable is not str]
        self.file.write(UTF8_MARK.decode() if self.style.has_mark else "")
        self._table.writerow([self._own[0], *self.columns, *self._own[1:]])

    def write_row(self, sample: Mapping[str, Any], row: Row) -> None:
        """Write one sample."""
        labels = [label for label, _ in row]
        names = ["|".join(map(self.readable, labels))] if "names" in self._own else []
        scores = "|".join(str(round(score, DECIMALS)) for _, score in row)
        self._table.writerow([*map(as_cell, sample.values()), cell_of(labels), *names, scores])


KINDS: dict[str, type[Output]] = {"jsonl": JsonLines, "csv": CsvLines}


@contextmanager
def open_output(
    path: Path | None,
    readable: Readable = str,
    columns: Sequence[str] = (),
    to_format: str | None = None,
    style: TableStyle = _PLAIN,
) -> Iterator[Output]:
    """Open stdout, if there is no path, or a file that appears when it is complete."""
    name = to_format or ("jsonl" if path is None else path.suffix.lower().removeprefix("."))
    if name not in KINDS:
        raise FileError(
            str(path), f"must end in {' or '.join(f'.{end}' for end in KINDS)}; rename the file, or give --to"
        )
    kind = KINDS[name]
    kind.check(columns)
    if path is None:
        yield kind(sys.stdout, readable, columns, style)
        return
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "is a folder")
        with replacing(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
            yield kind(file, readable, columns, style)
    except OSError as error:
        raise FileError(path, f"cannot be written: {error.strerror or error}") from error
