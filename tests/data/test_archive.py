from __future__ import annotations

import io
import json
import tarfile
import zipfile

import pytest

from tacit.data.download import unpack
from tacit.errors import DownloadError


def make_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return path


def make_tar(path, members):
    with tarfile.open(path, "w:gz") as packed:
        for name, content in members.items():
            item = tarfile.TarInfo(name)
            item.size = len(content)
            packed.addfile(item, io.BytesIO(content))
    return path


@pytest.mark.parametrize("make", [make_zip, make_tar])
def test_wanted_members_get_our_names(make, tmp_path):
    archive = make(tmp_path / "a", {"base/X": b"x", "base/other": b"-", "../../evil": b"!", "base/Y": b"y"})
    paths = unpack(archive, tmp_path / "out", {"base/Y": "labels", "base/X": "features"})
    assert [path.name for path in paths] == ["labels", "features"]
    assert [path.read_bytes() for path in paths] == [b"y", b"x"]
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_dotted_tar_names_match(tmp_path):
    archive = make_tar(tmp_path / "a", {"./base/X": b"x"})
    assert unpack(archive, tmp_path / "out", {"base/X": "X"})[0].read_bytes() == b"x"


def test_many_documents_become_lines(tmp_path):
    documents = [{"text": "å\nb", "n": 1}, {"text": "c", "n": 2}]
    members = {f"d/train/{i}.json": json.dumps(d, indent=1).encode() for i, d in enumerate(documents)}
    archive = make_zip(tmp_path / "a", members | {"__MACOSX/d/train/._0.json": b"junk", "d/test/3.json": b"{}"})
    (path,) = unpack(archive, tmp_path, {"d/train/*.json": "train.jsonl"})
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == documents


def test_links_are_not_followed(tmp_path):
    with tarfile.open(tmp_path / "a", "w") as packed:
        link = tarfile.TarInfo("X")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        packed.addfile(link)
    with pytest.raises(DownloadError, match="must hold X, but does not"):
        unpack(tmp_path / "a", tmp_path / "out", {"X": "X"})


def damaged(make, tmp_path):
    archive = make(tmp_path / "a", {"X": bytes(range(256)) * 500})
    raw = bytearray(archive.read_bytes())
    raw[60:] = raw[60 : len(raw) // 2]
    archive.write_bytes(raw)
    return archive


@pytest.mark.parametrize("make", [make_zip, make_tar])
def test_damage_leaves_nothing_behind(make, tmp_path):
    with pytest.raises(DownloadError, match="is damaged .*download it again"):
        unpack(damaged(make, tmp_path), tmp_path / "out", {"X": "X"})
    assert list((tmp_path / "out").iterdir()) == []


def test_a_member_that_is_no_json_is_damage(tmp_path):
    archive = make_zip(tmp_path / "a", {"d/1.json": b"\xff{"})
    with pytest.raises(DownloadError, match="is damaged"):
        unpack(archive, tmp_path / "out", {"d/*.json": "d.jsonl"})


def test_missing_archive(tmp_path):
    with pytest.raises(DownloadError, match="cannot be unpacked .*No such file"):
        unpack(tmp_path / "none", tmp_path / "out", {"X": "X"})
