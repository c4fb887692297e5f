from __future__ import annotations

import dataclasses
import io
import re
import tarfile

import numpy as np
import pytest
from scipy import sparse

import tacit
from tacit.data import catalog
from tacit.data.catalog import CATALOG, CatalogEntry, RemoteFile, entry, fetch, find
from tacit.errors import DownloadError, ParameterError
from web_server import serving


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


def test_entries_are_complete():
    for name, known in CATALOG.items():
        assert known.name == name == name.lower()
        assert known.home.startswith("http")
        assert re.search(r"\d{4}$|Finna", known.citation)
        assert min(known.n_train, known.n_test, known.n_labels, known.labels_per_sample) > 1
        for file in known.files:
            assert file.url.startswith("http")
            assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)


def test_entry_ignores_case_and_offers_the_nearest_name():
    assert entry("Wiki10-31K").n_labels == 30_938
    with pytest.raises(ParameterError, match="no data set is called 'bibtext' .did you mean 'bibtex'"):
        entry("bibtext")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["train.txt", "test.txt", "labels.txt"], {"train": "train.txt", "test": "test.txt"}),
        (["train.jsonl.gz", "dev.jsonl.gz"], {"train": "train.jsonl.gz", "dev": "dev.jsonl.gz"}),
        (["X.trn.npz", "Y.trn.npz", "X.tst.npz"], {"train": "X.trn.npz", "test": "X.tst.npz"}),
        (["trn_X_Xf.txt", "trn_X_Y.txt"], {"train": "trn_X_Xf.txt"}),
        (["eurlex_train.txt", "eurlex_test.txt"], {"train": "eurlex_train.txt", "test": "eurlex_test.txt"}),
        (["bibtex-train.arff", "train.txt.gz"], {"train": "train.txt.gz"}),
        (["train.txt.part", "constrain.txt"], {}),
        ([], {}),
    ],
)
def test_find_knows_the_names_in_use(tmp_path, files, expected):
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in files:
        (folder / name).touch()
    assert find("mine", tmp_path) == {part: folder / name for part, name in expected.items()}


def test_find_uses_the_variable(tmp_path, monkeypatch):
    (tmp_path / "bibtex").mkdir()
    (tmp_path / "bibtex" / "train.txt").touch()
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    assert find("bibtex") == find("BibTeX") == {"train": tmp_path / "bibtex" / "train.txt"}
    assert find("mediamill") == {}
    monkeypatch.delenv("TACIT_DATA")
    with pytest.raises(ParameterError, match="set TACIT_DATA to the folder"):
        find("bibtex")


def test_sets_without_address_say_how_to_get_them(tmp_path):
    with pytest.raises(DownloadError, match=r"by hand from http\S+ and put its parts at \S+/mediamill/train"):
        fetch("mediamill", tmp_path)
    assert list(tmp_path.iterdir()) == []


def archive_bytes(members):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as packed:
        for name, content in members.items():
            item = tarfile.TarInfo(name)
            item.size = len(content)
            packed.addfile(item, io.BytesIO(content))
    return stream.getvalue()


def npz(matrix):
    stream = io.BytesIO()
    sparse.save_npz(stream, sparse.csr_matrix(matrix))
    return stream.getvalue()


def test_fetch_downloads_unpacks_and_loads(tmp_path, monkeypatch):
    X, Y = np.eye(4, 3, dtype=np.float32), np.eye(4, 2, dtype=np.float32)
    real = CATALOG["eurlex-4k"]
    (remote,) = real.files
    inside = [npz(X), npz(X[:2]), npz(Y), npz(Y[:2]), b"law\ntrade\n"]
    with serving() as site:
        site.files["eurlex-4k.tar.gz"] = archive_bytes(dict(zip(remote.members, inside, strict=True)))
        local = dataclasses.replace(remote, url=site.url("eurlex-4k.tar.gz"))
        monkeypatch.setattr(catalog, "CATALOG", {"eurlex-4k": dataclasses.replace(real, files=(local,))})
        found = fetch("EURLex-4K", tmp_path)
        assert fetch("eurlex-4k", tmp_path) == found
        assert len(site.requests) == 1
    assert sorted(found) == ["test", "train"]
    assert not list(tmp_path.rglob("*.tar.gz"))
    loaded = tacit.load_data(found["train"])
    np.testing.assert_array_equal(loaded.X.toarray(), X)
    np.testing.assert_array_equal(loaded.Y.toarray(), Y)
    assert loaded.label_names == ["law", "trade"]


def test_fetch_holds_to_a_known_checksum(tmp_path, monkeypatch):
    with serving() as site:
        site.files["train.txt"] = b"1 1 1\n0 0:1\n"
        tampered = CatalogEntry(
            "tiny", "", 1, 1, 1, 1, 1.0, "http://home", "2024",
            files=(RemoteFile(site.url("train.txt"), sha256="0" * 64),),
        )  # fmt: skip
        monkeypatch.setattr(catalog, "CATALOG", {"tiny": tampered})
        with pytest.raises(DownloadError, match="must have the SHA-256 checksum 000"):
            fetch("tiny", tmp_path)
    assert find("tiny", tmp_path) == {}


@pytest.mark.real_data
def test_public_sets_are_as_the_catalogue_says(real_data):
    for name in ("bibtex", "delicious", "rcv1sub1"):
        known, files = entry(name), find(name, real_data)
        for part, size in (("train", known.n_train), ("test", known.n_test)):
            loaded = tacit.load_data(files[part])
            assert loaded.X.shape == (size, known.n_features)
            assert loaded.n_labels == known.n_labels
