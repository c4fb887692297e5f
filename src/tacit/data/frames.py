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

from tacit.data.files import STDIN, is_gzip, read_bytes, unpacked
from tacit.data.formats import Source
from tacit.data.limits import FileLimits
from tacit.errors import FileError, import_extra

_ROWS_AT_ONCE = 128
_CELL_BYTES = 256  # that a value costs as an object, at most
_SMALL, _BATCH_BYTES = 1 << 22, 1 << 24  # of files below the one, the rows of a batch take at most the other
_FREE_BYTES = 1 << 25  # a file may become so large whatever its own size
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


def parquet_records(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Row numbers (from 1) and records of a file, read in blocks of rows."""
    path, limits = source.path, source.limits
    _, parquet = _pyarrow()
    packed = io.BytesIO(read_bytes(path, limits)) if path == STDIN or is_gzip(path) else None
    try:
        with unpacked(path, limits) as opened:
            raw = opened if packed is None else packed
            n_packed, n_rows, n_bytes = raw.seek(0, io.SEEK_END), 0, 0
            file = parquet.ParquetFile(raw)
            row_bytes = _CELL_BYTES * max(1, file.metadata.num_columns)
            raw.seek(-8, io.SEEK_END)
            raw.seek(-8 - int.from_bytes(raw.read(4), "little"), io.SEEK_END)
            for packed_batch in file.iter_batches(_check_declared(path, raw.read(), n_packed, limits)):
                batch = _without_dictionaries(path, packed_batch)
                n_bytes += batch.nbytes + len(batch) * row_bytes
                limits.check_expansion(path, n_packed, n_bytes, _FREE_BYTES)
                yield from enumerate(batch.to_pylist(), n_rows + 1)
                n_rows += len(batch)
    except FileError:
        raise
    except Exception as error:  # Arrow lets through whatever its conversions raise
        raise FileError(path, f"is not a whole Parquet file ({error}); write it again") from error


def _check_declared(path: Path, footer: bytes, n_packed: int, limits: FileLimits) -> int:
    """Refuse rows that are going to take too much by the file's own account; how many rows to read at once."""
    file, _ = _thrift_struct(footer, 0)  # pyarrow's own metadata of columns end the process if they are damaged
    chunks = [chunk[3] for group in file.get(4, []) for chunk in group[1]]
    n_values = max(file[3], sum(abs(chunk[5]) for chunk in chunks))
    sizes = [abs(chunk[6]) for chunk in chunks]
    limits.check_expansion(path, n_packed, n_values * _CELL_BYTES + sum(sizes), _FREE_BYTES)
    if n_packed > _SMALL:
        return _ROWS_AT_ONCE
    return int(max(1, min(_ROWS_AT_ONCE, _BATCH_BYTES // max([1, *sizes]))))  # a value may be as large as its chunk


def _thrift_struct(data: bytes, at: int) -> tuple[dict[int, Any], int]:
    """The fields of a struct in Thrift's compact protocol by their numbers, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _thrift_value(data, at, 4)
        fields[number], at = _thrift_value(data, at, head & 15)
    return fields, at + 1


def _thrift_value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (1, 2):  # true and false, which are all in their heads
        return kind == 1, at
    if kind == 3:
        return data[at], at + 1
    if kind == 7:
        return None, at + 8
    if kind == 12:
        return _thrift_struct(data, at)
    if kind in (9, 10):
        size, inner, at = data[at] >> 4, data[at] & 15, at + 1
        if size == 15:
            size, at = _thrift_size(data, at)
        items = []
        for _ in range(size):
            item, at = (None, at + 1) if inner in (1, 2) else _thrift_value(data, at, inner)
            items.append(item)
        return items, at
    size, at = _thrift_size(data, at)
    if kind == 8:
        return None, at + size
    if kind in (4, 5, 6):
        return (size >> 1) ^ -(size & 1), at
    raise ValueError(f"a value of the kind {kind} in its footer")


def _thrift_size(data: bytes, at: int) -> tuple[int, int]:
    size = shift = 0
    while True:
        size |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return size, at


def _without_dictionaries(path: Path, batch: Any) -> Any:
    """A batch whose repeated values are written out, which their size is then that of."""
    arrow, _ = _pyarrow()
    columns = [
        column.dictionary_decode() if arrow.types.is_dictionary(column.type) else column for column in batch.columns
    ]
    types = zip(batch.schema.names, columns, strict=True)
    nested = next((name for name, column in types if "dictionary<" in str(column.type)), None)
    if nested is not None:
        raise FileError(
            path, f"the column '{nested}' has dictionaries inside other values; write them as plain strings"
        )
    return arrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


def write_parquet(file: IO[bytes], records: Sequence[Mapping[str, Any]]) -> None:
    """Write records, with a column for each field."""
    arrow, parquet = _pyarrow()
    names = dict.fromkeys(name for record in records for name in record)
    columns = {name: [record.get(name) for record in records] for name in names}
    parquet.write_table(arrow.table(columns), file)


def _pyarrow() -> tuple[Any, Any]:
    return tuple(import_extra(name, "a Parquet file", "parquet") for name in ("pyarrow", "pyarrow.parquet"))
