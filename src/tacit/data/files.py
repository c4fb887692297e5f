"""Files as bytes and lines: read plain or gzip, written atomically; every failure is a `FileError`."""

from __future__ import annotations

import codecs
import contextlib
import functools
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from tacit.arrays import Bytes
from tacit.data.limits import LIMITS, FileLimits
from tacit.errors import FileError, ParameterError, did_you_mean
from tacit.progress import drafts

#: The path that stands for standard input, which can be read only once.
STDIN = Path("-")
BLOCK_BYTES = 1 << 20
UTF8_MARK = codecs.BOM_UTF8
UTF8 = "utf-8"
_ENCODINGS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_LONGEST_SNIFF = 1 << 16
_UNPACKED_AT_ONCE = 1 << 17
_FREE_BYTES = 1 << 22  # a packed file may become so large whatever its own size


def is_gzip(path: Path) -> bool:
    """Whether a file is compressed, by its name."""
    return path.suffix.lower() == ".gz"


def plain_name(path: Path) -> str:
    """The name of a file without ``.gz``."""
    return path.name[:-3] if is_gzip(path) else path.name


def suffix(path: Path) -> str:
    """The suffix of a file name in lower case, ``.gz`` left out."""
    return Path(plain_name(path)).suffix.lower()


def sibling(path: Path, name: str) -> Path | None:
    """The file `name`, or `name` with ``.gz``, in the folder of `path`, if there is one."""
    candidates = (path.with_name(name), path.with_name(name + ".gz"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def existing_data(path: str | os.PathLike[str]) -> Path:
    """Check that a file or folder of data can be read."""
    return Path(path) if Path(path).is_dir() else existing_file(path)


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Check that a file can be read; the error for a missing file suggests the most similar name in its folder."""
    path = Path(path)
    if path.is_dir():
        raise FileError(path, "must be a data file, but is a folder; name a file in it")
    if not path.exists():
        names = (entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else ()
        raise FileError(path, f"no such file{did_you_mean(path.name, names)}")
    if not stat.S_ISREG(path.stat().st_mode):  # not opened: that may wait forever
        message = "must be a file that can be read more than once, but is a pipe, device or socket"
        raise FileError(path, f"{message}; save what it gives to a file (suggest takes '-' for standard input)")
    if path.stat().st_size == 0:
        raise FileError(path, "the file is empty; it must hold at least one sample")
    return path


def marked_encoding(file: IO[bytes]) -> str | None:
    """The encoding that the byte order mark at the start of a file names, if it has one."""
    start = file.peek(len(UTF8_MARK)) if hasattr(file, "peek") else b""
    return next((encoding for mark, encoding in _ENCODINGS.items() if start.startswith(mark)), None)


def check_encoding(name: str) -> str:
    """The name of an encoding of texts, if it is one."""
    try:
        "".encode(name)
    except (LookupError, ValueError):
        raise ParameterError(f"encoding must be one that Python knows, such as utf-8 or cp1252; got {name!r}") from None
    return name


@contextlib.contextmanager
def unpacked(path: Path, limits: FileLimits = LIMITS) -> Iterator[IO[bytes]]:
    """Open a file for reading its uncompressed bytes."""
    if path == STDIN:
        yield sys.stdin.buffer
        return
    try:
        with path.open("rb") as file:
            yield io.BufferedReader(_Unpacking(path, file, limits), _UNPACKED_AT_ONCE) if is_gzip(path) else file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileError(path, f"is not a whole gzip file ({error}); copy or download it again") from error
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror or error}") from error


class _Unpacking(io.RawIOBase):
    """The uncompressed bytes of a gzip file, with a limit on their number."""

    def __init__(self, path: Path, packed: IO[bytes], limits: FileLimits) -> None:
        self._path, self._packed, self._limits = path, packed, limits
        self._content = gzip.GzipFile(fileobj=packed)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n_read = self._content.readinto(buffer)
        self._limits.check_expansion(self._path, self._packed.tell(), self._content.tell(), _FREE_BYTES)
        return n_read


def read_bytes(path: Path, limits: FileLimits = LIMITS) -> bytes:
    """Read the whole uncompressed content of a file, in whatever encoding."""
    with unpacked(path, limits) as file:
        return b"".join(iter(functools.partial(file.read, BLOCK_BYTES), b"")) if is_gzip(path) else file.read()


@contextlib.contextmanager
def _reading_text(path: Path, limits: FileLimits, encoding: str, errors: str = "strict") -> Iterator[io.TextIOWrapper]:
    """Open a file for reading text; a byte order mark tells more of the encoding than the caller."""
    with unpacked(path, limits) as file:
        text = io.TextIOWrapper(cast("Any", file), marked_encoding(file) or encoding, errors, newline="\n")
        try:
            yield text
        finally:
            text.detach()  # or it would close standard input


def first_lines(path: Path, encoding: str = UTF8) -> Iterator[str]:
    """The first lines, at most 64 KiB of each, without their ends; what is not text is replaced."""
    with _reading_text(path, LIMITS, encoding, "replace") as text:
        while line := text.readline(_LONGEST_SNIFF):
            yield line.rstrip("\r\n")


def text_lines(
    path: Path, limits: FileLimits = LIMITS, *, keep_ends: bool = False, encoding: str = UTF8
) -> Iterator[tuple[int, str]]:
    """Line numbers (from 1) and lines of a file, without their ends unless `keep_ends` is set."""
    number = 1
    with _reading_text(path, limits, encoding) as text:
        try:
            while line := text.readline(limits.max_line + 1):
                limits.check_line(path, len(line), number)
                yield number, line if keep_ends else line.removesuffix("\n").removesuffix("\r")
                number += 1
        except UnicodeDecodeError as error:
            message = f"must be text in {text.encoding}, but has the byte 0x{error.object[error.start]:02x}"
            remedy = "save it as UTF-8, or name its encoding with encoding= (for most files of Excel it is cp1252)"
            line_number = number + error.object[: error.start].count(b"\n")
            raise FileError(path, f"{message} ({error.reason}); {remedy}", line=line_number) from error


def line_blocks(path: Path, limits: FileLimits = LIMITS, *, skip_lines: int = 0) -> Iterator[Bytes]:
    """Yield arrays of complete lines, each about a megabyte long and ending with a line feed."""
    with unpacked(path, limits) as file:
        for _ in range(skip_lines):
            limits.check_line(path, len(file.readline(limits.max_line + 1)), None)
        mark = UTF8_MARK if skip_lines == 0 else b""
        # A block ends with the line it breaks off in; a line feed beyond the limit is not looked for.
        while piece := (file.read(BLOCK_BYTES) + (rest := file.readline(limits.max_line + 1))).removeprefix(mark):
            limits.check_line(path, len(rest), None)
            mark = b""
            yield np.frombuffer(piece if piece.endswith(b"\n") else piece + b"\n", dtype=np.uint8)


def check_place(path: str | os.PathLike[str]) -> Path:
    """Check that a new file can have this path: its folder exists, and it is no folder itself."""
    path = Path(path)
    if path.is_dir():
        raise FileError(path, "cannot be written: it is a folder; name a file")
    if not path.parent.is_dir():
        raise FileError(path, f"cannot be written: there is no folder {path.parent}; create it first")
    return path


def check_unread(path: Path, *read: Path) -> None:
    """Raise if a file that is to be written is one of those that are read."""
    for source in read:
        if source != STDIN and path.exists() and source.exists() and path.samefile(source):
            raise FileError(path, "is the file that is read; name another one to write")


def make_folder(path: Path) -> None:
    """Create a folder for files, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(path, f"cannot be a folder for files: {error.strerror or error}; name another one") from error


class Staging:
    """Writes several files atomically: on an error, none of them appears."""

    def __init__(self) -> None:
        self._drafts: dict[Path, Path] = {}  # temporary files, with their paths

    def __enter__(self) -> Staging:
        return self

    @contextlib.contextmanager
    def open(self, path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
        """Open a new file that is renamed to `path` at the end; compressed if `path` ends in ``.gz``."""
        path = check_place(path)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        self._drafts[temporary] = path
        drafts.add(temporary)
        try:
            with contextlib.ExitStack() as files:
                file: Any = files.enter_context(temporary.open("wb"))
                if is_gzip(path):  # without name and time the same content gives the same bytes
                    file = files.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
                yield file
        except OSError as error:
            raise FileError(path, f"cannot be written: {error.strerror or error}") from error

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            for temporary, path in self._drafts.items() if kind is None else ():
                temporary.replace(path)
        except OSError as error:
            raise FileError(path, f"cannot be written: {error.strerror or error}") from error
        finally:
            for temporary in self._drafts:
                temporary.unlink(missing_ok=True)
                drafts.discard(temporary)

    @property
    def paths(self) -> list[Path]:
        """The files opened so far, in order."""
        return list(self._drafts.values())
