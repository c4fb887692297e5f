"""Public multi-label data sets: where their files are on this machine, and what pooch can download."""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tacit.data.files import Staging
from tacit.data.formats import FORMATS
from tacit.errors import DownloadError, ParameterError, did_you_mean, import_extra

DATA_VARIABLE = "TACIT_DATA"
PARTS = ("train", "dev", "test")
_PECOS = "https://archive.org/download/pecos-dataset/xmc-base"
_AUEB = "http://nlp.cs.aueb.gr/software_and_datasets/EURLEX57K"


@dataclass(frozen=True)
class CatalogEntry:
    """A public data set that can be downloaded; its sources publish no checksums."""

    name: str  # also that of its folder
    description: str
    n_train: int
    n_test: int
    n_labels: int
    citation: str
    files: Mapping[str, Mapping[str, str]]  # by address; of an archive, names of files by patterns of its members


def _from_pecos(name: str, description: str, n_train: int, n_test: int, n_labels: int, citation: str) -> CatalogEntry:
    features = {f"xmc-base/{name}/tfidf-attnxml/X.{part}.npz": f"X.{part}.npz" for part in ("trn", "tst")}
    labels = {f"xmc-base/{name}/Y.{part}.npz": f"Y.{part}.npz" for part in ("trn", "tst")}
    members = features | labels | {f"xmc-base/{name}/output-items.txt": "labels.txt"}
    return CatalogEntry(name, description, n_train, n_test, n_labels, citation, {f"{_PECOS}/{name}.tar.gz": members})


_ENTRIES = (
    _from_pecos("eurlex-4k", "EU law indexed by EuroVoc", 15_449, 3_865, 3_956, "Loza Mencía, Fürnkranz, 2008"),
    _from_pecos("wiki10-31k", "social tags of Wikipedia articles", 14_146, 6_616, 30_938, "Zubiaga, 2012"),
    _from_pecos("amazoncat-13k", "categories of products", 1_186_239, 306_782, 13_330, "McAuley, Leskovec, 2013"),
    CatalogEntry(
        "eurlex57k", "EU law indexed by EuroVoc, full text", 45_000, 6_000, 4_271, "Chalkidis et al., 2019",
        {
            f"{_AUEB}/datasets.zip": {f"dataset/{part}/*.json": f"{part}.jsonl" for part in PARTS},
            f"{_AUEB}/eurovoc_en.json": {},
        },
    ),
)  # fmt: skip

#: What can be downloaded, by name; other sets are found in the data folder all the same.
CATALOG: Mapping[str, CatalogEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})


def entry(name: str) -> CatalogEntry:
    """Look up a data set by name; case does not matter."""
    known = CATALOG.get(name.lower())
    if known is None:
        raise ParameterError(
            f"no data set that can be downloaded is called '{name}'{did_you_mean(name, CATALOG)} "
            f"(known: {', '.join(CATALOG)}); docs/data-formats.md says where others are"
        )
    return known


def data_folder(root: str | os.PathLike[str] | None = None) -> Path:
    """`root`, or the folder that TACIT_DATA names."""
    chosen = os.fspath(root) if root is not None else os.environ.get(DATA_VARIABLE, "")
    if not chosen:
        raise ParameterError(f"set {DATA_VARIABLE} to the folder for data sets, or name a folder")
    return Path(chosen)


# Patterns of the file names of a part, best first; for formats with two files, of the file to load.
_FILE_NAMES = (
    r"{part}\.txt",
    rf"{{part}}({'|'.join(re.escape(suffix) for entry in FORMATS.values() for suffix in entry.suffixes)})",
    r"X\.{short}\.npz",
    r"{short}_X_Xf\.txt",
    r".+[-_]{part}\.(txt|svm|svmlight|libsvm|arff)",
)
_SHORT = {"train": "trn", "dev": "val", "test": "tst"}


def find(name: str, root: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """The files of a data set in the folder `name` of `root` or of TACIT_DATA, by part ("train", "dev", "test")."""
    folder = data_folder(root) / name
    if not folder.is_dir():
        folder = data_folder(root) / name.lower()
    present = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    found = {}
    for part in PARTS:
        for pattern in _FILE_NAMES:
            shape = re.compile(pattern.format(part=part, short=_SHORT[part]) + r"(\.gz)?", re.IGNORECASE)
            if matches := [path for path in present if shape.fullmatch(path.name)]:
                found[part] = matches[0]
                break
    return found


def fetch(name: str, root: str | os.PathLike[str] | None = None, *, progress: Any = None) -> dict[str, Path]:
    """Download a data set into its folder unless it is there already, and return its files like `find`.

    `progress` is a bar with the interface that pooch takes.
    """
    wanted, base = entry(name), data_folder(root)
    if found := find(wanted.name, base):
        return found
    pooch = import_extra("pooch", "downloading", "data")
    pooch.get_logger().setLevel("ERROR")
    loader, folder = pooch.HTTPDownloader(progressbar=progress or False), base / wanted.name
    unpacked, name = folder / ".unpacked", ""
    try:
        for url, members in wanted.files.items():
            unpack = pooch.Unzip if url.endswith(".zip") else pooch.Untar
            how = unpack(None if "*" in "".join(members) else list(members), unpacked.name) if members else None
            name = url.rpartition("/")[2]
            pooch.retrieve(url, None, fname=name, path=folder, downloader=loader, processor=how)
            if members:
                _collect(unpacked, folder, members)
                (folder / name).unlink()
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile, tarfile.TarError) as error:
        (folder / name).unlink(missing_ok=True)
        raise DownloadError(f"{wanted.name} could not be downloaded to {folder} ({error}); try again") from error
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
    return find(wanted.name, base)


def _collect(unpacked: Path, folder: Path, members: Mapping[str, str]) -> None:
    """Give members their names; many members that match one pattern are JSON documents, and become lines."""
    found = {name: sorted(unpacked.glob(pattern)) for pattern, name in members.items()}
    if missing := [name for name, files in found.items() if not files]:
        raise ValueError(f"nothing for {missing[0]} is in the archive: its source has changed")
    with Staging() as staging:
        for pattern, name in members.items():
            with staging.open(folder / name) as target:
                for file in found[name]:
                    document = json.dumps(json.loads(file.read_bytes()), ensure_ascii=False) if "*" in pattern else None
                    target.write(file.read_bytes() if document is None else f"{document}\n".encode())
