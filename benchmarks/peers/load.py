"""What other processes do with the machine: speed is measured while they do nothing."""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

IDLE = 0.5  # cores that others may keep busy
WINDOW = 5.0  # seconds for which they are watched


class MachineBusyError(Exception):
    """Other processes did not end in time."""


def _machine_seconds() -> float:
    """Processor seconds of all processes since the machine was started."""
    user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def _our_seconds() -> float:
    """Those of this process, and of its children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _clocks() -> tuple[float, float]:
    """Wall time, and processor seconds of others."""
    return time.perf_counter(), _machine_seconds() - _our_seconds()


@dataclass(frozen=True)
class OtherWork:
    """The cores that processes other than ours keep busy from now on.

    Unlike the load average it forgets our own last step at once. Time that a virtual machine is not given counts, too.
    """

    start: tuple[float, float] = field(default_factory=_clocks)

    def load(self) -> float:
        """Their mean number until now."""
        wall, seconds = (now - then for now, then in zip(_clocks(), self.start, strict=True))
        return max(0.0, seconds / wall)


def wait_until_idle(minutes: float, limit: float = IDLE, window: float | None = None) -> float:
    """The load by others once it is below `limit`; an error if it stays above for too long."""
    window = WINDOW if window is None else window
    end = time.monotonic() + 60 * minutes
    while True:
        others = OtherWork()
        time.sleep(window)
        load = others.load()
        if load < limit:
            return load
        if time.monotonic() > end:
            raise MachineBusyError(
                f"other processes keep {load:.1f} cores busy and did so for {minutes:g} min; what is measured is kept: "
                "run the command again when the machine is idle, or with --busy"
            )
        print(f"waiting for an idle machine: others keep {load:.1f} cores busy", file=sys.stderr, flush=True)
