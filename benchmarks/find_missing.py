"""Labels hidden on purpose and found again: precision of the pairs that `find_missing` lists, and what is stated of it.

Usage: ``TACIT_DATA=… python -m benchmarks.find_missing [SET…]``. In each set 10 and 30 % of the positives are hidden,
at random or by propensity: a positive of label l is hidden with odds proportional to ``(N_l + B)^-A``. The fraction is
given (`missing`). Precision is the fraction of the first pairs that are hidden positives; what the set itself lacks
counts as wrong. Cells are means over three hidings; ± is the standard deviation of the true precision between them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

import tacit
from tacit.core.labels import label_counts, positives
from tacit.data.dataset import texts_of
from tacit.data.split import hide_positives
from tacit.evaluation.propensity import PRESETS
from tacit.text.vectorizer import TextVectorizer

SHARES = (0.1, 0.3)
MECHANISMS = ("random", "propensity")
SIZES = (20, 100, 500)
SEEDS = range(1, 4)
EURLEX_ROWS, YSO_ROWS = 6000, 15_000

Data = tuple[sparse.csr_matrix, sparse.csr_matrix]


def folder() -> Path:
    """Where the data sets are."""
    return Path(os.environ["TACIT_DATA"])


def _xmc(name: str) -> Data:
    data = tacit.load_data(folder() / name / "train.txt")
    return data.X, data.Y


def _some(n_rows: int, n_wanted: int) -> Any:
    return np.sort(np.random.default_rng(0).permutation(n_rows)[:n_wanted])


def _eurlex() -> Data:
    X, Y = (sparse.load_npz(folder() / "eurlex57k" / "tfidf" / f"{part}.trn.npz").tocsr() for part in "XY")
    rows = _some(X.shape[0], EURLEX_ROWS)
    return X[rows].astype(np.float32), Y[rows]


def _yso() -> Data:
    data = tacit.load_data(folder() / "yso-finna-en" / "train.jsonl.gz")
    texts, rows = texts_of(data), _some(len(data), YSO_ROWS)
    return TextVectorizer(language="en").fit_transform([texts[row] for row in rows]), data.Y[rows]


SETS: dict[str, Callable[[], Data]] = {
    "rcv1sub1": lambda: _xmc("rcv1sub1"),
    "bibtex": lambda: _xmc("bibtex"),
    "delicious": lambda: _xmc("delicious"),
    "eurlex57k": _eurlex,
    "yso-finna-en": _yso,
}


def hidden(Y: sparse.csr_matrix, share: float, mechanism: str, seed: int) -> sparse.csr_matrix:
    """The labels without a share of the positives."""
    if mechanism == "random":
        return hide_positives(Y, share, seed)
    counts = label_counts(Y)
    weights = (counts + PRESETS["default"][1]) ** -PRESETS["default"][0]

    def kept(scale: float) -> Any:
        return 1 / (1 + np.exp(scale) * weights)

    scale = brentq(lambda scale: 1 - counts @ kept(scale) / counts.sum() - share, -20, 20)
    return hide_positives(Y, seed=seed, propensities=kept(scale))


def measured(
    X: sparse.csr_matrix, complete: sparse.csr_matrix, recorded: sparse.csr_matrix, share: float
) -> list[tuple[Any, Any]]:
    """Stated and true precision of the first pairs, for each length of the list."""
    tagger = tacit.Tagger(calibrate=False).fit(X, recorded)
    found = tagger.find_missing(X, recorded, max(SIZES), missing=share)
    right = np.array([complete[pair.row, int(pair.label)] for pair in found])
    stated = np.array([pair.probability for pair in found])
    return [(stated[:n].mean(), right[:n].mean()) for n in SIZES]


def main(*names: str) -> None:
    """Print a row of the table for each set, share and mechanism."""
    print("| set | hidden | by | " + " | ".join(f"stated, true: first {n}" for n in SIZES) + " |")
    print("|---|---|---|" + len(SIZES) * "---|")
    for name in names or SETS:
        X, complete = SETS[name]()
        complete = positives(complete)
        complete = complete[:, np.flatnonzero(label_counts(complete))]
        for share, mechanism in product(SHARES, MECHANISMS):
            corpora = (hidden(complete, share, mechanism, seed) for seed in SEEDS)
            found = np.array([measured(X, complete, recorded, share) for recorded in corpora])
            means, spreads = found.mean(axis=0), found[..., 1].std(axis=0, ddof=1)
            cells = " | ".join(
                f"{said:.2f}, {true:.2f} ± {spread:.2f}" for (said, true), spread in zip(means, spreads, strict=True)
            )
            print(f"| {name} | {share:.0%} | {mechanism} | {cells} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
