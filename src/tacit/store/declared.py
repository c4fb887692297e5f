"""Declarations of fitted state, beside the fields of its classes, and their checks at load.

``leaf_labels: Annotated[npt.NDArray[Any], Array(IDS, ("n_leaf_labels",), below="n_labels")]`` declares all that the
kernels rely on: a type, a size for each axis, and the range of the entries. Sizes have names. The first array with a
new name sets its value, which then holds in that object and in the objects inside it. ``"n_nodes+1"`` and
``"-n_leaves"`` are sizes too. Fields without a declaration must have the type of their annotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import chain
from typing import Any, ClassVar, NoReturn, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.core.parameters import Kind, OneOf, Range, check_parameters, is_instance, kind_of
from tacit.errors import ModelFileError, ParameterError

Sizes = dict[str, int]

IDS = "ids"  # the type of `tacit.numerics.compact.smallest_ids`
NAMES = "object integer"  # texts or whole numbers
SHARED = ("n_features", "n_labels")  # sizes that a model inside a model has in common with it

_KINDS = {"integer": "iu", "number": "iufb"}  # NumPy's kinds by our names for them
_SHORT = 1 << 16  # ids below this have 16 bits
_WORDS = {
    float: "a number", int: "a whole number", str: "a text", bool: "true or false", list: "a list",
    type(None): "nothing",
}  # fmt: skip


def _fail(where: str, problem: str) -> NoReturn:
    raise ModelFileError(f"{where} {problem}")


@dataclass(frozen=True)
class Csr:
    """A CSR matrix; its indices are checked against its shape when it is rebuilt."""

    dtypes: str  # ``IDS`` is the smallest integer type for numbers below `below`
    shape: tuple[str, ...]  # the size of each axis; ``""`` allows any

    name: ClassVar = "a sparse matrix"
    kind: ClassVar[type] = sparse.spmatrix

    def check_shape(self, value: Any, where: str, sizes: Sizes) -> None:
        """Raise unless type and shape are right; sets the values of new sizes."""
        names = ("uint16 int32" if self.dtypes == IDS else self.dtypes).split()
        dtype = value.dtype
        if not any(dtype.kind in _KINDS.get(name, "") or (dtype.name == name and dtype.isnative) for name in names):
            _fail(where, f"must be {self.name} of {' or '.join(self.dtypes.split())}; got {dtype}")
        _check_axes(value.shape, self.shape, where, sizes)

    def check_values(self, value: Any, where: str, sizes: Sizes) -> None:
        """Raise unless the entries satisfy the declaration."""


@dataclass(frozen=True)
class Array(Csr):
    """An array: the types that it may have, the size of each axis, and what holds for the entries."""

    low: str = ""  # entries are at least this (0 if only `below` is given) ...
    below: str = ""  # ... and less than this
    starts: str = ""  # entries are offsets into another array of this size: from 0 to the size, never falling
    rises: bool = False  # no two of these offsets are equal
    widest: str = ""  # the name of a size that is set to the longest span between offsets
    most: str = ""  # the name of a size that is set to the largest entry
    is_after: bool = False  # entries are negative or larger than their row number: following them never loops
    is_filled: bool = False  # there is at least one entry
    differ: bool = False  # no two entries are equal
    up_to: float = np.inf  # largest absolute value; entries must be finite
    if_none: tuple[str, str] | None = None  # two sizes that must be equal if the value is None

    name: ClassVar = "an array"
    kind: ClassVar[type] = np.ndarray

    def check_shape(self, value: Any, where: str, sizes: Sizes) -> None:
        """Raise unless type and shape are right, and there are entries if there must be."""
        super().check_shape(value, where, sizes)
        if self.is_filled and not value.size:
            _fail(where, "must not be empty")

    def check_values(self, value: Any, where: str, sizes: Sizes) -> None:
        """Raise unless the entries satisfy the declaration."""
        if self.dtypes == IDS and value.dtype != (np.uint16 if _size(self.below, sizes) <= _SHORT else np.int32):
            _fail(where, f"must have the smallest type for numbers below {_size(self.below, sizes)}; got {value.dtype}")
        if self.starts:
            self._check_starts(value, where, sizes)
        elif self.low or self.below or self.most:
            self._check_range(value, where, sizes)
        if self.up_to < np.inf and not (np.abs(value) <= self.up_to).all():
            _fail(where, f"must hold finite numbers of at most {self.up_to:g} in size")
        if self.differ and len(set(value.tolist())) < len(value):
            _fail(where, "must differ from each other")
        if self.is_after and not (np.arange(len(value)).reshape(-1, *[1] * (value.ndim - 1)) < value)[value >= 0].all():
            _fail(where, "must hold numbers larger than that of their row: nodes come before their children")

    def _check_starts(self, value: npt.NDArray[Any], where: str, sizes: Sizes) -> None:
        end = _size(self.starts, sizes)
        if not len(value) or value[0] != 0 or value[-1] != end:
            ends = f"{value[0]} and {value[-1]}" if len(value) else "nothing"
            _fail(where, f"must begin at 0 and end at {end}; got {ends}")
        is_fall = value[1:] <= value[:-1] if self.rises else value[1:] < value[:-1]
        if is_fall.any():
            _fail(where, f"must {'rise' if self.rises else 'never fall'}; got a fall at entry {is_fall.argmax() + 1}")
        if self.widest:
            sizes[self.widest] = int(np.diff(value).max(initial=0))

    def _check_range(self, value: npt.NDArray[Any], where: str, sizes: Sizes) -> None:
        if self.most:
            sizes[self.most] = int(value.max(initial=0))
        if not value.size:
            return
        low = _size(self.low or "0", sizes)
        if (self.low or self.below) and not value.min() >= low:
            _fail(where, f"must hold numbers from {low} up; got {value.min()}")
        if self.below and not value.max() < (below := _size(self.below, sizes)):
            _fail(where, f"must hold numbers below {below} ({self.below}); got {value.max()}")


@dataclass(frozen=True)
class Items:
    """The number of items of a list, as a size."""

    size: str
    is_filled: bool = False


@dataclass(frozen=True)
class Size:
    """A number that sets the size of this name; if it is None, the size equals another one."""

    name: str
    if_none: str = ""


class Inside:
    """Sizes of an inner object and the sizes they equal in this one: ``Inside(("n_labels", "n_seen"))``."""

    def __init__(self, *pairs: tuple[str, str]) -> None:
        self.pairs = pairs


@dataclass(frozen=True)
class Sometimes:
    """An attribute that a fitted model has only if a parameter has a certain value."""

    unless: tuple[str, Any] | None = None


def check_csr(parts: Mapping[str, npt.NDArray[Any]], shape: tuple[Any, ...], where: str) -> None:
    """Raise unless three arrays form a valid CSR matrix of this shape."""
    if len(shape) != 2 or not all(type(size) is int and 0 <= size < 1 << 62 for size in shape):
        _fail(where, f"must have a shape of two numbers; got {list(shape)}")
    sizes = {"n_rows": shape[0], "n_columns": shape[1]}
    declared = {
        "data": Array("number", ("n_entries",)),
        "indices": Array("int32 int64", ("n_entries",), below="n_columns"),
        "indptr": Array("int32 int64", ("n_rows+1",), starts="n_entries"),
    }
    for name, array in declared.items():
        array.check_shape(parts[name], f"{where}.{name}", sizes)
    for name, array in declared.items():
        array.check_values(parts[name], f"{where}.{name}", sizes)


def _size(expression: str, sizes: Sizes) -> int:
    name = expression.lstrip("-").removesuffix("+1")
    value = int(name) if name.isdigit() else sizes[name]
    value += expression.endswith("+1")
    return -value if expression.startswith("-") else value


def _check_axes(shape: tuple[int, ...], declared: tuple[str, ...], where: str, sizes: Sizes) -> None:
    if len(shape) != len(declared):
        _fail(where, f"must have {len(declared)} axes; got {len(shape)}")
    for axis, (found, expression) in enumerate(zip(shape, declared, strict=True)):
        name = expression.removesuffix("+1")
        if name and not name.isdigit() and sizes.setdefault(name, found - expression.endswith("+1")) < 0:
            _fail(where, "must not be empty")
        if name and found != (expected := _size(expression, sizes)):
            _fail(where, f"must have {expected} ({expression}) entries along axis {axis}; got {found}")


@cache
def kinds_of(cls: Any) -> dict[str, Kind]:
    """The kinds of a dataclass's fields; for a model, of its fitted attributes."""
    hints = get_type_hints(cls, include_extras=True)
    return {item.name: kind_of(hints[item.name]) for item in fields(cls) if not (_is_model(cls) and item.init)}


