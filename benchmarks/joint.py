"""Joint training: accuracy and speed against one-vs-rest and PECOS, and choices.

Usage: ``TACIT_DATA=… python -m benchmarks.joint [PART…]``, where PART is one of

accuracy    P@1/3/5 on Bibtex and Delicious, mean of three seeds, CPU time against LinearSVC, speed of ranking
paper       Bibtex: the models as their papers print them, one seed (minutes: 15 learners of 100 passes)
eurlex      EURLEX57K: accuracy of joint and two-step training, CPU time against PECOS XR-Linear, memory
choices     what each choice is worth, on fifths of the training sets of Bibtex and (the main ones) Delicious
figure      draws docs/figures/joint.svg: accuracy over the passes of training
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import tacit
from benchmarks.embedding import SEEDS, Data, load
from benchmarks.trees import cpu
from tacit.data.split import train_test_split
from tacit.numerics.rows import unit_rows

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")

#: Each differs from the defaults of JointExMLDS in one thing.
CHOICES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "random start": {"start": "random", "rate": 0.1},
    "no offset (as in the paper)": {"offset": 0.0},
    "plain votes": {"tail_power": 0.0},
    "inner product": {"similarity": "dot"},
    "no held-out slice": {"held_out": 0.0},
    "dimension 50": {"dimension": 50},
    "1 learner": {"n_learners": 1},
}
N_MAIN = 4  # of these, tried on Delicious too


def measure(cls: type[Any], data: Data, **parameters: Any) -> tuple[Any, np.ndarray[Any, Any], float]:
    """A fitted model, its metrics in percent and the CPU seconds of its fit."""
    X, Y, X_test, Y_test = data
    spent, model = cpu(lambda: cls(**parameters).fit(X, Y))
    metrics = tacit.evaluate(model.rank(X_test), Y_test, propensities=tacit.propensities(Y))
    return model, np.array([100 * metrics[name] for name in METRICS]), spent


def line(values: Any) -> str:
    """P@1/3/5 | PSP@1/3/5."""
    return " | ".join("/".join(f"{value:.1f}" for value in part) for part in np.split(np.asarray(values), 2))


def accuracy() -> None:
    """Defaults on the original splits, CPU time as a multiple of scikit-learn's in this process."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    for name in ("bibtex", "delicious"):
        data = load(name)
        X, Y, X_test, _ = data
        with threadpool_limits(1):
            svc, _ = cpu(lambda X=X, Y=Y: OneVsRestClassifier(LinearSVC()).fit(unit_rows(X), Y.astype(np.int64)))
            print(f"  {name}: LinearSVC one-vs-rest {svc:.1f} s", flush=True)
            for cls in (tacit.JointExMLDS, tacit.AnnexML):
                cls(n_learners=1).fit(X[:300], Y[:300])  # compiles
                runs = [measure(cls, data, random_state=seed) for seed in SEEDS]
                fit = np.mean([run[2] for run in runs])
                print(f"  {name} {cls.__name__}: {line(np.mean([run[1] for run in runs], axis=0))}", end="")
                ranking, _ = cpu(lambda model=runs[0][0], X_test=X_test: model.rank(X_test))
                speed = X_test.shape[0] / ranking
                print(f", fit {fit:.1f} s = {fit / svc:.2f} x LinearSVC, ranks {speed:.0f} samples/s", flush=True)


def paper() -> None:
    """The models as printed; their defaults are in `accuracy`."""
    data = load("bibtex")
    for cls in (tacit.AnnexML, tacit.JointExMLDS):
        _, metrics, spent = measure(cls, data, **cls.PAPER)
        print(f"  bibtex {cls.__name__}.paper(): {line(metrics)}, fit {spent:.1f} s", flush=True)


