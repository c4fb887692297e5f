"""The taggers that are served, each with its own queues."""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from tacit.errors import (
    ActError,
    FileError,
    LabelError,
    ModelFileError,
    ParameterError,
    TacitError,
    UnknownLabelError,
    did_you_mean,
    spelt_alike,
)
from tacit.server.batching import Lane
from tacit.server.logs import event, failure
from tacit.server.monitoring import Metrics
from tacit.server.problems import Problem
from tacit.server.request_limits import ACTS_PER_COMMIT, TEXTS_PER_RANKING, Limits
from tacit.store.acts import Act, in_force
from tacit.store.atomic import Stamp, stamp
from tacit.store.folder import ACTS, MANIFEST
from tacit.tagger import home
from tacit.tagger.suggest import Suggestion, Wish
from tacit.tagger.tagger import Tagger

Signature = tuple[Stamp, ...]
Lesson = Callable[[Tagger], Any]  # records an act with a tagger; the result of an undo is what was undone
Recorded = tuple[str, str]  # the id of an act that is on disk, or of the one undone, and a description

_WARM_UP = "a text that makes the kernels load"
_QUESTIONS_WAITING = 32


class Served:
    """A tagger that is served.

    `tagger` is replaced, never modified: a request that started with one finishes with it. Suggestions, other queries
    and changes have a thread each, so that none of them waits for the others.

    Parameters
    ----------
    name : str
        The name that clients use.
    folder : Path
        The model folder.
    acts : Path, optional
        The ledger, if it is not the one in the folder.
    """

    tagger: Tagger
    signature: Signature
    loaded_at: float
    _data: Any  # the stamp of its data file when the model was loaded
    _seen: tuple[Tagger, Any] | None = None  # a tagger, and the stamp of the ledger whose acts it has

    def __init__(self, name: str, folder: Path, acts: Path | None, limits: Limits, metrics: Metrics) -> None:
        self.name = name
        self.limits = limits
        self.folder = folder
        self._acts = acts
        self._metrics = metrics
        self._load()
        self._check_writable()
        self._suggesting: Lane[tuple[Wish, Sequence[str]], list[list[Suggestion]]] = Lane(
            self._suggest_together, TEXTS_PER_RANKING, limits.max_waiting, limits.timeout
        )
        self._teaching: Lane[Lesson | None, Any] = Lane(
            self._teach_together, ACTS_PER_COMMIT, limits.max_waiting, limits.timeout
        )
        self._asking: Lane[Callable[[], Any], Any] = Lane(_call_each, 1, _QUESTIONS_WAITING, limits.timeout)

    # -- requests -----------------------------------------------------------------------------------------

    async def suggest(self, texts: Sequence[str], wish: Wish) -> list[list[Suggestion]]:
        """The result of `Tagger.suggest`."""
        return await self._suggesting.submit((wish, texts), len(texts))

    async def ask(self, question: Callable[[Tagger], Any]) -> Any:
        """The result of a function of the tagger, run in the thread for queries."""
        return await self._asking.submit(self._told(question))

    async def teach(self, lesson: Lesson) -> Recorded:
        """Record and apply an act; on return it is on disk, and the next suggestion takes it into account."""
        recorded: Recorded = await self._teaching.submit(lesson)
        return recorded

    async def reload(self) -> None:
        """Reload the model from its folder; requests in progress are not disturbed."""
        try:
            await self._teaching.submit(None)
        except TacitError as error:
            self._metrics.reloads.labels(self.name, "failed").inc()
            failure("reload failed", error, model=self.name)
            raise
        self._metrics.reloads.labels(self.name, "done").inc()

    async def catch_up(self) -> None:
        """Apply acts that other processes have recorded, if there are any."""
        if self._seen != (self.tagger, self._ledger_stamp()):
            await asyncio.to_thread(self._current)

    def notice_damage(self, signature: Signature) -> None:
        """Log once if somebody changed the data of the model in use in place: it is served from a copy."""
        if signature[:1] == self.signature[:1] and self._data != (found := stamp(self._data_file)):
            self._data = found
            event("changed in place", logging.WARNING, model=self.name, file=self._data_file.name)

    def folder_signature(self) -> Signature:
        """Identifies the current content of the folder and the ledger; `signature` is that of the model in use."""
        return _signature(self.folder, self._acts)

    @property
    def n_acts(self) -> int:
        """Acts that are in force."""
        return len(in_force(self.tagger.acts_)) - self.left_out

    @property
    def left_out(self) -> int:
        """Acts that do not apply to the model."""
        return len(self.tagger.left_out_)

    def set_gauges(self) -> None:
        """Set the metrics that are not counted."""
        self._metrics.waiting.labels(self.name).set(self._suggesting.n_waiting)
        self._metrics.labels.labels(self.name).set(self.tagger.n_suggested_)
        self._metrics.acts.labels(self.name).set(self.n_acts)
        self._metrics.loaded.labels(self.name).set(self.loaded_at)

    @property
    def is_full(self) -> bool:
        """Whether a further text would be rejected."""
        return self._suggesting.is_full

    async def close(self) -> None:
        """Finish the queued requests."""
        for lane in (self._suggesting, self._teaching, self._asking):
            await lane.close()

    # -- in the thread for suggestions --------------------------------------------------------------------

    def _suggest_together(self, jobs: Sequence[tuple[Wish, Sequence[str]]]) -> list[list[list[Suggestion]] | Exception]:
        results: dict[int, list[list[Suggestion]] | Exception] = {}
        places: dict[Wish, list[int]] = {}
        for place, (wish, _) in enumerate(jobs):
            places.setdefault(wish, []).append(place)
        for wish, together in places.items():
            texts = [text for place in together for text in jobs[place][1]]
            self._metrics.ranked.labels(self.name).observe(len(texts))
            found = _attempt(self._told(partial(Tagger.suggest, texts=texts, **vars(wish))))
            rows = None if isinstance(found, Exception) else iter(found)
            for place in together:
                results[place] = found if rows is None else [next(rows) for _ in jobs[place][1]]
        return [results[place] for place in range(len(jobs))]

    # -- in the threads for suggestions and other queries -------------------------------------------------

    def _current(self) -> Tagger:
        """The tagger with all acts that any process has recorded until now; a new base is left to `reload`.

        So an act is known to all workers of a service before it is acknowledged. Another thread may put an older tagger
        in use meanwhile: then `_seen` no longer holds, and the next call reads the ledger again.
        """
        tagger, seen = self.tagger, self._ledger_stamp()
        if self._seen != (tagger, seen):
            later = copy.copy(tagger)
            try:
                if home.refresh(later, reload=False):
                    self._publish(later)
                    self._note_own(later)
                    tagger = later
            except ModelFileError as error:  # a damaged ledger: suggestions go on without what it says
                failure("ledger not read", error, model=self.name)
            self._seen = tagger, seen
        return tagger

    def _ledger_stamp(self) -> Any:
        return stamp(self._acts or self.folder / ACTS)

    @property
    def _data_file(self) -> Path:
        where = self.tagger._home
        return self.folder if where is None else where.data_file

    # -- in the thread for changes ------------------------------------------------------------------------

    def _teach_together(self, lessons: Sequence[Lesson | None]) -> list[Any]:
        """Run lessons, and reloads, which are None, in order."""
        results: list[Any] = []
        for is_lesson, group in groupby(lessons, key=callable):
            together: list[Any] = list(group)
            results += self._teach(together) if is_lesson else [_attempt(self._load)] * len(together)
        return results

    def _teach(self, lessons: Sequence[Lesson]) -> list[Recorded | Exception]:
        """Record a batch of acts with one sync; each is recorded, or rejected with a reason."""
        later = copy.copy(self.tagger)
        home.refresh(later)
        results: list[Any] = [_attempt(partial(_act, later, lesson)) for lesson in lessons]
        acts = [result[0] for result in results if isinstance(result, tuple)]
        refused: dict[str, Any] = home.commit(later, acts) if acts else {}
        self._publish(later)
        self._note_own(later)
        results = [refused.get(result[0].id, result) if isinstance(result, tuple) else result for result in results]
        return [result[1] if isinstance(result, tuple) else self._named(result) for result in results]

    def _load(self) -> None:
        """Load the model with its acts, and put it in use."""
        signature = self.folder_signature()
        loaded = Tagger.load(self.folder, acts=self._acts)
        if not loaded.takes_texts:
            raise ParameterError(f"{self.folder}: the model was trained on features; serve a model trained on texts")
        if loaded.encoding_ is not None and loaded.encoding_.fingerprint is None and loaded.encoding_.weight:
            made = "the model was trained with vectors made elsewhere, which requests do not have"
            raise ParameterError(f"{self.folder}: {made}; serve a model trained with an encoder")
        self._publish(loaded)
        self.signature = signature
        self._data = stamp(self._data_file)
        self.loaded_at = time.time()

    def _note_own(self, tagger: Tagger) -> None:
        """Update the signature after recording acts, unless another process has changed something not yet loaded."""
        now, where = self.folder_signature(), tagger._home
        others = now[:-1]  # the last entry is the ledger in which acts are recorded
        if now and where is not None and now[-1][-1] == where.mark.end and others == self.signature[: len(others)]:
            self.signature = now

    def _check_writable(self) -> None:
        """Raise at the start, rather than at the first change, if acts cannot be recorded."""
        try:
            home.commit(copy.copy(self.tagger), [])
        except ModelFileError as error:
            place = self._acts or self.folder
            raise FileError(place, f"cannot be written; record acts elsewhere with --acts FILE ({error})") from error

    def _publish(self, tagger: Tagger) -> None:
        """Put a tagger in use, after a first suggestion has computed everything that is computed lazily."""
        tagger.suggest([_WARM_UP], k=1)
        self.tagger = tagger

    # -- errors -------------------------------------------------------------------------------------------

    def _told(self, question: Callable[[Tagger], Any]) -> Callable[[], Any]:
        """A query to the current tagger, with errors turned into problems that name the field."""

        def call() -> Any:
            try:
                return question(self._current())
            except (LabelError, ActError) as error:
                raise self._named(error) from None

        return call

    def _named(self, error: Exception) -> Exception:
        if isinstance(error, UnknownLabelError):
            return Problem(404, error.reason, field=error.field or "label", nearest=error.nearest)
        if isinstance(error, LabelError | ActError):
            return Problem(409, error.reason, field=error.field or "label")
        return Problem(422, str(error)) if isinstance(error, ParameterError) else error


