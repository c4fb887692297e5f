"""The systems that are compared, and how each is run."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from benchmarks.peers.environments import ADAPTERS, CACHE, digest, interpreter, run_step
from benchmarks.peers.load import OtherWork

TOO_SLOW = 3600.0  # seconds for one step

Result = dict[str, Any]


@dataclass(frozen=True)
class System:
    """A system with its settings.

    Attributes
    ----------
    title : str
        As tables have it.
    adapter : path
        The script that runs it.
    package : str
        Whose version is told.
    installs : tuple of tuples of str
        What pip installs for it, one call after the other; nothing for tacit itself.
    options : dict
        What the adapter takes.
    manual : str
        Where its project says how it is to be run.
    """

    title: str
    adapter: Path
    package: str
    installs: tuple[tuple[str, ...], ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    manual: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether it is a model of tacit."""
        return self.package == "tacit"

    def python(self) -> Path:
        """The interpreter that runs it."""
        if not self.installs:
            return Path(sys.executable)
        lines = [" ".join(packages) for packages in self.installs]
        return interpreter(CACHE / f"{self.package}-{digest(lines)}", self.installs)


def _ours(title: str, model: str, **parameters: Any) -> System:
    options = {"model": model, "parameters": parameters}
    return System(title, ADAPTERS / "run_tacit.py", "tacit", options=options)


def _omikuji(title: str, **hyper_parameters: Any) -> System:
    return System(
        title,
        ADAPTERS / "run_omikuji.py",
        "omikuji",
        (("numpy==2.4.6", "scipy==1.17.1", "omikuji==0.5.2"),),
        {"hyper_parameters": hyper_parameters},
        "https://github.com/tomtung/omikuji#python-binding",
    )


_SKLEARN = ("numpy==2.4.6", "scipy==1.17.1", "scikit-learn==1.9.1")
SYSTEMS = {
    "pecos": System(
        "PECOS XR-Linear",
        ADAPTERS / "run_pecos.py",
        "libpecos",
        # Without its dependencies for deep learning, which XR-Linear does not import: they are gigabytes.
        (("numpy==1.26.4", "scipy==1.13.1", "scikit-learn==1.9.1"), ("--no-deps", "libpecos==1.2.8")),
        manual="https://github.com/amzn/pecos/tree/mainline/pecos/xmc/xlinear",
    ),
    "parabel": _omikuji("omikuji Parabel"),
    "bonsai": _omikuji("omikuji Bonsai", cluster_balanced=False, cluster_k=100, max_depth=3),  # as its README has it
    "napkinxc": System(
        "napkinXC",
        ADAPTERS / "run_napkinxc.py",
        "napkinxc",
        (("numpy==1.26.4", "scipy==1.17.1", "napkinxc==0.7.2"),),
        manual="https://github.com/mwydmuch/napkinXC/blob/master/python/examples/train_store_load.py",
    ),
    "libmultilabel": System(
        "LibMultiLabel",
        ADAPTERS / "run_libmultilabel.py",
        "libmultilabel",
        # The same: only its linear models are used, which import none of the networks.
        (
            (*_SKLEARN, "pandas==3.1.1", "pyyaml==6.0.3", "tqdm==4.70.1", "psutil==7.2.2"),
            ("liblinear-multicore==2.50.0", "sparsekmeans==0.3.1"),
            ("--no-deps", "libmultilabel==0.10.0"),
        ),
        manual="https://www.csie.ntu.edu.tw/~cjlin/libmultilabel/auto_examples/plot_linear_tree_tutorial.html",
    ),
    "sklearn": System(
        "scikit-learn",
        ADAPTERS / "run_sklearn.py",
        "scikit-learn",
        (_SKLEARN,),
        manual="https://scikit-learn.org/stable/model_persistence.html",
    ),
    "LabelTree": _ours("`LabelTree`", "LabelTree"),
    "LabelTree-3": _ours("`LabelTree(n_trees=3)`", "LabelTree", n_trees=3),
    "OneVsAll": _ours("`OneVsAll`", "OneVsAll"),
    "Blend": _ours("`Blend`", "Blend"),
    "Blend-tail": _ours("`Blend`, tail", "Blend", models=["LabelTree"], target="PSP@1+PSP@3+PSP@5"),
}


def measure(
    name: str,
    matrices: str | Path,
    *,
    n_threads: int = 1,
    clock: str = "wall",
    timeout: float | None = TOO_SLOW,
    before: Callable[[], float] = lambda: 0.0,
) -> Result:
    """Train a system, then rank with what it saved: every step in a process of its own.

    Parameters
    ----------
    name : str
        A key of `SYSTEMS`.
    matrices : path
        Folder of ``X.trn.npz``, ``Y.trn.npz`` and ``X.tst.npz``.
    n_threads : int
        Threads of training. Ranking is measured with one thread, and with as many as these.
    clock : {"wall", "CPU"}
        What times of ranking are taken with. Where other processes are at work, wall times mean little.
    timeout : float, optional
        Seconds after which a step is ended.
    before : callable
        Called before each step; returns the load by other processes.

    Returns
    -------
    dict
        ``version``; ``train_cpu`` and ``train_wall`` seconds of training and saving; ``train_mb`` above the process
        with its libraries and the data; ``model_mb``; ``rank_mb``; ``first_row_s``, which includes loading;
        ``rows_per_second``, and with all threads ``rows_per_second_threads``; ``row_ms`` and ``row_p95_ms``; ``loads``,
        those before and during each step; and the `tacit.Ranking` of the test rows as ``ranking``.
    """
    system, loads = SYSTEMS[name], []
    python = system.python()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)

        def run(what: str, threads: int) -> Result:
            how = {"matrices": str(matrices), "n_threads": threads, "clock": clock, "package": system.package}
            options = {**system.options, **how}
            return run_step(python, system.adapter, what, home, options, n_threads=threads, timeout=timeout)

        def step(what: str, threads: int) -> Result:
            load, others = before(), OtherWork()
            found = run(what, threads)
            loads.append([load, others.load()])
            return found

        if system.is_ours:
            run("compile", n_threads)
        found = step("train", n_threads)
        with_threads = step("rank", n_threads)
        found |= with_threads if n_threads == 1 else step("rank", 1)
        stored = np.load(home / "ranking.npz")
        ranking = tacit.Ranking(stored["labels"].astype(np.int32), stored["scores"].astype(np.float32))
    threads = {"rows_per_second_threads": with_threads["rows_per_second"]}
    return {**found, **threads, "loads": loads, "ranking": ranking}
