"""The latent family: labels never seen in training.

Usage: ``TACIT_DATA=… python -m benchmarks.latent [PART…] [bibtex] [delicious]``, where PART is one of

unseen      half of the labels unseen at random, mean of seeds 0–4: all, seen, unseen labels and their harmonic mean
seen        all labels seen: MLLCS beside LFM; 80 % of the entries of Y unobserved; a tenth of the samples
ablation    the paper's Table 4: LFM, counts in the model, moment matching alone and blended in, on Bibtex
curve       P@1 and P@3 for 20 to 80 % of the labels seen (docs/figures/unseen-curve.svg)
mappings    every Ψ of MLLCS, on validation splits cut from train
speed       one sweep on Delicious against its matrix products; K = 0.8 L with memory
online      online EM beside batch EM on Bibtex
variational variational Bayes beside EM, on validation splits of Bibtex
active      labels asked by `uncertain` beside labels asked at random (docs/figures/unseen-active.svg)
add         how long it takes to add a label
model       the plate diagram (docs/figures/unseen-model.svg)
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

import tacit
from tacit.data.split import hold_out_labels
from tacit.latent.counts import read_cooccurrence
from tacit.numerics.rows import unit_rows

SEEDS = (0, 1, 2, 3, 4)
FIGURES = Path(__file__).parents[1] / "docs" / "figures"
_SHARES = (0.2, 0.4, 0.6, 0.8)  # of labels seen
LINEAR = {"mapping": "linear"}
_ACTIVE_ROWS, _ACTIVE_COMPLETE = 1000, 100  # training samples, and those whose labels are all known from the start
_ACTIVE_ROUNDS, _ACTIVE_SHARE = 5, 0.02  # questions of a round for each sample, as a share of all labels
_ACTIVE_MODEL: dict[str, Any] = {"absent": "missing", "n_factors": 50, "n_sweeps": 20, "calibration_folds": 0, **LINEAR}
FAMILY: tuple[tuple[str, Any, dict[str, Any]], ...] = (
    ("LFM", tacit.LFM, {}),
    ("COSTA", tacit.COSTA, {}),
    ("COSTA, classifiers", tacit.COSTA, {"base": "classifiers"}),
    ("MLLCS, linear Ψ", tacit.MLLCS, LINEAR),
    ("MLLCS", tacit.MLLCS, {}),
    ("MomentMatching", tacit.MomentMatching, {}),
)

Data = tuple[sparse.csr_matrix, sparse.csr_matrix, sparse.csr_matrix, sparse.csr_matrix]


def load(name: str) -> Data:
    """Training features and labels, test features and labels."""
    folder = Path(os.environ["TACIT_DATA"]) / name
    train, test = (tacit.load_data(folder / f"{part}.txt") for part in ("train", "test"))
    return train.X, train.Y, test.X, test.Y


def validation(name: str, seed: int) -> Data:
    """A fifth of the training set as test set."""
    X, Y, *_ = load(name)
    order = np.random.default_rng(seed).permutation(X.shape[0])
    test, train = np.split(order, [len(order) // 5])
    return X[train], Y[train], X[test], Y[test]


def precision(model: Any, X: sparse.csr_matrix, Y: sparse.csr_matrix, include: Any = None) -> np.ndarray:
    """P@1, 3, 5 in percent."""
    metrics = tacit.evaluate(model.rank(X, include=include), Y)
    return np.array([100 * metrics[f"P@{k}"] for k in (1, 3, 5)])


def measure(cls: Any, data: Data, seed: int, share: float = 0.5, **parameters: Any) -> np.ndarray:
    """P@k on all, seen and unseen labels with a share of the labels held out; CPU seconds of the fit in the end."""
    X, Y, X_test, Y_test = data
    held = hold_out_labels(Y, share, seed=seed)
    start = time.process_time()
    model = cls(random_state=seed, **parameters).fit(X, held.Y_seen, cooccurrence=held.cooccurrence)
    seconds = time.process_time() - start
    truth = Y_test[:, held.order]
    n_seen = len(held.seen)
    groups = (None, np.arange(n_seen), np.arange(n_seen, Y.shape[1]))
    return np.stack([*(precision(model, X_test, truth, group) for group in groups), np.full(3, seconds)])


def text(values: np.ndarray) -> str:
    """P@1/3/5 as one word."""
    return "/".join(f"{value:.1f}" for value in values)


def unseen() -> None:
    """Half of the labels unseen, on the original test sets."""
    for name in [name for name in ("bibtex", "delicious") if name in sys.argv] or ("bibtex", "delicious"):
        data = load(name)
        for what, cls, parameters in FAMILY if name == "bibtex" else (FAMILY[6], FAMILY[1], FAMILY[4]):
            runs = np.array([measure(cls, data, seed, **parameters) for seed in SEEDS])
            both = 2 * runs[:, 1] * runs[:, 2] / np.maximum(runs[:, 1] + runs[:, 2], 1e-9)
            every, seen_only, unseen_only, seconds = runs.mean(axis=0)
            print(
                f"  {name} {what:24s} all {text(every)} seen {text(seen_only)} unseen {text(unseen_only)} "
                f"harmonic {text(both.mean(axis=0))} fit {seconds[0]:.1f} s; P@1 by seed {text(runs[:, 0, 0])}",
                flush=True,
            )


def seen() -> None:
    """MLLCS beside LFM where all labels have examples; one curve for all of them would not change their order."""
    X, Y, X_test, Y_test = load("bibtex")
    counts = Y.T @ Y
    rng = np.random.default_rng(0)
    known = sparse.csr_matrix(rng.random(Y.shape) < 0.2)
    partial = sparse.csr_matrix((np.asarray(Y[known.nonzero()]).ravel(), known.indices, known.indptr), shape=Y.shape)
    few = np.sort(rng.permutation(X.shape[0])[: X.shape[0] // 10])
    settings = (
        ("all labels seen", X, Y, {}),
        ("80 % of Y unobserved", X, partial, {"absent": "missing"}),
        ("a tenth of the samples", X[few], Y[few], {}),
    )
    for what, features, labels, parameters in settings:
        for cls in (tacit.LFM, tacit.MLLCS):
            runs = [
                precision(
                    cls(random_state=seed, calibration_folds=0, **parameters).fit(
                        features, labels, cooccurrence=counts
                    ),
                    X_test,
                    Y_test,
                )
                for seed in SEEDS[:3]
            ]
            print(f"  {what:24s} {cls.__name__:6s} {text(np.mean(runs, axis=0))}", flush=True)


ABLATION: tuple[tuple[str, Any], ...] = (
    ("LFM", tacit.LFM()),
    ("MLLCS, linear Ψ: counts in the model", tacit.MLLCS(**LINEAR)),
    ("moment matching alone", tacit.MLLCS(count_weight=1e-6, count_positives=1e9)),
    ("LFM blended with moment matching", tacit.MLLCS(count_weight=1e-6)),
    ("MLLCS: both", tacit.MLLCS()),
    ("LFM as printed", tacit.LFM.paper(n_sweeps=100)),
    ("MLLCS as printed, κ corrected", tacit.MLLCS.paper(n_sweeps=100)),
)


def ablation() -> None:
    """What the counts add where all labels have examples, and by which way; seeds 0–2, counts from the training labels.

    A weight of 1e-6 takes the counts out of the latent factor model.
    """
    X, Y, X_test, Y_test = load("bibtex")
    for what, model in ABLATION:
        runs = [
            precision(clone(model).set_params(random_state=seed, calibration_folds=0).fit(X, Y), X_test, Y_test)
            for seed in SEEDS[:3]
        ]
        print(f"  {what:38s} {text(np.mean(runs, axis=0))} ± {text(np.std(runs, axis=0))}", flush=True)


def mappings() -> None:
    """What the default Ψ was chosen by."""
    for name in ("bibtex", "delicious"):
        for kind in ("linear", "moments"):
            runs = [measure(tacit.MLLCS, validation(name, seed), seed, mapping=kind) for seed in (100, 101)]
            every, _, unseen_only, _ = np.mean(runs, axis=0)
            print(f"  {name} {kind}: all {text(every)} unseen {text(unseen_only)}", flush=True)


def _curve_points(cls: Any, **parameters: Any) -> Iterator[np.ndarray]:
    data = load("bibtex")
    for share in _SHARES:
        yield np.mean([measure(cls, data, seed, 1 - share, **parameters)[0] for seed in SEEDS[:2]], axis=0)


def curve() -> None:
    """The paper's Figure 2."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharex=True)
    for what, cls, parameters in (("MLLCS", tacit.MLLCS, {}), ("COSTA", tacit.COSTA, {})):
        points = np.array(list(_curve_points(cls, **parameters)))
        print(f"  {what}: P@1 {text(points[:, 0])}, P@3 {text(points[:, 1])}", flush=True)
        for axis, k, values in zip(axes, (1, 3), points.T, strict=False):
            axis.plot(100 * np.array(_SHARES), values, marker="o", label=what)
            axis.set(xlabel="labels seen, percent", ylabel=f"P@{k}, percent")
    axes[0].legend(frameon=False)
    _save(figure, "unseen-curve")


