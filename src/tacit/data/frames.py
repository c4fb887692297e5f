"""DataFrames of pandas, polars and pyarrow, none of which is needed, and Parquet files (extra ``parquet``)."""

from __future__ import annotations

import io
import itertools
import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tacit.data.files import STDIN, is_gzip, unpacked
from tacit.data.formats import Source
from tacit.errors import FileError, import_extra

FRAME = Path("DataFrame")  # in the place of a file in messages
_PROTOCOLS = ("__dataframe__", "__arrow_c_stream__")
_NO_VALUE = ("NAType", "NaTType")  # of pandas

_ROWS_AT_ONCE = 128
_CELL_BYTES = 256  # that a value costs as an object, at most
_SMALL, _BATCH_BYTES = 1 << 22, 1 << 24  # of files below the one, the rows of a batch take at most the other
_FREE_BYTES = 1 << 25  # a file may become so large whatever its own size


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
    name, uses = Counter(names).most_common(1)[0] if names else ("", 1)
    if uses > 1:
        raise FileError(FRAME, f"has the column {name!r} twice; name each column once")
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
    try:
        with unpacked(path, limits) as opened:
            raw = io.BytesIO(opened.read()) if path == STDIN or is_gzip(path) else opened
            file, n_packed, n_rows = parquet.ParquetFile(raw), raw.seek(0, io.SEEK_END), 0
            groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
            sizes = [abs(group.total_byte_size) for group in groups]
            n_cells = file.metadata.num_rows * max(1, file.metadata.num_columns)
            limits.check_expansion(path, n_packed, sum(sizes) + n_cells * _CELL_BYTES, _FREE_BYTES)
            at_once = _ROWS_AT_ONCE if n_packed > _SMALL else _BATCH_BYTES // max([1, *sizes])
            n_bytes = 0
            for packed_batch in file.iter_batches(min(max(at_once, 1), _ROWS_AT_ONCE)):
                batch = _without_dictionaries(path, packed_batch)
                n_bytes += batch.nbytes + _CELL_BYTES * _n_values(batch.columns)
                limits.check_expansion(path, n_packed, n_bytes, _FREE_BYTES)
                yield from enumerate(batch.to_pylist(), n_rows + 1)
                n_rows += len(batch)
    except FileError:
        raise
    except Exception as error:  # Arrow lets through whatever its conversions raise
        raise FileError(path, f"is not a whole Parquet file ({error}); write it again") from error


def _without_dictionaries(path: Path, batch: Any) -> Any:
    """A batch whose repeated values are written out, which their size is then that of."""
    arrow, _ = _pyarrow()
    packed = arrow.types.is_dictionary
    columns = [column.dictionary_decode() if packed(column.type) else column for column in batch.columns]
    if any("dictionary<" in str(column.type) for column in columns):
        raise FileError(path, "has dictionaries inside other values; write them as plain strings")
    return arrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _n_values(columns: Sequence[Any]) -> int:
    """The number of values, those inside of lists and structures included."""
    inner = [column.flatten() for column in columns if hasattr(column, "flatten")]
    columns_inside = [part for parts in inner for part in (parts if isinstance(parts, list) else [parts])]
    return sum(map(len, columns)) + (_n_values(columns_inside) if columns_inside else 0)


def write_parquet(file: IO[bytes], records: Sequence[Mapping[str, Any]]) -> None:
    """Write records, with a column for each field."""
    arrow, parquet = _pyarrow()
    names = dict.fromkeys(name for record in records for name in record)
    columns = {name: [record.get(name) for record in records] for name in names}
    parquet.write_table(arrow.table(columns), file)


def _pyarrow() -> tuple[Any, Any]:
    return tuple(import_extra(name, "a Parquet file", "parquet") for name in ("pyarrow", "pyarrow.parquet"))
