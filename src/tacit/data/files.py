"""Files as bytes and lines: read plain or gzip, written atomically.

Every failure below a reader (missing file, broken gzip, wrong encoding) is turned into a `FileError` here.
"""

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

#: The path that stands for standard input; outside `holding_stdin` it can be read only once.
STDIN = Path("-")
BLOCK_BYTES = 1 << 20
UTF8_MARK = codecs.BOM_UTF8
UTF8 = "utf-8"
_ENCODINGS = {codecs.BOM_UTF8: UTF8, codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # by their marks
_LONGEST_SNIFF = 1 << 16
_MOST_SNIFFED = 1 << 20
_UNPACKED_AT_ONCE = 1 << 17
_FREE_BYTES = 1 << 22  # a packed file may become so large whatever its own size
_held: list[tuple[IO[bytes], bytes]] = []  # standard input that was read to its end, and what is held of it


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
    """Check that a data file can be read, or that it is a folder, whose files are checked when they are opened."""
    return Path(path) if Path(path).is_dir() else existing_file(path)


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Check that a file can be read; the error for a missing file suggests the most similar name in its folder."""
    path = Path(path)
    if path == STDIN:
        return path
    if path.is_dir():
        raise FileError(path, "must be a data file, but is a folder; name a file in it")
    if not path.exists():
        names = (entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else ()
        raise FileError(path, f"no such file{did_you_mean(path.name, names)}")
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):  # not opened: that may wait forever
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a device or socket"
        message = f"must be a file that can be read more than once, but is {kind}"
        raise FileError(path, f"{message}; save what it gives to a file (suggest takes '-' for standard input)")
    if path.stat().st_size == 0 and next(first_lines(path), None) is None:  # those of /proc have content but no size
        raise FileError(path, "the file is empty; it must hold at least one sample")
    return path


@contextlib.contextmanager
def holding_stdin(path: Path) -> Iterator[None]:
    """Inside the block, standard input can be read repeatedly like a file, if `path` stands for it.

    The first line is read once to detect the format, and some readers read the samples twice.
    """
    if path != STDIN:
        yield
        return
    source = sys.stdin.buffer
    if _held and _held[-1][0] is source:
        raise FileError(path, "standard input can be read once; give a file for the other data")
    content = source.read()
    if not content:
        raise FileError(path, "standard input is empty; it must hold at least one sample")
    _held[:] = [(source, content)]
    try:
        yield
    finally:
        _held[:] = [(source, b"")]


@contextlib.contextmanager
def reading(path: Path, limits: FileLimits = LIMITS, encoding: str | None = None) -> Iterator[IO[bytes]]:
    """Open a file for reading its uncompressed bytes, those of a text in another encoding as UTF-8.

    A byte order mark of UTF-8 or UTF-16 tells more of the encoding than the caller.
    """
    with unpacked(path, limits) as file:
        named = marked_encoding(file) or encoding or UTF8
        is_other = codecs.lookup(named) != codecs.lookup(UTF8)
        yield io.BufferedReader(_Transcoding(path, file, named), _UNPACKED_AT_ONCE) if is_other else file


def marked_encoding(file: IO[bytes]) -> str | None:
    """The encoding that the byte order mark at the start of a file names, if it has one."""
    start = file.peek(len(UTF8_MARK)) if hasattr(file, "peek") else b""
    return next((encoding for mark, encoding in _ENCODINGS.items() if start.startswith(mark)), None)


def check_encoding(name: str) -> str:
    """The name of an encoding of texts, if it is one."""
    try:
        "".encode(name)
        codecs.getincrementaldecoder(name)()
    except (LookupError, UnicodeError, ValueError):
        raise ParameterError(
            f"encoding must be the name of an encoding, such as utf-8, cp1252 or latin-1; got {name!r}"
        ) from None
    return name


@contextlib.contextmanager
def unpacked(path: Path, limits: FileLimits = LIMITS) -> Iterator[IO[bytes]]:
    """Open a file for reading its uncompressed bytes as they are."""
    if path == STDIN:
        held = [content for source, content in _held if source is sys.stdin.buffer]
        yield io.BufferedReader(io.BytesIO(held[0])) if held else sys.stdin.buffer
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
        self._n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n_read = self._content.readinto(buffer)
        self._n_bytes += n_read
        self._limits.check_expansion(self._path, self._packed.tell(), self._n_bytes, _FREE_BYTES)
        return n_read


class _Transcoding(io.RawIOBase):
    """The text of a file in any encoding, as UTF-8."""

    def __init__(self, path: Path, file: IO[bytes], encoding: str) -> None:
        self._path, self._file, self._encoding = path, file, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._line, self._rest = 1, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            raw = self._file.read(_UNPACKED_AT_ONCE)
            try:
                self._rest = self._decoder.decode(raw, not raw).encode()
            except UnicodeError as error:
                message = f"is not a text in {self._encoding} ({error}); name its encoding with encoding="
                where = raw[: getattr(error, "start", 0)].count(b"\n")
                raise FileError(self._path, message, line=self._line + where) from error
            self._line += self._rest.count(b"\n")
            if not raw:
                break
        n_bytes = min(len(buffer), len(self._rest))
        buffer[:n_bytes], self._rest = self._rest[:n_bytes], self._rest[n_bytes:]
        return n_bytes


def read_bytes(path: Path, limits: FileLimits = LIMITS) -> bytes:
    """Read the whole uncompressed content of a file, in whatever encoding."""
    with unpacked(path, limits) as file:
        return b"".join(iter(functools.partial(file.read, BLOCK_BYTES), b"")) if is_gzip(path) else file.read()


def first_line(path: Path) -> bytes:
    """The first line, at most 64 KiB of it, without line end and byte order mark."""
    return next(first_lines(path), b"")


def first_lines(path: Path, encoding: str | None = None) -> Iterator[bytes]:
    """The lines of the first MiB, at most 64 KiB of each, without line ends and byte order mark."""
    with reading(path, encoding=encoding) as file:
        n_read = 0
        while n_read < _MOST_SNIFFED and (line := file.readline(_LONGEST_SNIFF)):
            yield (line if n_read else line.removeprefix(UTF8_MARK)).rstrip(b"\r\n")
            n_read += len(line)


def decode(path: Path, raw: bytes, line: int, hint: str = "") -> str:
    """Decode a line of UTF-8; the error names the first invalid byte."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"must be UTF-8 text, but has the byte 0x{raw[error.start]:02x} at column {error.start + 1}"
        raise FileError(path, f"{message}; save the file as UTF-8{hint}", line=line) from error


def text_lines(
    path: Path, limits: FileLimits = LIMITS, *, keep_ends: bool = False, encoding: str | None = None
) -> Iterator[tuple[int, str]]:
    """Line numbers (from 1) and lines of a file, without their ends unless `keep_ends` is set.

    It is in UTF-8 unless it has a mark of UTF-16, or the user may name its encoding.
    """
    is_packed, n_blank = is_gzip(path), 0
    hint = "" if encoding is None else ", or name its encoding with encoding= (for most files of Excel it is cp1252)"
    with reading(path, limits, encoding) as file:
        most = limits.max_line + 1
        for number, raw in enumerate(iter(functools.partial(file.readline, most), b""), 1):
            if len(raw) == most:
                limits.check_line(path, most, number)
            if number == 1:
                raw = raw.removeprefix(UTF8_MARK)
            line = decode(path, raw, number, hint)
            if is_packed and line.isspace():
                n_blank += 1
                limits.check_blank(path, n_blank, number)
            yield number, line if keep_ends else line.removesuffix("\n").removesuffix("\r")


def line_blocks(path: Path, limits: FileLimits = LIMITS, *, skip_lines: int = 0) -> Iterator[Bytes]:
    """Yield arrays of complete lines, each about a megabyte long and ending with a line feed."""
    with reading(path, limits) as file:
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
            with temporary.open("wb") as raw:
                if is_gzip(path):
                    # Without name and time the same content gives the same bytes.
                    with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                        yield cast("IO[bytes]", packed)
                else:
                    yield raw
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
