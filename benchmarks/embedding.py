"""The embedding family: accuracy, speed, hidden labels and memory.

Usage: ``TACIT_DATA=… python -m benchmarks.embedding [PART…]``, where PART is one of

accuracy    P@1/3/5 on the original test sets, mean of three seeds, and CPU seconds of a fit
speed       the embedding stage of ExMLDS1 against that of SLEEC; whole fits against scikit-learn's LinearSVC
hidden      80 % of the training positives hidden, co-occurrence of the full labels given to ExMLDS3
ablation    the same with equal ridge and neighbours: what C, completion and samples without labels are worth
paper       each model as its paper prints it beside its defaults, on Bibtex
printed     ExMLDS1.paper() with values that the paper does not print, on a fifth of Bibtex's training set
curve       the same as hidden on Bibtex for 20 to 80 % hidden
eurlex      EURLEX57K: accuracy, time and memory
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

import tacit
from tacit.data.split import hide_positives, train_test_split
from tacit.embedding.partition import bounded_clusters

SEEDS = (0, 1, 2)
FAMILY = (tacit.ExMLDS1, tacit.ExMLDS2, tacit.ExMLDS3, tacit.SLEEC)

#: What ExMLDS3 is made of, at the ridge and the number of neighbours of its defaults: model, whether it gets C of the
#: full labels, parameters.
ABLATION: dict[str, tuple[type[Any], bool, dict[str, Any]]] = {
    "ExMLDS1, defaults": (tacit.ExMLDS1, False, {}),
    "ExMLDS1, no C": (tacit.ExMLDS1, False, {"ridge": 2.0, "n_neighbors": 20}),
    "Algorithms 3 + 4, full C": (
        tacit.ExMLDS3,
        True,
        {"completion": 0.0, "label_share": 1.0, "unlabelled_share": 0.0, "label_scores": "all"},
    ),
    "ExMLDS3, full C": (tacit.ExMLDS3, True, {}),
    "ExMLDS3, C of the hidden Y": (tacit.ExMLDS3, False, {}),
    "  without completion": (tacit.ExMLDS3, True, {"completion": 0.0}),
    "  without label scores": (tacit.ExMLDS3, True, {"label_share": 0.0}),
    "  without unlabelled samples": (tacit.ExMLDS3, True, {"unlabelled_share": 0.0}),
    "ExMLDS3.paper()": (tacit.ExMLDS3, True, dict(tacit.ExMLDS3.PAPER)),
}

Data = tuple[sparse.csr_matrix, sparse.csr_matrix, sparse.csr_matrix, sparse.csr_matrix]


def load(name: str) -> Data:
    """Training features and labels, test features and labels."""
    folder = Path(os.environ["TACIT_DATA"]) / name
    if name == "eurlex57k":
        files = ("X.trn", "Y.trn", "X.tst", "Y.tst")
        return tuple(sparse.load_npz(folder / "tfidf" / f"{file}.npz").tocsr() for file in files)  # type: ignore[return-value]
    train, test = (tacit.load_data(folder / f"{part}.txt") for part in ("train", "test"))
    return train.X, train.Y, test.X, test.Y


def measure(cls: type[Any], data: Data, fit: dict[str, Any] | None = None, **parameters: Any) -> dict[str, Any]:
    """P@k in percent and CPU seconds."""
    X, Y, X_test, Y_test = data
    start = time.process_time()
    model = cls(**parameters).fit(X, Y, **(fit or {}))
    seconds = time.process_time() - start
    metrics = tacit.evaluate(model.rank(X_test), Y_test)
    return {"P": np.array([100 * metrics[f"P@{k}"] for k in (1, 3, 5)]), "fit": seconds}


def show(what: str, runs: list[dict[str, Any]]) -> None:
    """One line: mean accuracy and fit time of some runs."""
    accuracy = "/".join(f"{value:.1f}" for value in np.mean([run["P"] for run in runs], axis=0))
    print(f"  {what:40s} P@1/3/5 {accuracy:16s} fit {np.mean([run['fit'] for run in runs]):7.1f} s", flush=True)


def accuracy() -> None:
    """Defaults on Bibtex and Delicious."""
    for name in ("bibtex", "delicious"):
        data = load(name)
        for cls in FAMILY if name == "bibtex" else (tacit.ExMLDS1,):
            show(f"{name} {cls.__name__}", [measure(cls, data, random_state=seed) for seed in SEEDS])


def speed() -> None:
    """Ratios of CPU time within this process, one BLAS thread."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import normalize
    from sklearn.svm import LinearSVC

    for name in ("bibtex", "delicious"):
        X, Y, *_ = load(name)
        X = normalize(X)
        clusters = bounded_clusters(X, 6000, 0).clusters
        spectral, svp = tacit.ExMLDS1()._embed, tacit.SLEEC()._embed
        with threadpool_limits(1):
            for embedder in (spectral, svp):
                embedder(X[:300], Y[:300], 0)
            ours, theirs = (_embedding_seconds(embedder, X, Y, clusters) for embedder in (spectral, svp))
            print(f"  {name}: embedding SPPMI {ours:.2f} s, SVP {theirs:.2f} s: {theirs / ours:.1f} x", flush=True)
            fit = _seconds(lambda X=X, Y=Y: tacit.ExMLDS1().fit(X, Y))
            svc = _seconds(lambda X=X, Y=Y: OneVsRestClassifier(LinearSVC()).fit(X, Y.astype(np.int64)))
        print(f"  {name}: ExMLDS1 fit {fit:.2f} s, LinearSVC one-vs-rest {svc:.2f} s: {fit / svc:.2f}", flush=True)


