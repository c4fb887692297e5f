"""Downloads that resume after an interruption and are verified, and the unpacking of archives.

A file appears only when it is complete. Paths in an archive are never used as file names.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import http.client
import json
import os
import shutil
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tacit.errors import DownloadError
from tacit.progress import drafts
from tacit.store.files import sha256 as file_sha256
from tacit.store.files import sync

Member = tuple[str, Callable[[], "IO[bytes] | None"]]
Progress = Callable[[int, "int | None"], None]
"""Called with the bytes received so far and the total, which is None if the server does not send it."""

CHUNK_BYTES = 1 << 18
_RESUME_HINT = "the part that came is kept: try again to go on from there"


def download(
    url: str,
    target: str | os.PathLike[str],
    sha256: str | None = None,
    *,
    progress: Progress | None = None,
    timeout: float = 30.0,
) -> str:
    """Download a file and return its SHA-256 checksum.

    The bytes are collected in ``target.part``, which is renamed to `target` when it is complete and verified. If the
    connection breaks, the download resumes at once as long as each attempt brings new bytes, and otherwise with the
    next call. It starts over if the file has changed on the server. A `target` that already has the checksum is kept.

    Parameters
    ----------
    url : str
        An http or https address.
    target : path
        The file to write; its folder is created.
    sha256 : str, optional
        The expected checksum. Without it, the checksum found is recorded in ``target.sha256``.
    progress : callable, optional
        Called as ``progress(bytes_so_far, total_or_None)``.
    timeout : float
        Seconds to wait for the server to answer.

    Raises
    ------
    DownloadError
        If the file cannot be fetched or stored, or its checksum differs.
    """
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise DownloadError(f"only http and https addresses can be downloaded; got {url}")
    target = Path(target)
    record = target.with_name(target.name + ".sha256")
    expected = sha256.lower() if sha256 is not None else _recorded(record)
    if target.is_file() and expected is not None and file_sha256(target) == expected:
        return expected
    part = _Part(target.with_name(target.name + ".part"))
    with _explained(url, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _fill(part, url, progress or (lambda _done, _total: None), timeout)
        found = file_sha256(part.path)
        if sha256 is not None and found != expected:
            part.discard()
            raise DownloadError(
                f"{url} must have the SHA-256 checksum {expected}; got {found}. The file has been discarded: "
                "try again, and if this persists, the file was replaced at its source"
            )
        part.path.replace(target)
        part.discard()
        if sha256 is None:
            record.write_text(f"{found}  {target.name}\n", encoding="utf-8")
    return found


def _recorded(record: Path) -> str | None:
    words = record.read_text(encoding="utf-8").split() if record.is_file() else []
    return words[0] if words else None


@dataclass(frozen=True)
class _Part:
    """The bytes received so far and, in a file beside them, the version (ETag or date) that they belong to."""

    path: Path

    @property
    def _version_file(self) -> Path:
        return self.path.with_name(self.path.name + ".version")

    @property
    def size(self) -> int:
        """Bytes that a download can resume from: none if their version is unknown."""
        return self.path.stat().st_size if self.path.is_file() and self.version else 0

    @property
    def version(self) -> str:
        return self._version_file.read_text(encoding="latin-1") if self._version_file.is_file() else ""

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self._version_file.unlink(missing_ok=True)

    def restart(self, version: str) -> None:
        self.discard()
        if version:
            self._version_file.write_text(version, encoding="latin-1")


def _fill(part: _Part, url: str, progress: Progress, timeout: float) -> None:
    """Request the missing bytes until the file is complete, or an attempt brings no new bytes."""
    while True:
        before = part.size
        try:
            response = _open(url, part, timeout)
            if response is None:
                return
            with response:
                _receive(response, part, progress)
            return
        except (http.client.HTTPException, ConnectionError, TimeoutError) as error:
            if part.size <= before:
                hint = _RESUME_HINT if part.size else "try again"
                raise DownloadError(f"{url} was cut off ({_reason(error)}); {hint}") from error


def _open(url: str, part: _Part, timeout: float) -> http.client.HTTPResponse | None:
    """Request the bytes after those of `part`; None means that the part is complete."""
    headers = {"User-Agent": "tacit", "Accept-Encoding": "identity"}
    if part.size:
        headers |= {"Range": f"bytes={part.size}-", "If-Range": part.version}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the scheme was checked
    try:
        response: http.client.HTTPResponse = _opener().open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        with error:
            if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not part.size:
                raise
            if error.headers.get("Content-Range", "") == f"bytes */{part.size}":
                return None
        part.discard()
        return _open(url, part, timeout)
    return response


def _opener() -> urllib.request.OpenerDirector:
    """An opener that follows redirections to http and https only, never to ftp or to local files."""
    opener = urllib.request.OpenerDirector()
    for name in ("Proxy", "Unknown", "HTTP", "HTTPS", "HTTPDefaultError", "HTTPRedirect"):
        opener.add_handler(getattr(urllib.request, f"{name}Handler")())
    opener.add_handler(urllib.request.HTTPErrorProcessor())
    return opener


def _receive(response: http.client.HTTPResponse, part: _Part, progress: Progress) -> None:
    done = part.size
    continues = response.status == http.HTTPStatus.PARTIAL_CONTENT
    if continues and not response.headers.get("Content-Range", "").startswith(f"bytes {done}-"):
        part.discard()
        raise DownloadError(f"{response.url} sent another range than asked for; try again")
    if not continues:
        done = 0
        part.restart(_version(response))
    total = None if response.length is None else done + response.length
    progress(done, total)
    with part.path.open("ab") as file:
        while block := response.read(CHUNK_BYTES):
            file.write(block)
            done += len(block)
            progress(done, total)
    sync(part.path)
    if total is not None and done < total:
        raise ConnectionError(f"after {done:,} of {total:,} bytes")


def _version(response: http.client.HTTPResponse) -> str:
    """The value for If-Range in a later request: a strong ETag, or else the date of the last change."""
    tag: str = response.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified", "")


@contextlib.contextmanager
def _explained(url: str, target: Path) -> Iterator[None]:
    """Turn network and disk errors into a `DownloadError` that says what to do."""
    try:
        yield
    except DownloadError:
        raise
    except urllib.error.HTTPError as error:
        advice = {401: "it needs a login", 403: "access is refused", 404: "there is no such file"}
        reason = advice.get(error.code, error.reason)
        raise DownloadError(f"{url} answered {error.code} ({reason}); check the address") from error
    except urllib.error.URLError as error:
        raise DownloadError(
            f"{url} cannot be reached ({_reason(error.reason)}); check the connection and try again"
        ) from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DownloadError(f"the disk is full while writing {target}; free space, {_RESUME_HINT}") from error
        raise DownloadError(f"{target} cannot be written ({_reason(error)}); choose another folder") from error


def _reason(error: object) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


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
