from __future__ import annotations

import errno
import json
import os
import random
import shutil
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from planted import planted
from tacit.errors import ModelFileError
from tacit.store import atomic, folder


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    X, Y = planted()
    tacit.Popularity().fit(X, Y).save(tmp_path / "model")
    return tmp_path / "model"


def data_file(model: Path) -> Path:
    return next(model.glob("*.safetensors"))


def rewrite_manifest(saved: Path, /, **changes: Any) -> None:
    """Change the manifest the way an attacker would: with a matching checksum."""
    manifest = json.loads((saved / "manifest.json").read_text())
    manifest.update(changes)
    manifest["sha256"] = folder._checksum(manifest)
    (saved / "manifest.json").write_text(json.dumps(manifest))


def test_a_newer_format(saved):
    rewrite_manifest(saved, format_version=99, tacit_version="9.9")
    with pytest.raises(ModelFileError, match=r"written by tacit 9\.9 in format 99.*upgrade tacit"):
        tacit.load_model(saved)


@pytest.mark.parametrize("name", ["os.system", "Estimator", "popularity "])
def test_an_unregistered_class(saved, name):
    rewrite_manifest(saved, model=name)
    with pytest.raises(ModelFileError, match="not a registered model"):
        tacit.load_model(saved)


def test_an_unknown_attribute(saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    manifest["state"]["map"]["fit"] = 1
    rewrite_manifest(saved, state=manifest["state"])
    with pytest.raises(ModelFileError, match="no fitted attribute 'fit'"):
        tacit.load_model(saved)


def test_a_data_file_outside_the_folder_is_not_read(saved, tmp_path):
    shutil.copy(data_file(saved), tmp_path / "elsewhere.safetensors")
    entry = json.loads((saved / "manifest.json").read_text())["file"]
    rewrite_manifest(saved, file={**entry, "name": "../elsewhere.safetensors"})
    with pytest.raises(ModelFileError, match="missing or truncated"):
        tacit.load_model(saved)


def test_any_flipped_bit_is_noticed(saved):
    rng = random.Random(0)
    for file in (data_file(saved), saved / "manifest.json"):
        original = file.read_bytes()
        for _ in range(300):
            damaged = bytearray(original)
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
            file.write_bytes(damaged)
            try:
                tacit.load_model(saved)
            except ModelFileError:
                continue
            # White space in the manifest may differ; its content may not.
            assert file.name == "manifest.json"
            assert json.loads(damaged) == json.loads(original)
        file.write_bytes(original)
    tacit.load_model(saved)


def test_a_folder_that_is_no_model_is_not_touched(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    X, Y = planted()
    with pytest.raises(ModelFileError, match="exists and is not a model folder"):
        tacit.Popularity().fit(X, Y).save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.skipif(os.name == "nt", reason="folders are not synced there")
@pytest.mark.parametrize("reason", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_cannot_sync_folders_is_no_failure(saved, monkeypatch, reason):
    sync = os.fsync

    def only_files(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(reason, os.strerror(reason))
        sync(handle)

    monkeypatch.setattr(os, "fsync", only_files)
    X, Y = planted(seed=3)
    tacit.Popularity().fit(X, Y).save(saved)
    assert np.array_equal(tacit.load_model(saved).label_counts_, np.asarray(Y.sum(axis=0)).ravel())
    assert len(list(saved.glob("arrays*"))) == 1


def test_a_loaded_model_is_mapped_and_the_file_never_changes(saved):
    before = data_file(saved).read_bytes()
    loaded = tacit.load_model(saved)
    assert not loaded.shares_.flags.owndata
    loaded.shares_[:] = 0
    assert data_file(saved).read_bytes() == before


def test_arrays_of_every_type_come_back(tmp_path):
    arrays = {
        str(np.dtype(kind)): np.arange(7).astype(kind).reshape(7, 1)
        for kind in ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]
    }
    arrays["empty"] = np.empty((0, 3), np.float32)
    atomic.write_arrays(tmp_path / "a.safetensors", arrays)
    back = atomic.read_arrays(tmp_path / "a.safetensors")
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert np.array_equal(back[name], array)
        assert back[name].flags.aligned
