from __future__ import annotations

import dataclasses
import io
import tarfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest
from scipy import sparse

import tacit
from tacit.data import catalog
from tacit.data.catalog import CATALOG, entry, fetch, find
from tacit.errors import DownloadError, ParameterError


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


def test_entry_ignores_case_and_offers_the_nearest_name():
    assert entry("Wiki10-31K").n_labels == 30_938
    with pytest.raises(ParameterError, match="is called 'wiki10' .did you mean 'wiki10-31k'"):
        entry("wiki10")


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


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A web server with a data set; gives its folder and the requests."""
    pytest.importorskip("pooch", reason="needs the extra 'data'")
    root, requests = tmp_path / "site", []
    root.mkdir()

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=root)

        def log_request(self, *_):
            requests.append(self.path)

        def log_error(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        (members,) = CATALOG["eurlex-4k"].files.values()
        files = {f"http://127.0.0.1:{server.server_port}/eurlex-4k.tar.gz": members}
        known = dataclasses.replace(CATALOG["eurlex-4k"], files=files)
        monkeypatch.setattr(catalog, "CATALOG", {"eurlex-4k": known})
        yield root / "eurlex-4k.tar.gz", requests
        server.shutdown()
        thread.join()


X, Y = np.eye(4, 3, dtype=np.float32), np.eye(4, 2, dtype=np.float32)


def members() -> dict[str, bytes]:
    inside = [npz(X), npz(X[:2]), npz(Y), npz(Y[:2]), b"law\ntrade\n"]
    (names,) = CATALOG["eurlex-4k"].files.values()
    return dict(zip(names, inside, strict=True))


def test_fetch_downloads_unpacks_and_loads(tmp_path, site):
    archive, requests = site
    archive.write_bytes(archive_bytes(members() | {"../outside.txt": b"", "/outside.txt": b""}))
    found = fetch("EURLex-4K", tmp_path)
    assert fetch("eurlex-4k", tmp_path) == found
    assert len(requests) == 1
    assert sorted(found) == ["test", "train"]
    assert sorted(file.name for file in (tmp_path / "eurlex-4k").iterdir()) == sorted(
        ["X.trn.npz", "X.tst.npz", "Y.trn.npz", "Y.tst.npz", "labels.txt"]
    )
    loaded = tacit.load_data(found["train"])
    np.testing.assert_array_equal(loaded.X.toarray(), X)
    np.testing.assert_array_equal(loaded.Y.toarray(), Y)
    assert loaded.label_names == ["law", "trade"]


@pytest.mark.parametrize("damage", ["absent", "cut", "incomplete"])
def test_what_cannot_be_had_leaves_no_part(tmp_path, site, damage):
    archive, _ = site
    content = archive_bytes(dict(list(members().items())[: -1 if damage == "incomplete" else None]))
    if damage != "absent":
        archive.write_bytes(content[: len(content) - 40 * (damage == "cut")])
    with pytest.raises(DownloadError, match="eurlex-4k could not be downloaded to"):
        fetch("eurlex-4k", tmp_path)
    assert find("eurlex-4k", tmp_path) == {}


@pytest.mark.real_data
def test_a_public_set_that_cannot_be_downloaded_is_found(real_data):
    assert tacit.load_data(find("bibtex", real_data)["train"]).X.shape == (4880, 1836)