def _embedding_seconds(embedder: Any, X: Any, Y: Any, clusters: list[Any]) -> float:
    return _seconds(lambda: [embedder(X[cluster], Y[cluster], 0) for cluster in clusters])


def _seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def hidden(names: tuple[str, ...] = ("bibtex", "rcv1sub1", "delicious"), share: float = 0.8) -> None:
    """Most positives hidden at random; only ExMLDS3 is told how labels occur together."""
    for name in names:
        X, Y, *test = load(name)
        runs: dict[str, list[dict[str, Any]]] = {}
        for seed in SEEDS:
            data = (X, hide_positives(Y, share, seed), *test)
            for cls in (tacit.ExMLDS3, tacit.ExMLDS1, tacit.SLEEC, tacit.OneVsAll):
                extra = {"cooccurrence": Y.T @ Y} if cls is tacit.ExMLDS3 else None
                if name != "delicious" or cls is not tacit.SLEEC:
                    runs.setdefault(cls.__name__, []).append(measure(cls, data, extra, random_state=seed))
        for model, found in runs.items():
            show(f"{name} {share:.0%} {model}", found)


def ablation() -> None:
    """80 % hidden, ridge 2 and 20 neighbours throughout (but for the first row)."""
    for name in ("bibtex", "rcv1sub1"):
        X, Y, *test = load(name)
        hidden_of = {seed: hide_positives(Y, 0.8, seed) for seed in SEEDS}
        for what, (cls, has_full, parameters) in ABLATION.items():
            extra = {"cooccurrence": Y.T @ Y} if has_full else None
            runs = [
                measure(cls, (X, hidden_of[seed], *test), extra, **{"random_state": seed, **parameters})
                for seed in SEEDS
            ]
            show(f"{name} {what}", runs)


def paper() -> None:
    """All labels."""
    data = load("bibtex")
    for cls in FAMILY:
        for what, parameters in ((".paper()", cls.PAPER), ("", {})):
            runs = [measure(cls, data, **{**parameters, "random_state": seed}) for seed in SEEDS]
            show(f"{cls.__name__}{what}", runs)


def printed() -> None:
    """The k of Eq. 4 and the ℓ1 penalty of the regressor; never on test data."""
    X, Y, *_ = load("bibtex")
    split = train_test_split(Y, 0.2, seed=100)
    data = (X[split.train], Y[split.train], X[split.test], Y[split.test])
    tried = [{"shift": float(k)} for k in (1, 2, 5, 15)] + [{"l1": value} for value in (0.0, 0.01, 0.1, 1.0)]
    for parameters in tried:
        show(f"ExMLDS1 {parameters}", [measure(tacit.ExMLDS1, data, **{**tacit.ExMLDS1.PAPER, **parameters})])


def curve() -> None:
    """How accuracy falls with the share of hidden labels."""
    for share in (0.2, 0.4, 0.6, 0.8):
        hidden(("bibtex",), share)


def eurlex() -> None:
    """Accuracy, time and peak memory; the peak only grows, so models go from small to large."""
    data = load("eurlex57k")
    for learners in (1, 5):
        show(f"ExMLDS1, {learners} learners", [measure(tacit.ExMLDS1, data, n_learners=learners)])
        print(f"    peak {_peak_megabytes():.0f} MB")
    show("ExMLDS3", [measure(tacit.ExMLDS3, data)])
    print(f"    peak {_peak_megabytes():.0f} MB")


def _peak_megabytes() -> float:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


PARTS = {part.__name__: part for part in (accuracy, speed, hidden, ablation, paper, printed, curve, eurlex)}


def main() -> None:
    """Run the parts named on the command line, or accuracy and speed."""
    for part in [name for name in sys.argv[1:] if name in PARTS] or ("accuracy", "speed"):
        print(f"{part}:", flush=True)
        PARTS[part]()


if __name__ == "__main__":
    main()
