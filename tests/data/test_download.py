from __future__ import annotations

import errno
import hashlib
import io
import json
import socket
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tacit.data import download as download_module
from tacit.data.download import download, unpack
from tacit.errors import DownloadError
from web_server import serving

CONTENT = np.random.default_rng(0).bytes(1_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def site():
    with serving() as site:
        site.files["set.zip"] = CONTENT
        yield site


@pytest.fixture
def target(tmp_path):
    return tmp_path / "new folder" / "set.zip"


def ranges(site):
    return [headers.get("Range") for headers in site.requests]


def left_over(target):
    return sorted(path.name for path in target.parent.iterdir()) if target.parent.exists() else []


def cut_once(site, target, after=400_000):
    """A first download that ends with `after` bytes in the part file."""
    site.cuts = [after, 0]
    with pytest.raises(DownloadError, match="was cut off .* try again to go on from there"):
        download(site.url("set.zip"), target)
    assert left_over(target) == ["set.zip.part", "set.zip.part.version"]
    site.requests.clear()


def test_whole_file_is_verified_and_progress_reported(site, target):
    seen = []
    found = download(site.url("set.zip"), target, SHA256.upper(), progress=lambda *numbers: seen.append(numbers))
    assert found == SHA256
    assert target.read_bytes() == CONTENT
    assert left_over(target) == ["set.zip"]
    assert seen[0] == (0, len(CONTENT))
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_cut_connection_is_taken_up_again_at_once(site, target):
    site.cuts = [300_000, 200_000]
    download(site.url("set.zip"), target, SHA256)
    assert target.read_bytes() == CONTENT
    assert ranges(site) == [None, "bytes=300000-", "bytes=500000-"]


def test_the_next_call_resumes(site, target):
    cut_once(site, target)
    seen = []
    download(site.url("set.zip"), target, SHA256, progress=lambda *numbers: seen.append(numbers))
    assert target.read_bytes() == CONTENT
    assert ranges(site) == ["bytes=400000-"]
    assert seen[0] == (400_000, len(CONTENT))
    assert left_over(target) == ["set.zip"]


def test_resumes_by_date_where_the_tag_is_weak(site, target):
    site.etag, site.last_modified = 'W/"1"', "Mon, 01 Jan 2024 00:00:00 GMT"
    cut_once(site, target)
    download(site.url("set.zip"), target, SHA256)
    assert site.requests[0]["If-Range"] == site.last_modified


def test_starts_over_where_the_server_ignores_ranges(site, target):
    cut_once(site, target)
    site.honours_range = False
    download(site.url("set.zip"), target, SHA256)
    assert target.read_bytes() == CONTENT


def test_starts_over_where_the_file_has_changed(site, target):
    cut_once(site, target)
    site.etag, site.files["set.zip"] = '"v2"', CONTENT[::-1]
    download(site.url("set.zip"), target)
    assert target.read_bytes() == CONTENT[::-1]


def test_starts_over_where_versions_cannot_be_told_apart(site, target):
    site.etag = None
    site.cuts = [400_000]
    with pytest.raises(DownloadError, match="was cut off"):
        download(site.url("set.zip"), target)
    download(site.url("set.zip"), target, SHA256)
    assert ranges(site) == [None, None]


def test_a_whole_part_needs_no_more_bytes(site, target):
    cut_once(site, target)
    target.with_name("set.zip.part").write_bytes(CONTENT)
    assert download(site.url("set.zip"), target, SHA256) == SHA256
    assert target.read_bytes() == CONTENT


def test_a_part_longer_than_the_file_starts_over(site, target):
    cut_once(site, target)
    target.with_name("set.zip.part").write_bytes(CONTENT + b"more")
    download(site.url("set.zip"), target, SHA256)
    assert ranges(site) == [f"bytes={len(CONTENT) + 4}-", None]


def test_another_range_than_asked_for_is_refused(site, target):
    cut_once(site, target)
    site.lies_about_range = True
    with pytest.raises(DownloadError, match="another range than asked for"):
        download(site.url("set.zip"), target)
    assert left_over(target) == []


def test_unknown_length(site, target):
    site.declares_length = False
    seen = []
    download(site.url("set.zip"), target, SHA256, progress=lambda *numbers: seen.append(numbers))
    assert seen[-1] == (len(CONTENT), None)


def test_a_wrong_checksum_leaves_the_old_file(site, target):
    target.parent.mkdir()
    target.write_bytes(b"old")
    with pytest.raises(DownloadError, match=f"must have the SHA-256 checksum {'0' * 64}; got {SHA256}"):
        download(site.url("set.zip"), target, "0" * 64)
    assert target.read_bytes() == b"old"
    assert left_over(target) == ["set.zip"]


def test_an_unknown_checksum_is_recorded_and_held_to(site, target):
    assert download(site.url("set.zip"), target) == SHA256
    assert target.with_name("set.zip.sha256").read_text() == f"{SHA256}  set.zip\n"
    download(site.url("set.zip"), target)
    assert len(site.requests) == 1
    target.write_bytes(b"damaged")
    download(site.url("set.zip"), target)
    assert target.read_bytes() == CONTENT


def test_a_file_with_the_right_checksum_is_left_alone(site, target):
    target.parent.mkdir()
    target.write_bytes(CONTENT)
    assert download(site.url("set.zip"), target, SHA256) == SHA256
    assert not site.requests


def test_redirections_are_followed_to_the_web_only(site, target):
    site.redirects = {"moved": "/set.zip", "trap": "file:///etc/passwd"}
    assert download(site.url("moved"), target, SHA256) == SHA256
    with pytest.raises(DownloadError, match="answered 302"):
        download(site.url("trap"), target.with_name("trap"))


def test_missing_file(site, target):
    with pytest.raises(DownloadError, match=r"/gone answered 404 \(there is no such file\); check the address"):
        download(site.url("gone"), target)
    assert left_over(target) == []


def test_refused_connection(target):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/set.zip"
        with pytest.raises(DownloadError, match="cannot be reached .*check the connection"):
            download(url, target)


def test_silent_server(target):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/set.zip"
        with pytest.raises(DownloadError, match=r"was cut off \(timed out\)"):
            download(url, target, timeout=0.05)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/x", "set.zip", ""])
def test_other_addresses_are_refused(url, target):
    with pytest.raises(DownloadError, match="only http and https"):
        download(url, target)


def test_full_disk(site, target, monkeypatch):
    def no_space(_file):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(download_module, "sync", no_space)
        with pytest.raises(DownloadError, match=r"the disk is full while writing .*set\.zip; free space"):
            download(site.url("set.zip"), target, SHA256)
    assert not target.exists()
    download(site.url("set.zip"), target, SHA256)
    assert target.read_bytes() == CONTENT


def test_folder_that_cannot_be_made(site, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DownloadError, match="cannot be written"):
        download(site.url("set.zip"), Path(tmp_path, "file", "set.zip"))


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