def check_model(model: Any, where: str = "", shared: Mapping[str, int] | None = None) -> Sizes:
    """Raise `ModelFileError` unless a rebuilt model satisfies its declarations; returns its sizes."""
    try:
        check_parameters(model)
    except ParameterError as error:
        raise ModelFileError(f"{where.removesuffix('.') or type(model).__name__}: {error}") from None
    sizes: Sizes = dict(shared or {})
    _check_fields(model, where, sizes)
    return sizes


def _check_fields(value: Any, where: str, sizes: Sizes) -> None:
    cls: Any = type(value)
    found = []
    for name, kind in kinds_of(cls).items():
        sometimes = kind.find(Sometimes)
        if hasattr(value, name):
            found.append((getattr(value, name), kind, where + name))
        elif not sometimes or (sometimes.unless and getattr(value, sometimes.unless[0]) == sometimes.unless[1]):
            _fail(where + name, "is missing")
    _check_all(sorted(found, key=lambda field: not _is_model(field[1].type)), sizes)
    if hasattr(value, "problem") and (problem := value.problem(sizes)) is not None:
        _fail(where + problem[0], problem[1])


def _check_all(values: Iterable[tuple[Any, Kind, str]], sizes: Sizes) -> None:
    """Check values, each with its kind and place: models and sizes, then inner objects, then entries of arrays."""
    listed = list(values)
    arrays = [_check_sizes(*each, sizes) for each in listed]
    for (value, kind, where), array in zip(listed, arrays, strict=True):
        if array is None and not (value is None and kind.takes_none):
            _check_inside(value, kind, where, sizes)
    for (value, _, where), array in zip(listed, arrays, strict=True):
        if array is not None:
            array.check_values(value, where, sizes)


