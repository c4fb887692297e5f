"""Digests of rankings that a change of the code must not move, unless it says so.

Trains every registered model on public and generated data, dense and sparse, and writes a digest of each ranking.
Models with matrix products round by the processor and the number of BLAS threads: write the digests of the code
before a change with OMP_NUM_THREADS=1 on the same machine, and compare with these.

    python -m benchmarks.frozen --write tests/frozen/rankings.json
    python -m benchmarks.frozen --check tests/frozen/rankings.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.core.ranking import Ranking
from tacit.data.catalog import find
from tacit.data.synthetic import make_dataset
from tacit.registry import MODELS

_FEWER = {"n_trees": 10, "n_learners": 3, "n_passes": 10, "n_sweeps": 20, "n_factors": 40}
_SETS = ("bibtex", "sparse", "dense", "texts")


def digest(ranking: Ranking) -> str:
    """A digest of labels and scores, bit for bit."""
    content = hashlib.sha256(ranking.labels.tobytes() + ranking.scores.tobytes())
    return content.hexdigest()[:16]


def _parameters(name: str) -> dict[str, Any]:
    defaults = MODELS[name].load()().get_params()
    return {key: most for key, most in _FEWER.items() if key in defaults and defaults[key] > most}


def _data(name: str) -> tuple[Any, Any, Any]:
    if name == "bibtex":
        train, test = (tacit.load_data(find("bibtex")[part]) for part in ("train", "test"))
        return train.X, train.Y, test.X
    made = make_dataset(n_samples=1_500, n_features=300, n_labels=60, seed=7)
    train, test = made.dataset(made.train), made.dataset(made.test)
    if name == "sparse":
        return train.X, train.Y, test.X
    rng = np.random.default_rng(7)
    directions = rng.standard_normal((train.X.shape[1], 32)).astype(np.float32)
    return train.X @ directions, train.Y, test.X @ directions


def _texts() -> tuple[list[str], list[list[str]], list[str]]:
    rng = np.random.default_rng(7)
    words = [f"{first}{second}{end}" for first in "bdfgklm" for second in "aeiou" for end in ("nt", "rs", "ld", "")]
    topics = [rng.choice(words, 12, replace=False) for _ in range(30)]
    texts, tags = [], []
    for _ in range(900):
        chosen = rng.choice(30, size=rng.integers(1, 4), replace=False, p=_FREQUENCIES)
        drawn = np.concatenate([rng.choice(topics[topic], 5) for topic in chosen] + [rng.choice(words, 6)])
        texts.append(" ".join(rng.permutation(drawn)))
        tags.append([f"topic {topic}" for topic in chosen])
    return texts[:700], tags[:700], texts[700:]


_FREQUENCIES = (1 / np.arange(2, 32)) / (1 / np.arange(2, 32)).sum()


def rankings(sets: tuple[str, ...] = _SETS, models: tuple[str, ...] = tuple(MODELS)) -> Iterator[tuple[str, str]]:
    """Name of set and model, and the digest of the ranking."""
    for name in sets:
        if name == "texts":
            texts, tags, others = _texts()
            for model in models:
                tagger = tacit.Tagger(model, **_parameters(model)).fit(texts, tags)
                yield f"{name} {model}", digest(tagger.rank(others, k=10))
            continue
        X, Y, others = _data(name)
        for model in models:
            fitted = MODELS[model].load()(**_parameters(model)).fit(X, Y)
            yield f"{name} {model}", digest(fitted.rank(others, k=10))


def main() -> None:
    """Write the digests, or compare them with those of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--write", type=Path)
    group.add_argument("--check", type=Path)
    parser.add_argument("--sets", nargs="+", choices=_SETS, default=list(_SETS))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    options = parser.parse_args()
    before = json.loads(options.check.read_text()) if options.check else {}
    found, n_moved = {}, 0
    for name, value in rankings(tuple(options.sets), tuple(options.models)):
        found[name] = value
        moved = bool(before) and before.get(name) != value
        n_moved += moved
        print(f"{name:28} {value}{'  moved' if moved else ''}", flush=True)
    if options.write:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(json.dumps(found, indent=1) + "\n")
    elif n_moved:
        raise SystemExit(f"{n_moved} of {len(found)} rankings moved")


if __name__ == "__main__":
    main()
