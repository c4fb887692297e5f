"""The ledger of a model: all acts since training, one per line, in a file beside the base.

Lines are only appended. Each has the checksum of its record, and is on disk before the act is acknowledged. An
incomplete last line, left by a crash, was never acknowledged: readers ignore it, and the next writer truncates it.

::

    {"sum":"8c1f…","record":{"format":1,"id":"c3d9…","origin":"51ab…"}}
    {"sum":"b07a…","record":{"id":"5f0c…","time":"…","kind":"rename","label":"motor cars","name":"cars"}}
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from filelock import FileLock, Timeout

from tacit.errors import ModelFileError, ParameterError
from tacit.store.acts import Act, new_id
from tacit.store.atomic import sync

FORMAT = 1
_START, _MIDDLE, _END = b'{"sum":"', b'","record":', b"}\n"
_SUM_BYTES = 8
_BEFORE = len(_START) + 2 * _SUM_BYTES + len(_MIDDLE)  # bytes of a line before its record
_LOCK_TIMEOUT = 60.0  # seconds
_POLL = 0.005
_decode = json.JSONDecoder().decode


class Mark(NamedTuple):
    """A position in a ledger: the id of the file, and the offset of the end of a line."""

    file: str = ""
    end: int = 0


START = Mark()


@dataclass(frozen=True, eq=False)
class Contents:
    """The acts of a ledger, or those after a mark, in order."""

    acts: Sequence[Act] = ()
    origin: str = ""  # the base that the first act was made for; acts apply to it and to the bases updated from it
    mark: Mark = START  # the position after the last act
    is_whole: bool = True  # whether these are all acts of the ledger


class LedgerError(ModelFileError):
    """A ledger that cannot be opened or written now: full disk, missing permission, or another writer."""


class Ledger:
    """The ledger in a file, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.samples = path.with_name(f"{path.name}.samples")  # what the base makes of the acts' samples: a cache

    def read(self, after: Mark = START) -> Contents:
        """Read the acts after a mark, or all acts if the file was replaced."""
        try:
            with self.path.open("rb") as file:
                return self._read(file, after)
        except ModelFileError:
            if after == START:
                raise
            return self.read()  # whose error counts the lines from the first
        except FileNotFoundError:
            return Contents()
        except OSError as error:
            raise LedgerError(f"{self.path}: cannot be read ({error.strerror or error})") from error

    @contextmanager
    def locked(self) -> Iterator[Ledger]:
        """Lock the ledger, and everything else that its lock protects, for writing by this process."""
        try:
            lock = FileLock(f"{self.path}.lock", timeout=_LOCK_TIMEOUT, poll_interval=_POLL)
            lock.acquire()
        except Timeout:
            detail = f"another process has been writing for {_LOCK_TIMEOUT:.0f} s; try again"
            raise LedgerError(f"{self.path}: {detail}") from None
        except OSError as error:
            raise LedgerError(f"{self.path}: cannot be written ({error.strerror or error})") from error
        try:
            yield self
        finally:
            with suppress(OSError):  # what was done is done; the end of the process releases the lock, too
                lock.release()

    def _read(self, file: BinaryIO, after: Mark) -> Contents:
        first = file.readline()
        header = _record(first)
        if header is None:
            if first[: len(_START)] != _START[: len(first)] or first.endswith(b"\n"):  # else it was never finished
                raise self._damaged(1)
            return Contents()
        if header.get("format") != FORMAT:
            raise ModelFileError(f"{self.path}: a ledger of another format ({header.get('format')}); upgrade tacit")
        origin, name = str(header.get("origin", "")), str(header.get("id"))
        file.seek(max(after.end - 1, 0))
        is_whole = after.file != name or file.read(1) != b"\n"  # another file, or an older copy
        end = len(first) if is_whole else after.end
        file.seek(end)
        acts: list[Act] = []
        for line in file:
            record = _record(line)
            if record is None:
                rest = line + file.read()
                is_followed = any(_record(later) is not None for later in rest.splitlines(keepends=True)[1:])
                if is_followed or rest.count(_START) > 1:  # what was never finished is the start of one line
                    raise self._damaged(len(acts) + 2)
                break
            try:
                acts.append(Act.from_json(record))
            except ParameterError as error:
                raise ModelFileError(f"{self.path}:{len(acts) + 2}: {error}") from None
            end += len(line)
        return Contents(acts, origin, Mark(name, end), is_whole)

    def _damaged(self, line: int) -> ModelFileError:
        why = "damaged (its checksum does not match); copy the model again, or move this file away"
        return ModelFileError(f"{self.path}:{line}: {why}")

    def append(self, acts: Sequence[Act], origin: str, at: Mark) -> Mark:
        """Append acts under the lock, after the end of what was read; a new ledger gets this origin.

        On return all of them are on disk; on an error none is, or the error says that they may be.
        """
        path, name, is_new = self.path, at.file or new_id(), not at.end
        header = [_line({"format": FORMAT, "id": name, "origin": origin})] if is_new else []
        content = b"".join([*header, *(_line(act.to_json()) for act in acts)])
        try:
            if is_new and self.read().acts:  # acts on another model, which were left out
                path.replace(path.with_name(f"{path.name}.left-out-{new_id()[:8]}"))
            file = path.open("ab", buffering=0)
            try:
                if file.tell() < at.end:
                    raise LedgerError(f"{path}: was replaced by a shorter file; load the model again")
                file.truncate(at.end)  # an incomplete line was never acknowledged
                self._write(file, content, at.end)
            finally:
                with suppress(OSError):  # the content is synced
                    file.close()
        except OSError as error:
            raise LedgerError(f"{path}: cannot be written ({error.strerror or error})") from error
        return Mark(name, at.end + len(content))

    def _write(self, file: FileIO, content: bytes, end: int) -> None:
        """Write lines at the end, and sync them; if that fails, cut them off again."""
        try:
            written = 0
            while written < len(content):
                written += file.write(content[written:])
            os.fsync(file.fileno())
            if not end:
                sync(self.path.parent)
        except OSError as error:
            try:
                file.truncate(end)
            except OSError:
                raise LedgerError(
                    f"{self.path}: could not be written ({error.strerror or error}) nor cut back, so that the change "
                    "may have been recorded; look at the history before you repeat it"
                ) from error
            with suppress(OSError):
                os.fsync(file.fileno())
            raise


def is_ledger(path: Path) -> bool:
    """Whether a file is a ledger."""
    try:
        with path.open("rb") as file:
            return file.read(len(_START)) == _START
    except OSError:
        return False


def _record(line: bytes) -> dict[str, Any] | None:
    """The record in a line, or None if the line is incomplete or damaged."""
    record = line[_BEFORE : -len(_END)]
    if line[:_BEFORE] != _START + _checksum(record) + _MIDDLE or not line.endswith(_END):
        return None
    try:
        found = _decode(record.decode())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _checksum(record: bytes) -> bytes:
    return hashlib.blake2b(record, digest_size=_SUM_BYTES).hexdigest().encode()


def _line(record: Mapping[str, Any]) -> bytes:
    try:
        content = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only its number can name
        content = json.dumps(record, separators=(",", ":")).encode()
    return _START + _checksum(content) + _MIDDLE + content + _END
