"""Save a small model of every family and what it ranks; see README.md."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import tacit
from tacit.registry import MODELS

sys.path.insert(0, str(Path(__file__).parents[1]))
from planted import planted
from small import small

TEXTS = ["a red apple", "a green pear", "the fast car", "a slow car"]
TAGS = [["fruit", "red"], ["fruit"], ["vehicle"], ["vehicle"]]
X, Y = planted(80)


def tagger_with_acts() -> tacit.Tagger:
    """A tagger that was changed in every way after training."""
    tagger = tacit.Tagger("OneVsAll", keep_texts=True).fit(TEXTS * 5, TAGS * 5)
    tagger.add_label("pome", examples=["apple pear"], cooccurs={"fruit": 3})
    tagger.learn([("a green apple", "fruit", True), ("a green apple", "vehicle", False)])
    tagger.rename_label("vehicle", "cars")
    tagger.merge_labels(["red"], into="fruit")
    tagger.retire_label("pome")
    tagger.undo()
    return tagger


def main(folder: Path) -> None:
    """Save them all."""
    names = [f"näme {i}" for i in range(Y.shape[1])]
    models = {name: (getattr(tacit, name)(**small(name)).fit(X, Y, label_names=names), X[:4]) for name in MODELS}
    for name, (model, inputs) in {**models, "Tagger": (tagger_with_acts(), TEXTS)}.items():
        model.save(folder / name)
        (folder / name / "acts.jsonl.lock").unlink(missing_ok=True)
        ranking = model.rank(inputs, k=3)
        np.savez_compressed(folder / f"{name}.npz", labels=ranking.labels, scores=ranking.scores)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
