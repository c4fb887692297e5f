"""Files that are made once and kept, so that a long run can be continued."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def written(path: Path, write: Callable[[Path], None]) -> Path:
    """A file or folder, written if it is not there; it gets its name when it is complete."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.partial")
        write(unfinished)
        unfinished.rename(path)
    return path


def kept(path: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a JSON file holds; it is made and written if it is not there."""

    def write(unfinished: Path) -> None:
        unfinished.write_text(json.dumps(make()))

    found: dict[str, Any] = json.loads(written(path, write).read_text())
    return found
