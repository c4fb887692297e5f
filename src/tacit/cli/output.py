"""Suggestions to a file or stdout, block by block; an interrupted file is continued."""

from __future__ import annotations

import csv
import io
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import FileError
from tacit.tagger.suggest import DECIMALS, Suggestion

Row = list[Suggestion]
Readable = Callable[[str], str]


class Output(ABC):
    """Where suggestions go; `n_lines` are there already, `n_done` samples. `readable` gives the name of a label."""

    def __init__(self, file: io.TextIOBase, n_lines: int, readable: Readable = str) -> None:
        self.file = file
        self.n_done = n_lines
        self.readable = readable

    def write(self, rows: Iterable[Row]) -> None:
        """Write a block of samples and hand it to the system."""
        for row in rows:
            self.write_row(row)
            self.n_done += 1
        self.file.flush()

    @abstractmethod
    def write_row(self, row: Row) -> None:
        """Write one sample."""


class JsonLines(Output):
    """An object with the list ``suggestions`` per sample; a label with a name of its own has it beside."""

    def write_row(self, row: Row) -> None:
        """Write one sample."""
        found = [self._named(label) | {"score": round(score, DECIMALS)} for label, score in row]
        self.file.write(json.dumps({"suggestions": found}, ensure_ascii=False) + "\n")

    def _named(self, label: str) -> dict[str, object]:
        name = self.readable(label)
        return {"label": label} if name == label else {"label": label, "name": name}


class CsvLines(Output):
    """A line per sample: labels, names and scores, each separated by bars as `tacit.load_data` reads them."""

    def __init__(self, file: io.TextIOBase, n_lines: int, readable: Readable = str) -> None:
        super().__init__(file, max(n_lines - 1, 0), readable)
        self._table = csv.writer(file, lineterminator="\n")
        if not n_lines:
            self._table.writerow(["labels", "names", "scores"])

    def write_row(self, row: Row) -> None:
        """Write one sample."""
        labels = [label for label, _ in row]
        awkward = any("|" in label or "\n" in label or label.startswith("[") for label in labels)
        joined = json.dumps(labels, ensure_ascii=False) if awkward else "|".join(labels)
        names = "|".join(self.readable(label) for label in labels)
        self._table.writerow([joined, names, "|".join(str(round(score, DECIMALS)) for _, score in row)])


@contextmanager
def open_output(path: Path | None, readable: Readable = str) -> Iterator[Output]:
    """Where to write: stdout, or a file that takes its name once it is whole.

    The file grows under the name ``PATH.partial``; what a stopped run left there is kept, and counted in `n_done`.
    """
    if path is None:
        yield JsonLines(sys.stdout, 0, readable)  # type: ignore[arg-type]
        return
    kinds = {".jsonl": JsonLines, ".csv": CsvLines}
    kind = kinds.get(path.suffix.lower())
    if kind is None:
        raise FileError(path, f"must end in {' or '.join(kinds)}; name the file so")
    partial = path.with_name(path.name + ".partial")
    output = None
    try:
        n_lines = _keep_whole_lines(partial)
        with partial.open("a", encoding="utf-8", newline="") as file:
            output = kind(file, n_lines, readable)
            yield output
        partial.replace(path)
    except OSError as error:
        raise FileError(path, f"cannot be written: {error.strerror or error}") from error
    finally:
        if output is not None and not output.n_done:
            partial.unlink(missing_ok=True)


def _keep_whole_lines(partial: Path) -> int:
    """Cut off the line that a stopped run did not finish, and count those before it."""
    if not partial.exists():
        return 0
    n_lines = end = 0
    with partial.open("r+b") as file:
        for line in file:
            if line.endswith(b"\n"):
                n_lines, end = n_lines + 1, end + len(line)
        file.truncate(end)
    return n_lines
