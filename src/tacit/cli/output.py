"""Write suggestions to a file or stdout, block by block."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from tacit.data.dataset import TableStyle
from tacit.data.fields import cell_of
from tacit.data.files import UTF8_MARK
from tacit.data.records import as_cell
from tacit.errors import FileError, ParameterError
from tacit.store.atomic import replacing
from tacit.tagger.suggest import DECIMALS, Suggestion

KINDS = ("jsonl", "csv")


@dataclass
class Output:
    """A file of suggestions: JSON lines, or a table with the separator and byte order mark of the input.

    Each sample has its row in the input, counted from 1, and some `columns` of the input. `readable` gives the name of
    a label; a table has names unless it is `str`.
    """

    file: TextIO
    is_table: bool
    readable: Callable[[str], str]
    columns: Sequence[str]
    style: TableStyle
    n_done: int = 0

    def __post_init__(self) -> None:
        own = ["labels", *([] if self.readable is str else ["names"]), "scores"] if self.is_table else ["suggestions"]
        if taken := {"row", *own}.intersection(self.columns):
            raise ParameterError(f"the output has a column '{min(taken)}' of its own; rename the one of the input")
        self._table = csv.writer(self.file, delimiter=self.style.delimiter, lineterminator="\n")
        if self.is_table:
            self.file.write(UTF8_MARK.decode() if self.style.has_mark else "")
            self._table.writerow(["row", *self.columns, *own])

    def write(self, rows: Iterable[tuple[Mapping[str, Any], list[Suggestion]]]) -> None:
        """Write a block of samples, each with the fields of its input."""
        for fields, suggestions in rows:
            self.n_done += 1
            sample = {"row": self.n_done} | {name: fields.get(name) for name in self.columns}
            if self.is_table:
                self._table.writerow([*map(as_cell, sample.values()), *self._cells(suggestions)])
            else:
                found = [self._named(label) | {"score": round(score, DECIMALS)} for label, score in suggestions]
                self.file.write(json.dumps(sample | {"suggestions": found}, ensure_ascii=False, default=str) + "\n")
        self.file.flush()

    def _cells(self, suggestions: list[Suggestion]) -> list[str]:
        labels = [label for label, _ in suggestions]
        names = [] if self.readable is str else ["|".join(map(self.readable, labels))]
        return [cell_of(labels), *names, "|".join(str(round(score, DECIMALS)) for _, score in suggestions)]

    def _named(self, label: str) -> dict[str, object]:
        name = self.readable(label)
        return {"label": label} if name == label else {"label": label, "name": name}


@contextmanager
def open_output(
    path: Path | None, readable: Callable[[str], str], columns: Sequence[str], style: TableStyle, kind: str | None
) -> Iterator[Output]:
    """Open stdout, if there is no path, or a file that appears when it is complete."""
    kind = kind or ("jsonl" if path is None else path.suffix.lower().removeprefix("."))
    if kind not in KINDS:
        raise FileError(str(path), "must end in .jsonl or .csv; rename the file, or give --to")
    if path is None:
        yield Output(sys.stdout, kind == "csv", readable, columns, style)
        return
    try:
        with replacing(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
            yield Output(file, kind == "csv", readable, columns, style)
    except OSError as error:
        raise FileError(path, f"cannot be written: {error.strerror or error}") from error