def _check_sizes(value: Any, kind: Kind, where: str, sizes: Sizes) -> Csr | None:
    """Check types, shapes, lengths and sizes; returns the declaration if the value is an array.

    Of several declarations of arrays, the one that fits the value applies.
    """
    declared, size = [extra for extra in kind.extras if isinstance(extra, Csr)], kind.find(Size)
    if value is None and kind.takes_none:
        if size is not None:
            sizes[size.name] = sizes.get(size.if_none, 0)
        equal = [array.if_none for array in declared if isinstance(array, Array) and array.if_none]
        sizes.update({name: sizes[other] for name, other in equal})
        return None
    if declared:
        fitting = next((each for each in declared if isinstance(value, each.kind)), None)
        if fitting is None:
            _fail(where, f"must be {declared[0].name}; got {_called(value)}")
        fitting.check_shape(value, where, sizes)
        return fitting
    _check_type(value, kind, where)
    if (items := kind.find(Items)) is not None:
        _check_axes((len(value),), (items.size,), where, sizes)
        if items.is_filled and not value:
            _fail(where, "must not be empty")
    if size is not None and sizes.setdefault(size.name, value) != value:
        _fail(where, f"must be {sizes[size.name]}; got {value}")
    if _is_model(kind.type):  # sizes that they share become those of the outer one
        inner = check_model(value, f"{where}.", {name: sizes[name] for name in SHARED if name in sizes})
        sizes.update({name: inner[name] for name in SHARED if name in inner})
    return None


def _check_inside(value: Any, kind: Kind, where: str, sizes: Sizes) -> None:
    """Check a value of the right type that is no array."""
    if (limit := kind.find(Range, OneOf)) is not None and not limit.holds(value):
        _fail(where, f"must be {limit}; got {value!r}")
    origin, arguments, inside = get_origin(kind.type), get_args(kind.type), kind.find(Inside)
    if origin is list:
        _check_items(value, kind_of(arguments[0]), inside, where, sizes)
    elif origin is dict:
        _check_all(((item, kind_of(arguments[1]), f"{where}.{key}") for key, item in value.items()), sizes)
    elif is_dataclass(kind.type) and not _is_model(kind.type):
        pairs = () if inside is None else inside.pairs
        _check_fields(
            value, f"{where}.", {**sizes, **{inner: sizes[outer] for inner, outer in pairs if outer in sizes}}
        )


def _check_items(items: list[Any], inner: Kind, inside: Inside | None, where: str, sizes: Sizes) -> None:
    if inner.type is str:
        check_texts(items, where)
    elif inner.type == list[str]:  # all at once: vocabularies are long
        for item in items:
            _check_type(item, inner, where)
        check_texts(list(chain.from_iterable(items)), where)
    else:
        kind = Kind(inner.type, inner.takes_none, (*inner.extras, *([inside] if inside else [])))
        for i, item in enumerate(items):
            _check_all([(item, kind, f"{where}.{i}")], sizes)


def check_texts(items: Iterable[Any], where: str) -> None:
    """Raise unless all items are texts that can be encoded."""
    listed = list(items)
    if set(map(type, listed)) - {str}:
        _fail(where, "must hold texts")
    try:
        "".join(listed).encode()
    except UnicodeEncodeError:
        _fail(where, "must hold texts that are valid Unicode")


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "stored_parameters")


def _check_type(value: Any, kind: Kind, where: str) -> None:
    """Raise unless a value has the type of its annotation."""
    wanted = get_origin(kind.type) or kind.type
    if wanted is not Any and not is_instance(value, (wanted,)):
        _fail(where, f"must be {_WORDS.get(wanted, wanted.__name__)}; got {_called(value)}")


def _called(value: Any) -> str:
    return _WORDS.get(type(value), type(value).__name__)