def _act(tagger: Tagger, lesson: Lesson) -> tuple[Act, Recorded]:
    """Apply a lesson to a tagger; return the act, and what the response says of it."""
    found = lesson(tagger)
    act = tagger._changes.acts[-1]
    return act, ((act.content["of"], found) if act.kind == "undo" else (act.id, str(act)))


def _call_each(questions: Sequence[Callable[[], Any]]) -> list[Any]:
    return [_attempt(question) for question in questions]


def _attempt(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - returned to the client
        return error


def _signature(folder: Path, acts: Path | None) -> Signature:
    """Stamps of the manifest and the ledgers: they change when the model or acts do; none while it is replaced."""
    manifest, *ledgers = (stamp(file) for file in (folder / MANIFEST, folder / ACTS, acts) if file is not None)
    return () if manifest is None else (manifest, *(found for found in ledgers if found is not None))


class Models(dict[str, Served]):
    """Served models by name; the first is the default for requests that name none."""

    def find(self, name: str | None) -> Served:
        """The model of that name."""
        if name is None:
            return next(iter(self.values()))
        served = self.get(name)
        if served is None:
            detail = f"unknown model '{name[:200]}'{did_you_mean(name, self)}"
            raise Problem(404, detail, field="model", nearest=spelt_alike(name, self))
        return served

    def are_full(self, n_requests: int) -> bool:
        """Whether a request for suggestions would be rejected, whichever model it names."""
        n_most = sum(served.limits.max_waiting + TEXTS_PER_RANKING for served in self.values())
        return n_requests >= n_most or all(served.is_full for served in self.values())
