"""Counters and histograms in the text format of Prometheus."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence

Key = tuple[tuple[str, str], ...]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Counter:
    """A number for each set of labels that only rises."""

    kind = "counter"

    def __init__(self, name: str, help_text: str) -> None:
        self.name = name
        self.help = help_text
        self._values: dict[Key, float] = {}
        self._lock = threading.Lock()

    def add(self, amount: float = 1, **labels: str) -> None:
        """Count something."""
        key = tuple(labels.items())
        with self._lock:
            self._values[key] = self._values.get(key, 0) + amount

    def lines(self) -> Iterator[str]:
        """The numbers as text."""
        with self._lock:
            values = dict(self._values)
        for key, value in values.items():
            yield f"{self.name}{_braces(key)} {value:g}"


class Histogram:
    """How often values fell below each of some bounds, for each set of labels."""

    kind = "histogram"

    def __init__(self, name: str, help_text: str, bounds: Sequence[float]) -> None:
        self.name = name
        self.help = help_text
        self._bounds = bounds
        self._counts: dict[Key, list[int]] = {}
        self._sums: dict[Key, float] = {}
        self._lock = threading.Lock()

    def observe(self, value: float, **labels: str) -> None:
        """Count a value."""
        key = tuple(labels.items())
        place = bisect.bisect_left(self._bounds, value)
        with self._lock:
            counts = self._counts.setdefault(key, [0] * (len(self._bounds) + 1))
            counts[place] += 1
            self._sums[key] = self._sums.get(key, 0.0) + value

    def lines(self) -> Iterator[str]:
        """The counts as text, each with those below it."""
        with self._lock:
            counts = {key: list(value) for key, value in self._counts.items()}
            sums = dict(self._sums)
        for key, per_bound in counts.items():
            below = 0
            for bound, count in zip((*self._bounds, float("inf")), per_bound, strict=True):
                below += count
                limit = "+Inf" if bound == float("inf") else f"{bound:g}"
                yield f"{self.name}_bucket{_braces((*key, ('le', limit)))} {below}"
            yield f"{self.name}_sum{_braces(key)} {sums[key]:.6f}"
            yield f"{self.name}_count{_braces(key)} {below}"


class Metrics:
    """All that the service counts."""

    def __init__(self) -> None:
        self.requests = Counter("tacit_requests_total", "Requests by route, method and status.")
        self.seconds = Histogram("tacit_request_seconds", "Time from the end of the headers to the answer.", _SECONDS)
        self.texts = Counter("tacit_texts_total", "Texts that suggestions were made for.")
        self.ranked = Histogram("tacit_ranked_texts", "Texts ranked together.", _TEXTS)
        self.judged = Counter("tacit_judgements_total", "Suggestions accepted or rejected.")
        self.reloads = Counter("tacit_reloads_total", "Times a model was loaded anew, by outcome.")

    def text(self, gauges: Mapping[str, tuple[str, Mapping[Key, float]]]) -> str:
        """Everything as text; `gauges` are values of this moment: by name a help text and values by labels."""
        families = (self.requests, self.seconds, self.texts, self.ranked, self.judged, self.reloads)
        lines: list[str] = []
        for family in families:
            lines += _headed(family.name, family.help, family.kind, family.lines())
        for name, (help_text, values) in gauges.items():
            lines += _headed(name, help_text, "gauge", (f"{name}{_braces(key)} {v:.15g}" for key, v in values.items()))
        return "\n".join(lines) + "\n"


def _headed(name: str, help_text: str, kind: str, lines: Iterable[str]) -> list[str]:
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}", *lines]


def _braces(key: Key) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in key) + "}" if key else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resident_memory() -> int:
    """Bytes of memory that this process holds; 0 where that is not told."""
    import os

    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - not a file of anyone's
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
