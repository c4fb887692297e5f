"""Records of Parquet files; needs the extra ``parquet``."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tacit.data.files import STDIN, is_gzip, read_bytes, reading
from tacit.data.limits import LIMITS, FileLimits
from tacit.errors import FileError, MissingExtraError

_ROWS_AT_ONCE = 128
_FREE_BYTES = 1 << 26  # a file may become so large whatever its own size


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
