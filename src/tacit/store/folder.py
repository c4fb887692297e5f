"""A model folder: ``manifest.json`` and the safetensors file that it names.

The data file carries its checksum in its name and the manifest is replaced last, in one rename: whatever
happens while saving, the folder holds either the old model or the new one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacit._version import __version__
from tacit.errors import ModelFileError
from tacit.store.files import read_arrays, replacing, sha256, write_arrays
from tacit.store.state import Arrays, Stored, Unpacker, pack_model

FORMAT = "tacit-model"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"


def save(model: Stored, path: str | Path) -> None:
    """Write `model` to the folder `path`; an older model there survives any failure."""
    folder = Path(path)
    check_target(folder)
    arrays: Arrays = {}
    tree = pack_model(model, arrays)
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        data_file = _write_data(folder, arrays)
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "tacit_version": __version__,
            "file": {"name": data_file.name, "size": data_file.stat().st_size, "sha256": sha256(data_file)},
            **tree,
        }
        manifest["sha256"] = _checksum(manifest)
        with replacing(folder / MANIFEST) as temporary:
            temporary.write_text(json.dumps(manifest, indent=1, ensure_ascii=False), encoding="utf-8")
    except OSError as error:
        _remove_leftovers(folder)
        if is_new and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        raise ModelFileError(f"{folder}: the model could not be saved ({error.strerror or error})") from error
    _remove_leftovers(folder)


def check_target(folder: Path) -> None:
    """Raise unless a model may be written to `folder`: it is new, empty, or holds a model already."""
    if not folder.exists():
        return
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else ["a file"]
    if MANIFEST not in names and not all(name.endswith((".safetensors", ".tmp")) for name in names):
        raise ModelFileError(f"{folder}: exists and is not a model folder; choose another name or remove it")


def _write_data(folder: Path, arrays: Arrays) -> Path:
    draft = folder / "arrays.safetensors"
    write_arrays(draft, arrays)
    return draft.replace(folder / f"arrays-{sha256(draft)[:16]}.safetensors")


def _remove_leftovers(folder: Path) -> None:
    """Delete data files that the manifest does not name."""
    try:
        kept = read_manifest(folder)["file"]["name"]
    except ModelFileError:
        kept = None
    for file in folder.glob("*.safetensors"):
        if file.name != kept:
            file.unlink()


def _checksum(manifest: dict[str, Any]) -> str:
    content = {key: value for key, value in manifest.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The manifest of the model folder `path`, checked against its own checksum."""
    folder = Path(path)
    if not folder.is_dir():
        raise ModelFileError(f"{folder}: no such model folder; train one with: tacit train … --out {folder}")
    file = folder / MANIFEST
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelFileError(f"{folder}: not a model folder ({MANIFEST} is missing)") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{file}: damaged ({error}); copy the model again") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFileError(f"{file}: not a tacit model")
    version = manifest.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise ModelFileError(
            f"{file}: written by tacit {manifest.get('tacit_version')} in format {version}, but tacit "
            f"{__version__} reads formats up to {FORMAT_VERSION}; upgrade tacit"
        )
    if manifest.get("sha256") != _checksum(manifest):
        raise ModelFileError(f"{file}: damaged (its checksum does not match); copy the model again")
    return manifest


def load(path: str | Path, find_model: Callable[[str], type[Stored]], *, verify: bool = True) -> Stored:
    """The model in the folder `path`; `verify` compares the data with its checksum."""
    folder = Path(path)
    manifest = read_manifest(folder)
    try:
        file = folder / Path(manifest["file"]["name"]).name
        if not file.is_file() or file.stat().st_size != manifest["file"]["size"]:
            raise ModelFileError(f"{file}: missing or truncated; copy the model again")
        if verify and sha256(file) != manifest["file"]["sha256"]:
            raise ModelFileError(f"{file}: damaged (its checksum does not match); copy the model again")
        return Unpacker(read_arrays(file), find_model, verify=verify).model(manifest)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ModelFileError(f"{folder / MANIFEST}: unexpected content ({error!r})") from error
