"""The site of the documentation has all pages, its links lead somewhere, and every public name is documented."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import types

import pytest

import tacit
from pages import DOCS, broken_links
from tools import docs_site
from tools.docs_site import NEIGHBOURS, REFERENCES, ROOT, made_pages, relinked

PAGES = sorted(
    path.relative_to(ROOT).as_posix() for path in (*DOCS.rglob("*.md"), *(ROOT / name for name in NEIGHBOURS))
)
NAV = re.findall(r"[\w/.-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2])


def test_the_navigation_has_every_page_once():
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(NAV) == sorted(pages | made_pages().keys())


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    assert not broken_links(ROOT / page)


@pytest.mark.parametrize("page", PAGES)
def test_links_of_the_site_lead_somewhere(page):
    place = NEIGHBOURS.get(page, page.removeprefix("docs/"))
    files = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.*")}
    known = files | made_pages().keys() | docs_site.linked_files()
    text = relinked((ROOT / page).read_text(encoding="utf-8"), page, place)
    targets = {docs_site._target(place, match[2]) for match in docs_site.LINK.finditer(text)}
    assert targets <= known


def test_formulas_become_mathml():
    pytest.importorskip("latex2mathml", reason="needs the extra 'docs'")
    text = "`$HOME` costs $5, \n$p_l$ and\n\n$$a = b$$\n```\n$x$\n```"
    found = docs_site.with_formulas(text)
    assert found.startswith("`$HOME` costs $5, \n<span><math")
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in found
    assert found.endswith("```\n$x$\n```")


def test_every_public_name_is_in_the_reference():
    named = {name for page in REFERENCES.values() for name in page.names}
    assert {f"tacit.{name}" for name in tacit.__all__ if name != "__version__"} <= named


def test_every_public_name_has_a_docstring(monkeypatch):
    assert not docs_site.undocumented()

    class Bare:
        def told(self):
            """What it does."""

        def untold(self): ...

        @property
        def unnamed(self): ...

    Bare.__module__ = "tacit.bare"
    monkeypatch.setitem(sys.modules, "tacit.bare", module := types.ModuleType("tacit.bare"))
    module.Bare = Bare
    monkeypatch.setattr(docs_site, "REFERENCES", {"bare.md": docs_site.Reference("", "", ("tacit.bare.Bare",))})
    assert docs_site.undocumented() == ["tacit.bare.Bare", "tacit.bare.Bare.untold", "tacit.bare.Bare.unnamed"]


def test_the_reference_of_commands_is_their_help():
    text = made_pages()["commands.md"]
    assert "Usage: tacit find-missing [OPTIONS]" in text
    assert text.count("\n## ") == len(docs_site.COMMANDS)


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    if importlib.util.find_spec("mkdocstrings") is None or importlib.util.find_spec("material") is None:
        pytest.skip("needs the extra 'docs'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    models = (tmp_path / "python" / "models.html").read_text(encoding="utf-8")
    assert "inverse strength of the regularisation" in models
    loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)', models)
    assert not loaded
