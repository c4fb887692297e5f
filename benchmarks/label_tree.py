"""Label trees and blends against other systems, on the same matrices, every system in a process of its own.

Usage: ``TACIT_DATA=… python -m benchmarks label_tree`` for the first, ``python -m benchmarks.label_tree WHAT [NAME…]``:

eurlex   EURLEX57K, the ready matrices; NAMEs are systems, all unless told
figure   the same, and docs/figures/label-tree-time.svg
yso      yso-finna-en: 590,669 titles, 25,400 labels
small    Bibtex and Delicious, scikit-learn beside the others
losses   the losses of `OneVsAll` and `LabelTree`; NAMEs are sets
defaults each default of `LabelTree` against other values, on validation parts of training data; NAMEs are sets
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import tacit
from benchmarks.peers import PeerError, machine, measure, measure_ours
from tacit.data.split import train_test_split
from tacit.labels import aligned
from tacit.numerics.classifiers import LOSSES, POSITIVES
from tacit.numerics.rows import unit_rows
from tacit.registry import find_model

N_THREADS = 2
FIGURES = Path(__file__).parents[1] / "docs" / "figures"
COLUMNS = {
    "CPU s": "train_cpu",
    "wall s": "train_wall",
    "MB": "peak_mb",
    "model": "model_mb",
    "rows/s": "rows_per_second",
    "row ms": "row_ms",
}
METRICS = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")
PEERS: dict[str, tuple[str, dict[str, Any]]] = {
    "PECOS XR-Linear": ("pecos", {}),
    "omikuji Parabel": ("omikuji", {}),
    "omikuji Bonsai": ("omikuji", {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3}),  # as its README
    "napkinXC": ("napkinxc", {}),
    "LibMultiLabel": ("libmultilabel", {}),
    "scikit-learn": ("sklearn", {}),
}
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "LabelTree": ("LabelTree", {}),
    "LabelTree fast": ("LabelTree", {"n_trees": 1}),
    "OneVsAll": ("OneVsAll", {}),
    "Blend": ("Blend", {}),
    "Blend tail": ("Blend", {"models": ["LabelTree"], "target": "PSP@1+PSP@3+PSP@5"}),
}
TOO_SLOW = 3600.0  # seconds for one system
AT_SCALE = ("PECOS XR-Linear", "omikuji Parabel", "LabelTree", "LabelTree fast")
TICKS = (20, 50, 100, 200, 400)  # of the time of training
N_RANKED = 10_000  # test rows at scale

COSTS = (0.1, 0.25, 0.5, 1.0)  # C of losses; ten times that for the logistic loss
SETS_OF_LOSSES = {"bibtex": None, "delicious": None, "eurlex57k": 12_000}  # rows that C is chosen on
BOTH: dict[str, dict[str, Any]] = {"OneVsAll": {}, "LabelTree": {}}
VALIDATED = ("bibtex", "delicious", "rcv1sub1", "eurlex57k")
ROWS_VALIDATED = 12_000
SEEDS = (500, 501)
VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"dtype": "float32"},
    {"C": 0.25},
    {"C": 0.6},
    {"negatives": 0.5},
    {"negatives": 2.0},
    {"power": 2},
    {"power": 4},
    {"max_leaf": 50},
    {"max_leaf": 200},
    {"prune": 0.03},
    {"prune": 0.08},
    {"tolerance": 0.1},
    {"beam": 20},
    {"loss": "squared"},
    {"loss": "squared", "C": 1.0},
    {"loss": "squared", "positives": "unbiased"},
)
MODELS_OF_LOSSES = {"bibtex": BOTH, "delicious": BOTH, "eurlex57k": {"LabelTree": {"n_trees": 1}}}

Results = dict[str, dict[str, float]]


def compare(folder: Path, names: Iterable[str]) -> Results:
    """Print a line for each system on the matrices of a folder."""
    Y, Y_test = (sparse.csr_matrix(sparse.load_npz(folder / f"Y.{part}.npz")) for part in ("trn", "tst"))
    Y.resize(Y.shape[0], Y_test.shape[1])
    propensities = tacit.propensities(Y)
    results = {}
    print(f"{machine()}; {N_THREADS} threads")
    print(f"{'':16s}{'version':>9s}" + "".join(f"{title:>8s}" for title in (*COLUMNS, *METRICS)), flush=True)
    for name in names:
        limits = {"n_threads": N_THREADS, "timeout": TOO_SLOW}
        try:
            if name in OURS:
                found = measure_ours(*OURS[name], folder, **limits)
            else:
                peer, options = PEERS[name]
                found = measure(peer, folder, **limits, **options)
        except PeerError as error:
            print(f"{name:16s} {error}", flush=True)
            continue
        metrics = tacit.evaluate(found.pop("ranking"), Y_test, propensities)
        results[name] = {**found, **{metric: 100 * metrics[metric] for metric in METRICS}}
        line = [results[name][column] for column in (*COLUMNS.values(), *METRICS)]
        print(f"{name:16s}{found['version']:>9s}" + "".join(f"{value:8.1f}" for value in line), flush=True)
    return results


def eurlex(*names: str) -> Results:
    """EURLEX57K; one classifier after the other, as scikit-learn trains them, would take hours there."""
    folder = Path(os.environ["TACIT_DATA"]) / "eurlex57k" / "tfidf"
    return compare(folder, names or [name for name in (*PEERS, *OURS) if name != "scikit-learn"])


def figure(*names: str) -> None:
    """P@1 and PSP@1 against the time of training."""
    draw(eurlex(*names))


def draw(results: dict[str, dict[str, Any]]) -> None:
    """Write docs/figures/label-tree-time.svg from results by name."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "tacit"
    from matplotlib import pyplot as plt

    canvas, panels = plt.subplots(1, 2, figsize=(8.6, 3.2))
    for axes, metric in zip(panels, ("P@1", "PSP@1"), strict=True):
        for number, (name, found) in enumerate(results.items()):
            is_ours = name in OURS
            axes.plot(
                found["train_cpu"],
                found[metric],
                "o" if is_ours else "X",
                color=f"C{number % 10}",
                markersize=8 if is_ours else 7,
                markeredgecolor="black" if is_ours else "none",
                label=name,
            )
        axes.set(xscale="log", xlabel="CPU seconds of training", ylabel=metric)
        axes.set_xticks(TICKS, [str(tick) for tick in TICKS])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.margins(x=0.1, y=0.1)
    panels[1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=8, frameon=False)
    canvas.tight_layout()
    canvas.savefig(FIGURES / "label-tree-time.svg", metadata={"Date": None})
    plt.close(canvas)