def eurlex() -> None:
    """The peak only grows, so models go from small to large; PECOS runs in an environment of its own."""
    from benchmarks import peers

    data = load("eurlex57k")
    pecos = peers.measure("pecos", Path(os.environ["TACIT_DATA"]) / "eurlex57k" / "tfidf")
    metrics = tacit.evaluate(pecos["ranking"], data[3], propensities=tacit.propensities(data[1]))
    theirs = pecos["train_cpu"]
    print(f"  PECOS XR-Linear: {line([100 * metrics[name] for name in METRICS])}, fit {theirs:.0f} s", flush=True)
    tacit.JointExMLDS(n_learners=1).fit(data[0][:300], data[1][:300])
    with threadpool_limits(1):
        for cls, seeds in ((tacit.JointExMLDS, SEEDS), (tacit.AnnexML, SEEDS[:1]), (tacit.ExMLDS1, SEEDS[:1])):
            runs = [measure(cls, data, random_state=seed)[1:] for seed in seeds]
            fit = np.mean([run[1] for run in runs])
            print(f"  {cls.__name__}, {len(runs)} seed(s): {line(np.mean([run[0] for run in runs], axis=0))}", end="")
            print(f", fit {fit:.0f} s = {fit / theirs:.2f} x PECOS, peak {peak_megabytes():.0f} MB", flush=True)


def choices() -> None:
    """Never on test data: a fifth of the training set is held out, with two seeds."""
    for name, tried in (("bibtex", list(CHOICES)), ("delicious", list(CHOICES)[:N_MAIN])):
        X, Y, *_ = load(name)
        for what, parameters in {"ExMLDS1": None, **{choice: CHOICES[choice] for choice in tried}}.items():
            found = []
            for seed in (100, 101):
                split = train_test_split(Y, 0.2, seed=seed)
                data = (X[split.train], Y[split.train], X[split.test], Y[split.test])
                cls = tacit.ExMLDS1 if parameters is None else tacit.JointExMLDS
                found.append(measure(cls, data, random_state=seed, **(parameters or {}))[1:])
            accuracy, spent = (np.mean([run[i] for run in found], axis=0) for i in (0, 1))
            print(f"  {name} {what:28s} {line(accuracy)}, fit {spent:.1f} s", flush=True)


def figure() -> None:
    """P@3 on a fifth of the training set over the passes, from both starts, without early stopping."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "tacit"
    from matplotlib import pyplot as plt

    passes = (1, 2, 5, 10, 20)
    canvas, panels = plt.subplots(1, 2, figsize=(6.6, 2.6))
    for axes, name in zip(panels, ("bibtex", "delicious"), strict=True):
        X, Y, *_ = load(name)
        split = train_test_split(Y, 0.2, seed=100)
        data = (X[split.train], Y[split.train], X[split.test], Y[split.test])
        axes.axhline(measure(tacit.ExMLDS1, data)[1][1], color="gray", linestyle="--", label="two steps (ExMLDS1)")
        for start, rate in (("exmlds1", 0.01), ("random", 0.1)):
            options = {"start": start, "rate": rate, "held_out": 0.0, "tail_power": 0.0}
            values = [measure(tacit.JointExMLDS, data, n_passes=n, **options)[1][1] for n in passes]
            print(f"  {name} from {start}: " + ", ".join(f"{n}: {v:.1f}" for n, v in zip(passes, values, strict=True)))
            axes.plot(passes, values, marker="o", label=f"joint, {start} start")
        axes.set(title=name, xlabel="passes", ylabel="P@3", xscale="log", xticks=passes, xticklabels=passes)
        axes.minorticks_off()
    panels[0].legend(fontsize=7)
    canvas.tight_layout()
    FIGURES.mkdir(parents=True, exist_ok=True)
    canvas.savefig(FIGURES / "joint.svg", metadata={"Date": None})
    plt.close(canvas)


def peak_megabytes() -> float:
    """Most memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


PARTS = {part.__name__: part for part in (accuracy, paper, eurlex, choices, figure)}


def main() -> None:
    """Run the parts named on the command line, or accuracy."""
    for part in [name for name in sys.argv[1:] if name in PARTS] or ("accuracy",):
        print(f"{part}:", flush=True)
        PARTS[part]()


if __name__ == "__main__":
    main()
