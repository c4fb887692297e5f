"""Multilabel svmlight: rows ``l1,l2 f:v f:v … # comment`` without a header.

Empty lines and comment lines are skipped. A row that opens with a blank, or with a feature, has no labels.

Ids count from 0 or from 1, and the file does not say. With the format ``svmlight`` features and labels are judged
each for itself: ids count from 0 if the id 0 occurs, else from 1. A small file may happen to lack the id 0 of its
larger sibling, so where it matters name the counting: ``svmlight0`` (all from 0), ``svmlight1`` (all from 1) or
``libsvm`` (features from 1, labels from 0, as in the files of the LIBSVM site). Labels without names are called by
the ids in the file, so that a wrong guess shows.
"""

from __future__ import annotations

from tacit.data.dataset import Dataset, features_of
from tacit.data.files import Staging
from tacit.data.formats import Source, Target
from tacit.data.limits import LARGEST_DIMENSION
from tacit.data.names import feature_names, label_names, read_names, write_companions
from tacit.data.numeric import RowLayout, SparseRows, read_rows
from tacit.data.rows import write_rows
from tacit.data.xmc import check_finite, positives
from tacit.errors import FileError


def read(source: Source) -> Dataset:
    """Read an svmlight file, ids from 0 or 1 as they show."""
    return _read(source, first_feature=None, first_label=None)


def read_zero_based(source: Source) -> Dataset:
    """Read an svmlight file whose ids count from 0."""
    return _read(source, first_feature=0, first_label=0)


def read_one_based(source: Source) -> Dataset:
    """Read an svmlight file whose ids count from 1."""
    return _read(source, first_feature=1, first_label=1)


def read_libsvm(source: Source) -> Dataset:
    """Read an svmlight file whose features count from 1 and whose labels count from 0."""
    return _read(source, first_feature=1, first_label=0)


def _read(source: Source, first_feature: int | None, first_label: int | None) -> Dataset:
    path, limits = source.path, source.limits
    names = None if source.labels_path is None else read_names(source.labels_path, limits)
    most = limits.max_labels if names is None else len(names.names)
    layout = RowLayout(
        n_features=min(limits.max_features + (1 if first_feature is None else first_feature), LARGEST_DIMENSION),
        n_labels=min(most + (1 if first_label is None else first_label), LARGEST_DIMENSION),
        first_feature=first_feature or 0,
        first_label=first_label or 0,
        loose=True,
        feature_remedy="correct the row, or raise max_features",
        label_remedy="correct the row, or raise max_labels" if names is None else "correct the row",
    )
    features, labels = read_rows(path, layout, limits)
    if features.n_rows == 0:
        raise FileError(path, "the file has no rows; it must hold at least one sample")
    first_feature = _first_id(features) if first_feature is None else first_feature
    first_label = _first_id(labels) if first_label is None else first_label
    n_features, n_labels = _n_columns(features, first_feature), _n_columns(labels, first_label)
    if n_features == 0:
        raise FileError(path, "no row has a feature; at least one must have, written id:value")
    limits.check_columns(path, n_features, "feature")
    if names is not None:
        if n_labels > len(names.names):
            message = f"has labels from 0 to {n_labels - 1}, but {names.path.name} names {len(names.names)}"
            raise FileError(path, f"{message}; name them all")
        n_labels = len(names.names)
    if n_labels == 0:
        raise FileError(path, "no row has a label; at least one must have, or name a file of labels")
    X = features.to_csr(n_features, first_id=first_feature)
    if not features.rising:
        check_finite(path, X)
    return Dataset(
        X,
        positives(labels.to_csr(n_labels, first_id=first_label)),
        label_names(path, n_labels, source.labels_path, limits, first=first_label),
        feature_names=feature_names(path, n_features, limits),
    )


def _first_id(rows: SparseRows) -> int:
    return 1 if rows.n_entries and int(rows.used_ids.min()) > 0 else 0


def _n_columns(rows: SparseRows, first: int) -> int:
    return int(rows.used_ids.max()) + 1 - first if rows.n_entries else 0


def write(dataset: Dataset, target: Target, staging: Staging) -> None:
    """Write an svmlight file, ids from 0. Known negatives (stored zeros) are left out."""
    _write(dataset, target, staging, first_feature=0, first_label=0)


def write_one_based(dataset: Dataset, target: Target, staging: Staging) -> None:
    """Write an svmlight file, ids from 1."""
    _write(dataset, target, staging, first_feature=1, first_label=1)


def write_libsvm(dataset: Dataset, target: Target, staging: Staging) -> None:
    """Write an svmlight file, features from 1 and labels from 0."""
    _write(dataset, target, staging, first_feature=1, first_label=0)


def _write(dataset: Dataset, target: Target, staging: Staging, *, first_feature: int, first_label: int) -> None:
    with staging.open(target.path) as file:
        write_rows(file, features_of(dataset), dataset.Y, first_feature=first_feature, first_label=first_label)
    write_companions(staging, target, dataset)
