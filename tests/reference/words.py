"""Words counted the slow way, by a regular expression over the lower case of each text, and stored in chunks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from tacit.text.words import Words

WORD = re.compile(r"\b\w\w+\b")


def count_words(texts: Sequence[str]) -> tuple[sparse.csr_matrix, list[str]]:
    number: dict[str, int] = {}
    rows, columns, counts = [], [], []
    for row, text in enumerate(texts):
        for word, count in Counter(WORD.findall(text.lower())).items():
            rows.append(row)
            columns.append(number.setdefault(word, len(number)))
            counts.append(count)
    matrix = sparse.csr_matrix((counts, (rows, columns)), shape=(len(texts), len(number)), dtype="float32")
    return matrix, list(number)


def stored(words: Sequence[str]) -> Words:
    """Words in chunks of 8 bytes, with a line feed at the end of the last."""
    chunks, starts = b"", [0]
    for word in words:
        encoded = word.encode()
        chunks += encoded.ljust(len(encoded) // 8 * 8 + 7, b"\0") + b"\n"
        starts.append(len(chunks) // 8)
    return Words(np.frombuffer(chunks, "<i8").astype(np.int64), np.array(starts))
