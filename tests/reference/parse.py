"""Slow readers of sparse rows: Python's own split and float."""

from __future__ import annotations

import numpy as np


def parse_number(text: str) -> np.float32:
    with np.errstate(over="ignore", under="ignore"):
        return np.float32(float(text))


def parse_rows(text: str) -> list[tuple[list[int], list[tuple[int, np.float32]]]]:
    """(labels, features) of each line ``l,l f:v f:v``."""
    rows = []
    for line in text.splitlines():
        tokens = line.split()
        labels = []
        if tokens and not line[0].isspace() and ":" not in tokens[0]:
            labels = [int(label) for label in tokens.pop(0).split(",")]
        pairs = [token.split(":") for token in tokens]
        rows.append((labels, [(int(column), parse_number(value)) for column, value in pairs]))
    return rows
