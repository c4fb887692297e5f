"""Public multi-label data sets: descriptions, sources, and where their files are on this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from tacit.data.download import Progress, download, unpack
from tacit.data.formats import FORMATS
from tacit.errors import DownloadError, ParameterError, did_you_mean
from tacit.progress import announce

DATA_VARIABLE = "TACIT_DATA"
PARTS = ("train", "dev", "test")

_XMC_REPOSITORY = "http://manikvarma.org/downloads/XC/XMLRepository.html"
_PECOS = "https://archive.org/download/pecos-dataset/xmc-base"


@dataclass(frozen=True)
class RemoteFile:
    """A file that can be downloaded."""

    url: str
    sha256: str | None = None  # if unknown, the checksum of the first download is recorded beside the file
    members: Mapping[str, str] = field(default_factory=dict)  # of an archive, as `unpack` takes them

    @property
    def name(self) -> str:
        """File name at the end of the address."""
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class CatalogEntry:
    """A public data set."""

    name: str  # also that of its folder
    description: str
    n_train: int
    n_test: int
    n_features: int | None  # None for text
    n_labels: int
    labels_per_sample: float
    home: str  # page that describes the data and offers them
    citation: str
    n_dev: int = 0
    licence: str | None = None  # None if the source states none
    files: tuple[RemoteFile, ...] = ()  # empty if they can only be downloaded by hand

    def instructions(self, root: Path) -> str:
        """How to get the files into the data folder."""
        folder = root / self.name
        if self.files:
            return f"tacit can download it: {', '.join(file.url for file in self.files)}"
        return f"download it by hand from {self.home} and put its parts at {folder}/train.* and {folder}/test.*"


def _from_pecos(name: str) -> tuple[RemoteFile, ...]:
    inside = f"xmc-base/{name}"
    members = {
        f"{inside}/tfidf-attnxml/X.trn.npz": "X.trn.npz",
        f"{inside}/tfidf-attnxml/X.tst.npz": "X.tst.npz",
        f"{inside}/Y.trn.npz": "Y.trn.npz",
        f"{inside}/Y.tst.npz": "Y.tst.npz",
        f"{inside}/output-items.txt": "labels.txt",
    }
    return (RemoteFile(f"{_PECOS}/{name}.tar.gz", members=members),)


_ENTRIES = (
    CatalogEntry(
        "bibtex", "tags of bibliography entries in BibSonomy", 4_880, 2_515, 1_836, 159, 2.40, _XMC_REPOSITORY,
        "Katakis, Tsoumakas, Vlahavas: Multilabel text classification for automated tag suggestion, 2008",
    ),
    CatalogEntry(
        "delicious", "tags of web pages", 12_920, 3_185, 500, 983, 19.02, _XMC_REPOSITORY,
        "Tsoumakas, Katakis, Vlahavas: Effective and efficient multilabel classification in domains with large "
        "number of labels, 2008",
    ),
    CatalogEntry(
        "mediamill", "concepts shown in video", 30_993, 12_914, 120, 101, 4.38, _XMC_REPOSITORY,
        "Snoek et al.: The challenge problem for automated detection of 101 semantic concepts in multimedia, 2006",
    ),
    CatalogEntry(
        "rcv1sub1", "topics of Reuters news, first subset", 3_000, 3_000, 47_236, 101, 2.88,
        "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multilabel.html",
        "Lewis, Yang, Rose, Li: RCV1: a new benchmark collection for text categorization research, 2004",
    ),
    CatalogEntry(
        "eurlex-4k", "EU law indexed by EuroVoc", 15_449, 3_865, 186_104, 3_956, 5.30, _XMC_REPOSITORY,
        "Loza Mencía, Fürnkranz: Efficient pairwise multilabel classification for large-scale problems in the "
        "legal domain, 2008",
        files=_from_pecos("eurlex-4k"),
    ),
    CatalogEntry(
        "wiki10-31k", "social tags of Wikipedia articles", 14_146, 6_616, 101_938, 30_938, 18.64, _XMC_REPOSITORY,
        "Zubiaga: Enhancing navigation on Wikipedia with social tags, 2012",
        files=_from_pecos("wiki10-31k"),
    ),
    CatalogEntry(
        "amazoncat-13k", "categories of products", 1_186_239, 306_782, 203_882, 13_330, 5.04, _XMC_REPOSITORY,
        "McAuley, Leskovec: Hidden factors and hidden topics: understanding rating dimensions with review text, "
        "2013",
        files=_from_pecos("amazoncat-13k"),
    ),
    CatalogEntry(
        "delicious-200k", "tags of web pages", 196_606, 100_095, 782_585, 205_443, 75.54, _XMC_REPOSITORY,
        "Wetzker, Zimmermann, Bauckhage: Analyzing social bookmarking systems: a del.icio.us cookbook, 2008",
    ),
    CatalogEntry(
        "eurlex57k", "EU law indexed by EuroVoc, full text", 45_000, 6_000, None, 4_271, 5.07,
        "https://github.com/iliaschalkidis/lmtc-eurlex57k",
        "Chalkidis, Fergadiotis, Malakasiotis, Androutsopoulos: Large-scale multi-label text classification on EU "
        "legislation, 2019",
        n_dev=6_000,
        files=(
            RemoteFile(
                "http://nlp.cs.aueb.gr/software_and_datasets/EURLEX57K/datasets.zip",
                members={f"dataset/{part}/*.json": f"{part}.jsonl" for part in PARTS},
            ),
            RemoteFile("http://nlp.cs.aueb.gr/software_and_datasets/EURLEX57K/eurovoc_en.json"),
        ),
    ),
    CatalogEntry(
        "yso-finna-en", "titles in Finnish libraries indexed by the YSO ontology", 590_669, 65_889, None, 25_400,
        2.44, "https://github.com/NatLibFi/Annif-corpora",
        "National Library of Finland: Annif-corpora, from metadata of Finna.fi",
        licence="CC0-1.0",
    ),
)  # fmt: skip

#: Every known data set by name.
CATALOG: Mapping[str, CatalogEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})


def entry(name: str) -> CatalogEntry:
    """Look up a data set by name; case does not matter."""
    known = CATALOG.get(name.lower())
    if known is None:
        raise ParameterError(
            f"no data set is called '{name}'{did_you_mean(name, CATALOG)} (known: {', '.join(CATALOG)})"
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
    """The files of a data set that are on this machine, by part ("train", "dev", "test").

    They are looked for in the folder `name` of `root` or of TACIT_DATA; parts that are not there are left out.
    Any of the paths can be given to `tacit.load_data`. The set need not be in the catalogue.
    """
    folder = data_folder(root) / name
    if not folder.is_dir() and name.lower() in CATALOG:
        folder = folder.with_name(name.lower())
    present = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    found = {}
    for part in PARTS:
        for pattern in _FILE_NAMES:
            shape = re.compile(pattern.format(part=part, short=_SHORT[part]) + r"(\.gz)?", re.IGNORECASE)
            if matches := [path for path in present if shape.fullmatch(path.name)]:
                found[part] = matches[0]
                break
    return found


def fetch(
    name: str, root: str | os.PathLike[str] | None = None, *, progress: Progress | None = None
) -> dict[str, Path]:
    """Download a data set into its folder unless it is there already, and return its files like `find`.

    Raises
    ------
    DownloadError
        If it cannot be downloaded; for sets that must be downloaded by hand the message says how.
    """
    wanted, base = entry(name), data_folder(root)
    if found := find(wanted.name, base):
        return found
    if not wanted.files:
        raise DownloadError(f"{wanted.name} cannot be downloaded by a program: {wanted.instructions(base)}")
    folder = base / wanted.name
    for remote in wanted.files:
        checksum = download(remote.url, folder / remote.name, remote.sha256, progress=progress)
        if remote.sha256 is None:
            announce(f"no checksum is known for {remote.name}; recorded the one it has: {checksum}")
    for remote in wanted.files:
        if remote.members:
            unpack(folder / remote.name, folder, remote.members)
            (folder / remote.name).unlink()
    return find(wanted.name, base)
