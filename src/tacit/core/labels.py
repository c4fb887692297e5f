"""Conversion of labels from any form into the one that models use: names and a sparse matrix.

A label has three states for a sample: positive (a stored 1), known negative (a stored 0) and unknown (absent).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.core.checks import as_csr, check_indices, check_unicode
from tacit.errors import DataError, ParameterError, UnknownLabelError, did_you_mean

Container = Literal["lists", "sparse", "dense"]
Matrix: TypeAlias = "sparse.spmatrix | npt.NDArray[Any]"
Names = npt.NDArray[Any]  # of str (dtype object) or of whole numbers


@dataclass(frozen=True)
class Labels:
    """Labels of some samples."""

    matrix: sparse.csr_matrix  # of float32, shape (n_samples, n_labels); stored values are 1 or 0
    names: Names  # in column order
    container: Container  # the form in which labels were given, and in which label sets are returned


def read_labels(
    Y: Any, names: Sequence[Any] | Names | None = None, *, known_negatives: bool = False, what: str = "Y"
) -> Labels:
    """Read labels from lists of names, a sparse matrix or a dense array; `what` is the name of Y in errors.

    Lists hold, for each sample, its labels as str or int. Matrices hold 0 or 1; NaN in a dense array means unknown, and
    its zeros are stored only if they are `known_negatives`. Without `names` in column order, those of lists are sorted,
    and those of matrices are the columns of a data frame or numbers.
    """
    if sparse.issparse(Y):
        matrix, container = _from_sparse(Y, what), "sparse"
    elif are_lists(Y):
        matrix, found = _from_lists(Y, names, what)
        return Labels(matrix, found, "lists")
    else:
        names = getattr(Y, "columns", None) if names is None else names
        matrix, container = _from_dense(Y, known_negatives, what), "dense"
    return Labels(matrix, _column_names(names, matrix.shape[1]), container)  # type: ignore[arg-type]


def are_lists(Y: Any) -> bool:
    """Whether Y holds a collection of labels per sample (and is not a matrix or data frame)."""
    if sparse.issparse(Y):
        return False
    if isinstance(Y, np.ndarray):
        return Y.ndim == 1 and Y.dtype == object
    return isinstance(Y, list | tuple) or (not hasattr(Y, "__array__")) or getattr(Y, "ndim", 2) == 1


def _from_sparse(Y: Any, what: str) -> sparse.csr_matrix:
    if Y.dtype.kind not in "biuf":
        raise DataError(f"{what} must hold 0 and 1; got values of type {Y.dtype}")
    if Y.format not in ("csr", "csc", "coo"):
        Y = Y.tocsr()
    check_indices(Y, what)
    wrong = (Y.data != 0) & (Y.data != 1)
    if wrong.any():
        stored = Y.tocoo()
        place = int(np.flatnonzero(wrong)[0])
        raise _not_binary(what, stored.row[place], stored.col[place], Y.data[place])
    csr = as_csr(Y, what, np.float32)
    if csr.nnz and csr.data.max() > 1:  # an entry given twice
        csr = sparse.csr_matrix((np.minimum(csr.data, 1), csr.indices, csr.indptr), shape=csr.shape)
    return csr


def _from_dense(Y: Any, known_negatives: bool, what: str) -> sparse.csr_matrix:
    dense = np.asarray(Y)
    if dense.dtype.kind not in "biuf" or dense.ndim != 2:
        raise DataError(
            f"{what} must be a (n_samples, n_labels) matrix of 0 and 1, or a list of labels per sample; got an array "
            f"of shape {dense.shape} and type {dense.dtype}"
        )
    is_known = ~np.isnan(dense) if dense.dtype.kind == "f" else np.ones(dense.shape, dtype=bool)
    wrong = is_known & (dense != 0) & (dense != 1)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise _not_binary(what, row, column, dense[row, column])
    stored = is_known if known_negatives else is_known & (dense != 0)
    rows, columns = np.nonzero(stored)
    values = dense[rows, columns].astype(np.float32)
    return sparse.csr_matrix((values, (rows, columns)), shape=dense.shape)


def _not_binary(what: str, row: Any, column: Any, value: Any) -> DataError:
    return DataError(f"{what} must hold only 0 and 1 (Unknown label type); row {row}, column {column} holds {value:g}")


def _from_lists(
    Y: Iterable[Iterable[Any]], names: Sequence[Any] | Names | None, what: str
) -> tuple[sparse.csr_matrix, Names]:
    sets = [_label_set(labels, row, what) for row, labels in enumerate(Y)]
    if names is None:
        if len({isinstance(label, str) for labels in sets for label in labels}) > 1:
            raise DataError("labels must be all str or all int; got both")
        names = sorted(set().union(*sets))
    columns = {name: column for column, name in enumerate(names)}
    for row, labels in enumerate(sets):
        for label in labels.difference(columns):
            hint = did_you_mean(str(label), map(str, names))
            raise DataError(f"row {row} has the label {label!r}, which is not among the label names{hint}")
    rows = [sorted(columns[label] for label in labels) for labels in sets]
    indices = np.array([column for row in rows for column in row], np.int32)
    indptr = np.cumsum([0, *map(len, rows)])
    matrix = sparse.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=(len(sets), len(names)))
    return matrix, as_names(list(names))


def _label_set(labels: Any, row: int, what: str) -> set[Any]:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise DataError(f"row {row} of {what} must be a list of labels; got {labels!r}")
    found = {label.item() if isinstance(label, np.generic) else label for label in labels}
    for label in found:
        if isinstance(label, bool) or not isinstance(label, str | int) or label == "":
            raise DataError(f"row {row} of {what} has the label {label!r}; a label is a non-empty str or an int")
    return found


def _column_names(names: Sequence[Any] | Names | None, n_labels: int) -> Names:
    if names is None:
        return np.arange(n_labels)
    if len(names) != n_labels:
        raise DataError(f"{len(names)} label names for {n_labels} columns of Y; they must agree")
    return as_names(list(names))


def as_names(names: list[Any]) -> Names:
    """Label names in the form that models use: integers, or strings."""
    if len(set(names)) != len(names):
        raise DataError("label names must differ from each other")
    if all(isinstance(name, int | np.integer) for name in names):
        return np.array(names, dtype=np.int64)
    for place, name in enumerate(names):
        check_unicode(str(name), place, "label names")
    return np.array([str(name) for name in names], dtype=object)


def aligned(matrix: sparse.csr_matrix, names: Sequence[Any] | Names, classes: Names) -> sparse.csr_matrix:
    """The columns of `matrix` in the order of `classes`, followed by those that are not among them.

    Columns of the same name become one, in which a positive of any of them is a positive.
    """
    position = {str(name): column for column, name in enumerate(classes)}
    for name in names:
        position.setdefault(str(name), len(position))
    columns = np.array([position[str(name)] for name in names], dtype=np.int32)
    moved = (matrix.data, columns[matrix.indices], matrix.indptr)
    result = sparse.csr_matrix(moved, shape=(matrix.shape[0], len(position)))
    if len(set(columns.tolist())) < len(columns):
        result = result.copy()  # the values and starts are those of `matrix`
        result.sum_duplicates()
        np.minimum(result.data, 1, out=result.data)
    result.sort_indices()
    return result


def labels_in_order(Y: Any, classes: Names, learned: Names, called: Callable[[str], str] = str) -> sparse.csr_matrix:
    """Labels in any form, in the order of `classes`, followed by those of lists that are not among them.

    Lists and data frames are matched by name; `called` tells what a label is called in `classes`. The columns of other
    matrices are `classes` or, for a model with unseen labels, the `learned` ones.
    """
    labels = read_labels(Y)
    n_columns = labels.matrix.shape[1]
    if labels.container == "lists" or hasattr(Y, "columns"):
        names, known = [called(str(name)) for name in labels.names], set(map(str, classes))
        for name in names if hasattr(Y, "columns") else ():
            if name not in known:
                raise DataError(f"Y has the column '{name}', which is no label of the model{did_you_mean(name, known)}")
        return aligned(labels.matrix, names, classes)
    if n_columns not in (len(classes), len(learned)):
        raise DataError(f"Y must have a column for each of the {len(classes)} labels of the model; got {n_columns}")
    return aligned(labels.matrix, classes if n_columns == len(classes) else learned, classes)


def positives(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Only the stored ones of a label matrix."""
    if matrix.data.all():
        return matrix
    copy = matrix.copy()
    copy.eliminate_zeros()
    return copy