def yso(*names: str) -> None:
    """yso-finna-en, words of the titles by tf-idf; 10,000 of the test rows are ranked."""
    from tacit.vectorizer import TextVectorizer

    source = Path(os.environ["TACIT_DATA"]) / "yso-finna-en"
    train, test = (tacit.load_data(source / f"{part}.jsonl.gz") for part in ("train", "test"))
    assert train.texts is not None
    assert test.texts is not None
    rows = np.sort(np.random.default_rng(0).choice(len(test.texts), N_RANKED, replace=False))
    words = TextVectorizer()
    X = words.fit_transform(train.texts)
    X_test = words.transform([test.texts[row] for row in rows])
    Y_test = aligned(test.Y[rows], test.label_names, np.asarray(train.label_names, dtype=object))
    with tempfile.TemporaryDirectory() as scratch:
        write_matrices(Path(scratch), X, train.Y, X_test, Y_test)
        print(f"yso-finna-en: {X.shape[0]} x {X.shape[1]}, {train.Y.shape[1]} labels")
        compare(Path(scratch), names or AT_SCALE)


def small(*names: str) -> None:
    """Bibtex and Delicious with unit rows."""
    for name in ("bibtex", "delicious"):
        X, Y, X_test, Y_test = load(name)
        with tempfile.TemporaryDirectory() as scratch:
            write_matrices(Path(scratch), unit_rows(X), Y, unit_rows(X_test), Y_test)
            print(name)
            compare(Path(scratch), names or (*PEERS, *OURS))


def write_matrices(folder: Path, X: Any, Y: Any, X_test: Any, Y_test: Any) -> None:
    """The files that adapters read; some systems take sorted columns alone, and not all of them say so."""
    for name, matrix in (("X.trn", X), ("Y.trn", Y), ("X.tst", X_test), ("Y.tst", Y_test)):
        matrix.sort_indices()
        sparse.save_npz(folder / f"{name}.npz", matrix, compressed=False)


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
    """Mean of two splits of train; test is not touched."""
    columns = ("P@1", "P@5", "PSP@1", "PSP@5")
    for name in names or VALIDATED:
        X, Y, *_ = load(name)
        print(f"{name}\n  {'':36s}{'CPU s':>8s}" + "".join(f"{metric:>8s}" for metric in columns), flush=True)
        for options in VARIANTS:
            found = []
            start = time.process_time()
            for seed in SEEDS:
                rows = np.random.default_rng(seed).permutation(X.shape[0])[:ROWS_VALIDATED]
                split = train_test_split(Y[rows], 0.2, seed=seed)
                train, test = rows[split.train], rows[split.test]
                result = figures("LabelTree", options, X[train], Y[train], X[test], Y[test])
                found.append([result[metric] for metric in columns])
            line = [(time.process_time() - start) / len(SEEDS), *np.mean(found, axis=0)]
            title = ", ".join(f"{key}={value}" for key, value in options.items()) or "defaults"
            print(f"  {title:36s}" + "".join(f"{value:8.2f}" for value in line), flush=True)


def figures(model: str, options: dict[str, Any], X: Any, Y: Any, X_test: Any, Y_test: Any) -> dict[str, float]:
    """Metrics of a model that is trained here, in percent."""
    ranking = find_model(model)(**options).fit(X, Y).rank(X_test)
    return {name: 100 * value for name, value in tacit.evaluate(ranking, Y_test, tacit.propensities(Y)).items()}


def load(name: str) -> tuple[Any, Any, Any, Any]:
    """Features and labels of the parts of a set."""
    folder = Path(os.environ["TACIT_DATA"]) / name
    if name == "eurlex57k":
        files = [folder / "tfidf" / f"X.{part}.npz" for part in ("trn", "tst")]
    else:
        files = [folder / f"{part}.txt" for part in ("train", "test")]
    train, test = map(tacit.load_data, files)
    return train.X, train.Y, test.X, test.Y


COMMANDS: dict[str, Callable[..., Any]] = {
    "eurlex": eurlex,
    "figure": figure,
    "yso": yso,
    "small": small,
    "losses": losses,
    "defaults": defaults,
}


def main(what: str = "eurlex", *names: str) -> None:
    """Run one of the comparisons."""
    if "TACIT_DATA" not in os.environ:
        print("set TACIT_DATA to the folder with the public benchmark sets to run this benchmark")
        return
    if what not in COMMANDS:
        sys.exit(f"unknown comparison {what} (there are: {', '.join(COMMANDS)})")
    COMMANDS[what](*names)


if __name__ == "__main__":
    main(*sys.argv[1:])
