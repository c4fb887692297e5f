"""One file from the web onto the disk: resumed where it was cut, verified, and there only when whole."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tacit.errors import DownloadError

Progress = Callable[[int, "int | None"], None]
"""Called with the number of bytes there, and of those there will be where the server says."""

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

    The file grows as ``target.part`` and takes its name when it is whole and verified. A cut connection is
    taken up again as long as bytes come, and by the next call after that, unless the file has changed on the
    server. A `target` that has the checksum already is left alone.

    Parameters
    ----------
    url : str
        An http or https address.
    target : path
        Where the file goes; its folder is created.
    sha256 : str, optional
        The checksum the file must have. Without it the one found is recorded in ``target.sha256``.
    progress : callable, optional
        Called as ``progress(bytes_there, bytes_in_all_or_None)``.
    timeout : float
        Seconds without an answer after which the server counts as dead.

    Raises
    ------
    DownloadError
        If the file cannot be fetched or stored, or has another checksum; says what to do.
    """
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise DownloadError(f"only http and https addresses can be downloaded; got {url}")
    target = Path(target)
    record = target.with_name(target.name + ".sha256")
    expected = sha256.lower() if sha256 is not None else _recorded(record)
    if target.is_file() and expected is not None and checksum(target) == expected:
        return expected
    part = _Part(target.with_name(target.name + ".part"))
    with _explained(url, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _fill(part, url, progress or _say_nothing, timeout)
        found = checksum(part.path)
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


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(CHUNK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _recorded(record: Path) -> str | None:
    words = record.read_text(encoding="utf-8").split() if record.is_file() else []
    return words[0] if words else None


def _say_nothing(_done: int, _total: int | None) -> None:
    """No progress wanted."""


@dataclass(frozen=True)
class _Part:
    """The bytes that came so far, and beside them what tells versions of the file on the server apart."""

    path: Path

    @property
    def _version_file(self) -> Path:
        return self.path.with_name(self.path.name + ".version")

    @property
    def size(self) -> int:
        """Bytes that can be built upon: none where the version they belong to is not known."""
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
    """Request what is missing until nothing is, or no more bytes come."""
    while True:
        before = part.size
        try:
            response = _open(url, part, timeout)
            if response is None:  # the part is whole already
                return
            with response:
                _receive(response, part, progress)
            return
        except (http.client.HTTPException, ConnectionError, TimeoutError) as error:
            if part.size <= before:
                hint = _RESUME_HINT if part.size else "try again"
                raise DownloadError(f"{url} was cut off ({_reason(error)}); {hint}") from error


def _open(url: str, part: _Part, timeout: float) -> http.client.HTTPResponse | None:
    """The server's answer to a request for the bytes after those of `part`."""
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
    """One that follows redirections to http and https only, never to ftp or to local files."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
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
        _sync(file)
    if total is not None and done < total:
        raise ConnectionError(f"after {done:,} of {total:,} bytes")


def _version(response: http.client.HTTPResponse) -> str:
    """What a later request can say in If-Range: a strong ETag, else the date of the last change."""
    tag: str = response.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified", "")


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


@contextlib.contextmanager
def _explained(url: str, target: Path) -> Iterator[None]:
    """Turn errors of the network and of the disk into ones that say what to do."""
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
