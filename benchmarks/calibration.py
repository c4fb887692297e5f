"""Are probabilities true where there are few samples? Calibration error and Brier score of the first five suggestions.

Usage: ``TACIT_DATA=… python -m benchmarks.calibration [SET…]``. Taggers with default parameters are trained on random
samples of each set and measured on fresh ones, for seeds 0 to 4; ± is the standard deviation between them. "stated" is
what the tagger says of itself: its calibration error, and the standard error of a probability.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import tacit
from benchmarks.find_missing import folder
from tacit.core.labels import aligned, label_counts, positives
from tacit.evaluation.curves import calibration_error
from tacit.evaluation.metrics import judge

N_SAMPLES = (20, 30, 60, 120, 250, 500, 2000)
N_FRESH = 1500
SEEDS = range(5)
Inputs = tuple[Any, Any]


def _features(name: str) -> Inputs:
    data = tacit.load_data(folder() / name / "train.txt")
    return data.X, data.Y


def _texts(name: str, **fields: str) -> Inputs:
    data = tacit.load_data(folder() / name / "train.jsonl.gz", **fields)
    order = np.random.default_rng(0).permutation(len(data))[:20_000]
    return np.array(data.texts, dtype=object)[order], data.Y[order]


SETS: dict[str, Callable[[], Inputs]] = {
    "rcv1sub1": lambda: _features("rcv1sub1"),
    "bibtex": lambda: _features("bibtex"),
    "delicious": lambda: _features("delicious"),
    "eurlex57k": lambda: _texts("eurlex57k", text="title,recitals", labels="concepts"),
    "yso-finna-en": lambda: _texts("yso-finna-en"),
}


def measured(samples: Any, Y: Any, n: int, seed: int) -> tuple[float, float, float, float]:
    """Calibration error and Brier score on fresh samples; the error and the spread that the tagger states."""
    order = np.random.default_rng(seed).permutation(Y.shape[0])
    train, fresh = order[:n], order[-min(N_FRESH, Y.shape[0] - n) :]
    columns = np.flatnonzero(label_counts(Y[train]))
    inputs = [part.tolist() if part.dtype == object else part for part in (samples[train], samples[fresh])]
    tagger = tacit.Tagger(random_state=seed).fit(inputs[0], Y[train][:, columns], label_names=columns.astype(str))
    ranking = tagger.rank(inputs[1], 5)
    hits = judge(
        ranking, positives(aligned(Y[fresh][:, columns], columns.astype(str), tagger.classes_)), None, (5,)
    ).hits
    shown = ranking.labels >= 0
    given, right = ranking.scores[shown], hits[:, : ranking.k][shown]
    calibration = tagger.calibration_
    stated = (np.nan, np.nan) if calibration is None else (calibration.error, getattr(calibration, "spread", np.nan))
    return calibration_error(given, right), float(np.mean((given - right) ** 2)), *stated


def main(*names: str) -> None:
    """Print a row for each set and number of samples: means over seeds, and the spread of the error."""
    print("| set | samples | calibration error | Brier score | stated error | stated ± |\n|---|---|---|---|---|---|")
    for name in names or SETS:
        samples, Y = SETS[name]()
        for n in N_SAMPLES:
            if n + 500 > Y.shape[0]:
                continue
            found = np.array([measured(samples, Y, n, seed) for seed in SEEDS])
            error, *others = found.mean(axis=0)
            cells = [f"{error:.3f} ± {found[:, 0].std(ddof=1):.3f}", *(f"{value:.3f}" for value in others)]
            print(f"| {name} | {n:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