def relevant_labels(Y: Any, what: str = "Y") -> sparse.csr_matrix:
    """The positives of a sparse matrix or array, checked; known negatives are dropped."""
    if not sparse.issparse(Y) and are_lists(Y):
        raise DataError(f"{what} must be a sparse matrix or a 2-D array of 0 and 1; got {type(Y).__name__}")
    return positives(read_labels(Y, what=what).matrix)


def label_counts(Y: Any) -> npt.NDArray[np.int64]:
    """Number of positives of each label."""
    matrix = relevant_labels(Y)
    return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)


def label_sets(matrix: sparse.csr_matrix, names: Names, container: Container) -> Any:
    """A 0/1 matrix of predicted labels in the form the training labels had."""
    if container == "sparse":
        return matrix
    if container == "dense":
        return matrix.toarray().astype(np.int64)
    return [list(names[row]) for row in np.split(matrix.indices, matrix.indptr[1:-1])]


def label_mask(
    names: Names, include: Any, exclude: Any, find: Callable[[str, str], int] | None = None
) -> npt.NDArray[np.bool_] | None:
    """Which labels may be ranked; None where all may.

    `include` and `exclude` are column numbers (any integer type) or label names. `find` returns the column of a name,
    given the name and the parameter that contains it; by default names must be those in `names`.
    """
    if include is None and exclude is None:
        return None
    mask = np.full(len(names), include is None)
    for what, chosen, is_allowed in (("include", include, True), ("exclude", exclude, False)):
        if chosen is not None:
            mask[_columns(names, chosen, what, find)] = is_allowed
    return mask


def _columns(names: Names, chosen: Any, what: str, find: Callable[[str, str], int] | None) -> npt.NDArray[np.intp]:
    array = np.asarray(chosen if isinstance(chosen, str) else list(chosen))
    if array.ndim != 1 or (len(array) and array.dtype.kind not in "iuUO"):
        raise ParameterError(f"{what} must be a list of column numbers or label names; got {chosen!r:.60}")
    if array.dtype.kind in "iu":
        outside = (array < 0) | (array >= len(names))
        if outside.any():
            raise ParameterError(f"{what} names column {array[outside][0]}, but there are {len(names)} labels")
        return array.astype(np.intp)
    if find is None:
        columns = {str(name): column for column, name in enumerate(names)}
        if unknown := [name for name in map(str, array) if name not in columns]:
            raise UnknownLabelError(unknown[0], columns, what)
        return np.array([columns[str(name)] for name in array], dtype=np.intp)
    return np.array([find(str(name), what) for name in array], dtype=np.intp)
