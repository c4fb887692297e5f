"""A data set with labels that were left out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from tacit.data.dataset import Dataset


def with_labels(dataset: Dataset, pairs: Sequence[tuple[int, str]]) -> Dataset:
    """The same samples with more labels: pairs of a row and the name of a label, new names among them."""
    names = list(dict.fromkeys([*dataset.label_names, *(label for _, label in pairs)]))
    column = {name: place for place, name in enumerate(names)}
    known = dataset.Y.tocoo()
    added = np.array([(row, column[label]) for row, label in pairs], dtype=np.int64).reshape(-1, 2)
    rows, columns = np.concatenate([known.row, added[:, 0]]), np.concatenate([known.col, added[:, 1]])
    values = np.concatenate([known.data, np.ones(len(added), np.float32)])
    Y = sparse.csr_matrix((values, (rows, columns)), shape=(len(dataset), len(names)), dtype=np.float32)
    np.minimum(Y.data, 1, out=Y.data)  # a label that was there already
    return replace(dataset, Y=Y, label_names=names)
