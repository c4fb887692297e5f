"""What the first `fit` on a machine costs: kernels are compiled once, and loaded from the cache from then on.

Usage: ``python -m benchmarks.first_use [MODEL…]``. Each model is fitted to the same small data in two processes that
share a new, empty cache: the first compiles, the second loads. Times are CPU seconds of `fit` and `rank`, imports
aside; kernels are counted once per signature. The slowest ones are shown with the seconds that they took by
themselves, without the kernels that they call.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from numba.core import event

MODELS = ("OneVsAll", "LabelTree", "FastXML", "PfastreXML", "ExMLDS1", "SLEEC", "JointExMLDS", "AnnexML", "MLLCS")
GOALS = {"OneVsAll": 6.0, "LabelTree": 6.0, "JointExMLDS": 6.0, "FastXML": 10.0, "PfastreXML": 10.0}
N_SLOWEST = 3


class FirstUse(NamedTuple):
    """CPU seconds of a small `fit` and `rank`, and those of compiling each kernel: seconds and signatures by name."""

    seconds: float
    kernels: dict[str, tuple[float, int]]


class Watch(event.Listener):  # type: ignore[misc]
    """Charges the time of compilation to the kernel that is compiled, not to the one that calls it."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.signatures: defaultdict[str, int] = defaultdict(int)
        self._open: list[str] = []
        self._since = 0.0

    def _charge(self) -> None:
        now = time.process_time()
        if self._open:
            self.spent[self._open[-1]] += now - self._since
        self._since = now

    def on_start(self, event: Any) -> None:
        """A kernel, or a function of Numba that one calls, is going to be compiled."""
        self._charge()
        kernel = event.data["dispatcher"].py_func
        self._open.append(f"{kernel.__module__.removeprefix('tacit.kernels.')}.{kernel.__qualname__}")
        self.signatures[self._open[-1]] += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002 - as Numba calls it
        """It is compiled."""
        self._charge()
        self._open.pop()


def first_use(name: str) -> FirstUse:
    """Fit a model to small data in this process and watch what is compiled."""
    from tacit.data.synthetic import make_dataset
    from tacit.registry import find_model

    watch = Watch()
    event.register("numba:compile", watch)
    data = make_dataset(n_samples=300, n_features=200, n_labels=40, seed=0)
    model = find_model(name)(n_jobs=1)
    start = time.process_time()
    model.fit(data.X, data.Y).rank(data.X[:5], k=3)
    seconds = time.process_time() - start
    return FirstUse(seconds, {kernel: (watch.spent[kernel], watch.signatures[kernel]) for kernel in watch.spent})


def in_new_process(name: str, cache: str) -> FirstUse:
    """The same in a process of its own that keeps its kernels in `cache`."""
    code = f"import json; from benchmarks.first_use import first_use; print(json.dumps(first_use({name!r})))"
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    return FirstUse(*json.loads(done.stdout))


def line(name: str) -> str:
    """A line about the first and the second use of a model."""
    with tempfile.TemporaryDirectory() as cache:
        first, second = in_new_process(name, cache), in_new_process(name, cache)
    n_signatures = sum(count for _, count in first.kernels.values())
    slowest = sorted(first.kernels, key=first.kernels.__getitem__, reverse=True)[:N_SLOWEST]
    shown = ", ".join(f"{kernel} {first.kernels[kernel][0]:.1f}" for kernel in slowest)
    goal = f"{GOALS[name]:4.0f}" if name in GOALS else "   –"
    return f"{name:<12} {first.seconds:5.1f} {goal} {second.seconds:6.1f} {n_signatures:11}   {shown}"


def main(names: Sequence[str] = MODELS) -> None:
    """Measure each model."""
    print(f"{'model':<12} first goal second  signatures   slowest kernels (CPU seconds)")
    for name in names:
        print(line(name), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or MODELS)
