"""Packing of fitted state into a tree of plain values and named arrays, and unpacking.

A file names no classes except models, of the registry or of others: the annotations of fields determine what is built.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.core.parameters import kind_of
from tacit.errors import ModelFileError
from tacit.store.declared import check_csr, check_model, check_texts, kinds_of

if TYPE_CHECKING:
    from typing_extensions import Self

Arrays = dict[str, npt.NDArray[Any]]

_INT64_END = 1 << 63


class Stored(ABC):
    """A model that can be packed: a dataclass of parameters and fitted attributes."""

    @abstractmethod
    def stored_parameters(self) -> dict[str, Any]:
        """Parameters that define the model, without `n_jobs`, which does not affect it."""

    def stored_state(self) -> dict[str, Any]:
        """Fitted attributes by name."""
        return {name: getattr(self, name) for name in kinds_of(type(self)) if hasattr(self, name)}

    @classmethod
    def restored(cls, parameters: Mapping[str, Any], state: Mapping[str, Any]) -> Self:
        """Rebuild a fitted model from its parameters and fitted attributes."""
        model = cls(**parameters)
        for name, value in state.items():
            setattr(model, name, value)
        return model

    def attach_to(self, folder: Path, manifest: Mapping[str, Any]) -> None:  # noqa: B027 - most models do nothing
        """Attach a model to the folder that it was loaded from."""


def name_of(cls: type[Any]) -> str:
    """What a model folder calls the class of a model: a name of the registry, or ``module:Class`` of others."""
    own = f"{cls.__module__}.".startswith("tacit.")
    return cls.__name__ if own else f"{cls.__module__}:{cls.__qualname__}"


def imported_class(name: str) -> type[Any] | None:
    """The class ``module:Class`` if its module has been imported; imports nothing."""
    module, _, attribute = name.partition(":")
    found = getattr(sys.modules.get(module), "__dict__", {}).get(attribute)
    return found if isinstance(found, type) else None


def _check_loadable(model: Stored, name: str) -> None:
    """Raise unless a model of others can be found by its name, and all of its fitted attributes are declared."""
    if name.startswith("__main__:") or imported_class(name) is not type(model):
        raise ModelFileError(f"{name} could not be loaded again; define the class at the top of an importable module")
    lost = {item for item in vars(model) if item.endswith("_")} - kinds_of(type(model)).keys() - {"feature_names_in_"}
    if lost:
        raise ModelFileError(f"{name}: '{min(lost)}' would not be saved; declare it as a field with init=False")
    check_model(model)


def pack(value: Any, arrays: Arrays, name: str = "state") -> Any:
    """Pack a value into a JSON tree; its arrays are added to `arrays` under dotted names."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return pack(value.item(), arrays, name)
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OU":
            return {"strings": [str(item) for item in value]}
        arrays[name] = value
        return {"array": name}
    if sparse.issparse(value):
        for part in ("indptr", "indices", "data"):
            arrays[f"{name}.{part}"] = getattr(value, part)
        return {"csr": name, "shape": list(value.shape)}
    if isinstance(value, list | tuple):
        return {"list": [pack(item, arrays, f"{name}.{i}") for i, item in enumerate(value)]}
    if isinstance(value, Stored):
        return pack_model(value, arrays, name)
    if isinstance(value, Mapping):
        return {"map": {key: pack(item, arrays, f"{name}.{key}") for key, item in value.items()}}
    if is_dataclass(value):
        content = {field.name: getattr(value, field.name) for field in fields(value)}
        return pack(content, arrays, name)
    raise TypeError(f"{name}: state must be numbers, strings, arrays or dataclasses; got {type(value).__name__}")


def pack_model(model: Stored, arrays: Arrays, name: str = "state") -> dict[str, Any]:
    """Pack a model into a JSON tree with the name of its class."""
    class_name = name_of(type(model))
    if ":" in class_name:
        _check_loadable(model, class_name)
    return {
        "model": class_name,
        "parameters": pack(model.stored_parameters(), arrays, f"{name}.parameters"),
        "state": pack(model.stored_state(), arrays, name),
    }


@dataclass(frozen=True, eq=False)
class Unpacker:
    """Rebuilds values from what `pack` returned."""

    arrays: Arrays
    find_model: Callable[[str], type[Stored]]  # by the name of its class

    def model(self, tree: Mapping[str, Any]) -> Stored:
        """A model packed by `pack_model`."""
        cls = self.find_model(tree["model"])
        kinds, packed = kinds_of(cls), tree["state"]["map"]
        if unknown := packed.keys() - kinds.keys():
            raise ModelFileError(f"{cls.__name__} has no fitted attribute '{min(unknown)}'")
        state = {key: self.value(item, kinds[key].type) for key, item in packed.items()}
        return cls.restored(self.value(tree["parameters"], dict[str, Any]), state)

    def value(self, tree: Any, kind: Any = Any) -> Any:
        """A value packed by `pack`, of the declared type `kind`."""
        kind = kind_of(kind).type
        if not isinstance(tree, dict):
            if isinstance(tree, int) and not -_INT64_END <= tree < _INT64_END:
                raise ModelFileError(f"numbers must fit into 64 bits; got one of {tree.bit_length()}")
            return tree
        if "array" in tree:
            return self.arrays[tree["array"]]
        if "strings" in tree:
            check_texts(tree["strings"], "names")
            return np.array(tree["strings"], dtype=object)
        if "csr" in tree:
            return self._csr(tree["csr"], tuple(tree["shape"]))
        if "model" in tree:
            return self.model(tree)
        if "list" in tree:
            inner = (get_args(kind) or (Any,))[0]
            items = [self.value(item, inner) if isinstance(item, dict) else item for item in tree["list"]]
            if hasattr(kind, "_fields"):  # a NamedTuple
                return kind(*items)
            return tuple(items) if (get_origin(kind) or kind) is tuple else items
        if is_dataclass(kind) and isinstance(kind, type):
            kinds = get_type_hints(kind)
            return kind(**{key: self.value(item, kinds[key]) for key, item in tree["map"].items()})
        inner = (get_args(kind) or (str, Any))[1]
        return {key: self.value(item, inner) for key, item in tree["map"].items()}

    def _csr(self, name: str, shape: tuple[int, ...]) -> sparse.csr_matrix:
        parts = {part: self.arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr")}
        check_csr(parts, shape, name.removeprefix("state."))  # kernels trust the indices
        matrix = sparse.csr_matrix(tuple(parts.values()), shape=shape, copy=False)
        matrix.has_canonical_format = True  # every matrix we keep is; checking would read it all
        return matrix
