"""The log of what people taught a served model: accepted and rejected suggestions, labels added, acts taken back.

A file of JSON lines to which lines are only ever added. Each line carries the checksum of its record, and is on disk
before anyone is told that it was recorded. A line that was being written when the machine or the process stopped was
promised to nobody: it is recognised, and cut off before the next is added.

::

    {"sum":"8c1f…","record":{"number":0,"act":"open","log":"5f0c…","format":1}}
    {"sum":"b07a…","record":{"number":1,"time":"…","act":"judge","judgements":[{"text":…,"label":…,"accepted":true}]}}
    {"sum":"19d2…","record":{"number":2,"time":"…","act":"add","name":"heat pump","examples":[…]}}
    {"sum":"e6b5…","record":{"number":3,"time":"…","act":"undo","of":2}}
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from tacit.errors import FileError
from tacit.store.files import sync

FORMAT = 1
_START, _MIDDLE, _END = b'{"sum":"', b'","record":', b"}\n"
_SUM_BYTES = 8
_MAX_FIRST_LINE = 200


@dataclass(frozen=True)
class Record:
    """An act: its number in the log, what kind it is, and what it says."""

    number: int
    act: str
    content: Mapping[str, Any]


@dataclass(frozen=True)
class Contents:
    """What a log holds.

    Attributes
    ----------
    log : str
        What tells this log from all others.
    records : list of Record
        All acts, in order.
    size : int
        Bytes up to the end of the last whole line.
    is_torn : bool
        Whether a line follows that was not finished.
    """

    log: str
    records: list[Record]
    size: int
    is_torn: bool

    def in_force(self, after: int = 0) -> list[Record]:
        """The acts with a number above `after` that were not taken back."""
        undone = {record.content.get("of") for record in self.records if record.act == "undo"}
        later = (record for record in self.records if record.number > after and record.act != "undo")
        return [record for record in later if record.number not in undone]


def is_log(path: Path) -> bool:
    """Whether a file is such a log."""
    try:
        with path.open("rb") as file:
            return file.read(len(_START)) == _START
    except OSError:
        return False


def read_log(path: Path) -> Contents:
    """All that a log holds; a damaged line before others that are whole is an error."""
    try:
        with path.open("rb") as file:
            return _read(path, file)
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror or error}") from error


def _read(path: Path, file: BinaryIO) -> Contents:
    records: list[Record] = []
    log, size, bad_line = "", 0, 0
    for number, line in enumerate(file):
        content = _content(line)
        if content is None:
            bad_line = bad_line or number + 1
            continue
        if bad_line or content.get("number") != number:
            detail = "is damaged, or lines are missing before it; restore the file from a copy, or move it away"
            raise FileError(path, detail, line=bad_line or number + 1)
        if number == 0:
            if content.get("act") != "open" or content.get("format") != FORMAT:
                raise FileError(path, f"must be a feedback log of format {FORMAT}; use the tacit that wrote it", line=1)
            log = str(content["log"])
        else:
            records.append(Record(number, str(content["act"]), content))
        size += len(line)
    if not log and file.tell() > _MAX_FIRST_LINE:
        raise FileError(path, "is not a feedback log; name another file")
    return Contents(log, records, size, bool(bad_line))


def _content(line: bytes) -> dict[str, Any] | None:
    """The record in a line, or None if the line is torn or damaged."""
    start = len(_START) + 2 * _SUM_BYTES
    record = line[start + len(_MIDDLE) : -len(_END)]
    if line != _START + _checksum(record) + _MIDDLE + record + _END:
        return None
    found: dict[str, Any] = json.loads(record)
    return found


def _checksum(record: bytes) -> bytes:
    return hashlib.blake2b(record, digest_size=_SUM_BYTES).hexdigest().encode()


def _line(content: Mapping[str, Any]) -> bytes:
    record = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    return _START + _checksum(record) + _MIDDLE + record + _END


class FeedbackLog:
    """A log that is being written, by this process alone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise FileError(path, f"cannot be written: {error.strerror or error}; name another folder") from error
        try:
            self._prepare()
        except BaseException:
            self._file.close()
            raise

    def _prepare(self) -> None:
        _lock(self._file, self.path)
        found = read_log(self.path)
        self._size = found.size
        self._next = len(found.records) + 1
        self.log = found.log or secrets.token_hex(16)
        if found.is_torn:
            self._file.truncate(found.size)
        if not found.log:
            self._write(_line({"number": 0, "act": "open", "log": self.log, "format": FORMAT}))
            sync(self.path.parent)

    def append(self, acts: Sequence[Mapping[str, Any]]) -> list[int]:
        """Add acts and give their numbers; they are on disk when this returns, or none of them is."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        numbers = list(range(self._next, self._next + len(acts)))
        self._write(
            b"".join(_line({"number": number, "time": now, **act}) for number, act in zip(numbers, acts, strict=True))
        )
        self._next += len(acts)
        return numbers

    def contents(self) -> Contents:
        """What the log holds now."""
        return read_log(self.path)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _write(self, lines: bytes) -> None:
        try:
            written = 0
            while written < len(lines):
                written += self._file.write(lines[written:])
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(self._size)  # what may be there in part was promised to nobody
            raise FileError(self.path, f"cannot be written: {error.strerror or error}") from error
        self._size += len(lines)


def described(record: Record) -> str:
    """An act in words."""
    if record.act == "add":
        return f"added '{record.content['name']}'"
    judged: Iterable[Mapping[str, Any]] = record.content["judgements"]
    verdicts = [f"{'accepted' if each['accepted'] else 'rejected'} '{each['label']}'" for each in judged]
    return ", ".join(verdicts[:3]) + (f" and {len(verdicts) - 3} more" if len(verdicts) > 3 else "")


def _lock(file: BinaryIO | Any, path: Path) -> None:
    """Keep other processes from writing the log; the lock goes with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise FileError(path, "is being written by another service; stop it, or name another folder") from None
