"""Whichever system call fails while a model is written, the old or the new one loads, and the next save works.

What a writer reports is true, too: without an error the new model is there; with one the old model is, unless the error
says that the new one may be. By default each call fails in a few ways; ``make attack`` tries all of them.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tacit
from planted import planted
from store.faults import Faults
from tacit.errors import TacitError
from tacit.store.folder import MANIFEST, read_manifest

TEXTS = ["a red apple", "a green pear", "the fast car", "a slow car"]
TAGS = [["fruit", "red"], ["fruit"], ["car"], ["car"]]
ERRORS = (errno.EIO, errno.ENOSPC, errno.EACCES, errno.EINVAL)
HAVE_EFFECT = ("replace", "rename", "unlink", "write", "truncate", "mkdir", "save_file", "flock")
EVERY_WAY = bool(os.environ.get("TACIT_ATTACK"))

Write = Callable[[], Any]


# -- what is written --------------------------------------------------------------------------------------


def _fitted(texts: list[str] = TEXTS, tags: list[list[str]] = TAGS) -> tacit.Tagger:
    return tacit.Tagger("Popularity", calibrate=False, names=False, language=None).fit(texts, tags)


def _with_acts(folder: Path) -> None:
    tagger = _fitted()
    tagger.save(folder)
    tagger.add_label("pome", examples=["apple pear"])
    tagger.save(folder)


def save(folder: Path) -> Write:
    X, Y = planted(seed=3)
    model = tacit.Popularity().fit(X, Y)
    return lambda: model.save(folder)


def save_with_acts(folder: Path) -> Write:
    tagger = _fitted()
    tagger.add_label("pome", examples=["apple pear"])
    return lambda: tagger.save(folder)


def update(folder: Path) -> Write:
    tagger = tacit.Tagger.load(folder)
    tagger.update(["a bus"], [["bus"]])
    return lambda: tagger.save(folder)


def update_and_rename(folder: Path) -> Write:
    tagger = tacit.Tagger.load(folder)
    tagger.rename_label("car", "cars")
    tagger.update(["a bus"], [["bus"]])
    return lambda: tagger.save(folder)


def learn(folder: Path) -> Write:
    tagger = tacit.Tagger.load(folder)
    tagger.learn([("apple", "fruit", True), ("apple", "car", False)])
    return lambda: tagger.save(folder)


def add_label(folder: Path) -> Write:
    tagger = tacit.Tagger.load(folder)
    tagger.add_label("truck", examples=["a fast car"])
    return lambda: tagger.save(folder)


def train_over(folder: Path) -> Write:
    tagger = _fitted([*TEXTS, "a bus"], [*TAGS, ["bus"]])
    return lambda: tagger.save(folder, acts="discard")


def train_over_and_keep(folder: Path) -> Write:
    tagger = _fitted([*TEXTS, "a bus"], [*TAGS, ["bus"]])
    return lambda: tagger.save(folder, acts="keep")


CASES = {
    "save": (None, save),
    "save over": (lambda folder: tacit.Popularity().fit(*planted()).save(folder), save),
    "save with acts": (None, save_with_acts),
    "first act": (lambda folder: _fitted().save(folder), add_label),
    **{name.__name__: (_with_acts, name) for name in (update, update_and_rename, learn, add_label, train_over)},
    "train_over_and_keep": (_with_acts, train_over_and_keep),
}


# -- what is there afterwards -----------------------------------------------------------------------------


def content(folder: Path) -> Any:
    """What the model in a folder is, and None if there is none."""
    if not (folder / MANIFEST).exists():
        return None
    model = tacit.load_model(folder)
    if isinstance(model, tacit.Tagger):
        return [str(name) for name in model.classes_], len(model.acts_), str(model.card_)
    return model.label_counts_.tolist()


def put(template: Path | None, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if template is not None:
        shutil.copytree(template, folder)


def ways(calls: list[str]) -> Iterator[Faults]:
    """For each call: how it fails."""
    for at, name in enumerate(calls, start=1):
        usual = ERRORS[at % len(ERRORS)]
        for number in ERRORS:
            if EVERY_WAY or number == usual or (name == "fsync" and number == errno.EINVAL):
                yield Faults(at, number)
            if name in HAVE_EFFECT and (EVERY_WAY or number == usual):
                yield Faults(at, number, late=True)
            if EVERY_WAY or (number == usual and name in ("replace", "close")):
                yield Faults(at, number, lasting=True)


@pytest.fixture
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # takes milliseconds, and shows nothing here
    monkeypatch.setattr("tacit.store.ledger._LOCK_TIMEOUT", 0.2)
    monkeypatch.setattr("tacit.tagger.home._MIN_NEW", 1)  # samples of acts are cached at once


@pytest.mark.skipif(os.name == "nt", reason="locks and renames are others there")
@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("case", CASES)
def test_the_old_or_the_new_model_loads(case, tmp_path, monkeypatch):
    before, prepare = CASES[case]
    folder, template = tmp_path / "model", None
    if before is not None:
        before(tmp_path / "template")
        template = tmp_path / "template"
    put(template, folder)
    old, write, counted = content(folder), prepare(folder), Faults()
    manifest = (folder / MANIFEST).read_bytes() if old is not None else b""
    with monkeypatch.context() as patch:
        counted.install(patch)
        write()
    new = content(folder)
    assert new != old
    for faults in ways(counted.calls):
        put(template, folder)
        write = prepare(folder)
        error = ""
        with monkeypatch.context() as patch:
            faults.install(patch)
            try:
                write()
            except TacitError as refused:
                error = str(refused)
        where = f"{counted.calls[faults.at - 1]} {faults} {error}"
        found = content(folder)
        expected = [new] if not error else [old]
        assert found in expected or (found is not None and (faults.lasting or "may" in error)), where
        if error and old is not None:  # a crash now may bring back the older manifest
            current = (folder / MANIFEST).read_bytes()
            (folder / MANIFEST).write_bytes(manifest)
            assert content(folder) is not None, where
            (folder / MANIFEST).write_bytes(current)
        if "may" in error:  # what was tried may need to be repeated from what is there now
            _fitted().save(folder, acts="discard")
        else:
            write()
            assert content(folder) == new, where
        names = {file.name for file in folder.iterdir() if not file.name.startswith("acts.jsonl")}
        assert names == {MANIFEST, read_manifest(folder)["file"]["name"]}, where
