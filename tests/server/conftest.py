"""A small model, and a service that has it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from server.browser import CHROMIUM, Page, chromium
from server.live import Live, serving
from server.using import opened
from tacit import Tagger
from tagger.articles import articles


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of articles; not to be changed."""
    folder = tmp_path_factory.mktemp("served") / "articles"
    Tagger(model="OneVsAll").fit(*articles()).save(folder)
    return folder


@pytest.fixture
def model(saved: Path, tmp_path: Path) -> Path:
    """A model of articles."""
    return Path(shutil.copytree(saved, tmp_path / "articles"))


@pytest.fixture
def start(model: Path) -> Iterator[Callable[..., Live]]:
    """Start a service with the options given; it stops after the test."""
    with ExitStack() as running:

        def begin(**options: Any) -> Live:
            folders = options.pop("folders", {"articles": model})
            return running.enter_context(serving(folders, **options))

        yield begin


@pytest.fixture(scope="module")
def new_tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Page]]:
    """A browser, or skip; gives a function that opens a tab."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with chromium(tmp_path_factory.mktemp("browser")) as opener:
        yield opener


@pytest.fixture
def live(start: Callable[..., Live]) -> Live:
    """A running service."""
    return start()


@pytest.fixture
def page(new_tab: Callable[[], Page], live: Live) -> Page:
    """The page of a running service."""
    return opened(new_tab(), live)
