"""Parquet files; how they keep their columns is in test_table.py."""

from __future__ import annotations

import gzip
import sys

import pytest

from data.samples import needs_pyarrow
from tacit.data.dataset import label_lists
from tacit.data.load import load_data, stream_samples
from tacit.errors import FileError, MissingExtraError


def write(path, columns):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), path)
    return path


@needs_pyarrow
def test_records_in_blocks(tmp_path):
    n_rows = 300
    columns = {"text": [f"text {n}" for n in range(n_rows)], "labels": [[f"l{n % 7}"] for n in range(n_rows)]}
    path = write(tmp_path / "a.parquet", columns)
    data = load_data(path)
    assert data.texts == columns["text"]
    assert label_lists(data) == columns["labels"]
    assert [fields["text"] for _, fields in stream_samples(path)] == columns["text"]
    (tmp_path / "b.parquet.gz").write_bytes(gzip.compress(path.read_bytes()))
    (tmp_path / "plain").write_bytes(path.read_bytes())  # known by its first bytes
    assert load_data(tmp_path / "b.parquet.gz").texts == load_data(tmp_path / "plain").texts == columns["text"]


@needs_pyarrow
def test_rows_are_counted_from_1(tmp_path):
    path = write(tmp_path / "a.parquet", {"text": ["a"] * 200, "labels": [["x"]] * 199 + [[""]]})
    with pytest.raises(FileError, match=r"a\.parquet:200: a label must not be empty"):
        load_data(path)
    with pytest.raises(FileError, match="a text must be a string or a list of strings; got bytes"):
        load_data(write(path, {"text": [b"a"], "labels": ["x"]}))


@needs_pyarrow
def test_damaged_and_hostile_files(tmp_path):
    path = write(tmp_path / "a.parquet", {"text": ["a"], "labels": ["x"]})
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(FileError, match=r"a\.parquet: is not a whole Parquet file .*write it again"):
        load_data(path)
    path = write(tmp_path / "bomb.parquet", {"text": ["a" * 400_000] * 2000, "labels": ["x"] * 2000})
    assert path.stat().st_size < 100_000
    with pytest.raises(FileError, match="packed bytes become more than 500 times as many.*raise max_expansion"):
        load_data(path)


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtraError, match=r"a Parquet file needs the extra 'parquet'; .*tacit\[parquet\]"):
        load_data(tmp_path / "a.parquet")
