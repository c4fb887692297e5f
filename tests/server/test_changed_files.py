"""Files of a model that somebody overwrites or truncates in place while it is served."""

from __future__ import annotations

import os
import time
from pathlib import Path

import httpx
import pytest

import tacit
from server.live import PATIENCE, started
from tagger.articles import articles

pytestmark = pytest.mark.skipif(os.name == "nt", reason="files in use cannot be changed there")


def truncate(file: Path) -> None:
    os.truncate(file, 0)


def overwrite(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.write(b"\xff" * file.stat().st_size)


def suggested(address: str) -> list[str]:
    answer = httpx.post(f"{address}v1/suggest", json={"text": "apple pear song", "k": 3}, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return [found["label"] for found in answer.json()["results"][0]["suggestions"]]


@pytest.mark.parametrize(("change", "n_workers"), [(truncate, 1), (overwrite, 1), (truncate, 2)])
def test_a_model_changed_in_place_is_served_as_it_was(model, change, n_workers, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    tagger = tacit.Tagger.load(model)
    tagger.learn([("apple pear", "fruit", True)])
    tagger.save(model)
    log = tmp_path / "log"
    with started("serve", model, "--workers", n_workers, log=log) as (process, address):
        usual = suggested(address)
        for file in [*model.glob("*.safetensors"), *model.glob("acts*")]:
            change(file)
        deadline = time.monotonic() + PATIENCE
        while "changed in place" not in log.read_text():
            assert time.monotonic() < deadline
            for _ in range(4 * n_workers):
                assert suggested(address) == usual
            time.sleep(0.1)
        tacit.Tagger(model="OneVsAll").fit(*articles()).save(tmp_path / "another")
        for file in [*model.glob("*.safetensors"), *model.glob("acts*")]:
            file.unlink()
        for file in (tmp_path / "another").iterdir():
            file.replace(model / file.name)
        while "reloaded" not in log.read_text():
            assert time.monotonic() < deadline
            assert suggested(address)
            time.sleep(0.1)
        process.terminate()
        process.wait(PATIENCE)
    assert not list((tmp_path / "tmp").glob("tacit-serve-*"))
