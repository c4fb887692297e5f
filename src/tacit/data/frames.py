"""DataFrames as records: those of pandas, polars and pyarrow, which none of them is needed for."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

from tacit.errors import FileError

FRAME = Path("DataFrame")  # in the place of a file in messages
_PROTOCOLS = ("__dataframe__", "__arrow_c_stream__")
_NO_VALUE = ("NAType", "NaTType")  # of pandas


def is_frame(value: Any) -> bool:
    """Whether a value is a DataFrame: a table of named columns that has a dataframe protocol."""
    return hasattr(value, "columns") and any(hasattr(value, protocol) for protocol in _PROTOCOLS)


def is_column(value: Any) -> bool:
    """Whether a value is a column of a DataFrame."""
    return (hasattr(value, "to_list") or hasattr(value, "to_pylist")) and not hasattr(value, "columns")


def column_names(frame: Any) -> list[str]:
    """The names of the columns."""
    return [str(name) for name in getattr(frame, "column_names", frame.columns)]


def frame_records(frame: Any, wanted: Container[str] | None = None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Row numbers (from 1) and records of a DataFrame; if columns are `wanted`, the others are None."""
    names = column_names(frame)
    twice = next((name for name, uses in Counter(names).items() if uses > 1), None)
    if twice is not None:
        raise FileError(FRAME, f"has the column {twice!r} twice; name each column once")
    columns = [
        column_values(frame[name]) if wanted is None or str(name) in wanted else itertools.repeat(None, len(frame))
        for name in getattr(frame, "column_names", frame.columns)
    ]
    for number, row in enumerate(zip(*columns, strict=True), 1):
        yield number, dict(zip(names, row, strict=True))


def column_values(column: Any) -> list[Any]:
    """The values of a column as plain Python values; None where there is none."""
    listed = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return [plain_value(value) for value in listed]


def plain_value(value: Any) -> Any:
    """A cell as JSON writes it: arrays become lists, and a missing value None."""
    if isinstance(value, list | tuple) or getattr(value, "ndim", 0) == 1:
        return [plain_value(item) for item in value]
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    is_missing = type(value).__name__ in _NO_VALUE or (isinstance(value, float) and math.isnan(value))
    return None if is_missing else value
