"""Choices of `LabelTree` and `OneVsAll`; ``benchmarks.peers`` compares them with other systems.

Usage: ``TACIT_DATA=… python -m benchmarks.label_tree WHAT [NAME…]``:

losses   the losses of both; NAMEs are sets
defaults how `LabelTree` came to its defaults, and each against other values, on validation parts of training data
tolerance when the training of `OneVsAll` stops, on validation parts of training data
inner    how much weaker inner nodes of `LabelTree` are regularised than leaves, on validation parts of training data
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from benchmarks.growth import Size
from benchmarks.peers.sets import SETS
from tacit.core.base import Estimator
from tacit.data.split import train_test_split
from tacit.linear import label_tree
from tacit.numerics.classifiers import LOSSES, POSITIVES
from tacit.registry import find_model

N_THREADS = 2
METRICS = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")

COSTS = (0.1, 0.25, 0.5, 1.0)  # C of losses; ten times that for the logistic loss
SETS_OF_LOSSES = {"bibtex": None, "delicious": None, "eurlex57k": 12_000}  # rows that C is chosen on
BOTH: dict[str, dict[str, Any]] = {"OneVsAll": {}, "LabelTree": {}}
N_HELD_OUT = {"bibtex": 1_200, "delicious": 3_000, "rcv1sub1": 750, "eurlex57k": 5_000, "yso-finna-en": 10_000}
RARE = Size("labels", 50_000, 256_000)  # synthetic: most labels that have samples have one or two
SEEDS = (500, 501)
BEFORE: dict[str, Any] = {  # the default that was replaced
    "n_trees": 2, "hard_negatives": 0.0, "negatives": 1.0, "C": 0.4, "tolerance": 0.4, "path_weight": 0.5, "beam": 10,
}  # fmt: skip
STEPS: tuple[dict[str, Any], ...] = (  # from there, each with those before it, to the default
    {},
    {"n_trees": 1},
    {"path_weight": 0.3, "beam": 20},
    {"C": 0.3},
    {"negatives": 2.0},
    {"hard_negatives": 0.5},
    {"tolerance": 0.6},
)
VARIANTS: tuple[dict[str, Any], ...] = (  # of the default
    {"n_trees": 2},
    {"C": 0.2},
    {"C": 0.4},
    {"negatives": 1.0},
    {"negatives": 3.0},
    {"hard_negatives": 0.0},
    {"hard_negatives": 1.0},
    {"path_weight": 0.5},
    {"beam": 10},
    {"max_leaf": 200},
    {"prune": 0.08},
    {"dtype": "float32"},
    {"loss": "squared", "C": 1.0},
    {"loss": "squared", "positives": "unbiased"},
)
TOLERANCES = (0.1, 0.05, 0.2, 0.3, 0.5)  # the first is what the others are compared with
OF_TOLERANCES = {  # splits, and training rows at most
    "bibtex": (20, 4_000),
    "delicious": (20, 10_000),
    "rcv1sub1": (20, 2_400),
    "eurlex57k": (3, 15_000),
    "yso-finna-en": (5, 10_000),
}
INNER = (1.0, 1.5, 2.0)  # factors of C
OF_INNER = {
    "rare": (3, None),
    "bibtex": (20, None),
    "delicious": (20, None),
    "eurlex57k": (5, None),
    "yso-finna-en": (8, None),
}
MODELS_OF_LOSSES = {"bibtex": BOTH, "delicious": BOTH, "eurlex57k": {"LabelTree": {"n_trees": 1}}}


def losses(*names: str) -> None:
    """P and PSP of every loss with every way to count positives; C is the best of four on a fifth of train."""
    for name in names or SETS_OF_LOSSES:
        X, Y, X_test, Y_test = load(name)
        split = train_test_split(Y[: SETS_OF_LOSSES[name]], 0.2, seed=300)
        part = (X[split.train], Y[split.train], X[split.test], Y[split.test])
        print(f"{name}\n  {'':38s}{'C':>6s}" + "".join(f"{metric:>8s}" for metric in METRICS), flush=True)
        for model, options in MODELS_OF_LOSSES[name].items():
            for loss, positives in itertools.product(LOSSES, POSITIVES):
                chosen = options | {"loss": loss, "positives": positives, "n_jobs": N_THREADS}

                def value(C: float, model: str = model, chosen: Any = chosen, part: Any = part) -> float:
                    found = figures(model, {**chosen, "C": C}, *part)
                    return found["P@5"] + found["PSP@5"]

                C = max((10 * C for C in COSTS) if loss == "logistic" else COSTS, key=value)
                found = figures(model, {**chosen, "C": C}, X, Y, X_test, Y_test)
                title = f"{model:10s} {loss:14s} {positives:11s}"
                print(f"  {title:38s}{C:6.2f}" + "".join(f"{found[metric]:8.2f}" for metric in METRICS), flush=True)


def defaults(*names: str) -> None:
    """The way to the defaults and their neighbours, means of two splits of train; test is not touched."""
    columns = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
    steps = [
        dict(itertools.chain(BEFORE.items(), *(step.items() for step in STEPS[: i + 1]))) for i in range(len(STEPS))
    ]
    for name in names or N_HELD_OUT:
        X, Y, *_ = load(name)
        print(
            f"{name}\n  {'':34s}{'CPU s':>8s}{'rows/s':>8s}" + "".join(f"{metric:>8s}" for metric in columns),
            flush=True,
        )
        for change, options in [*zip(STEPS, steps, strict=True), *((variant, variant) for variant in VARIANTS)]:
            found = []
            for seed in SEEDS:
                rows = np.random.default_rng(seed).permutation(X.shape[0])
                test, train = rows[: N_HELD_OUT[name]], rows[N_HELD_OUT[name] :]
                model = tacit.LabelTree(n_jobs=N_THREADS, random_state=seed, **options)
                start = time.process_time()
                model.fit(X[train], Y[train])
                fitted = time.process_time()
                ranking = model.rank(X[test])
                speed = len(test) / (time.process_time() - fitted)
                metrics = tacit.evaluate(ranking, Y[test], tacit.propensities(Y[train]))
                found.append([fitted - start, speed, *(100 * metrics[metric] for metric in columns)])
            seconds, speed, *values = np.mean(found, axis=0)
            title = ("" if options is change else "+ ") + ", ".join(f"{key}={value}" for key, value in change.items())
            line = f"  {title if change else 'before':34s}{seconds:8.1f}{speed:8,.0f}"
            print(line + "".join(f"{value:8.2f}" for value in values), flush=True)


def tolerance(*names: str) -> None:
    """Rows of a Markdown table: time and figures of `OneVsAll` beside those of the first tolerance."""

    def model(each: float) -> Estimator:
        return tacit.OneVsAll(tolerance=each, n_jobs=N_THREADS)

    print_gains("`tolerance`", model, TOLERANCES, {name: OF_TOLERANCES[name] for name in names or OF_TOLERANCES})


def inner(*names: str) -> None:
    """Rows of a Markdown table: time and figures of `LabelTree` beside those with the same C in all nodes."""

    def model(factor: float) -> Estimator:
        label_tree._INNER_C = factor
        return tacit.LabelTree(n_jobs=N_THREADS)

    print_gains("factor", model, INNER, {name: OF_INNER[name] for name in names or OF_INNER})


def print_gains(
    title: str,
    model: Callable[[float], Estimator],
    values: Sequence[float],
    sizes: dict[str, tuple[int, int | None]],
) -> None:
    """What a model gains over its first value on validation parts; `sizes`: splits of a set, and rows of training."""
    columns = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
    print(f"| | {title} | CPU | " + " | ".join(columns) + " |\n|" + 9 * "---|")
    for name, (n_splits, n_rows) in sizes.items():
        X, Y, *_ = load(name)
        model(values[0]).fit(X[:100], Y[:100]).rank(X[:100])  # loads kernels
        found = np.empty((len(values), n_splits, 1 + len(columns)))
        for split in range(n_splits):
            rows = np.random.default_rng(SEEDS[0] + split).permutation(X.shape[0])
            n_test = N_HELD_OUT.get(name, 5_000)
            test, train = rows[:n_test], rows[n_test:][:n_rows]
            for place, value in enumerate(values):
                start = time.process_time()
                ranking = model(value).fit(X[train], Y[train]).rank(X[test])
                seconds = time.process_time() - start
                metrics = tacit.evaluate(ranking, Y[test], tacit.propensities(Y[train]))
                found[place, split] = seconds, *(100 * metrics[metric] for metric in columns)
        for value, figures_of in zip(values[1:], found[1:], strict=True):
            gains = (figures_of - found[0])[:, 1:]
            error = gains.std(axis=0, ddof=1) / np.sqrt(n_splits)
            cells = (f"{mean:+.2f} ± {of_mean:.2f}" for mean, of_mean in zip(gains.mean(axis=0), error, strict=True))
            speed = figures_of[:, 0].sum() / found[0, :, 0].sum()
            print(f"| {name} | {value:g} | {speed:.2f} | " + " | ".join(cells) + " |", flush=True)


def figures(model: str, options: dict[str, Any], X: Any, Y: Any, X_test: Any, Y_test: Any) -> dict[str, float]:
    """Metrics of a model that is trained here, in percent."""
    ranking = find_model(model)(**options).fit(X, Y).rank(X_test)
    return {name: 100 * value for name, value in tacit.evaluate(ranking, Y_test, tacit.propensities(Y)).items()}


def load(name: str) -> tuple[Any, Any, Any, Any]:
    """Features and labels of the parts of a set."""
    if name == "rare":
        return RARE.load()
    folder = Path(os.environ["TACIT_DATA"]) / name
    if name == "yso-finna-en":
        return SETS[name].load(folder.parent)
    if name == "eurlex57k":
        files = [folder / "tfidf" / f"X.{part}.npz" for part in ("trn", "tst")]
    else:
        files = [folder / f"{part}.txt" for part in ("train", "test")]
    train, test = map(tacit.load_data, files)
    return train.X, train.Y, test.X, test.Y


COMMANDS: dict[str, Callable[..., Any]] = {
    "losses": losses,
    "defaults": defaults,
    "tolerance": tolerance,
    "inner": inner,
}


def main(what: str = "defaults", *names: str) -> None:
    """Run one of the comparisons."""
    if "TACIT_DATA" not in os.environ:
        print("set TACIT_DATA to the folder with the public benchmark sets to run this benchmark")
        return
    if what not in COMMANDS:
        sys.exit(f"unknown comparison {what} (there are: {', '.join(COMMANDS)})")
    COMMANDS[what](*names)


if __name__ == "__main__":
    main(*sys.argv[1:])
