"""Systems in turns on one set, several times; what was measured is kept, so that a long run can be continued."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from scipy import sparse

import tacit
from benchmarks.peers import sets
from benchmarks.peers.environments import ADAPTERS, SOURCES, PeerError, PeerTimeoutError, digest, texts_of
from benchmarks.peers.kept import kept, written
from benchmarks.peers.load import wait_until_idle
from benchmarks.peers.sets import Matrices, write_matrices
from benchmarks.peers.systems import SYSTEMS, TOO_SLOW, Result, measure

METRICS = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")


@dataclass(frozen=True)
class Conditions:
    """Under which conditions is measured.

    Attributes
    ----------
    n_threads : int
        Threads of training, and of the faster ranking.
    is_busy : bool
        Whether other work may go on; ranking is then timed by CPU time.
    minutes : float
        How long an idle machine is waited for, before each step.
    timeout : float
        Seconds after which a step is ended.
    """

    n_threads: int = 2
    is_busy: bool = False
    minutes: float = 30.0
    timeout: float = TOO_SLOW

    @property
    def clock(self) -> str:
        """What ranking is timed with."""
        return "CPU" if self.is_busy else "wall"

    def before(self) -> float:
        """Wait for an idle machine, unless it may be busy; the load by others."""
        return wait_until_idle(0, limit=float("inf")) if self.is_busy else wait_until_idle(self.minutes)


@dataclass(frozen=True)
class Bench:
    """The runs of systems on the matrices of one set.

    The folder is named by all that results depend on: the source of tacit, the adapters, the versions, the settings.
    Peers are measured again, too, when tacit has changed, because ratios are of systems that took turns.

    Attributes
    ----------
    name : str
        Of the set.
    folder : path
        Where folders of results are.
    load : callable
        The matrices.
    conditions : Conditions
        Under which is measured.
    """

    name: str
    folder: Path
    load: Callable[[], Matrices]
    conditions: Conditions

    @cached_property
    def home(self) -> Path:
        """The folder of the matrices and of the results."""
        how = (self.conditions.n_threads, self.conditions.is_busy)
        settings = [repr(how), *(repr(system.installs) + repr(system.options) for system in SYSTEMS.values())]
        sources = [Path(sets.__file__).read_text(encoding="utf-8"), *texts_of(ADAPTERS), *texts_of(SOURCES)]
        return self.folder / f"{self.name}-{digest([*settings, *sources])}"

    @cached_property
    def matrices(self) -> Path:
        """The folder of the matrices, written if need be."""
        return written(self.home / "matrices", lambda folder: write_matrices(self.load(), folder))

    @cached_property
    def labels(self) -> tuple[Any, Any]:
        """The labels of train and of test, which may have more of them."""
        Y, Y_test = (sparse.csr_matrix(sparse.load_npz(self.matrices / f"Y.{part}.npz")) for part in ("trn", "tst"))
        Y.resize(Y.shape[0], Y_test.shape[1])
        return Y, Y_test

    @property
    def shape(self) -> str:
        """Rows, features and labels, in words."""
        (rows, features), (_, labels) = (sparse.load_npz(self.matrices / f"{name}.trn.npz").shape for name in "XY")
        return f"{rows:,} × {features:,}, {labels:,} labels, {self.labels[1].shape[0]:,} test rows"

    def runs(self, names: Sequence[str], n_runs: int) -> list[dict[str, Result]]:
        """What was measured in each run, by system; systems that failed are told and left out."""
        return [dict(self._turns(names, number)) for number in range(1, n_runs + 1)]

    def _turns(self, names: Sequence[str], number: int) -> Iterable[tuple[str, Result]]:
        for name in names:
            print(f"{self.name}, run {number}: {SYSTEMS[name].title}", file=sys.stderr, flush=True)
            try:
                found = self._kept(name, number)
            except PeerError as error:
                print(f"  {error}", file=sys.stderr, flush=True)
                continue
            if "error" in found:
                print(f"  {found['error']}", file=sys.stderr, flush=True)
            else:
                yield name, found

    def _kept(self, name: str, number: int) -> Result:
        """A system that was too slow once is not tried again."""
        first = self.home / "run-1" / f"{name}.json"
        if number > 1 and first.exists() and "error" in (found := json.loads(first.read_text())):
            return dict(found)
        return kept(self.home / f"run-{number}" / f"{name}.json", lambda: self._measure(name))

    def _measure(self, name: str) -> Result:
        how = self.conditions
        try:
            found = measure(
                name,
                self.matrices,
                n_threads=how.n_threads,
                clock=how.clock,
                timeout=how.timeout,
                before=how.before,
            )
        except PeerTimeoutError as error:
            return {"error": str(error)}
        Y, Y_test = self.labels
        metrics = tacit.evaluate(found.pop("ranking"), Y_test, tacit.propensities(Y))
        return {**found, **{metric: 100 * metrics[metric] for metric in METRICS}}
