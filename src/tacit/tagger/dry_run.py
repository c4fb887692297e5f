"""What training will take, roughly: train on two subsets of the samples and extrapolate.

Seconds, memory and model size are each taken to follow a power law in the number of samples: a straight line in
log-log through the two measurements.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tacit.core.labels import label_counts
from tacit.data.dataset import Dataset, samples_of
from tacit.progress import announce
from tacit.registry import find_model
from tacit.runtime.memory import forget_peak, peak_bytes, resident_bytes
from tacit.sizes import format_seconds, format_size
from tacit.tagger.tagger import Tagger
from tacit.tagger.training import prepare

FACTOR = 2  # an estimate may be off by this factor, either way
_SMALLER, _LARGER = 1 / 32, 1 / 8  # fractions of the samples in the two subsets, ...
_AT_LEAST, _AT_MOST = 1_000, 20_000  # ... of which the larger has so many samples
_STEEPEST = 2.0  # power of a law


class Cost(NamedTuple):
    """What it takes to train on `n_samples` and to save the model."""

    n_samples: int
    seconds: float
    memory_bytes: float  # beyond what the process holds; 0 where the system does not tell
    model_bytes: float


class Estimate(NamedTuple):
    """The model that would be trained, what training on two subsets took, and what it would take in all."""

    model: str
    subsets: tuple[Cost, Cost]
    whole: Cost

    def __str__(self) -> str:
        memory = f", {format_size(self.whole.memory_bytes)} of memory" if self.whole.memory_bytes else ""
        sizes = " and ".join(dict.fromkeys(f"{subset.n_samples:,}" for subset in self.subsets))
        return (
            f"{self.model} takes roughly {format_seconds(self.whole.seconds)}{memory}, a model of "
            f"{format_size(self.whole.model_bytes)} (within a factor of {FACTOR}; extrapolated from "
            f"{sizes} of {self.whole.n_samples:,} samples)"
        )


def estimate(tagger: Tagger, dataset: Dataset, **options: Any) -> Estimate:
    """What ``tagger.fit`` on a data set would take, kernels compiled; `options` are those of `Tagger.fit`."""
    held = resident_bytes()
    if tagger.model == "auto":  # a choice by the size of all the data
        given = {name: options.get(name) for name in ("label_names", "cooccurrence")}
        tagger = clone(tagger).set_params(model=type(prepare(tagger, *samples_of(dataset), **given).model))
    rows = np.random.default_rng(0).permutation(np.flatnonzero(label_counts(dataset.Y.T)))
    larger = min(max(round(_LARGER * len(rows)), _AT_LEAST), _AT_MOST, len(rows))
    smaller = larger if larger == len(rows) else round(_SMALLER / _LARGER * larger)
    subsets = [dataset.rows(np.sort(rows[:size])) for size in (smaller, larger)]
    announce(f"trying {smaller:,} and {larger:,} of {len(dataset):,} samples")
    _cost(tagger, subsets[0], options)  # compiles kernels
    small, large = (_cost(tagger, subset, options) for subset in subsets)
    whole = extrapolated(small, large, len(dataset))
    whole = whole._replace(memory_bytes=whole.memory_bytes and held + whole.memory_bytes)
    return Estimate(find_model(tagger.model).__name__, (small, large), whole)


def extrapolated(small: Cost, large: Cost, n_samples: int) -> Cost:
    """The cost of `n_samples`, on straight lines in log-log through two costs."""
    low, high = np.array(small[1:], float), np.array(large[1:], float)
    power = np.ones(len(high))
    if large.n_samples != small.n_samples:
        is_known = np.minimum(low, high) > 0
        steepness = np.log(high[is_known] / low[is_known]) / np.log(large.n_samples / small.n_samples)
        power[is_known] = np.clip(steepness, 0, _STEEPEST)
    return Cost(n_samples, *(high * (n_samples / large.n_samples) ** power).tolist())


def _cost(tagger: Tagger, dataset: Dataset, options: dict[str, Any]) -> Cost:
    forget_peak()
    held, began = resident_bytes(), time.perf_counter()
    trained = clone(tagger).fit(*samples_of(dataset), **options)
    with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
        trained.save(Path(folder) / "model")
        seconds = time.perf_counter() - began
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    return Cost(len(dataset), seconds, max(peak_bytes() - held, 0), size)
