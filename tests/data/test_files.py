"""Reading bytes and lines, writing all or nothing."""

from __future__ import annotations

import errno
import gzip

import numpy as np
import pytest

from data.samples import numeric_dataset, write_files
from tacit.data.files import Staging
from tacit.data.load import load_data
from tacit.data.save import save_data
from tacit.errors import FileError


def test_missing_file_offers_the_nearest_name(tmp_path):
    write_files(tmp_path, {"train.txt": "x"})
    with pytest.raises(FileError, match=r"trian\.txt: no such file .did you mean 'train\.txt'\?"):
        load_data(tmp_path / "trian.txt")
    with pytest.raises(FileError, match=r"b\.txt: no such file"):
        load_data(tmp_path / "a" / "b.txt")


def test_folder_and_empty_file(tmp_path):
    with pytest.raises(FileError, match="holds no documents, which are .txt files with .key or .tsv files beside"):
        load_data(tmp_path)
    with pytest.raises(FileError, match="must be a data file to be read as xmc, but is a folder; name a file in it"):
        load_data(tmp_path, format="xmc")
    with pytest.raises(FileError, match="the file is empty; it must hold at least one sample"):
        load_data(write_files(tmp_path, {"a.txt": ""}))


@pytest.mark.parametrize("name", ["a.txt.gz", "a.jsonl.gz"])
def test_broken_gzip(tmp_path, name):
    rng = np.random.default_rng(0)
    body = "".join(f"0 0:{value}\n" for value in rng.random(20_000))
    packed = gzip.compress(f"20000 1 1\n{body}".encode())
    damaged = bytearray(packed)
    damaged[len(packed) // 2] ^= 0xFF
    for content in (packed[: len(packed) // 2], packed[:-4], bytes(damaged), b"plain text\n"):
        path = write_files(tmp_path, {name: content})
        with pytest.raises(FileError, match=r"is not a whole gzip file .*copy or download it again"):
            load_data(path, format="xmc")


def test_nothing_is_left_and_nothing_changed_on_failure(tmp_path):
    (tmp_path / "a").write_text("old")

    def fail_half_way():
        with Staging() as staging:
            for name in ("a", "b"):
                with staging.open(tmp_path / name) as file:
                    file.write(b"new")
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        fail_half_way()
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_full_disk_leaves_the_old_files(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    save_data(numeric_dataset(), path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    def full(*_args, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tacit.data.xmc.write_rows", full)
    with pytest.raises(FileError, match=r"a\.txt: cannot be written: No space left on device"):
        save_data(numeric_dataset(), path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_folders_must_exist(tmp_path):
    with pytest.raises(FileError, match=r"cannot be written: there is no folder .*create it first"):
        save_data(numeric_dataset(), tmp_path / "no" / "a.txt")
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(FileError, match=r"cannot be written: it is a folder"):
        save_data(numeric_dataset(), tmp_path / "a.txt")


def test_packed_files_are_the_same_each_time(tmp_path):
    for name in ("a.txt.gz", "b.txt.gz"):
        save_data(numeric_dataset(), tmp_path / name)
    assert (tmp_path / "a.txt.gz").read_bytes() == (tmp_path / "b.txt.gz").read_bytes()
