"""What SECURITY.md promises is shown by tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
PROMISES = (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8")


def names_in(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


def test_tests_that_are_named_exist():
    named = re.findall(r"`tests/([\w/]+\.py)::(\w+)`", PROMISES)
    assert len(named) > 20
    assert [f"{file}::{test}" for file, test in named if test not in names_in(TESTS / file)] == []


def test_every_promise_names_a_test():
    rows = [line for line in PROMISES.splitlines() if line.startswith("| ")]
    assert len(rows) > 10
    assert [row for row in rows[1:] if not re.search(r"::\w+` \|$", row)] == []
