"""Label trees and blends against other systems, on the ready matrices of EURLEX57K, given alike to all.

Usage: ``TACIT_DATA=… python -m benchmarks label_tree``; ``python -m benchmarks.label_tree [SYSTEM…]`` for some.
Every system runs in a process of its own, on one thread.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import tacit
from benchmarks.peers import PEERS, measure, measure_ours

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
COLUMNS = ("train_cpu", "peak_mb", "model_mb", "rows_per_second", "row_ms")
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "LabelTree": ("LabelTree", {}),
    "LabelTree fast": ("LabelTree", {"n_trees": 1}),
    "OneVsAll": ("OneVsAll", {}),
    "Blend": ("Blend", {}),
    "Blend tail": ("Blend", {"models": ["LabelTree"], "target": "PSP@1+PSP@3+PSP@5"}),
}


def main(*names: str) -> None:
    """Print the table of the named systems, or of all."""
    if "TACIT_DATA" not in os.environ:
        print("set TACIT_DATA to the folder with the public benchmark sets to run this benchmark")
        return
    folder = Path(os.environ["TACIT_DATA"]) / "eurlex57k" / "tfidf"
    Y, Y_test = (
        sparse.csr_matrix(sparse.load_npz(folder / f"Y.{part}.npz"), dtype=np.float32) for part in ("trn", "tst")
    )
    propensities = tacit.propensities(Y)
    titles = ("CPU s", "MB", "model MB", "rows/s", "row ms", *METRICS)
    print(f"{'':16s}" + "".join(f"{title:>9s}" for title in titles))
    for name in names or (*PEERS, *OURS):
        found = measure_ours(*OURS[name], folder) if name in OURS else measure(name, folder)
        metrics = tacit.evaluate(found["ranking"], Y_test, propensities)
        figures = [found[column] for column in COLUMNS] + [100 * metrics[metric] for metric in METRICS]
        print(f"{name:16s}" + "".join(f"{figure:9.1f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
