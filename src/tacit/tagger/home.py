"""The folder that a tagger was loaded from, and the ledger in which its acts are recorded.

An act is recorded under the lock of the ledger, and checked against the labels after all acts of other processes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tacit.errors import ActError, ModelFileError, TacitError, printable
from tacit.progress import announce
from tacit.store import folder
from tacit.store.acts import Act
from tacit.store.atomic import Stamp, stamp
from tacit.store.folder import ACTS, MANIFEST, base_of, origin_of
from tacit.store.ledger import START, Contents, Ledger, Mark
from tacit.store.packing import pack_model
from tacit.store.sample_rows import read_samples, write_samples
from tacit.tagger.changes import Changes, without_acts

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger

Policy = Literal["keep", "discard"] | None

_MIN_NEW = 200  # the cache of samples is rewritten after this many new acts ...
_NEW_SHARE = 0.1  # ... or this share of all acts, if that is more


@dataclass(frozen=True, eq=False)
class Home:
    """The folder that a tagger was loaded from, and its state at that time."""

    folder: Path
    manifest: Mapping[str, Any]
    ledger: Ledger  # in the folder, or outside it
    changes: Changes  # the acts on disk: those in the ledger, after those in the folder if it is outside
    mark: Mark  # how far the ledger was read
    stamp: Stamp | None  # changes when the base is replaced
    fitted: Mapping[str, Any]  # what was loaded, to detect whether the tagger was trained again
    parameters: Mapping[str, Any]
    n_cached: int = 0  # acts whose samples are in the cache beside the ledger

    @property
    def is_elsewhere(self) -> bool:
        """Whether the ledger is outside the folder."""
        return self.ledger.path != self.folder / ACTS

    def has_base_of(self, tagger: Tagger) -> bool:
        """Whether a tagger still has the base that was loaded, apart from acts."""
        same = all(getattr(tagger, name) is value for name, value in self.fitted.items())
        return same and tagger.stored_parameters() == self.parameters


def attach(tagger: Tagger, path: Path, manifest: Mapping[str, Any], apart: Path | None = None) -> None:
    """Apply the acts in the folder, and in a ledger outside it, to a tagger that was just loaded."""
    inherited: Sequence[Act] = ()
    ledger = Ledger(path.resolve() / ACTS)
    with _no_collection():
        found = ledger.read()
        if found.acts and found.origin != origin_of(manifest):
            announce(
                f"{ledger.path}: its {len(found.acts):,} acts were made for another model and are ignored; "
                f"apply them with: tacit learn {path} {ledger.path}"
            )
            found = Contents()
        if apart is not None:
            inherited, ledger = found.acts, Ledger(apart.resolve())
            found = ledger.read()
        samples = read_samples(ledger.samples, base_of(manifest), tagger._few_shot.n_features)
        changes = _with_new(tagger._changes.plus(inherited, samples), found.acts)
    _remember(tagger, path, manifest, ledger, changes, found.mark, len(samples))
    if changes.left_out:
        first = next(act for act in changes.acts if act.id in changes.left_out)
        why = printable(str(changes.left_out[first.id]))
        announce(f"acts that no longer apply: {len(changes.left_out):,} ({first}: {why})")


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disable garbage collection: acts are many small objects that all stay alive, and scanning them is slow."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _with_new(changes: Changes, acts: Sequence[Act]) -> Changes:
    known = {act.id for act in changes.acts}
    new = [act for act in acts if act.id not in known]
    return changes.plus(new) if new else changes


def _remember(
    tagger: Tagger, path: Path, manifest: Mapping[str, Any], ledger: Ledger, changes: Changes, mark: Mark, n_cached: int
) -> None:
    state, parameters = tagger.stored_state(), tagger.stored_parameters()
    of_base = stamp(path / MANIFEST)
    tagger._set_home(Home(path.resolve(), manifest, ledger, changes, mark, of_base, state, parameters, n_cached))


def commit(tagger: Tagger, acts: Sequence[Act]) -> dict[str, TacitError]:
    """Record acts in the ledger; those that apply are on disk when this returns.

    They are applied to the tagger, as are acts that other processes have recorded meanwhile. Acts that do not apply are
    returned by id, with the reason. Nothing is recorded if the ledger cannot be written.
    """
    home, tried = tagger._home, tagger._changes
    if home is None:
        raise ModelFileError("this tagger was not loaded from a folder; save it first")
    with home.ledger.locked() if home.is_elsewhere else folder.writing(home.folder) as ledger:
        refresh(tagger, ledger)
        is_alone, home = tagger._home is home, tagger._home or home
        own = tried.acts[len(home.changes.acts) :]
        if is_alone and [act.id for act in own] == [act.id for act in acts]:  # already checked against this state
            later, refused = tried, dict[str, TacitError]()
        else:
            known = {act.id for act in home.changes.acts}  # some may be on disk already
            later, refused = home.changes.tried([act for act in acts if act.id not in known])
        _append(tagger, home, ledger, later)
    return refused


def _append(tagger: Tagger, home: Home, ledger: Ledger, changes: Changes) -> None:
    """Record the acts that are not on disk, and cache the samples of acts if many are new."""
    new = changes.acts[len(home.changes.acts) :]
    mark = ledger.append(new, origin_of(home.manifest), home.mark) if new else home.mark
    n_cached, n_acts = home.n_cached, len(changes.samples)
    if n_acts - n_cached >= max(_MIN_NEW, _NEW_SHARE * n_acts):
        n_cached = n_acts
        with suppress(OSError):  # without the cache, loading takes longer
            n_features = changes.state.ground.few_shot.n_features
            write_samples(home.ledger.samples, base_of(home.manifest), changes.samples, n_features)
    tagger._set_home(replace(home, changes=changes, mark=mark, n_cached=n_cached))


def refresh(tagger: Tagger, ledger: Ledger | None = None, *, reload: bool = True) -> bool:
    """Apply acts that other processes have recorded since loading; whether anything was new.

    A base that was replaced, and a ledger, are loaded anew unless `reload` is false.
    """
    home = tagger._home
    if home is None:
        return False
    found = (ledger or home.ledger).read(home.mark)
    if found.origin != origin_of(home.manifest) and not home.is_elsewhere:  # acts on another model
        found = Contents()
    is_replaced = found.is_whole and home.mark != START
    if reload and (is_replaced or stamp(home.folder / MANIFEST) != home.stamp):
        fresh = tagger.load(home.folder, acts=home.ledger.path if home.is_elsewhere else None)
        tagger.__dict__.update(fresh.set_params(n_jobs=tagger.n_jobs, encoder=tagger.encoder).__dict__)
        return True
    if is_replaced or not found.acts:
        return False
    tagger._set_home(replace(home, changes=_with_new(home.changes, found.acts), mark=found.mark))
    return True


def save(tagger: Tagger, path: Path, acts: Policy) -> None:
    """Save a tagger to a folder: only its new acts, if it was loaded from there and has the same base."""
    home = tagger._home
    if home is not None and acts is None and home.folder == path.resolve() and (home.folder / MANIFEST).exists():
        own = tagger._changes.acts[len(home.changes.acts) :]
        if home.has_base_of(tagger):
            _commit_own(tagger, home, own)
            return
        if home.is_elsewhere:
            raise ModelFileError(f"{path}: its acts are recorded in {home.ledger.path}; save it to another folder")
        with folder.writing(path):
            if base_of(folder.read_manifest(path)) != base_of(home.manifest):
                raise ModelFileError(
                    f"{path}: another process has replaced the model since this one was loaded; load it again, and "
                    "repeat the changes"
                )
            _replace(tagger, path, origin_of(home.manifest))
        return
    pack_model(tagger, {})  # what cannot be saved is refused before there is a folder
    with folder.writing(path):
        if acts is None:
            folder.refuse_acts(path)
        is_kept = acts == "keep" and folder.acts_in(path).acts
        _replace(tagger, path, origin_of(folder.read_manifest(path)) if is_kept else None)


def _commit_own(tagger: Tagger, home: Home, own: Sequence[Act]) -> None:
    """Record the acts that a tagger has and its folder has not; it keeps them if that fails."""
    try:
        refused = commit(tagger, own)
    except BaseException:
        tagger._become((tagger._home or home).changes.plus(own))
        raise
    if refused:
        reasons = "; ".join(f"{act}: {refused[act.id]}" for act in own if act.id in refused)
        others = f" (the other {len(own) - len(refused):,} are saved)" if len(own) > len(refused) else ""
        raise ActError(f"not saved, because another process has changed the labels{others}: {reasons}")


def _replace(tagger: Tagger, path: Path, origin: str | None) -> None:
    """Write the base, of whose `origin` acts may be there, and then the acts that are not there."""
    own = tagger._changes.acts
    manifest = folder.replace(path, tagger, origin)
    found, ledger = folder.acts_in(path, manifest), Ledger(path.resolve() / ACTS)
    with suppress(OSError):  # else it is recognised as that of another base
        ledger.samples.unlink(missing_ok=True)
    _remember(tagger, path, manifest, ledger, without_acts(tagger).plus(found.acts), found.mark, 0)
    home: Any = tagger._home
    tagger._become(_with_new(home.changes, own))
    _append(tagger, home, ledger, tagger._changes)


def learn_from(tagger: Tagger, acts: Sequence[Act]) -> tuple[list[Act], dict[str, TacitError]]:
    """Apply acts to a tagger, each once; returns those that were new, and why some of them do not apply, by id."""
    known = {act.id for act in tagger._changes.acts}
    new = [act for act in acts if act.id not in known]
    later, refused = tagger._changes.tried(new)
    tagger._become(later)
    return new, refused
