"""The tree family against scikit-learn's one-vs-rest and PECOS: CPU time, accuracy, speed of ranking, size, growth.

Usage: ``python -m benchmarks trees`` (needs TACIT_DATA); ``python -m benchmarks.trees figures`` draws docs/figures,
``python -m benchmarks.trees choices`` compares what differs from the papers on parts cut from the training sets,
``python -m benchmarks.trees printed`` measures the papers' own models.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import tacit
from benchmarks import peers
from tacit.numerics.rows import unit_rows

MODELS = (tacit.FastXML, tacit.PfastXML, tacit.PfastreXML)
SEEDS = (0, 1, 2)
FIGURES = Path(__file__).parents[1] / "docs" / "figures"
SWEEPS = {
    "n_trees": (5, 10, 20, 50),
    "max_leaf": (3, 10, 30, 100),
    "C": (0.6, 1.2, 2.5, 5.0, 10.0),
    "bias": (0.1, 0.3, 1.0, 3.0),
    "labels_per_leaf": (2, 5, 10, 100),
    "A": (0.0, 0.3, 0.55, 0.8),
    "B": (0.4, 1.5, 5.0, 20.0),
    "alpha": (0.5, 0.8, 0.9, 0.97, 1.0),
    "min_share": (0.05, 0.1, 0.25, 0.4, 1.0),
    "gamma": (5.0, 15.0, 30.0, 100.0),
    "refit": (0.0, 0.5, 1.0, 1.5, 2.0),
    "balance": (0.0, 0.5, 0.75, 1.0, 1.5),
    "idf": (False, True),
    "centre_features": (10, 30, 100, 300),
}

CHOICES: tuple[Any, ...] = (
    tacit.FastXML(),
    tacit.FastXML(balance=None),
    tacit.FastXML(balance=1.0),
    tacit.FastXML(idf=False),
    tacit.FastXML(refit=0.0),
    tacit.FastXML(min_share=1.0),
    tacit.FastXML(splits="printed"),
    tacit.FastXML.paper(),
    tacit.PfastXML(),
    tacit.PfastXML(balance=None),
    tacit.PfastXML(refit=0.0),
    tacit.PfastXML(refit=2.0),
    tacit.PfastXML.paper(),
    tacit.PfastreXML(),
    tacit.PfastreXML(balance=None),
    tacit.PfastreXML(beta=1.0),
    tacit.PfastreXML(idf=False),
    tacit.PfastreXML.paper(),
    tacit.PfastreXML.paper(gamma=60.0),  # as in the authors' program
)

PRINTED: tuple[tuple[Any, dict[str, dict[str, float]]], ...] = (
    (tacit.FastXML.paper(), {"FastXML.paper()": {}}),
    (
        tacit.PfastreXML.paper(),
        {
            "PfastXML.paper()": {"alpha": 1.0},  # no weight for the tail classifiers
            "PfastreXML.paper(alpha=0.9)": {"alpha": 0.9},
            "PfastreXML.paper()": {"alpha": 0.8},
            "PfastreXML.paper(gamma=60)": {"gamma": 60.0},  # as in the authors' program
        },
    ),
)


def load(name: str) -> tuple[tacit.Dataset, tacit.Dataset]:
    """Training and test part of a public set."""
    folder = Path(os.environ["TACIT_DATA"]) / name
    return tacit.load_data(folder / "train.txt"), tacit.load_data(folder / "test.txt")


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds (user and system) of a call, and what it returned."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def shown(found: list[dict[str, float]]) -> str:
    """P and PSP at 1, 3 and 5 in percent, the mean of several results."""
    parts = ([np.mean([result[f"{metric}@{k}"] for result in found]) for k in (1, 3, 5)] for metric in ("P", "PSP"))
    return " | ".join("/".join(f"{100 * value:.2f}" for value in part) for part in parts)


def measure(name: str, train: tacit.Dataset, test: tacit.Dataset, peer: str, peer_cpu: float) -> None:
    """Print one line per model for one data set: the mean over seeds, and cost in units of a peer's."""
    propensities = tacit.propensities(train.Y)
    for model in MODELS:
        seconds, found = 0.0, []
        for seed in SEEDS:
            spent, fitted = cpu(lambda model=model, seed=seed: model(random_state=seed, n_jobs=2).fit(train.X, train.Y))
            seconds += spent / len(SEEDS)
            found.append(tacit.evaluate(fitted.rank(test.X, k=5), test.Y, propensities=propensities))
        print(
            f"{name} {model.__name__}: {shown(found)}; "
            f"fit {seconds / peer_cpu:.2f} x {peer}; {rows_per_second(fitted, test.X):,.0f} rows/s a core; "
            f"one row {one_row(fitted, test.X):.2f} ms; {size(fitted):.1f} MB",
            flush=True,
        )


def compare() -> None:
    """Bibtex and Delicious beside scikit-learn's one-vs-rest, EURLEX57K beside PECOS."""
    for name in ("bibtex", "delicious"):
        train, test = load(name)
        for model in MODELS:
            model(n_trees=1).fit(train.X[:100], train.Y[:100]).rank(test.X[:50])  # compiles
        peer_cpu, _ = cpu(lambda train=train: OneVsRestClassifier(LinearSVC()).fit(unit_rows(train.X), train.Y))
        measure(name, train, test, "LinearSVC", peer_cpu)
    folder = Path(os.environ["TACIT_DATA"]) / "eurlex57k" / "tfidf"
    train, test = (tacit.load_data(folder / f"X.{part}.npz") for part in ("trn", "tst"))
    measure("eurlex57k", train, test, "PECOS", peers.measure("pecos", folder)["train_cpu"])


