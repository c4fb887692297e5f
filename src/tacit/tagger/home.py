"""The folder that a tagger was loaded from, and the ledger in which its acts are recorded.

An act is recorded under the lock of the ledger, after the acts of other processes have been read. It is checked against
the labels at that moment.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tacit.errors import ActError, LabelError, ModelFileError, TacitError, printable
from tacit.progress import announce
from tacit.store import folder
from tacit.store.acts import Act
from tacit.store.atomic import Stamp, stamp
from tacit.store.folder import ACTS, MANIFEST, FolderWriter, base_of, origin_of
from tacit.store.ledger import START, Contents, Ledger, Mark, Writing
from tacit.store.sample_rows import read_samples, write_samples
from tacit.tagger.changes import Changes
from tacit.tagger.state import State

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger

Policy = Literal["keep", "discard"] | None

_MIN_NEW = 200  # the cache of samples is rewritten after this many new acts ...
_NEW_SHARE = 0.1  # ... or this share of all acts, if that is more


@dataclass(frozen=True, eq=False)
class Home:
    """The folder that a tagger was loaded from, and its state at that time.

    `changes` has the acts on disk. Besides those in the ledger, there are earlier acts in the folder if the ledger is
    outside it.
    """

    folder: Path
    base: str
    data_file: Path
    origin: str  # the base for which the first acts were made
    ledger: Ledger  # in the folder, or outside it
    changes: Changes
    mark: Mark  # how far the ledger was read
    stamp: Stamp | None  # changes when the base is replaced
    fitted: Mapping[str, Any]  # what was loaded, to detect whether the tagger was trained again
    parameters: Mapping[str, Any]
    n_kept: int = 0  # acts whose samples are cached beside the ledger

    @property
    def is_apart(self) -> bool:
        """Whether the ledger is outside the folder."""
        return self.ledger.path != self.folder / ACTS

    def has_base_of(self, tagger: Tagger) -> bool:
        """Whether a tagger still has the base that was loaded, apart from acts."""
        same = all(getattr(tagger, name) is value for name, value in self.fitted.items())
        return same and tagger.stored_parameters() == self.parameters


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


@_no_collection()
def move_in(tagger: Tagger, path: Path, manifest: Mapping[str, Any], apart: Path | None = None) -> None:
    """Apply the acts in the folder, and in a ledger outside it, to a tagger that was just loaded."""
    inherited: list[Act] = []
    ledger = Ledger(path.resolve() / ACTS)
    found = _read(ledger)
    if found.acts and found.origin != origin_of(manifest):
        announce(
            f"{ledger.path}: its {len(found.acts):,} acts were made for another model and are ignored; "
            f"apply them with: tacit learn {path} {ledger.path}"
        )
        found = Contents()
    if apart is not None:
        inherited = list(found.acts)
        ledger = Ledger(apart.resolve())
        found = _read(ledger)
    known = {act.id for act in inherited}
    acts = [*inherited, *(act for act in found.acts if act.id not in known)]
    samples = {}
    if acts:
        samples = read_samples(ledger.samples, base_of(manifest), tagger._few_shot.n_features)
    changes = tagger._changes.plus(acts, samples) if acts else tagger._changes
    tagger._stay(_home(tagger, path, manifest, ledger=ledger, changes=changes, mark=found.mark, n_kept=len(samples)))
    if changes.left_out:
        first = next(act for act in changes.acts if act.id in changes.left_out)
        why = printable(str(changes.left_out[first.id]))
        announce(f"acts that no longer apply: {len(changes.left_out):,} ({first}: {why})")


def _read(ledger: Ledger) -> Contents:
    """All acts of a ledger; says which lines are none."""
    found = ledger.read()
    if found.refused:
        why = printable(found.refused[0])
        announce(f"{ledger.path}: {len(found.refused):,} lines are no acts and are ignored ({why})")
    return found


def _home(tagger: Tagger, path: Path, manifest: Mapping[str, Any], **known: Any) -> Home:
    stored: dict[str, Any] = {"fitted": tagger.stored_state(), "parameters": tagger.stored_parameters()}
    where = path.resolve()
    data_file = where / manifest["file"]["name"]
    return Home(
        where, base_of(manifest), data_file, origin_of(manifest), stamp=stamp(path / MANIFEST), **stored, **known
    )


@contextmanager
def _writing(home: Home) -> Iterator[Writing]:
    """Exclusive write access to the ledger, in the folder or outside it."""
    if home.is_apart:
        with home.ledger.writing() as ledger:
            yield ledger
    else:
        with folder.writing(home.folder) as writer:
            yield writer.ledger


def commit(tagger: Tagger, acts: Sequence[Act]) -> dict[str, TacitError]:
    """Record acts in the ledger; those that apply are on disk when this returns.

    They are applied to the tagger, as are acts that other processes have recorded meanwhile. Acts that do not apply are
    returned by id, with the reason. Nothing is recorded if the ledger cannot be written.
    """
    home = tagger._home
    if home is None:
        raise ModelFileError("this tagger was not loaded from a folder; save it first")
    tried = tagger._changes
    refused: dict[str, TacitError]
    with _writing(home) as ledger:
        refresh(tagger, ledger)
        is_alone, home = tagger._home is home, tagger._home or home
        own = tried.acts[len(home.changes.acts) :]
        if is_alone and [act.id for act in own] == [act.id for act in acts]:  # already checked against this state
            later, refused = tried, {}
        else:
            known = {act.id for act in home.changes.acts}  # some may be on disk already
            later, refused = home.changes.tried([act for act in acts if act.id not in known])
        accepted = later.acts[len(home.changes.acts) :]
        mark = ledger.append(accepted, home.origin, home.mark) if accepted else home.mark
        tagger._stay(_kept(replace(home, changes=later, mark=mark)))
    return refused


def refresh(tagger: Tagger, ledger: Ledger | None = None) -> None:
    """Update a tagger with acts that other processes have recorded, or a base that they have saved, since loading."""
    home = tagger._home
    if home is None:
        return
    found = _new_acts(home, ledger or home.ledger)
    if found is None or stamp(home.folder / MANIFEST) != home.stamp:
        fresh = tagger.load(home.folder, acts=home.ledger.path if home.is_apart else None)
        tagger.__dict__.update(fresh.set_params(n_jobs=tagger.n_jobs, encoder=tagger.encoder).__dict__)
    elif found.acts:
        _take_up(tagger, home, found)


def catch_up(tagger: Tagger) -> bool:
    """Apply acts that other processes have recorded; whether there were any. A new base or ledger is not loaded."""
    home = tagger._home
    found = None if home is None else _new_acts(home, home.ledger)
    if home is None or found is None or not found.acts:
        return False
    _take_up(tagger, home, found)
    return True


def _new_acts(home: Home, ledger: Ledger) -> Contents | None:
    """Acts that are recorded since loading, or None if the ledger was replaced."""
    found = ledger.read(home.mark)
    if found.origin != home.origin and not home.is_apart:  # acts on another model
        found = Contents()
    return None if found.is_whole and home.mark != START else found


def _take_up(tagger: Tagger, home: Home, found: Contents) -> None:
    known = {act.id for act in home.changes.acts}
    later = home.changes.plus([act for act in found.acts if act.id not in known])
    tagger._stay(replace(home, changes=later, mark=found.mark))


def _kept(home: Home) -> Home:
    """Cache the samples of acts in a file, if many are new; without that file, loading takes longer."""
    n_acts = len(home.changes.samples)
    if n_acts - home.n_kept < max(_MIN_NEW, _NEW_SHARE * n_acts):
        return home
    with suppress(OSError):
        n_features = home.changes.state.ground.few_shot.n_features
        write_samples(home.ledger.samples, home.base, home.changes.samples, n_features)
    return replace(home, n_kept=n_acts)


def save(tagger: Tagger, path: Path, acts: Policy) -> None:
    """Save a tagger to a folder: only its new acts, if it was loaded from there and has the same base."""
    home = tagger._home
    is_home = home is not None and home.folder == path.resolve() and (home.folder / MANIFEST).exists()
    if is_home and home is not None and acts is None:
        own = tagger._changes.acts[len(home.changes.acts) :]
        if home.has_base_of(tagger):
            _commit_own(tagger, home, own)
        else:
            _save_base(tagger, home, own)
        return
    with folder.writing(path) as writer:
        if acts is None:
            writer.refuse_acts()
        kept = []
        if acts == "keep" and writer.manifest is not None:
            kept = tagger.load(path).acts_
        known = {act.id for act in kept}
        own = [act for act in tagger._changes.acts if act.id not in known]
        _replace(tagger, writer, [*kept, *own], origin_of(writer.manifest) if kept and writer.manifest else None)


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


def _save_base(tagger: Tagger, home: Home, own: Sequence[Act]) -> None:
    """Replace the base that a tagger was loaded from; its acts are kept."""
    with folder.writing(home.folder) as writer:
        if writer.manifest is None or base_of(writer.manifest) != home.base:
            raise ModelFileError(
                f"{home.folder}: another process has replaced the model since this one was loaded; load it again, and "
                "repeat the changes"
            )
        if home.is_apart:  # acts stay where they are
            writer.replace(tagger, home.origin, acts=None)
        else:
            known = {act.id for act in [*home.changes.acts, *own]}
            others = [act for act in writer.acts().acts if act.id not in known]
            _replace(tagger, writer, [*home.changes.acts, *others, *own], home.origin)
    if home.is_apart:
        tagger.__dict__.update(tagger.load(home.folder, acts=home.ledger.path).__dict__)
        _commit_own(tagger, tagger._home or home, own)


def _replace(tagger: Tagger, writer: FolderWriter, acts: Sequence[Act], origin: str | None) -> None:
    """Write base and acts. The manifest determines which acts are valid, so a crash cannot leave a mix of models."""
    manifest, mark = writer.replace(tagger, origin, acts)
    ledger = Ledger(writer.folder.resolve() / ACTS)
    with suppress(OSError):  # else it is recognised as that of another base
        ledger.samples.unlink(missing_ok=True)
    changes = tagger._without_acts().plus(acts)
    tagger._stay(_kept(_home(tagger, writer.folder, manifest, ledger=ledger, changes=changes, mark=mark)))


Refused = dict[str, TacitError]


def learn_from(tagger: Tagger, contents: Contents) -> tuple[list[Act], Refused, Refused]:
    """Apply the acts of a ledger or an export to a tagger, each once; returns those that were new.

    Of judgements made together, those of unknown and retired labels are left out. Also returned are the reasons why
    acts do not apply, by id, and why parts of acts do not.
    """
    known = {act.id for act in tagger._changes.acts}
    acts = [act for act in contents.acts if act.id not in known]
    later, refused = tagger._changes.tried(acts)
    partial = {act.id: part for act in acts if act.id in refused and (part := _judgements_of(later.state, act))}
    partly = {of: refused[of] for of in partial}
    if partial:
        later, refused = tagger._changes.tried([partial.get(act.id, act) for act in acts])
    tagger._become(later)
    return acts, refused, {of: error for of, error in partly.items() if of not in refused}


def _judgements_of(state: State, act: Act) -> Act | None:
    """An act with those of its judgements whose labels there are; None if there are none."""
    kept = []
    for each in act.content.get("judgements", ()):
        with suppress(LabelError):
            state.find(each["label"], hint=False)
            kept.append(each)
    return replace(act, content={"judgements": kept}) if kept else None
