"""Texts to tf-idf features: tacit's `TextVectorizer` against scikit-learn's `TfidfVectorizer`, on EURLEX57K.

Usage: ``TACIT_DATA=… python -m benchmarks.vectorizer``. Each vectoriser runs in a process of its own; times are CPU
seconds, memory is the peak above the texts.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from itertools import islice
from typing import Any

import numpy as np

from tacit.data.catalog import find
from tacit.data.load import stream_samples
from tacit.vectorizer import TextVectorizer
from tacit.words import Lexicon, count_words

NAMES = ("tacit", "scikit-learn", "tacit characters", "scikit-learn characters")
FIELDS = "title,header,recitals,main_body"


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


def measure(name: str, n_texts: int = 20_000) -> str:
    """A line with the speed and memory of a vectoriser; n-grams are measured on a fifth of the texts."""
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
    speeds = f"fit {size / (fitted - start):5.1f} MB/s, transform {size / (done - fitted):5.1f} MB/s"
    return f"{name:<24} {size:5.1f} MB: {speeds}, {peak:4.0f} MiB, {X.shape[1]:,} features"


def main() -> None:
    """Measure each vectoriser in a process of its own."""
    for name in NAMES:
        code = f"from benchmarks.vectorizer import measure; print(measure({name!r}))"
        subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    main()
