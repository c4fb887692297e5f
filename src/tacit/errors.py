"""All exceptions that tacit raises deliberately.

A message says what must be how, what came and where, and what to do. The command line prints it as one line and exits
with 2; anything else that escapes is a bug.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

DISTRIBUTION = "tacit-labels"  # what pip installs; `tacit` on PyPI is a project of others
_MOST_COMPARED = 3000  # names; each takes microseconds, and clients of a service can send any number of requests
_LONGEST = 200  # characters of a name that are compared, or shown
_LONGEST_MESSAGE = 2000  # characters; a file may hold names of megabytes


class TacitError(Exception):
    """Base class of all exceptions that are raised deliberately."""


class DataError(TacitError, ValueError):
    """An array, matrix or data set is invalid."""


class FileError(DataError):
    """A data file is invalid; the message starts with ``path:line:``."""

    def __init__(self, path: str | Path, message: str, *, line: int | None = None) -> None:
        self.path = Path(path)
        self.line = line
        place = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(printable(f"{place}: {message}"))


class ParameterError(TacitError, ValueError):
    """A parameter, model name, label name or option is unknown or out of range."""


class LabelError(ParameterError):
    """A label that cannot be used; `field` says where it was named, if that is known."""

    def __init__(self, message: str, label: str, field: str = "") -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.reason = message
        self.label = label
        self.field = field


class UnknownLabelError(LabelError):
    """There is no label of this name."""

    def __init__(self, label: str, known: Iterable[str] = (), field: str = "", reason: str = "") -> None:
        self.nearest = [] if reason else spelt_alike(label, known)
        hint = f" (did you mean '{self.nearest[0]}'?)" if self.nearest else f" ({reason})" if reason else ""
        super().__init__(f"unknown label '{brief(label)}'{hint}", label, field)


class RetiredLabelError(LabelError):
    """There was a label of this name, but it was retired."""

    def __init__(self, label: str, field: str = "") -> None:
        super().__init__(
            f"the label '{brief(label)}' was retired; undo that first, or name another label", label, field
        )


class ActError(ParameterError):
    """An act that does not apply to the current labels; `field` names the part of it that is wrong."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.reason = message
        self.field = field


class ModelFileError(TacitError, ValueError):
    """A model folder is missing, damaged, too new or not a model."""


class ClusterError(TacitError):
    """A Dask cluster cannot be used, or has stopped."""


class DownloadError(TacitError, OSError):
    """A public data set could not be fetched."""


class MissingExtraError(TacitError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}'; install it with: {how_to_install(extra)}")


def import_extra(module: str, what: str, extra: str) -> Any:
    """Import a module of an extra."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(what, extra) from error


def how_to_install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def printable(message: str) -> str:
    """A message that is safe for a terminal: control characters from files are escaped, long messages shortened."""
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[: _LONGEST_MESSAGE // 2]} … {message[-_LONGEST_MESSAGE // 2 :]}"
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in message)


def brief(text: str) -> str:
    """The start of a text, to be quoted in a message."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def spelt_alike(name: str, known: Iterable[str], n: int = 3) -> list[str]:
    """The nearest spellings; among many names, only those with the same start or a common word are compared."""
    wanted = name[:_LONGEST].casefold()
    spelled = {str(other).casefold(): str(other) for other in known}
    candidates = list(spelled)
    if len(candidates) > _MOST_COMPARED:
        words = set(wanted.split())
        alike = (other for other in candidates if other[:2] == wanted[:2] or not words.isdisjoint(other.split()))
        candidates = sorted(alike, key=lambda other: abs(len(other) - len(wanted)))[:_MOST_COMPARED]
    return [spelled[near] for near in difflib.get_close_matches(wanted, candidates, n=n, cutoff=0.6)]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``" (did you mean 'x'?)"`` for the nearest spelling among `known`, or an empty string."""
    return "".join(f" (did you mean '{near}'?)" for near in spelt_alike(name, known, 1))
