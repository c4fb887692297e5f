"""How adapters measure; imported by their own interpreters, so it needs nothing but Python on Linux."""

from __future__ import annotations

import resource
from collections.abc import Iterable
from pathlib import Path


def cpu_seconds() -> float:
    """User and system time of this process and of those it has started."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Memory:
    """Resident memory that is needed beyond what the process has when this is made."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        self.before = _megabytes("VmRSS")

    def peak(self) -> float:
        """Megabytes above the start at the highest point since."""
        return _megabytes("VmHWM") - self.before


def _megabytes(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(field))


def files_in(*folders: Path) -> list[Path]:
    """All files in folders, however deep."""
    return [file for folder in folders for file in folder.rglob("*") if file.is_file()]


def megabytes_of(files: Iterable[Path]) -> float:
    """What files take on disk."""
    return sum(file.stat().st_size for file in files) / 1e6
