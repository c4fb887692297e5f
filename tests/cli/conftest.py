"""Files to run the command line on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tacit as library
from planted import planted


@pytest.fixture
def numeric(tmp_path: Path) -> Path:
    X, Y = planted()
    names = [f"name {label}" for label in range(Y.shape[1])]
    library.save_data(library.Dataset(X, Y, names), tmp_path / "train.txt")
    return tmp_path / "train.txt"


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    """A CSV file as a user has it: two text columns, tags in one cell."""
    topics = {"fruit": "apple pear plum fig", "cars": "engine wheel brake road", "music": "song chord tune choir"}
    rows = ["id,title,body,tags"]
    rng = np.random.default_rng(0)
    for number in range(90):
        tags = list(rng.choice(list(topics), size=rng.integers(1, 3), replace=False))
        words = [word for tag in tags for word in rng.choice(topics[tag].split(), size=3)]
        rows.append(f'{number},{words[0]},"{" ".join(words[1:])}, and more",{"|".join(tags)}')
    path = tmp_path / "articles.csv"
    path.write_text("\n".join(rows) + "\n")
    return path
