"""The baselines of the papers' tables on public data: printed figures beside those measured here.

Usage: ``TACIT_DATA=… python -m reproduce.baselines [--only NAME] [--choose]``. With ``--choose`` the settings are
chosen again on a fifth of the training set, and test sets are not read.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import tacit
from reproduce.baselines.settings import BASELINES, GRIDS, PRINTED, SETTINGS, Run, figures
from tacit.arrays import Floats64
from tacit.data.split import hide_positives, train_test_split

SEEDS = (0, 1, 2)
KS = (1, 3, 5)

Part = tuple[sparse.csr_matrix, sparse.csr_matrix]


def load(name: str, part: str) -> Part:
    """Features and labels of the training or test part of a data set."""
    data = tacit.load_data(Path(os.environ["TACIT_DATA"]) / name / f"{part}.txt")
    return data.X, data.Y


def measure(name: str, run: Run, train: Part, test: Part, parameters: Mapping[str, Any], seed: int) -> Floats64:
    """P@1, P@3 and P@5 in percent, and CPU seconds of the fit."""
    X, Y = train
    extra = {"cooccurrence": Y.T @ Y} if name == "LEML-IMC" else {}
    given = hide_positives(Y, run.hidden, seed) if run.hidden else Y
    start = time.process_time()
    model = BASELINES[name].load()(random_state=seed, **parameters).fit(X, given, **extra)
    seconds = time.process_time() - start
    metrics = tacit.evaluate(model.rank(test[0], k=KS[-1]), test[1], ks=KS)
    return np.array([*(100 * metrics[f"P@{k}"] for k in KS), seconds])


def settings_in(grid: Mapping[str, tuple[Any, ...]], n_labels: int) -> Iterator[dict[str, Any]]:
    """Every combination of the values of a grid in which label vectors, where they are compressed, become shorter."""
    for values in itertools.product(*grid.values()):
        parameters = dict(zip(grid, values, strict=True))
        if all(parameters.get(size, 0) < n_labels for size in ("dimension", "n_chosen", "n_factors")):
            yield parameters


def choose(name: str, run: Run) -> None:
    """Print P@1/3/5 of every setting on a fifth of the training set; where labels are hidden, they are so there too."""
    X, Y = load(run.data, "train")
    split = train_test_split(Y, 0.2, seed=0)
    seen = hide_positives(Y, run.hidden, 0) if run.hidden else Y
    train, valid = (X[split.train], Y[split.train]), (X[split.test], seen[split.test])
    tried = []
    for parameters in settings_in(GRIDS[name], Y.shape[1]):
        found = measure(name, run, train, valid, parameters, 0)
        tried.append((float(found[:3].sum()), str(parameters)))
        print(f"  {figures(found[:3]):16s} {found[3]:6.1f} s  {parameters}", flush=True)
    print(f"{name} on {run}: {max(tried)[1]}", flush=True)


def test(name: str, run: Run) -> None:
    """Print a line with the printed and the measured figures, mean of three seeds."""
    train, held_out = load(run.data, "train"), load(run.data, "test")
    parameters = SETTINGS[name][run]
    found = np.mean([measure(name, run, train, held_out, parameters, seed) for seed in SEEDS], axis=0)
    printed = PRINTED[name][run]
    holds = "holds" if (found[:3] >= np.array(printed) - 1.5).all() else "MISSED"
    line = f"{name:10s} {run!s:22s} {figures(printed):16s} {figures(found[:3]):16s} {found[3]:8.1f}  {holds}"
    print(line, flush=True)


def main() -> None:
    """Run the baselines asked for."""
    parser = argparse.ArgumentParser(prog="python -m reproduce.baselines", description=__doc__)
    parser.add_argument("--only", choices=BASELINES, help="one baseline; by default all")
    parser.add_argument("--choose", action="store_true", help="choose settings on validation data instead")
    arguments = parser.parse_args()
    if not arguments.choose:
        print(f"{'baseline':10s} {'data':22s} {'printed':16s} {'measured':16s} {'CPU s':>8s}  within 1.5 points")
    for name in [arguments.only] if arguments.only else BASELINES:
        for run in PRINTED[name]:
            (choose if arguments.choose else test)(name, run)


if __name__ == "__main__":
    main()
