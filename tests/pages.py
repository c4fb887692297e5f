"""Pages of the documentation as tests run them: their blocks, their commands and their links."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.cli.main import main

DOCS = Path(__file__).parents[1] / "docs"


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """Kind and text of each block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands_of(block: str) -> list[str]:
    """The commands of a block: a line each, or several where a text follows up to END."""
    return [found[0].strip() for found in re.finditer(r"^.*<<'END'\n(?s:.*?)^END$|^.+$", block, re.MULTILINE)]


def run_command(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command of the shell; one that needs none of its features runs in this process, which spares the start."""
    if re.search(r"[|<>&;]", line):
        own = Path(sys.executable).parent
        path = f"{own}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(["bash", "-ec", line], check=True, env=os.environ | {"PATH": path}, timeout=120)
        return
    monkeypatch.setattr(sys, "argv", shlex.split(line))
    main()


def broken_links(page: Path) -> list[str]:
    """Links of a page to files and headings that there are not."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = []
    for target, _, heading in re.findall(r"\]\(((?!https?:)[^)#]*)(#?)([^)]*)\)", text):
        other = page.parent / target if target else page
        if not other.exists() or (heading and heading not in _headings(other)):
            found.append(f"{target}#{heading}")
    return found


def _headings(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
