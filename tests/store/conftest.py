"""A user who may not write."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

_BECOME = (
    "import os, sys\nfrom pathlib import Path\npath = Path(sys.argv[1])\n"
    "def become_nobody():\n    if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
)


@pytest.fixture
def as_nobody() -> Callable[[str, Path], str]:
    """Run code on a copy of a path, as a user who may read it but change nothing; gives what was printed.

    The code calls ``become_nobody()`` once all is imported: that user may not see this Python.
    """

    def run(code: str, path: Path) -> str:
        with tempfile.TemporaryDirectory() as folder:
            copied = Path(shutil.copytree(path.parent, Path(folder) / "there")) / path.name
            places = [Path(folder), *Path(folder).rglob("*")]
            for place in places:
                place.chmod(0o555 if place.is_dir() else 0o444)
            command = [sys.executable, "-c", _BECOME + code, str(copied)]
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
            for place in places:
                place.chmod(0o755)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
