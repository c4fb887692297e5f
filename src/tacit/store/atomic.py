"""Arrays in safetensors files: written atomically, read by memory-mapping; checksums and syncing of files."""

from __future__ import annotations

import errno
import hashlib
import json
import mmap
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import save_file

from tacit.errors import ModelFileError
from tacit.progress import drafts

Stamp = tuple[int, int, int]

_DTYPES = {
    "BOOL": "?", "U8": "<u1", "I8": "<i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
#: What may be raised by reading content that is not as it should be.
MALFORMED = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)

_CANNOT_SYNC_FOLDERS = (errno.EINVAL, errno.ENOTSUP)  # of a file system, such as some over a network
_MAX_HEADER = 100_000_000  # bytes; the limit of the safetensors format itself


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that is synced and renamed to `path` on success, and removed on failure."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    drafts.add(temporary)
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    finally:
        drafts.discard(temporary)
    sync(path.parent)


def sync(path: Path) -> None:
    """Flush a file to disk, or a folder where its file system can."""
    if os.name == "nt" and path.is_dir():  # Windows cannot open a folder
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if not path.is_dir() or error.errno not in _CANNOT_SYNC_FOLDERS:
            raise
    finally:
        with suppress(OSError):  # the content is synced
            os.close(handle)


def stamp(file: Path) -> Stamp | None:
    """Changes whenever a file is replaced or written; None if there is none."""
    with suppress(OSError):
        found = file.stat()
        return found.st_ino, found.st_mtime_ns, found.st_size
    return None


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write `arrays` to `path` in the safetensors format."""
    with replacing(path) as temporary:
        temporary.touch()
        mode = temporary.stat().st_mode  # as the user's umask has it; save_file would let nobody else read
        try:
            save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, temporary)
        except SafetensorError as error:
            raise OSError(str(error)) from error
        temporary.chmod(mode)


def read_checked(file: Path, size: int, digest: str, *, verify: bool) -> dict[str, npt.NDArray[Any]]:
    """Check a file of arrays and map it; `verify` checks the checksum, too."""
    if not file.is_file() or file.stat().st_size != size:
        raise ModelFileError(f"{file}: missing or truncated; copy the model again")
    if verify and sha256(file) != digest:
        raise ModelFileError(f"{file}: damaged (its checksum does not match); copy the model again")
    return read_arrays(file)


def read_arrays(path: Path, *, mapped: bool = True) -> dict[str, npt.NDArray[Any]]:
    """Map a safetensors file into memory, or read it; mapped pages are read on access and shared between processes.

    The map is copy-on-write: arrays are writable, because Numba would compile each kernel again for read-only
    arrays, but the file never changes.
    """
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if mapped else bytearray(file.read())
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path}: cannot be read ({error}); copy the model again") from None
    try:
        return _arrays_of(content)
    except MALFORMED as error:
        raise ModelFileError(f"{path}: damaged safetensors file ({error}); copy the model again") from None


def _arrays_of(content: mmap.mmap | bytearray) -> dict[str, npt.NDArray[Any]]:
    header_size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or header_size > min(_MAX_HEADER, len(content) - 8):
        raise ValueError("truncated header")
    start = 8 + header_size
    header = json.loads(content[8:start])
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
        first, last = entry["data_offsets"]
        size = int(np.prod(shape, dtype=object))
        if min(first, *shape) < 0 or last > len(content) - start or last - first != size * dtype.itemsize:
            raise ValueError(f"'{name}' lies outside the file")
        if size and (start + first) % dtype.itemsize:
            raise ValueError(f"'{name}' is not aligned")  # kernels would be compiled again, or worse
        arrays[name] = np.frombuffer(content, dtype, size, start + first).reshape(shape)
    return arrays


def sha256(path: Path) -> str:
    """The SHA-256 checksum of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
