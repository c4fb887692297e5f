"""Labels hidden on purpose and found again: stated against true precision of the pairs that `find_missing` lists.

Usage: ``TACIT_DATA=… python -m benchmarks.find_missing [--labelled] [--fresh] [SET…]``. In each set 10, 30 and 60 % of
the positives are hidden, at random or by propensity: a positive of label l is hidden with odds proportional to
``(N_l + B)^-A``. With ``--labelled``, samples that have lost all labels are left out, as in most corpora. With
``--fresh``, labels are hidden by other seeds, on which nothing was chosen.
Precision is the share of the first pairs that are hidden positives; what the set itself lacks counts as wrong. Cells
are means over several hidings, because chance moves the precision of 20 pairs by 10 points; ± is the standard deviation
of the true precision between them.
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

SHARES = (0.1, 0.3, 0.6)
MECHANISMS = ("random", "propensity")
SIZES = (20, 100, 500)
SEEDS, FRESH_SEEDS = range(1, 6), range(6, 11)
LABELLED, FRESH = "--labelled", "--fresh"
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


def measured(X: sparse.csr_matrix, complete: sparse.csr_matrix, recorded: sparse.csr_matrix) -> list[tuple[Any, Any]]:
    """Stated and true precision of the first pairs, for each length of the list."""
    found = tacit.Tagger(calibrate=False).fit(X, recorded).find_missing(X, recorded, max(SIZES))
    right = np.array([complete[pair.row, int(pair.label)] for pair in found])
    stated = np.array([pair.probability for pair in found])
    return [(stated[:n].mean(), right[:n].mean()) for n in SIZES]


def labelled(
    X: sparse.csr_matrix, complete: sparse.csr_matrix, recorded: sparse.csr_matrix
) -> tuple[sparse.csr_matrix, sparse.csr_matrix, sparse.csr_matrix]:
    """The samples that have a recorded label."""
    rows = np.flatnonzero(np.diff(positives(recorded).indptr))
    return X[rows], complete[rows], recorded[rows]


def main(*arguments: str) -> None:
    """Print a row of the table for each set, share and mechanism."""
    names = [name for name in arguments if name not in (LABELLED, FRESH)]
    seeds = FRESH_SEEDS if FRESH in arguments else SEEDS
    print("| set | hidden | by | " + " | ".join(f"stated, true: first {n}" for n in SIZES) + " |")
    print("|---|---|---|" + len(SIZES) * "---|")
    gaps = []
    for name in names or SETS:
        X, complete = SETS[name]()
        complete = positives(complete)
        complete = complete[:, np.flatnonzero(label_counts(complete))]
        for share, mechanism in product(SHARES, MECHANISMS):
            corpora = ((X, complete, hidden(complete, share, mechanism, seed)) for seed in seeds)
            found = np.array(
                [measured(*(labelled(*corpus) if LABELLED in arguments else corpus)) for corpus in corpora]
            )
            means, spreads = found.mean(axis=0), found[..., 1].std(axis=0, ddof=1)
            gaps += np.abs(means[:, 0] - means[:, 1]).tolist()
            cells = " | ".join(
                f"{said:.2f}, {true:.2f} ± {spread:.2f}" for (said, true), spread in zip(means, spreads, strict=True)
            )
            print(f"| {name} | {share:.0%} | {mechanism} | {cells} |", flush=True)
    print(
        f"mean distance {np.mean(gaps):.3f}, largest {max(gaps):.3f}, {np.mean(np.array(gaps) <= 0.1):.0%} within 0.1"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
