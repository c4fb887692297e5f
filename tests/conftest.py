"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings

from tacit.cli.main import main
from tacit.data.synthetic import SyntheticData, make_dataset

settings.register_profile("tacit", deadline=None, derandomize=bool(os.environ.get("CI")))  # first calls compile
settings.load_profile("tacit")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder with the public benchmark sets, or skip."""
    folder = os.environ.get("TACIT_DATA")
    if not folder:
        pytest.skip("set TACIT_DATA to the folder with the public benchmark sets to run this test")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"TACIT_DATA={folder} is not a folder")
    return path


@pytest.fixture(scope="module")
def made() -> SyntheticData:
    """Made-up data with missing labels; its truth is known."""
    return make_dataset(n_samples=1_500, n_features=800, n_labels=80)


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
