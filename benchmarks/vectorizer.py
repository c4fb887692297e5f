"""Texts to tf-idf features: tacit's `TextVectorizer` against scikit-learn's `TfidfVectorizer`, on EURLEX57K.

Usage: ``TACIT_DATA=… python -m benchmarks.vectorizer``. Each vectoriser runs in a process of its own, in turns; medians
are shown. Times are CPU seconds, memory is the peak above the texts.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from itertools import islice
from typing import Any

import numpy as np

from tacit.data.catalog import find
from tacit.data.load import stream_samples
from tacit.text.vectorizer import TextVectorizer
from tacit.text.words import Lexicon, count_words

NAMES = ("tacit", "scikit-learn", "tacit characters", "scikit-learn characters")
FIELDS = "title,header,recitals,main_body"
TURNS = 5


def make(name: str) -> Any:
    """The vectoriser of that name, with the same weights in both libraries."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union

    if name.startswith("tacit"):
        return TextVectorizer(features="words+characters" if name.endswith("characters") else "words")
    weights = {"sublinear_tf": True, "min_df": 2, "dtype": np.float32}
    words = TfidfVectorizer(**weights)
    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(4, 4), **weights)
    return make_union(words, grams) if name.endswith("characters") else words


def measure(name: str, n_texts: int = 20_000) -> list[float]:
    """Megabytes, MB/s of fit and transform, MiB of memory, features; n-grams are measured on a fifth of the texts."""
    n_texts = n_texts // 5 if name.endswith("characters") else n_texts
    texts = [text for text, _ in islice(stream_samples(find("eurlex57k")["train"], text=FIELDS), n_texts)]
    size = sum(len(text.encode()) for text in texts) / 1e6
    make(name).fit(["two words", "two words"])  # loads kernels, and the next line those for several blocks of texts
    Lexicon().number(count_words(["two words"])[1])
    vectorizer, before = make(name), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    X = vectorizer.fit_transform(texts)
    fitted = time.process_time()
    vectorizer.transform(texts)
    done = time.process_time()
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return [size, size / (fitted - start), size / (done - fitted), peak, X.shape[1]]


def run(name: str) -> list[float]:
    """Measure a vectoriser in a process of its own."""
    code = f"import json; from benchmarks.vectorizer import measure; print(json.dumps(measure({name!r})))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    found: list[float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print a line with the medians of each vectoriser."""
    turns = [[run(name) for name in NAMES] for _ in range(TURNS)]
    for name, (size, fit, transform, peak, n_features) in zip(NAMES, np.median(turns, axis=0), strict=True):
        speeds = f"fit {fit:5.1f} MB/s, transform {transform:5.1f} MB/s"
        print(f"{name:<24} {size:5.1f} MB: {speeds}, {peak:4.0f} MiB, {n_features:,.0f} features")


if __name__ == "__main__":
    main()
