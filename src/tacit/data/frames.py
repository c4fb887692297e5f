"""DataFrames and Parquet files as records.

DataFrames are those of pandas, polars and pyarrow, none of which is needed. Parquet needs the extra ``parquet``.
"""

from __future__ import annotations

import io
import itertools
import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tacit.data.files import STDIN, is_gzip, read_bytes, reading
from tacit.data.limits import LIMITS, FileLimits
from tacit.errors import FileError, MissingExtraError

_ROWS_AT_ONCE = 128
_FREE_BYTES = 1 << 26  # a file may become so large whatever its own size
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


def parquet_records(path: Path, limits: FileLimits = LIMITS) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Row numbers (from 1) and records of a file, read in blocks of rows."""
    arrow, parquet = _pyarrow()
    packed = io.BytesIO(read_bytes(path, limits)) if path == STDIN or is_gzip(path) else None
    try:
        with reading(path, limits) as file:
            source = file if packed is None else packed
            n_packed, n_rows, n_bytes = source.seek(0, io.SEEK_END), 0, 0
            for batch in parquet.ParquetFile(source).iter_batches(_ROWS_AT_ONCE):
                n_bytes += batch.nbytes
                limits.check_expansion(path, n_packed, n_bytes, _FREE_BYTES)
                yield from enumerate(batch.to_pylist(), n_rows + 1)
                n_rows += len(batch)
    except (arrow.ArrowException, UnicodeDecodeError, OverflowError) as error:
        raise FileError(path, f"is not a whole Parquet file ({error}); write it again") from error


def write_parquet(file: IO[bytes], records: Sequence[Mapping[str, Any]]) -> None:
    """Write records, with a column for each field."""
    arrow, parquet = _pyarrow()
    names = dict.fromkeys(name for record in records for name in record)
    columns = {name: [record.get(name) for record in records] for name in names}
    parquet.write_table(arrow.table(columns), file)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("a Parquet file", "parquet") from error
    return pa, parquet
