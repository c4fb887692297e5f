"""Labels hidden on purpose and found again: `Tagger.find_missing` on public sets with 30 % of the positives hidden.

Usage: ``TACIT_DATA=… python -m benchmarks.find_missing``. Precision is the share of the first n pairs that are hidden
positives; "expected" is what the list itself says. Popularity takes the most frequent labels that samples lack.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from scipy import sparse

import tacit
from tacit.data.split import hide_positives
from tacit.labels import label_counts

SETS = ("rcv1sub1", "bibtex")
SHARE_HIDDEN = 0.3
SEED = 0
SIZES = (100, 500, 1000)


def by_popularity(recorded: sparse.csr_matrix, complete: sparse.csr_matrix, n: int) -> float:
    """Precision of the most frequent label on samples that lack it, then of the next, up to `n` pairs."""
    hits: list[float] = []
    for label in np.argsort(-label_counts(recorded), kind="stable"):
        lacking = np.flatnonzero(recorded[:, [label]].toarray().ravel() == 0)
        hits.extend(complete[lacking, label].toarray().ravel()[: n - len(hits)])
        if len(hits) >= n:
            break
    return float(np.mean(hits))


def main() -> None:
    """Print precision at several sizes, beside popularity's and what was expected."""
    folder = Path(os.environ["TACIT_DATA"])
    for name in SETS:
        data = tacit.load_data(folder / name / "train.txt")
        recorded = hide_positives(data.Y, SHARE_HIDDEN, seed=SEED)
        tagger = tacit.Tagger(calibrate=False).fit(data.X, recorded)
        found = tagger.find_missing(data.X, recorded, max(SIZES))
        hits = np.array([data.Y[pair.row, int(pair.label)] for pair in found])
        expected = np.array([pair.probability for pair in found])
        for n in SIZES:
            popular = by_popularity(recorded, data.Y, n)
            print(
                f"{name}: precision@{n} {hits[:n].mean():.3f}, expected {expected[:n].mean():.3f}, "
                f"popularity {popular:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
