"""Labels added without training, and feedback: how good they are beside labels learned from all their samples.

Usage: ``TACIT_DATA=… python -m benchmarks.living``. A fifth of the labels is taken out of the training data and
added again by what little is said of them: labels they occur with, one to ten examples, or both. The number is the
average precision of the label over the test samples, averaged over labels. Then half of the training samples stand
for what comes later: the five best suggestions for each are judged by the true labels, and the tagger learns from that.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import average_precision_score

import tacit

SETS = ("rcv1sub1", "bibtex")
SEED = 0
MIN_SAMPLES = 12  # of a label that is taken out


def average_precision(tagger: tacit.Tagger, label: str, X: sparse.csr_matrix, truth: np.ndarray) -> float:
    """How well one label ranks samples."""
    return float(average_precision_score(truth, tagger.rank(X, 1, include=[label]).scores[:, 0]))


def added_labels(train: tacit.Dataset, test: tacit.Dataset) -> dict[str, float]:
    """Mean average precision of labels by what they were added from."""
    rng = np.random.default_rng(SEED)
    Y, Y_test = train.Y.tocsc(), test.Y.tocsc()
    enough = np.flatnonzero((np.diff(Y.indptr) >= MIN_SAMPLES) & (np.diff(Y_test.indptr) > 0))
    out = rng.permutation(enough)[: len(enough) // 5]
    seen = np.setdiff1d(np.arange(train.n_labels), out)
    tagger = tacit.Tagger(model="OneVsAll").fit(train.X, Y[:, seen].tocsr(), label_names=[str(i) for i in seen])
    complete = tacit.Tagger(model="OneVsAll").fit(train.X, train.Y)
    found: dict[str, list[float]] = {}
    for label in out:
        samples = rng.permutation(Y[:, [label]].nonzero()[0])
        together = np.asarray((Y[:, seen].T @ Y[:, [label]]).toarray()).ravel()
        cooccurs = {str(seen[i]): float(together[i]) for i in np.flatnonzero(together)}
        truth = Y_test[:, [label]].toarray().ravel() > 0
        ways: dict[str, dict[str, Any]] = {f"{n} examples": {"examples": train.X[samples[:n]]} for n in (1, 3, 10)}
        if cooccurs:
            ways["co-occurrence"] = {"cooccurs": cooccurs}
            ways["co-occurrence and 3 examples"] = {"cooccurs": cooccurs, "examples": train.X[samples[:3]]}
        for way, known_by in ways.items():
            tagger.add_label("new", **known_by)
            found.setdefault(way, []).append(average_precision(tagger, "new", test.X, truth))
            tagger.undo()
        found.setdefault("all its samples", []).append(average_precision(complete, str(label), test.X, truth))
    return {way: float(np.mean(values)) for way, values in found.items()}


def feedback(train: tacit.Dataset, test: tacit.Dataset) -> dict[str, dict[str, float]]:
    """Metrics before feedback, after it, and of a training on all samples."""
    order = np.random.default_rng(SEED).permutation(len(train))
    first, later = np.split(order, [len(train) // 2])
    tagger = tacit.Tagger(model="OneVsAll").fit(train.X[first], train.Y[first])
    results = {"before": tagger.evaluate(test.X, test.Y)}
    ranking = tagger.rank(train.X[later], 5)
    judged = [
        (train.X[row], str(label), bool(train.Y[row, label]))
        for place, row in enumerate(later)
        for label in ranking.labels[place].tolist()
    ]
    tagger.learn(judged)
    results["after"] = tagger.evaluate(test.X, test.Y)
    results["trained on all"] = tacit.Tagger(model="OneVsAll").fit(train.X, train.Y).evaluate(test.X, test.Y)
    return results


def main() -> None:
    """Print both measurements for each set."""
    folder = Path(os.environ["TACIT_DATA"])
    for name in SETS:
        train, test = (tacit.load_data(folder / name / f"{part}.txt") for part in ("train", "test"))
        for way, value in added_labels(train, test).items():
            print(f"{name}: label added from {way}: {value:.3f}", flush=True)
        for when, metrics in feedback(train, test).items():
            print(f"{name}: feedback, {when}: P@1 {metrics['P@1']:.3f}, nDCG@5 {metrics['nDCG@5']:.3f}", flush=True)


if __name__ == "__main__":
    main()
