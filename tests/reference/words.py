"""Words counted the slow way: a regular expression over the lower case of each text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from scipy import sparse

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
