"""Excel's .xlsx files as records: the rows of the first sheet, all cells as text. Needs the extra ``excel``."""

from __future__ import annotations

import datetime as dt
import io
import itertools
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from tacit.data.files import STDIN, is_gzip, unpacked
from tacit.data.formats import Source
from tacit.data.limits import FileLimits
from tacit.errors import FileError, import_extra

_COST_OF_XML = 4  # of parsing a byte, as a multiple of what unpacking it costs
_FREE_BYTES = 1 << 20  # a file may unpack to so much whatever its own size
_MOST_ROWS, _LONGEST_CELL = 1 << 20, 32_767  # Excel has no more


def sheet_records(source: Source) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Row numbers (from 1) and records of the first sheet; its first row names the columns, blank rows do not count."""
    path, header = source.path, list[str]()
    for number, row in _rows(path, source.limits):
        if not header:
            header = checked_header(path, row, number)
        elif any(row[len(header) :]):
            raise FileError(path, f"has a cell in column {len(header) + 1}, which has no name", line=number)
        else:
            yield number, dict(zip(header, row + [""] * len(header), strict=False))


def _rows(path: Path, limits: FileLimits) -> list[tuple[int, list[str]]]:
    """Numbers and cells of the rows that are not blank."""
    excel = import_extra("openpyxl", "an Excel file", "excel")
    rows: list[tuple[int, list[str]]] = []
    limits = replace(limits, max_expansion=max(limits.max_expansion // _COST_OF_XML, 1))
    try:
        with unpacked(path, limits) as raw, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of openpyxl, about what it leaves out
            file = io.BytesIO(raw.read()) if path == STDIN or is_gzip(path) else raw
            n_packed, n_read = file.seek(0, io.SEEK_END), 0
            n_unpacked = sum(member.file_size for member in zipfile.ZipFile(file).infolist())
            limits.check_expansion(path, n_packed, n_unpacked, _FREE_BYTES)
            book = excel.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # which may be wrong
            for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
                row = list(map(_as_text, values))
                n_read += len(row) + sum(map(len, row))
                limits.check_expansion(path, n_packed, n_read, _FREE_BYTES)
                if number > _MOST_ROWS:
                    raise FileError(path, f"has more than the {_MOST_ROWS:,} rows of an Excel sheet; correct it")
                if any(row):
                    limits.check_line(path, max(map(len, row)), number)
                    rows.append((number, row))
    except FileError:
        raise
    except Exception as error:  # openpyxl lets through whatever a broken part raises
        message = f"is not a whole Excel file ({error}); save it again as .xlsx, without a password"
        raise FileError(path, message) from error
    return rows


def _as_text(value: Any) -> str:
    """A cell as text: whole numbers without a point, dates as ISO 8601 has them."""
    if value is None or isinstance(value, str):
        return (value or "").replace("_x000D_", "")
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        value = value.date()
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def write_sheet(path: Path, file: IO[bytes], rows: Iterable[Sequence[str]]) -> None:
    """Write rows of text as the only sheet of a file."""
    excel = import_extra("openpyxl", "an Excel file", "excel")
    rows, content = list(rows), io.BytesIO()
    for cell in itertools.chain(*rows):
        if len(cell) > _LONGEST_CELL or excel.cell.cell.ILLEGAL_CHARACTERS_RE.search(cell):
            message = f"a cell has at most {_LONGEST_CELL:,} characters and no control characters"
            raise FileError(path, f"{message}; write .csv instead of: {cell[:50]!r}")
    book = excel.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in rows:
        cells = [excel.cell.WriteOnlyCell(sheet, value=cell) for cell in row]
        for cell in cells:
            cell.data_type = "s"  # a text that begins with = is no formula
        sheet.append(cells)
    book.save(content)
    file.write(content.getvalue())


def checked_header(path: Path, row: list[str], line: int) -> list[str]:
    """The names of the columns of a table; those at the end that have none are left out."""
    header = [name.strip() for name in row]
    while header and not header[-1]:
        header.pop()
    name, uses = Counter(header).most_common(1)[0] if header else ("", 1)
    if uses > 1 or not header:
        what = f"has the column {name!r} twice" if uses > 1 else "must name the columns"
        raise FileError(path, f"the first line {what}; name each column once", line=line)
    return header
