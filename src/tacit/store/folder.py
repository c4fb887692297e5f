"""A model folder: an immutable base, ``manifest.json`` and the safetensors file that it names, and ``acts.jsonl``.

The name of the data file contains its checksum, and the manifest, which decides which acts count, is replaced in one
rename: the folder always holds the old model or the new one. What a manifest may name after a power failure is removed
only when the folder is synced. One process at a time writes, under the lock of the ledger; readers take no lock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from tacit._version import __version__
from tacit.errors import ModelFileError, TacitError
from tacit.store.atomic import MALFORMED, read_checked, replacing, sha256, stamp, sync, write_arrays
from tacit.store.declared import check_model
from tacit.store.ledger import Contents, Ledger, LedgerError
from tacit.store.packing import Arrays, Stored, Unpacker, pack_model

FORMAT = "tacit-model"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
ACTS = "acts.jsonl"
_DRAFTS = ("arrays*.safetensors", ".*.tmp")
_KEEP_OR_DISCARD = (
    "keep them with --keep-acts (acts='keep'), forget them with --discard-acts (acts='discard'), or choose another "
    "folder"
)
_READS = 20  # of a folder that others write, before giving up

Value = TypeVar("Value")


@contextmanager
def writing(path: str | Path) -> Iterator[Ledger]:
    """Lock a model folder, and its ledger, for writing; the folder is created if it does not exist."""
    folder = Path(path)
    before, is_done = stamp(folder / MANIFEST), False
    try:
        check_target(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with Ledger(folder / ACTS).locked() as ledger:
            before = stamp(folder / MANIFEST)
            try:
                yield ledger
                is_done = True
            finally:
                if is_done or stamp(folder / MANIFEST) == before:  # else an older manifest may come back
                    with suppress(OSError, ModelFileError):  # left to the next writer
                        _remove_leftovers(folder)
    except (OSError, LedgerError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        also = "" if stamp(folder / MANIFEST) == before else "; the new one may be there, look before you repeat it"
        raise LedgerError(f"{folder}: the model could not be saved ({reason}){also}") from error


def _remove_leftovers(folder: Path) -> None:
    """Delete files that the manifest does not name: drafts, and data of replaced models.

    Nothing is deleted until the folder is synced: after a power failure, an older manifest might be back.
    """
    found = [file for pattern in _DRAFTS for file in folder.glob(pattern)]
    kept = read_manifest(folder)["file"]["name"] if (folder / MANIFEST).exists() else None
    if [file.name for file in found] == [kept]:
        return
    sync(folder)
    for file in found:
        if file.name != kept:
            with suppress(PermissionError):  # on Windows, while somebody reads it
                file.unlink(missing_ok=True)


def replace(folder: Path, model: Stored, origin: str | None = None) -> dict[str, Any]:
    """Replace the model in a locked folder; return its manifest. Its acts stay if they are those of `origin`, too."""
    arrays: Arrays = {}
    tree = pack_model(model, arrays)
    draft = folder / "arrays.safetensors"
    write_arrays(draft, arrays)
    digest = sha256(draft)
    data_file = draft.replace(folder / f"arrays-{digest[:16]}.safetensors")
    sync(folder)
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "tacit_version": __version__,
        "file": {"name": data_file.name, "size": data_file.stat().st_size, "sha256": digest},
        **({} if origin is None else {"origin": origin}),
        **tree,
    }
    manifest["sha256"] = _checksum(manifest)
    with replacing(folder / MANIFEST) as temporary:
        temporary.write_text(json.dumps(manifest, indent=1, ensure_ascii=False), encoding="utf-8")
    if origin is None:
        (folder / ACTS).unlink(missing_ok=True)
    return manifest


def save(model: Stored, path: str | Path) -> None:
    """Write `model` to the folder `path`. An older model there survives any failure, and is kept if it has acts."""
    pack_model(model, {})  # what cannot be saved is refused before there is a folder
    with writing(path):
        refuse_acts(Path(path))
        replace(Path(path), model)


def check_target(folder: Path) -> None:
    """Raise unless a model may be written to `folder`, which must be new, empty or a model folder."""
    if not folder.exists():
        return
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else ["a file"]
    if MANIFEST not in names and not all(name.startswith((".", "arrays", ACTS)) for name in names):
        raise ModelFileError(f"{folder}: exists and is not a model folder; choose another name or remove it")


def acts_in(folder: Path, manifest: Mapping[str, Any] | None = None) -> Contents:
    """The acts of the model in a folder, which has this manifest."""
    found = Ledger(folder / ACTS).read() if (folder / MANIFEST).exists() else Contents()
    return found if found.acts and found.origin == origin_of(manifest or read_manifest(folder)) else Contents()


def refuse_acts(folder: Path, advice: str = _KEEP_OR_DISCARD) -> None:
    """Raise if the model in a folder has acts, which a new model would lose."""
    if n_acts := len(acts_in(folder).acts):
        raise ModelFileError(
            f"{folder}: the model there has {n_acts:,} acts (labels added or changed, feedback, undone ones included) "
            f"that a new one would forget; {advice}"
        )


def _checksum(manifest: dict[str, Any]) -> str:
    content = {key: value for key, value in manifest.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def base_of(manifest: Mapping[str, Any]) -> str:
    """The unique id of a base: the checksum of its manifest."""
    return str(manifest["sha256"])


def origin_of(manifest: Mapping[str, Any]) -> str:
    """The base whose acts apply to a base: itself, or the base that it was updated from."""
    return str(manifest.get("origin", manifest["sha256"]))


def read_manifest(path: str | Path) -> dict[str, Any]:
    """Read the manifest of the model folder `path` and verify its checksum."""
    folder = Path(path)
    if not folder.is_dir():
        raise ModelFileError(f"{folder}: no such model folder; train one with: tacit train … --out {folder}")
    file = folder / MANIFEST
    for part in (file, folder / ACTS):
        if part.exists() and not part.is_file():  # a named pipe would be waited for
            raise ModelFileError(f"{part}: must be a file; copy the model again")
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


def read(path: str | Path, reader: Callable[[Path, dict[str, Any]], Value]) -> Value:
    """Call `reader` with a folder and its manifest, and repeat if the model was replaced in the meantime."""
    folder = Path(path)
    for _ in range(_READS):
        before = stamp(folder / MANIFEST)
        try:
            found = reader(folder, read_manifest(folder))
        except ModelFileError:
            if stamp(folder / MANIFEST) == before:
                raise
        else:
            if stamp(folder / MANIFEST) == before:
                return found
    raise ModelFileError(f"{folder}: was replaced during each attempt to read it; try again when nobody writes it")


def load(path: str | Path, find_model: Callable[[str], type[Stored]], *, verify: bool = True) -> Stored:
    """Load the model in the folder `path` and apply its acts; `verify` checks the checksum of the data."""

    def reader(folder: Path, manifest: dict[str, Any]) -> Stored:
        model = read_base(folder, manifest, find_model, verify=verify)
        model.attach_to(folder, manifest)
        return model

    return read(path, reader)


def read_base(
    folder: Path, manifest: dict[str, Any], find_model: Callable[[str], type[Stored]], *, verify: bool
) -> Stored:
    """Load the model that a manifest describes and check it against its declarations."""
    try:
        entry = manifest["file"]
        arrays = read_checked(folder / Path(entry["name"]).name, entry["size"], entry["sha256"], verify=verify)
        model = Unpacker(arrays, find_model).model(manifest)
        check_model(model)
        return model
    except TacitError as error:
        text = " ".join(str(error).split())  # of a parameter that is an array
        is_known = isinstance(error, ModelFileError) and text.startswith(str(folder))
        raise error if is_known else ModelFileError(f"{folder / MANIFEST}: {text}") from None
    except MALFORMED as error:
        raise ModelFileError(f"{folder / MANIFEST}: unexpected content ({error!r})") from error
    except OSError as error:
        raise ModelFileError(f"{folder}: cannot be read ({error.strerror or error})") from error
