"""The front between P@1 and PSP@1 that `Blend` offers on Bibtex and Delicious, beside its members.

Usage: ``TACIT_DATA=… python -m benchmarks blend``; ``python -m benchmarks.blend figures`` draws docs/figures as well,
and ``python -m benchmarks.blend members`` compares settings of the default members, on parts held out of train. Members
are trained once for all targets: a checkpoint keeps them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import tacit
from tacit.data.split import train_test_split
from tacit.registry import find_model

SETS = ("bibtex", "delicious")
MEMBERS = ("OneVsAll", "FastXML", "PfastreXML", "ExMLDS1")
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of PSP@1 in the target, in quarters
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
SETS_OF_MEMBERS = ("bibtex", "rcv1sub1", "delicious")
SEEDS_OF_MEMBERS = range(12)
OF_LABEL_TREE: dict[str, dict[str, float]] = {  # its parameters in a blend with OneVsAll
    "its defaults": {},
    "C=0.4, tolerance=0.4": {"C": 0.4, "tolerance": 0.4},
    "... and two trees": {"n_trees": 2, "C": 0.4, "tolerance": 0.4},
}
FIGURES = Path(__file__).parents[1] / "docs" / "figures"

Results = dict[str, dict[str, float]]


def target_of(share: float) -> str:
    """A sum of four metrics, of which PSP@1 is a share."""
    n_tail = round(4 * share)
    return "+".join(["P@1"] * (4 - n_tail) + ["PSP@1"] * n_tail)


def measure(name: str) -> Results:
    """Metrics on the test part of each member and of the blend for each target."""
    folder = Path(os.environ["TACIT_DATA"]) / name
    train, test = (tacit.load_data(folder / f"{part}.txt") for part in ("train", "test"))
    propensities = tacit.propensities(train.Y)
    models = {member: find_model(member)() for member in MEMBERS}
    models |= {f"Blend {share:.2f}": tacit.Blend(models=MEMBERS, target=target_of(share)) for share in SHARES}
    results = {}
    with tempfile.TemporaryDirectory() as scratch, tacit.checkpoint(scratch):
        for title, model in models.items():
            ranking = model.fit(train.X, train.Y).rank(test.X)
            results[title] = tacit.evaluate(ranking, test.Y, propensities)
            figures = "".join(f"{100 * results[title][metric]:8.2f}" for metric in METRICS)
            print(f"  {title:12s}{figures}", flush=True)
    return results


def draw(name: str, results: Results) -> None:
    """P@1 against PSP@1: the members as points, the blend as a line."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "tacit"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(4.2, 3.2))
    points = {title: (100 * found["PSP@1"], 100 * found["P@1"]) for title, found in results.items()}
    front = [points[title] for title in points if title.startswith("Blend")]
    axes.plot(*zip(*front, strict=True), "o-", label="Blend, from P@1 to PSP@1")
    for member in MEMBERS:
        axes.plot(*points[member], "x", color="black")
        axes.annotate(member, points[member], textcoords="offset points", xytext=(4, 4), fontsize=8)
    axes.set_xlabel("PSP@1")
    axes.set_ylabel("P@1")
    axes.set_title(name)
    axes.legend(fontsize=8)
    figure.tight_layout()
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / f"label-tree-front-{name}.svg", metadata={"Date": None})
    plt.close(figure)


def members() -> None:
    """What settings of `LabelTree` gain over its defaults: mean and standard error over splits of train, in points."""
    for name in SETS_OF_MEMBERS:
        train = tacit.load_data(Path(os.environ["TACIT_DATA"]) / name / "train.txt")
        found: dict[str, list[list[float]]] = {title: [] for title in OF_LABEL_TREE}
        for seed in SEEDS_OF_MEMBERS:
            split = train_test_split(train.Y, 0.2, seed=seed)
            propensities = tacit.propensities(train.Y[split.train])
            for title, parameters in OF_LABEL_TREE.items():
                model = tacit.Blend(models=["OneVsAll", ("LabelTree", parameters)], random_state=seed)
                ranking = model.fit(train.X[split.train], train.Y[split.train]).rank(train.X[split.test])
                figures = tacit.evaluate(ranking, train.Y[split.test], propensities)
                found[title].append([100 * figures[metric] for metric in METRICS])
        print(f"{name}\n  {'':22s}" + "".join(f"{metric:>14s}" for metric in METRICS))
        first = np.array(found[next(iter(OF_LABEL_TREE))])
        print(f"  {'its defaults':22s}" + "".join(f"{mean:14.2f}" for mean in first.mean(axis=0)))
        for title in list(OF_LABEL_TREE)[1:]:
            gains = np.array(found[title]) - first
            errors = gains.std(axis=0, ddof=1) / len(gains) ** 0.5
            cells = (f"{gain:+.2f} ± {error:.2f}" for gain, error in zip(gains.mean(axis=0), errors, strict=True))
            print(f"  {title:22s}" + "".join(f"{cell:>14s}" for cell in cells), flush=True)


def main(*, with_figures: bool = False) -> None:
    """Print the table of each set."""
    if "TACIT_DATA" not in os.environ:
        print("set TACIT_DATA to the folder with the public benchmark sets to run this benchmark")
        return
    for name in SETS:
        print(f"{name}\n  {'':12s}" + "".join(f"{metric:>8s}" for metric in METRICS))
        results = measure(name)
        if with_figures:
            draw(name, results)


if __name__ == "__main__":
    if sys.argv[1:] == ["members"]:
        members()
    else:
        main(with_figures=sys.argv[1:] == ["figures"])