def _save(figure: Any, name: str) -> None:
    import matplotlib as mpl

    mpl.rcParams["svg.hashsalt"] = "tacit"
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
    print(f"  docs/figures/{name}.svg")


def speed() -> None:
    """A sweep on Delicious, all labels, and the matrix products in it; then K = 0.8 L with its memory."""
    from threadpoolctl import threadpool_limits

    from tacit.latent.em import sweep
    from tacit.latent.model import initial_factors

    X, Y, *_ = load("delicious")
    for K in (100, round(0.8 * Y.shape[1])):
        model = tacit.MLLCS(n_factors=K)
        model.scales_ = np.ones(Y.shape[1])
        counts = model._counts(read_cooccurrence(Y.T @ Y, Y.shape[1]), own=False)
        problem = model._problem(unit_rows(X), Y, counts)
        with threadpool_limits(1):
            factors, _, _ = sweep(problem, initial_factors(*problem.X.shape, Y.shape[1], Y.shape[1], K, 0))
            whole = _seconds(lambda problem=problem, factors=factors: sweep(problem, factors))
            products = _seconds(lambda problem=problem, factors=factors: _products(problem, factors))
        print(
            f"  K = {K}: sweep {whole:.2f} s, its matrix products {products:.2f} s: {whole / products:.2f} x",
            flush=True,
        )
    start = time.time()
    tacit.MLLCS(n_factors=K, n_sweeps=100, n_jobs=2, calibration_folds=0).fit(X, Y)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  K = {K}, 100 sweeps, two threads: {(time.time() - start) / 60:.1f} minutes, peak {peak:.2f} GB")


