"""Write suggestions to a file or stdout, block by block; an interrupted run can be resumed.

Its file is ``PATH.partial``: a first line that identifies the model, the input and the options, then the finished rows.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
_HEADING = "tacit suggest"
_LONGEST_HEADING = 1 << 24  # bytes; the file may be anything


class Output(ABC):
    """A destination of suggestions; `n_done` samples are already written. `readable` gives the name of a label.

    Each sample has its row in the input, counted from 1, and the `columns` of the input that are kept.
    """

    n_heading = 0  # rows before the first sample
    own: tuple[str, ...]  # columns beside those of the input

    def __init__(
        self,
        file: io.TextIOBase,
        n_rows: int,
        readable: Readable = str,
        columns: Sequence[str] = (),
        style: TableStyle = _PLAIN,
    ) -> None:
        self.file, self.style = file, style
        self.n_rows, self.n_done = n_rows, max(n_rows - self.n_heading, 0)
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

    n_heading = 1
    own = ("row", "labels", "names", "scores")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._table = csv.writer(self.file, delimiter=self.style.delimiter, lineterminator="\n")
        self._own = [name for name in self.own if name != "names" or self.readable is not str]
        if not self.n_rows:
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
    run: Mapping[str, Any],
    readable: Readable = str,
    columns: Sequence[str] = (),
    to_format: str | None = None,
    style: TableStyle = _PLAIN,
    *,
    goes_on: bool = True,
) -> Iterator[Output]:
    """Open stdout, if there is no path, or a file that gets its final name when it is complete.

    Until then it is called ``PATH.partial``. Rows of an interrupted run are kept, and counted in `n_done`, if that run
    had the same `run`: the JSON values that identify a run. Unless `goes_on`, the file is started anew.
    """
    if path is None:
        KINDS[to_format or "jsonl"].check(columns)
        yield KINDS[to_format or "jsonl"](sys.stdout, 0, readable, columns, style)  # type: ignore[arg-type]
        return
    kind = KINDS.get(to_format or path.suffix.lower().removeprefix("."))
    if kind is None:
        raise FileError(path, f"must end in {' or '.join(f'.{name}' for name in KINDS)}; rename the file, or give --to")
    kind.check(columns)
    partial = path.with_name(path.name + ".partial")
    heading = json.dumps({_HEADING: run}, ensure_ascii=False, sort_keys=True).encode() + b"\n"
    output = None
    try:
        n_rows = _kept_rows(partial, heading, path, goes_on, is_csv=kind is CsvLines)
        with partial.open("a", encoding="utf-8", newline="") as file:
            output = kind(file, n_rows, readable, columns, style)
            yield output
        _take_name(partial, len(heading), path)
    except OSError as error:
        raise FileError(path, f"cannot be written: {error.strerror or error}") from error
    finally:
        if output is not None and not (output.n_done and goes_on):
            partial.unlink(missing_ok=True)


def _kept_rows(partial: Path, heading: bytes, path: Path, goes_on: bool, *, is_csv: bool) -> int:
    """Cut off the incomplete last row of an interrupted run and count the rows before it; create the file if needed."""
    if partial.exists() and not partial.is_file():
        raise FileError(partial, f"must be a file, for the finished rows of {path.name}; move what is there")
    with partial.open("a+b") as file:
        file.seek(0)
        found = file.readline(_LONGEST_HEADING)
        if not heading.startswith(found):  # a run that was stopped within the heading has nothing to resume
            raise FileError(partial, _difference(found, heading, path))
        if found != heading or not goes_on:
            file.truncate(0)
            file.write(heading)
            return 0
        n_rows = n_quotes = 0
        end = here = len(heading)
        for line in file:
            here += len(line)
            n_quotes += line.count(b'"') if is_csv else 0
            if line.endswith(b"\n") and n_quotes % 2 == 0:  # a cell may have line feeds, within quotes
                n_rows, end = n_rows + 1, here
        file.truncate(end)
        return n_rows


def _difference(found: bytes, heading: bytes, path: Path) -> str:
    """Why an interrupted run cannot be resumed."""
    advice = f"finish that run, delete the file to start {path.name} anew, or choose another --out"
    try:
        before, now = (json.loads(line)[_HEADING] for line in (found, heading))
        names = [name for name in sorted(now.keys() | before.keys()) if before.get(name) != now.get(name)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return f"was not written by tacit suggest and cannot be resumed; {advice}"
    return f"belongs to an interrupted run that differs in {', '.join(names)}; {advice}"


def _take_name(partial: Path, n_bytes: int, path: Path) -> None:
    """Give a complete file its final name, without its heading of `n_bytes`."""
    with replacing(path) as whole, partial.open("rb") as source, whole.open("wb") as target:
        source.seek(n_bytes)
        shutil.copyfileobj(source, target, 1 << 20)
    partial.unlink()
