"""Virtual environments for other systems, and the processes in which adapters run."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import tacit

#: Where environments and results are kept.
CACHE = Path(os.environ.get("TACIT_PEERS", Path.home() / ".cache" / "tacit-peers"))
ADAPTERS = Path(__file__).with_name("adapters")
SOURCES = Path(tacit.__file__).parent


class PeerError(Exception):
    """A system failed."""


class PeerTimeoutError(PeerError):
    """A system took too long."""


def interpreter(
    home: Path, installs: Sequence[Sequence[str]], finish: Callable[[Path], object] = lambda python: python
) -> Path:
    """The interpreter of an environment, made and filled if need be.

    Parameters
    ----------
    home : path
        Folder of the environment.
    installs : sequence of sequences of str
        Arguments of ``pip install``, one call after the other.
    finish : callable
        ``(python)``: what else must be done once.
    """
    python, ready = home / "bin" / "python", home / "ready"
    if not ready.exists():
        print(f"installing {installs[-1][-1]} into {home}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        for packages in installs:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        finish(python)
        ready.touch()
    return python


def run_step(
    python: Path,
    adapter: Path,
    step: str,
    home: Path,
    options: dict[str, Any],
    *,
    n_threads: int = 1,
    timeout: float | None = None,
) -> dict[str, Any]:
    """What an adapter measured in one step, in a process of its own.

    With our own interpreter the adapter imports this tacit, whichever is installed.
    """
    variables = {**os.environ, "OMP_NUM_THREADS": str(n_threads), "OPENBLAS_NUM_THREADS": str(n_threads)}
    variables.pop("PYTHONPATH", None)
    if python == Path(sys.executable):
        variables["PYTHONPATH"] = str(SOURCES.parent)
    command = [str(python), str(adapter), step, str(home), json.dumps(options)]
    name = adapter.stem.removeprefix("run_")
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise PeerTimeoutError(f"{name} was ended after {timeout:,.0f} s ({step})") from error
    if done.returncode:
        raise PeerError(f"{name} failed (exit {done.returncode}):\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def digest(parts: Iterable[str]) -> str:
    """A short name for texts."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def texts_of(folder: Path) -> list[str]:
    """The Python files of a folder, however deep."""
    return [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))]


def machine() -> str:
    """Processor, cores, memory and Python, in a line."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    names = [line.partition(":")[2] for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    processor = names[0].strip() if names else platform.processor()
    return f"{processor}, {os.cpu_count()} cores, {pages / 2**30:.0f} GB, Python {platform.python_version()}"


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []
