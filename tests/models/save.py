"""Save small models of the current format and what they rank; see README.md."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import tacit

sys.path.insert(0, str(Path(__file__).parents[1]))
from planted import planted

TEXTS = ["a red apple", "a green pear", "the fast car", "a slow car"]
TAGS = [["fruit", "red"], ["fruit"], ["vehicle"], ["vehicle"]]


def main(folder: Path) -> None:
    X, Y = planted()
    models = {
        "Popularity": (tacit.Popularity().fit(X, Y), X[:4]),
        "OneVsAll": (tacit.OneVsAll().fit(X, Y, label_names=[f"näme {i}" for i in range(Y.shape[1])]), X[:4]),
        "Tagger": (tacit.Tagger().fit(TEXTS, TAGS), TEXTS),
    }
    for name, (model, inputs) in models.items():
        model.save(folder / name)
        ranking = model.rank(inputs, k=3)
        np.savez(folder / f"{name}.npz", labels=ranking.labels, scores=ranking.scores)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
