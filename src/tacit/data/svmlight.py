"""Multilabel svmlight: rows ``l1,l2 f:v f:v … # comment`` without a header.

Empty lines and comment lines are skipped. A row that starts with a blank, or with a feature, has no labels.

Ids count from 0 or from 1, and the file does not say which. In the format ``svmlight`` this is guessed separately for
features and for labels: from 0 if the id 0 occurs, else from 1. ``svmlight0``, ``svmlight1`` and ``libsvm`` (features
from 1, labels from 0, as in the files of the LIBSVM site) do not guess. Labels without names are named by their ids.
"""

from __future__ import annotations

from tacit.data.dataset import Dataset, features_of
from tacit.data.files import Staging
from tacit.data.formats import Source, Target
from tacit.data.label_names import numeric_dataset, read_names, write_companions
from tacit.data.limits import LARGEST_DIMENSION
from tacit.data.numeric import RowLayout, SparseRows, feature_matrix, label_matrix, read_rows, write_rows
from tacit.errors import FileError


def read(source: Source, *, first_feature: int | None = None, first_label: int | None = None) -> Dataset:
    """Read an svmlight file whose ids count from the numbers given, or from 0 or 1 as guessed."""
    path, limits = source.path, source.limits
    layout = RowLayout(
        n_features=min(limits.max_features + (1 if first_feature is None else first_feature), LARGEST_DIMENSION),
        n_labels=min(limits.max_labels + (1 if first_label is None else first_label), LARGEST_DIMENSION),
        first_feature=first_feature or 0,
        first_label=first_label or 0,
        loose=True,
    )
    features, labels = read_rows(path, layout, limits)
    if features.n_rows == 0:
        raise FileError(path, "the file has no rows; it must hold at least one sample")
    first_feature, n_features = _columns(features, first_feature)
    first_label, n_labels = _columns(labels, first_label)
    if source.labels_path is not None:  # the last labels may have no samples
        n_labels = max(n_labels, len(read_names(source.labels_path, limits).names))
    for what, size in (("feature", n_features), ("label", n_labels)):
        if size == 0:
            raise FileError(path, f"no row has a {what}; at least one must have, or name a file of labels")
    limits.check_columns(path, n_features, "feature")
    X = feature_matrix(path, features, n_features, first_feature)
    Y = label_matrix(labels, n_labels, first_label)
    return numeric_dataset(path, X, Y, limits, source.labels_path, first_label=first_label)


def _columns(rows: SparseRows, first: int | None) -> tuple[int, int]:
    """The first id, guessed unless it is given, and the number of columns."""
    used = rows.ids[: rows.n_entries]
    if first is None:
        first = int(len(used) > 0 and used.min() > 0)
    return first, int(used.max(initial=first - 1)) + 1 - first


def write(dataset: Dataset, target: Target, staging: Staging, *, first_feature: int = 0, first_label: int = 0) -> None:
    """Write an svmlight file. Known negatives (stored zeros of Y) are left out."""
    with staging.open(target.path) as file:
        write_rows(file, features_of(dataset), dataset.Y, first_feature=first_feature, first_label=first_label)
    write_companions(staging, target, dataset)