def _products(problem: Any, factors: Any) -> None:
    """The matrix products of a sweep, in the same blocks."""
    V, B, W = factors.V, factors.B, factors.W
    square = V.T @ V
    for start in range(0, len(factors.U), 2**19 // len(V)):
        U, X = factors.U[start : start + 2**19 // len(V)], problem.X[start : start + 2**19 // len(V)]
        xi = U @ V.T
        for _ in range(problem.n_steps):  # a residual or its update, the preconditioner and the image of a direction
            direction = xi @ V
            direction = (direction @ square) @ square.T
            direction @ V.T
        X @ W, xi.T @ U, U.T @ U
        U @ V.T, U @ V.T  # again for the step of the labels, and along it
    problem.X @ W
    problem.regress(factors.U, W)
    gamma = V @ B.T
    gamma @ B, V @ B.T, V @ B.T
    for _ in range(problem.n_steps):
        ((gamma.T @ V) @ square) @ square.T
        B @ V.T


def _seconds(work: Any) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def in_batches(X: sparse.csr_matrix, Y: sparse.csr_matrix, seed: int, n_passes: int = 5) -> tacit.MLLCS:
    """Online EM over batches of 512 samples."""
    model = tacit.MLLCS(online_samples=X.shape[0], random_state=seed, **LINEAR)
    rng, counts = np.random.default_rng(seed), Y.T @ Y
    for _ in range(n_passes):
        for rows in np.array_split(rng.permutation(X.shape[0]), X.shape[0] // 512):
            model.partial_fit(X[rows], Y[rows], cooccurrence=counts)
    return model


def online() -> None:
    """Online EM, five passes, beside batch EM, Bibtex, all labels seen, mean of seeds 0–2; both with the linear Ψ."""
    X, Y, X_test, Y_test = load("bibtex")
    found = []
    for seed in SEEDS[:3]:
        batch = tacit.MLLCS(calibration_folds=0, random_state=seed, **LINEAR).fit(X, Y)
        model = in_batches(X, Y, seed)
        found.append([precision(either, X_test, Y_test) for either in (batch, model)])
    for what, values in zip(("batch", "online"), np.mean(found, axis=0), strict=True):
        print(f"  {what:6s} EM {text(values)}", flush=True)
    n_seen, K, _ = model.online_.squares.shape
    print(f"  K = {K}: {n_seen} x {K} x {K} numbers, {model.online_.squares.nbytes / 2**20:.1f} MB")


def variational() -> None:
    """Variational Bayes beside EM, half of the labels unseen, on validation splits."""
    for inference in ("em", "variational"):
        runs = [measure(tacit.MLLCS, validation("bibtex", seed), seed, inference=inference) for seed in (100, 101)]
        every, seen_only, unseen_only, _ = np.mean(runs, axis=0)
        print(f"  {inference:11s} all {text(every)} seen {text(seen_only)} unseen {text(unseen_only)}", flush=True)


def _answers(Y: sparse.csr_matrix, asked: np.ndarray) -> sparse.csr_matrix:
    """The answers to the questions of a mask; whatever was not asked is unknown."""
    rows, labels = np.nonzero(asked)
    answers = np.asarray(Y[rows, labels], np.float32).ravel()
    return sparse.csr_matrix((answers, (rows, labels)), shape=Y.shape)


def _asked_at_random(asked: np.ndarray, n_each: int, rng: np.random.Generator) -> np.ndarray:
    """`n_each` labels of each row that were not asked yet."""
    return np.argsort(np.where(asked, 2, rng.random(asked.shape)), axis=1)[:, :n_each]


def _asked_by_information(model: tacit.MLLCS, X: sparse.csr_matrix, asked: np.ndarray, n_each: int) -> np.ndarray:
    """The `n_each` labels of each row about which an answer teaches most, of those not asked yet."""
    ranking = model.uncertain(X, k=asked.shape[1])
    is_new = ~np.take_along_axis(asked, ranking.labels, axis=1)
    first = np.argsort(~is_new, axis=1, kind="stable")[:, :n_each]
    return np.take_along_axis(ranking.labels, first, axis=1)


def _learning_curve(data: Data, seed: int, informed: bool) -> list[float]:
    """P@1 on the test set after each round of questions about the labels of some samples."""
    X, Y, X_test, Y_test = data
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(X.shape[0])[:_ACTIVE_ROWS])
    X, Y = X[rows], Y[rows]
    asked = np.zeros(Y.shape, bool)
    asked[:: _ACTIVE_ROWS // _ACTIVE_COMPLETE] = True
    points = []
    for _ in range(_ACTIVE_ROUNDS + 1):
        model = tacit.MLLCS(**_ACTIVE_MODEL, random_state=seed).fit(X, _answers(Y, asked))
        points.append(precision(model, X_test, Y_test)[0])
        n_each = round(_ACTIVE_SHARE * Y.shape[1])
        questions = _asked_by_information(model, X, asked, n_each) if informed else _asked_at_random(asked, n_each, rng)
        np.put_along_axis(asked, questions, True, axis=1)
    return points


def active() -> None:
    """Labels of 1,000 training samples asked in rounds: those that `uncertain` names, or random ones; seeds 0–4."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3))
    percent = 100 * _ACTIVE_SHARE * np.arange(_ACTIVE_ROUNDS + 1)
    for axis, name in zip(axes, ("bibtex", "delicious"), strict=True):
        data = load(name)
        for what, informed in (("uncertain", True), ("random", False)):
            runs = np.array([_learning_curve(data, seed, informed) for seed in SEEDS])
            print(f"  {name} {what:9s} P@1 {text(runs.mean(axis=0))} ± {text(runs.std(axis=0))}", flush=True)
            axis.errorbar(percent, runs.mean(axis=0), runs.std(axis=0), marker="o", capsize=2, label=what)
        axis.set(xlabel="labels of a sample asked, percent", ylabel="P@1, percent", title=name)
    axes[0].legend(frameon=False)
    figure.tight_layout()
    _save(figure, "unseen-active")


def add() -> None:
    """Milliseconds to add one label to a trained model."""
    for name in ("bibtex", "delicious"):
        X, Y, *_ = load(name)
        held = hold_out_labels(Y, 0.5, seed=0)
        for cls in (tacit.COSTA, tacit.MLLCS, tacit.MomentMatching):
            start = held.cooccurrence[:, : len(held.seen) + 1]
            model = cls(calibration_folds=0, **({} if cls is tacit.MomentMatching else {"n_sweeps": 5}))
            model.fit(X, held.Y_seen, cooccurrence=start)
            new = held.cooccurrence[:, [-1]]
            seconds = min(_seconds(lambda model=model, new=new: model.add_labels(new)) for _ in range(3))
            print(f"  {name} {cls.__name__}: {1000 * seconds:.0f} ms", flush=True)


def model() -> None:
    """The generative model in plate notation."""
    from matplotlib import pyplot as plt
    from matplotlib.patches import Circle, FancyBboxPatch

    figure, axis = plt.subplots(figsize=(8, 3.2))
    places = {
        "W": (0.6, 1.5),
        "x": (2, 2.5),
        "u": (2, 1.5),
        "y": (3.6, 1.5),
        "v": (5.2, 1.5),
        "m": (6.8, 1.5),
        "β": (8.4, 1.5),
    }
    for name, (x, y) in places.items():
        shade = "0.8" if name in "xym" else "white"
        axis.add_patch(Circle((x, y), 0.3, facecolor=shade, edgecolor="black", zorder=2))
        axis.text(x, y, f"${name}$" if name != "β" else r"$\beta$", ha="center", va="center", zorder=3)
    for start, end in (("W", "u"), ("x", "u"), ("u", "y"), ("v", "y"), ("v", "m"), ("β", "m")):
        (x0, y0), (x1, y1) = places[start], places[end]
        length = float(np.hypot(x1 - x0, y1 - y0))
        dx, dy = 0.32 * (x1 - x0) / length, 0.32 * (y1 - y0) / length
        axis.annotate("", (x1 - dx, y1 - dy), (x0 + dx, y0 + dy), arrowprops={"arrowstyle": "-|>", "color": "black"})
    plates = (
        (1.4, 0.75, 2.75, 2.25, "samples"),
        (3.1, 0.45, 4.3, 1.6, "seen labels"),
        (6.3, 0.6, 2.7, 1.5, "all labels"),
    )
    for x, y, width, height, name in plates:
        options = {"boxstyle": "round,pad=0,rounding_size=0.15", "fill": False, "edgecolor": "0.4"}
        axis.add_patch(FancyBboxPatch((x, y), width, height, **options))
        axis.text(x + width / 2, y + 0.05, name, ha="center", va="bottom", fontsize=8, color="0.3")
    axis.annotate(
        "",
        (5.2, 2.3),
        (8.4, 2.3),
        arrowprops={"arrowstyle": "-|>", "linestyle": "--", "connectionstyle": "arc3,rad=0.25"},
    )
    axis.text(6.8, 2.85, r"$\Psi$, learned on seen labels", ha="center", fontsize=9)
    axis.set(xlim=(0, 9.3), ylim=(0.2, 3.2), aspect="equal")
    axis.axis("off")
    _save(figure, "unseen-model")


PARTS = {
    part.__name__: part
    for part in (unseen, seen, ablation, mappings, curve, speed, online, variational, add, active, model)
}


def main() -> None:
    """Run the parts named on the command line, or the accuracy of all models."""
    for part in [name for name in sys.argv[1:] if name in PARTS] or ("unseen",):
        print(f"{part}:", flush=True)
        PARTS[part]()


if __name__ == "__main__":
    main()
