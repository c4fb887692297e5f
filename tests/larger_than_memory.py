"""Train on texts whose features do not fit into the memory that is allowed; ``python larger_than_memory.py FOLDER``.

The model must have the same bytes as without a limit. Prints bytes of the features and of the memory that was allowed
for them, and whether the same training without room on disk ended with an error.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from tacit import Tagger
from tacit.errors import TacitError
from tacit.numerics.storage import large_on_disk
from tacit.runtime.memory import data_bytes, memory_limit

ALLOWED = 190 << 20
N_TEXTS, WORDS_PER_TEXT = 12_000, 100


def texts_and_tags() -> tuple[list[str], list[list[str]]]:
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnop"))
    words = ["".join(word) for word in letters[rng.integers(16, size=(3000, 24))]]
    tags = rng.integers(4, size=N_TEXTS)
    chosen = rng.integers(len(words), size=(N_TEXTS, WORDS_PER_TEXT))
    texts = [f"topic{tag} " + " ".join(words[word] for word in row) for tag, row in zip(tags, chosen, strict=True)]
    return texts, [[f"label{tag}"] for tag in tags]


def trained(texts: list[str], tags: list[list[str]]) -> Tagger:
    options = {"features": "words+characters", "names": False, "n_trees": 1, "max_passes": 2, "n_jobs": 1}
    return Tagger(model="LabelTree", **options).fit(texts, tags)


def fingerprint(tagger: Tagger, folder: Path) -> str:
    tagger.save(folder)
    return hashlib.sha256(next(folder.glob("*.safetensors")).read_bytes()).hexdigest()


def main(folder: Path) -> None:
    texts, tags = texts_and_tags()
    with large_on_disk(folder, 1):
        trained(texts[:100], tags[:100])  # loads the kernels
    held = data_bytes()
    with memory_limit(held + ALLOWED, folder):
        limited = trained(texts, tags)
    without_disk = ""
    try:
        with memory_limit(held + ALLOWED):
            trained(texts, tags)
    except TacitError as error:
        without_disk = str(error)
    features = limited.vectorizer_.transform(texts)
    assert fingerprint(limited, folder / "limited") == fingerprint(trained(texts, tags), folder / "free")
    size = features.data.nbytes + features.indices.nbytes
    print(json.dumps({"features": size, "allowed": ALLOWED, "without_disk": without_disk}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
