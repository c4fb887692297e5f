"""Limits on data files, so that a small hostile or damaged file cannot cost hours or gigabytes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tacit.core.parameters import is_instance
from tacit.errors import FileError, ParameterError

#: Ids are 32-bit numbers.
LARGEST_DIMENSION = 2**31 - 1
_FREE_GROWTH = 1 << 25  # what a file stands for may have so many bytes whatever its own size
_MOST_GROWTH = 50
_MOST_LANGUAGES = 500


@dataclass(frozen=True)
class FileLimits:
    """The limits of `tacit.load_data`, which takes each as a keyword."""

    max_labels: int = 10_000_000  # columns of Y; the largest public sets have three million
    max_features: int = 100_000_000  # columns of X; the largest public sets have 55 million
    max_line: int = 1 << 23  # bytes of a line of text, or of a cell of a table
    max_expansion: int = 500  # unpacked bytes per packed byte of a large file (gzip, NPZ); text has 3 to 30

    @classmethod
    def of(cls, **given: Any) -> FileLimits:
        """The default limits, replaced by those given; None keeps a default."""
        given = {name: value for name, value in given.items() if value is not None}
        names = [field.name for field in fields(cls)]
        for name, value in given.items():
            if name not in names:
                raise ParameterError(f"there is no limit '{name}'; there are {', '.join(names)}")
            if not is_instance(value, (int,)) or not 1 <= value <= LARGEST_DIMENSION:
                raise ParameterError(f"{name} must be a whole number in 1 … {LARGEST_DIMENSION}; got {value!r}")
        return cls(**given)

    def check_columns(self, path: Path, n_columns: int, column: str, *, line: int | None = None) -> None:
        """Refuse more columns than the limit; `column` is ``label`` or ``feature``."""
        limit = self.max_labels if column == "label" else self.max_features
        if n_columns > limit:
            message = f"has {n_columns} {column}s, but the limit is {limit}; correct the file"
            raise FileError(path, f"{message}, or raise max_{column}s", line=line)

    def check_line(self, path: Path, n_bytes: int, line: int | None) -> None:
        """Refuse a line of more bytes than the limit."""
        if n_bytes > self.max_line:
            message = f"a line must have at most {self.max_line} bytes, but here is a longer one"
            raise FileError(path, f"{message}; end lines with line feeds, or raise max_line", line=line)

    def check_expansion(self, path: Path, packed: int, unpacked: int, free: int) -> None:
        """Refuse a file that expands too much when unpacked; up to `free` bytes are always allowed."""
        if unpacked > free and unpacked > packed * self.max_expansion:
            message = f"{packed} packed bytes become more than {self.max_expansion} times as many"
            raise FileError(path, f"{message}; unpack the file if it is to be so, or raise max_expansion")

    def check_languages(self, path: Path, n_languages: int) -> None:
        """Refuse more languages than any vocabulary has: each takes a name of every concept."""
        if n_languages > _MOST_LANGUAGES:
            raise FileError(
                path, f"has names in {n_languages} languages, but {_MOST_LANGUAGES} are the most; correct it"
            )

    def check_growth(self, path: Path, size: int, grown: int) -> None:
        """Refuse content that stands for much more than it is, such as abbreviations of long names."""
        if grown > _FREE_GROWTH and grown > size * _MOST_GROWTH:
            message = f"its {size} bytes stand for more than {_MOST_GROWTH} times as many"
            raise FileError(path, f"{message}; write out what is abbreviated")


LIMITS = FileLimits()
