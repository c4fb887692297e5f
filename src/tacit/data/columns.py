"""What is said of the columns of labelled data: where the labels are, and how many."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.core.checks import is_blank
from tacit.core.labels import positives
from tacit.data.dataset import Dataset
from tacit.data.fields import BETWEEN_URIS
from tacit.data.repeats import groups_of, n_repeated
from tacit.errors import DataError, ParameterError

UNTAGGED = {"skip": "left out", "negative": "counted as having none"}  # what becomes of rows without labels
_SPELLED = {"\n": "by line ends", BETWEEN_URIS: "as URIs are"}


def without_untagged(dataset: Dataset, untagged: str | None) -> Dataset:
    """The data set without its rows without labels if `untagged` is ``skip``; otherwise the same."""
    if untagged not in (None, *UNTAGGED):
        raise ParameterError(f"untagged must be one of {', '.join(UNTAGGED)}; got {untagged!r}")
    is_tagged = n_labels_of(dataset) > 0
    if untagged != "skip" or is_tagged.all():
        return dataset
    if not is_tagged.any():
        raise DataError("no row has a label; at least one must have")
    return dataset.rows(np.flatnonzero(is_tagged))


def n_labels_of(dataset: Dataset) -> Any:
    """The number of labels of each row."""
    return np.diff(positives(dataset.Y).indptr)


def label_line(dataset: Dataset, fate: str = "") -> str:
    """Which labels were read, and of which rows; `fate` is what becomes of rows without labels."""
    sizes, columns = n_labels_of(dataset), dataset.columns
    n_used = int((np.bincount(positives(dataset.Y).indices, minlength=1) > 0).sum())
    counts = f"{n_used:,} labels, {sizes.sum() / max((sizes > 0).sum(), 1):.1f} per row"
    where = ""
    if columns is not None and columns.labels:
        where = f"column{'s' if len(columns.labels) > 1 else ''} {', '.join(columns.labels)}"
        if columns.separator:
            where += f", separated {_SPELLED.get(columns.separator, f'by {columns.separator!r}')}"
    parts = [f"{where} ({counts})" if where else counts]
    if n_untagged := int((sizes == 0).sum()):
        parts.append(f"{n_untagged:,} row{'s' * (n_untagged > 1)} without labels" + (f", {fate}" if fate else ""))
    if n_blank := 0 if dataset.texts is None else sum(map(is_blank, dataset.texts)):
        parts.append(f"{n_blank:,} with a blank text")
    if n_again := n_repeated(groups_of(dataset.X if dataset.texts is None else dataset.texts)):
        parts.append(f"{n_again:,} repeated")
    return f"labels: {'; '.join(parts)}"
