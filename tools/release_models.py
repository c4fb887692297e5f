"""Models that environments of a release exchange: ``save FOLDER``, then ``check FOLDER…`` in each of the others.

It runs in clean environments, so it imports nothing but tacit and what that needs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import tacit
from tacit.data.dataset import texts_of
from tacit.data.synthetic import SyntheticData, make_dataset

#: A model of each family.
NAMES = ("Popularity", "OneVsAll", "LabelTree", "PfastreXML", "ExMLDS1", "MomentMatching")
_K = 5


def _data() -> SyntheticData:
    return make_dataset(n_samples=500, n_features=300, n_labels=40, as_text=True, seed=0)


def _rankings(folder: Path) -> dict[str, tacit.Ranking]:
    """What the models of a folder rank, by their names."""
    data = _data()
    found = {name: tacit.load_model(folder / name).rank(data.X[data.test], _K) for name in NAMES}
    return found | {"Tagger": tacit.Tagger.load(folder / "Tagger").rank(texts_of(data.dataset(data.test)), _K)}


def save(folder: Path) -> None:
    """Train models, save them, and note what they rank."""
    data = _data()
    train = data.dataset(data.train)
    for name in NAMES:
        model = getattr(tacit, name)().fit(train.X, train.Y, label_names=train.label_names)
        model.save(folder / name)
    tagger = tacit.Tagger("OneVsAll", keep_texts=True).fit(train.texts, train.Y, label_names=train.label_names)
    tagger.add_label("a new label", examples=texts_of(train)[:2])
    tagger.save(folder / "Tagger")
    for name, ranking in _rankings(folder).items():
        np.savez(folder / f"{name}.npz", labels=ranking.labels, scores=ranking.scores)


def check(folders: list[Path]) -> None:
    """Load the models of other environments, and compare what they rank here with what they ranked there."""
    for folder in folders:
        for name, ranking in _rankings(folder).items():
            there = np.load(folder / f"{name}.npz")
            if not np.array_equal(ranking.labels, there["labels"]):
                sys.exit(f"{name} of {folder.name} ranks other labels here than there")
            if not np.allclose(ranking.scores, there["scores"], rtol=1e-4, atol=1e-6):
                sys.exit(f"{name} of {folder.name} has other scores here than there")
    print(f"{len(NAMES) + 1} models of {len(folders)} environments rank as where they were saved")


if __name__ == "__main__":
    what, *places = sys.argv[1:]
    if what == "save":
        Path(places[0]).mkdir(parents=True)
        save(Path(places[0]))
    else:
        check([Path(place) for place in places])
