"""Running the command line inside the test process, and files to run it on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import tacit as library
from planted import planted
from tacit.cli.main import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def tacit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run ``tacit`` with the given arguments."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["tacit", *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return Outcome(int(code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def numeric(tmp_path: Path) -> Path:
    X, Y = planted()
    names = [f"name {label}" for label in range(Y.shape[1])]
    library.save_data(library.Dataset(X, Y, names), tmp_path / "train.txt")
    return tmp_path / "train.txt"


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    """A CSV file as a user has it: two text columns, tags in one cell."""
    topics = {"fruit": "apple pear plum fig", "cars": "engine wheel brake road", "music": "song chord tune choir"}
    rows = ["id,title,body,tags"]
    rng = np.random.default_rng(0)
    for number in range(90):
        tags = list(rng.choice(list(topics), size=rng.integers(1, 3), replace=False))
        words = [word for tag in tags for word in rng.choice(topics[tag].split(), size=3)]
        rows.append(f'{number},{words[0]},"{" ".join(words[1:])}, and more",{"|".join(tags)}')
    path = tmp_path / "articles.csv"
    path.write_text("\n".join(rows) + "\n")
    return path