def rows_per_second(model: Any, X: Any) -> float:
    """Rows that the saved and loaded model ranks in a second on one core, in the median of several rankings."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        loaded = tacit.load_model(Path(folder) / "model")
        return X.shape[0] / float(np.median([cpu(lambda: loaded.rank(X, k=5))[0] for _ in range(9)]))


def one_row(model: Any, X: Any) -> float:
    """Median milliseconds to rank a single row."""
    times = []
    for row in range(50):
        x = X[row]
        start = time.perf_counter()
        model.rank(x, k=5)
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times))


def size(model: Any) -> float:
    """Megabytes of the model folder."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        return sum(file.stat().st_size for file in (Path(folder) / "model").iterdir()) / 1e6


def growth() -> dict[str, list[tuple[float, float]]]:
    """CPU seconds by number of trees, and by number of samples over N log N."""
    train, _ = load("bibtex")
    tacit.FastXML(n_trees=1).fit(train.X, train.Y)
    by_trees = [(n, cpu(lambda n=n: tacit.FastXML(n_trees=n).fit(train.X, train.Y))[0]) for n in (5, 10, 20, 40)]
    by_samples = []
    for share in (8, 4, 2, 1):
        n = train.X.shape[0] // share
        seconds, _ = cpu(lambda n=n: tacit.FastXML(n_trees=10).fit(train.X[:n], train.Y[:n]))
        by_samples.append((n, seconds))
    return {"trees": by_trees, "samples": by_samples}


def draw(name: str, x: Any, lines: dict[str, Any], xlabel: str, ylabel: str) -> None:
    """One small figure."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "tacit"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(3.2, 2.3))
    for label, values in lines.items():
        axes.plot(x, values, marker="o", label=label)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    if len(lines) > 2:
        axes.legend(fontsize=7, loc="center", bbox_to_anchor=(0.5, 0.32), ncols=2)  # between P@5 and the others
    else:
        axes.legend(fontsize=7)
    figure.tight_layout()
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / f"trees-{name}.svg", metadata={"Date": None})
    plt.close(figure)


def figures() -> None:
    """The figures of docs/trees.md: PfastreXML on a fifth of Bibtex's training set held out, and growth."""
    train, _ = load("bibtex")
    order = np.random.default_rng(0).permutation(len(train))
    held, kept = np.sort(order[: len(train) // 5]), np.sort(order[len(train) // 5 :])
    propensities = tacit.propensities(train.Y[kept])
    for name, values in SWEEPS.items():
        lines: dict[str, list[float]] = {"P@1": [], "P@5": [], "PSP@1": [], "PSP@5": []}
        for value in values:
            model = tacit.PfastreXML(**{"n_trees": 10, name: value}).fit(train.X[kept], train.Y[kept])
            found = tacit.evaluate(model.rank(train.X[held]), train.Y[held], propensities=propensities)
            for metric, line in lines.items():
                line.append(100 * found[metric])
        draw(name, [str(value) for value in values], lines, name, "percent")
    for name, points in growth().items():
        x, seconds = np.array(points).T
        per = x if name == "trees" else x * np.log(x)
        draw(f"time-{name}", x, {"measured": seconds, "in proportion": seconds[-1] * per / per[-1]}, name, "CPU s")


def choices() -> None:
    """What differs from the papers and what does not, each on held-out parts of training sets."""
    for name, n_folds in (("bibtex", 5), ("delicious", 2)):
        train, _ = load(name)
        parts = np.array_split(np.random.default_rng(7).permutation(len(train)), 5)
        for model in CHOICES:
            found = []
            for fold in range(n_folds):
                held = np.sort(parts[fold])
                kept = np.setdiff1d(np.arange(len(train)), held)
                fitted = clone(model).set_params(random_state=fold, n_jobs=2).fit(train.X[kept], train.Y[kept])
                propensities = tacit.propensities(train.Y[kept])
                found.append(tacit.evaluate(fitted.rank(train.X[held]), train.Y[held], propensities=propensities))
            print(f"{name} {' '.join(repr(model).split())}: {shown(found)}", flush=True)


def printed() -> None:
    """The models as their papers print them, on the original test sets; what acts in ranking only shares its trees."""
    for name in ("bibtex", "delicious"):
        train, test = load(name)
        propensities = tacit.propensities(train.Y)
        for model, rankings in PRINTED:
            fitted = [clone(model).set_params(random_state=seed, n_jobs=2).fit(train.X, train.Y) for seed in SEEDS]
            for label, settings in rankings.items():
                ranked = (each.set_params(**settings).rank(test.X) for each in fitted)
                found = [tacit.evaluate(ranking, test.Y, propensities=propensities) for ranking in ranked]
                print(f"{name} {label}: {shown(found)}", flush=True)


def main() -> None:
    """Print the comparison on three sets, and how time grows."""
    if "TACIT_DATA" not in os.environ:
        print("set TACIT_DATA to the folder with the public benchmark sets")
        return
    compare()
    for what, points in growth().items():
        print(f"CPU seconds by {what}: " + ", ".join(f"{n}: {seconds:.2f}" for n, seconds in points))


if __name__ == "__main__":
    {"figures": figures, "choices": choices, "printed": printed}.get(" ".join(sys.argv[1:]), main)()
