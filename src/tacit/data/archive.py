"""Unpacking of selected members of zip and tar archives; paths in an archive are never used as file names."""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from tacit.errors import DownloadError
from tacit.progress import drafts

Member = tuple[str, Callable[[], "IO[bytes] | None"]]


def unpack(archive: Path, folder: Path, wanted: Mapping[str, str]) -> list[Path]:
    """Unpack members into `folder`; `wanted` maps member names to file names.

    A key with a ``*`` matches many members that hold one JSON document each; they become the lines of one JSONL
    file. On an error, no file appears.
    """
    fresh = {target: folder / f".{target}.{os.getpid()}.tmp" for target in wanted.values()}
    drafts.update(fresh.values())
    found = set()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with contextlib.ExitStack() as files:
            outputs = {target: files.enter_context(path.open("wb")) for target, path in fresh.items()}
            for name, opened in _members(archive):
                pattern = next((key for key in wanted if fnmatch.fnmatchcase(name, key)), None)
                content = opened() if pattern is not None else None
                if pattern is not None and content is not None:
                    found.add(pattern)
                    _copy(content, outputs[wanted[pattern]], as_line="*" in pattern)
        if missing := sorted(set(wanted) - found):
            raise DownloadError(f"{archive} must hold {missing[0]}, but does not; its source has changed")
        return [path.replace(folder / target) for target, path in fresh.items()]
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, ValueError, RuntimeError) as error:
        raise DownloadError(f"{archive} is damaged ({error}); delete it and download it again") from error
    except OSError as error:
        if isinstance(error, DownloadError):
            raise
        raise DownloadError(f"{archive} cannot be unpacked into {folder} ({error.strerror or error})") from error
    finally:
        for path in fresh.values():
            path.unlink(missing_ok=True)
            drafts.discard(path)


def _members(archive: Path) -> Iterator[Member]:
    """Yield the name and an open function of each regular file in the archive."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for item in packed.infolist():
                if not item.is_dir():
                    yield item.filename, lambda item=item: packed.open(item)  # type: ignore[misc]
        return
    with tarfile.open(archive, "r|*") as stream:  # one pass: reading members again means unpacking again
        for entry in stream:
            if entry.isfile():
                yield entry.name.removeprefix("./"), lambda entry=entry: stream.extractfile(entry)  # type: ignore[misc]


def _copy(source: IO[bytes], target: IO[bytes], *, as_line: bool) -> None:
    with source:
        if as_line:
            target.write(json.dumps(json.load(source), ensure_ascii=False).encode() + b"\n")
        else:
            shutil.copyfileobj(source, target)
