"""The taggers that are served, each with its own queues."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Callable, Sequence
from typing import Any

from tacit.errors import FileError, ModelFileError, ParameterError, did_you_mean, spelt_alike
from tacit.server.batching import Lane
from tacit.server.logs import event, failure
from tacit.server.monitoring import Metrics
from tacit.server.problems import Problem
from tacit.server.request_limits import Settings
from tacit.store.acts import Act, in_force
from tacit.store.atomic import Stamp, stamp
from tacit.store.folder import ACTS, MANIFEST
from tacit.tagger import home
from tacit.tagger.suggest import Suggestion, Wish
from tacit.tagger.tagger import Tagger

Lesson = Callable[[Tagger], Any]  # records an act with a tagger; the result of an undo is what was undone
Recorded = tuple[str, str]  # the id of an act that is on disk, or of the one undone, and a description

_WARM_UP = "a text that makes the kernels load"
_QUESTIONS_WAITING = 32
_TEXTS_PER_RANKING = 32  # larger batches gain little and make the next request wait longer
_ACTS_PER_COMMIT = 256


class Served:
    """A tagger that is served.

    `tagger` is replaced, never modified: a request that started with one finishes with it. Suggestions, other queries
    and changes have a thread each, so that none of them waits for the others.
    """

    tagger: Tagger
    loaded_at: str
    _seen: tuple[Tagger, Stamp | None] | None = None  # a tagger, and the stamp of the ledger whose acts it has
    _failed: Stamp | None = None  # the stamp of a manifest that could not be loaded

    def __init__(self, name: str, settings: Settings, metrics: Metrics) -> None:
        self.name = name
        self.max_batch = settings.max_batch
        self.folder = settings.folders[name]
        self._acts = settings.acts.get(name)
        self._ledger = self._acts or self.folder / ACTS
        self._metrics = metrics
        self._loading = asyncio.Lock()
        self._load()
        self._check_writable()
        limits = settings.max_waiting, settings.timeout
        self._suggesting = Lane(self._suggest_together, _TEXTS_PER_RANKING, *limits)
        self._teaching = Lane(self._teach_together, _ACTS_PER_COMMIT, *limits)
        self._asking = Lane(self._answer_each, 1, _QUESTIONS_WAITING, settings.timeout)

    # -- requests -----------------------------------------------------------------------------------------

    async def suggest(self, texts: Sequence[str], wish: Wish) -> list[list[Suggestion]]:
        """The result of `Tagger.suggest`."""
        found: list[list[Suggestion]] = await self._suggesting.submit((wish, texts), len(texts))
        self._metrics.texts.labels(self.name).inc(len(texts))
        return found

    async def ask(self, question: Callable[[Tagger], Any]) -> Any:
        """The result of a function of the tagger, run in the thread for queries."""
        return await self._asking.submit(question)

    async def teach(self, lesson: Lesson) -> Recorded:
        """Record and apply an act; on return it is on disk, and the next suggestion takes it into account."""
        try:
            recorded: Recorded = await self._teaching.submit(lesson)
        except ModelFileError as error:
            failure("act not written", error)
            raise Problem(507, "the act could not be written to disk and is not recorded; see the log") from None
        return recorded

    async def reload(self) -> None:
        """Reload the model from its folder; requests in progress are not disturbed."""
        async with self._loading:
            before = stamp(self.folder / MANIFEST)
            try:
                await asyncio.to_thread(self._load)
            except Exception as error:  # noqa: BLE001 - the old model stays in use
                self._failed = before
                self._metrics.reloads.labels(self.name, "failed").inc()
                failure("reload failed", error, model=self.name)
                detail = "the folder does not hold a valid model; the old one stays in use, see the log"
                raise Problem(409, detail) from None
        self._metrics.reloads.labels(self.name, "done").inc()
        event("reloaded", model=self.name, acts=self.n_acts, left_out=self.left_out)

    @property
    def is_replaced(self) -> bool:
        """Whether the folder has another model; one that could not be loaded is not tried again."""
        where = self.tagger._home
        known = None if where is None else where.stamp
        return stamp(self.folder / MANIFEST) not in (None, known, self._failed)

    @property
    def n_acts(self) -> int:
        """Acts that are in force."""
        return len(in_force(self.tagger.acts_)) - self.left_out

    @property
    def left_out(self) -> int:
        """Acts that do not apply to the model."""
        return len(self.tagger.left_out_)

    async def catch_up(self) -> None:
        """Apply acts that other processes have recorded, and set the gauges."""
        await asyncio.to_thread(self._current)
        self._metrics.waiting.labels(self.name).set(self._suggesting.n_waiting)
        self._metrics.labels.labels(self.name).set(self.tagger.n_suggested_)
        self._metrics.acts.labels(self.name).set(self.n_acts)

    async def close(self) -> None:
        """Finish the queued requests."""
        for lane in (self._suggesting, self._teaching, self._asking):
            await lane.close()

    # -- in the threads for suggestions and other queries -------------------------------------------------

    def _suggest_together(self, jobs: Sequence[tuple[Wish, Sequence[str]]]) -> list[Any]:
        """Suggestions for the texts of each job; jobs with the same wish are ranked together."""
        results: list[Any] = [None] * len(jobs)
        for wish in dict.fromkeys(wish for wish, _ in jobs):
            together = [place for place, job in enumerate(jobs) if job[0] == wish]
            texts = [text for place in together for text in jobs[place][1]]
            self._metrics.ranked.labels(self.name).observe(len(texts))
            try:
                rows = iter(self._current().suggest(texts, **vars(wish)))
                for place in together:
                    results[place] = [next(rows) for _ in jobs[place][1]]
            except Exception as error:  # noqa: BLE001 - of these jobs alone
                results = [error if place in together else result for place, result in enumerate(results)]
        return results

    def _answer_each(self, questions: Sequence[Callable[[Tagger], Any]]) -> list[Any]:
        return [question(self._current()) for question in questions]

    def _current(self) -> Tagger:
        """The tagger with all acts that any process has recorded until now; a new base is left to `reload`.

        So an act is known to all workers of a service before it is acknowledged. Another thread may put an older tagger
        in use meanwhile: then `_seen` no longer holds, and the next call reads the ledger again.
        """
        tagger, seen = self.tagger, stamp(self._ledger)
        if self._seen != (tagger, seen):
            later = copy.copy(tagger)
            try:
                if home.refresh(later, reload=False):
                    self._publish(later)
                    tagger = later
            except ModelFileError as error:  # a damaged ledger: suggestions go on without what it says
                failure("ledger not read", error, model=self.name)
            self._seen = tagger, seen
        return tagger

    # -- in the thread for changes ------------------------------------------------------------------------

    def _teach_together(self, lessons: Sequence[Lesson]) -> list[Any]:
        """Record a batch of acts with one sync; each is recorded, or rejected with a reason."""
        later = copy.copy(self.tagger)
        home.refresh(later)
        results = [_tried(later, lesson) for lesson in lessons]
        acts = [result[0] for result in results if isinstance(result, tuple)]
        refused = home.commit(later, acts) if acts else {}
        self._publish(later)
        return [refused.get(result[0].id, result[1]) if isinstance(result, tuple) else result for result in results]

    def _load(self) -> None:
        """Load the model with its acts, and put it in use."""
        loaded = Tagger.load(self.folder, acts=self._acts)
        if not loaded.takes_texts:
            raise ParameterError(f"{self.folder}: the model was trained on features; serve a model trained on texts")
        if loaded.encoding_ is not None and loaded.encoding_.fingerprint is None and loaded.encoding_.weight:
            made = "the model was trained with vectors made elsewhere, which requests do not have"
            raise ParameterError(f"{self.folder}: {made}; serve a model trained with an encoder")
        self._publish(loaded)
        self.loaded_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def _check_writable(self) -> None:
        """Raise at the start, rather than at the first change, if acts cannot be recorded."""
        try:
            home.commit(copy.copy(self.tagger), [])
        except ModelFileError as error:
            message = f"cannot be written; record acts elsewhere with --acts FILE ({error})"
            raise FileError(self._ledger.parent, message) from error

    def _publish(self, tagger: Tagger) -> None:
        """Put a tagger in use, after a first suggestion has computed everything that is computed lazily."""
        tagger.suggest([_WARM_UP], k=1)
        self.tagger = tagger


def _tried(tagger: Tagger, lesson: Lesson) -> tuple[Act, Recorded] | Exception:
    """Apply a lesson to a tagger: the act and what the response says of it, or why it does not apply."""
    try:
        found = lesson(tagger)
    except Exception as error:  # noqa: BLE001 - returned to the client
        return error
    act = tagger._changes.acts[-1]
    return act, ((act.content["of"], found) if act.kind == "undo" else (act.id, str(act)))


class Models(dict[str, Served]):
    """Served models by name; the first is the default for requests that name none."""

    def find(self, name: str | None) -> Served:
        """The model of that name."""
        if name is None:
            return next(iter(self.values()))
        if name not in self:
            detail = f"unknown model '{name[:200]}'{did_you_mean(name, self)}"
            raise Problem(404, detail, field="model", nearest=spelt_alike(name, self))
        return self[name]
