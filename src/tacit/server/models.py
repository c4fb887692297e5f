"""The taggers that are served, side by side, each with its own queues and its own log."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from tacit.errors import ParameterError, TacitError
from tacit.server.batching import Lane
from tacit.server.feedback import FeedbackLog, Record, described
from tacit.server.limits import ACTS_PER_COMMIT, TEXTS_PER_RANKING, Limits
from tacit.server.metrics import Metrics
from tacit.server.problems import Problem, unknown
from tacit.server.teaching import FieldError, UnknownLabelError, column_of, last_learned, taught
from tacit.store.folder import MANIFEST
from tacit.tagger.explain import Explanation
from tacit.tagger.tagger import Suggestion, Tagger

Signature = tuple[tuple[str, int, int], ...]

_WARM_UP = "a text that makes the kernels load"
_QUESTIONS_WAITING = 32


@dataclass(frozen=True)
class Wish:
    """What a caller wants to know of texts; requests with the same wish are ranked together."""

    k: int = 5
    threshold: float | str | None = None
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None
    damp_head: float = 0.0


@dataclass(frozen=True)
class Lesson:
    """A change of a served model: ``teach`` with an act for the log, ``undo`` of a number, or ``reload``."""

    kind: str
    act: Mapping[str, Any] | None = None
    number: int | None = None


@dataclass(frozen=True)
class Recorded:
    """An act that is on disk: its number, and what it was in words."""

    number: int
    act: str


class Served:
    """A tagger at work.

    `tagger` is replaced as a whole, never changed: whoever began to use one goes on with it. Suggestions, questions
    and lessons have a thread each, so that none of them waits for the others.

    Parameters
    ----------
    name : str
        What callers call it.
    folder : Path
        Where it was saved.
    log : Path
        Where what people teach it is recorded.
    """

    tagger: Tagger
    left_out: int  # acts of the log that do not fit the model
    signature: Signature
    loaded_at: float
    _acts: dict[int, str]  # in force and not saved with the model: number, and what it was
    _before_last: tuple[int, Tagger] | None  # the number of the last act, and the tagger without it

    def __init__(self, name: str, folder: Path, log: Path, limits: Limits, metrics: Metrics) -> None:
        self.name = name
        self.limits = limits
        self._folder = folder
        self._metrics = metrics
        saved = self._read_folder()
        self._log = FeedbackLog(log)
        try:
            self._adopt(*saved)
        except BaseException:
            self._log.close()
            raise
        self._suggesting: Lane[tuple[Wish, Sequence[str]], list[list[Suggestion]]] = Lane(
            self._suggest_together, TEXTS_PER_RANKING, limits.max_waiting, limits.timeout
        )
        self._teaching: Lane[Lesson, Any] = Lane(
            self._teach_together, ACTS_PER_COMMIT, limits.max_waiting, limits.timeout
        )
        self._asking: Lane[Callable[[], Any], Any] = Lane(_call_each, 1, _QUESTIONS_WAITING, limits.timeout)

    # -- what callers ask ---------------------------------------------------------------------------------

    async def suggest(self, texts: Sequence[str], wish: Wish) -> list[list[Suggestion]]:
        """What `Tagger.suggest` says."""
        return await self._suggesting.submit((wish, texts), len(texts))

    async def explain(self, text: str, label: str, n: int) -> Explanation:
        """What `Tagger.explain` says."""
        tagger = self.tagger

        def answer() -> Explanation:
            column_of(tagger, label, "label")
            return tagger.explain(text, label, n)

        explanation: Explanation = await self._asking.submit(self._naming(answer))
        return explanation

    async def ask(self, question: Callable[[Tagger], Any]) -> Any:
        """The answer to any question about the tagger, given by the thread for questions."""
        tagger = self.tagger
        return await self._asking.submit(lambda: question(tagger))

    async def teach(self, act: Mapping[str, Any]) -> Recorded:
        """Record an act and learn it; when this returns, it is on disk and the next suggestion knows it."""
        recorded: Recorded = await self._teaching.submit(Lesson("teach", act))
        return recorded

    async def undo(self, number: int | None) -> Recorded:
        """Take an act back, the last one by default."""
        recorded: Recorded = await self._teaching.submit(Lesson("undo", number=number))
        return recorded

    async def reload(self) -> None:
        """Load the model anew from its folder; requests that run are not disturbed."""
        await self._teaching.submit(Lesson("reload"))

    def folder_signature(self) -> Signature:
        """What tells the model in the folder from others; `signature` is that of the one in use."""
        return _signature(self._folder)

    @property
    def n_acts(self) -> int:
        """Acts of the log that are in force and not saved with the model."""
        return len(self._acts)

    @property
    def n_waiting(self) -> int:
        """Texts that wait for suggestions."""
        return self._suggesting.n_waiting

    @property
    def is_full(self) -> bool:
        """Whether a further text would be turned away."""
        return self._suggesting.is_full

    async def close(self) -> None:
        """Finish what waits and let go of the log."""
        for lane in (self._suggesting, self._teaching, self._asking):
            await lane.close()
        self._log.close()

    # -- in the thread for suggestions --------------------------------------------------------------------

    def _suggest_together(self, jobs: Sequence[tuple[Wish, Sequence[str]]]) -> list[list[list[Suggestion]] | Exception]:
        tagger = self.tagger
        results: dict[int, list[list[Suggestion]] | Exception] = {}
        places: dict[Wish, list[int]] = {}
        for place, (wish, _) in enumerate(jobs):
            places.setdefault(wish, []).append(place)
        for wish, together in places.items():
            texts = [text for place in together for text in jobs[place][1]]
            self._metrics.ranked.observe(len(texts), model=self.name)
            found = _attempt(self._naming(partial(_suggest, tagger, texts, wish)))
            rows = None if isinstance(found, Exception) else iter(found)
            for place in together:
                results[place] = found if rows is None else [next(rows) for _ in jobs[place][1]]
        return [results[place] for place in range(len(jobs))]

    # -- in the thread for lessons ------------------------------------------------------------------------

    def _teach_together(self, lessons: Sequence[Lesson]) -> list[Any]:
        results: list[Any] = []
        for kind, group in groupby(lessons, key=lambda lesson: lesson.kind):
            if kind == "teach":
                results.extend(self._teach([lesson.act or {} for lesson in group]))
            elif kind == "undo":
                results.extend(_attempt(partial(self._undo, lesson.number)) for lesson in group)
            else:
                result = _attempt(lambda: self._adopt(*self._read_folder()))
                results.extend(result for _ in group)
        return results

    def _teach(self, acts: Sequence[Mapping[str, Any]]) -> list[Recorded | Exception]:
        """Learn acts that came together and write them with one sync; each is recorded, or refused with a reason."""
        drafts = [Record(place, str(act["act"]), act) for place, act in enumerate(acts)]
        later, refused = taught(self.tagger, drafts)
        accepted = [draft for draft in drafts if draft.number not in refused]
        numbers = iter(self._log.append([draft.content for draft in accepted]) if accepted else [])
        results: list[Recorded | Exception] = []
        for draft in drafts:
            if draft.number in refused:
                results.append(self._named(refused[draft.number], later))
            else:
                recorded = Recorded(next(numbers), described(draft))
                self._acts[recorded.number] = recorded.act
                results.append(recorded)
        if accepted:
            self._before_last = (max(self._acts), self.tagger) if len(accepted) == 1 else None
            self._publish(later)
        return results

    def _undo(self, number: int | None) -> Recorded:
        number = max(self._acts, default=None) if number is None else number
        if number not in self._acts:
            raise Problem(
                409, "there is nothing to take back: no act since the model was saved has this id", field="id"
            )
        if self._before_last is not None and self._before_last[0] == number:
            earlier = self._before_last[1]
        else:
            records = [record for record in self._log.contents().in_force(self._saved) if record.number != number]
            earlier, _ = taught(self._loaded, records)
        self._log.append([{"act": "undo", "of": number}])
        self._before_last = None
        self._publish(earlier)
        return Recorded(number, self._acts.pop(number))

    def _read_folder(self) -> tuple[Signature, Tagger]:
        signature = _signature(self._folder)
        loaded = Tagger.load(self._folder)
        if loaded.vectorizer_ is None:
            raise ParameterError(f"{self._folder}: was trained on features; a service needs a model trained on texts")
        return signature, loaded

    def _adopt(self, signature: Signature, loaded: Tagger) -> None:
        """Replay what of the log is not saved with a tagger, and let it answer."""
        saved = last_learned(loaded, self._log.log)
        records = self._log.contents().in_force(saved)
        tagger, refused = taught(loaded, records)
        self._publish(tagger)
        self._loaded, self._saved = loaded, saved
        self._before_last = None
        self._acts = {record.number: described(record) for record in records if record.number not in refused}
        self.left_out = len(refused)
        self.signature = signature
        self.loaded_at = time.time()

    def _publish(self, tagger: Tagger) -> None:
        """Let a tagger answer from now on, once all that it computes on first use is there."""
        tagger.suggest([_WARM_UP], k=1)
        self.tagger = tagger

    # -- errors -------------------------------------------------------------------------------------------

    def _naming(self, answer: Callable[[], Any]) -> Callable[[], Any]:
        """`answer`, with errors told as problems that name the field, and labels spelt like an unknown one."""

        def call() -> Any:
            try:
                return answer()
            except FieldError as error:
                raise self._named(error, self.tagger) from None

        return call

    def _named(self, error: TacitError, tagger: Tagger) -> Exception:
        if isinstance(error, UnknownLabelError):
            return unknown("label", error.label, known_names(tagger), status=422, field=error.field)
        if isinstance(error, FieldError):
            return Problem(422, str(error), field=error.field)
        return error


def known_names(tagger: Tagger) -> Iterable[str]:
    """All that labels are called: in the data, and in the vocabulary."""
    vocabulary = tagger.vocabulary_
    yield from map(str, tagger.classes_)
    if vocabulary is not None:
        yield from vocabulary.names


def _suggest(tagger: Tagger, texts: Sequence[str], wish: Wish) -> list[list[Suggestion]]:
    columns = {
        field: None if labels is None else [column_of(tagger, label, field) for label in labels]
        for field, labels in (("include", wish.include), ("exclude", wish.exclude))
    }
    return tagger.suggest(texts, wish.k, wish.threshold, damp_head=wish.damp_head, **columns)


def _call_each(questions: Sequence[Callable[[], Any]]) -> list[Any]:
    return [_attempt(question) for question in questions]


def _attempt(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - told to the one who asked
        return error


def _signature(folder: Path) -> Signature:
    """What changes when the model in a folder does."""
    try:
        files = sorted(file for file in folder.iterdir() if file.name == MANIFEST or file.suffix == ".safetensors")
        stats = [(file.name, file.stat()) for file in files]
    except OSError:  # being replaced
        return ()
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)


class Models(dict[str, Served]):
    """Served models by name; the first is the one that requests mean which name none."""

    def find(self, name: str | None) -> Served:
        """The model of that name."""
        if name is None:
            return next(iter(self.values()))
        served = self.get(name)
        if served is None:
            raise unknown("model", name, self, status=404, field="model")
        return served

    def are_full(self) -> bool:
        """Whether a request for suggestions would be turned away, whichever model it means."""
        return all(served.is_full for served in self.values())


def as_json(value: Any) -> bytes:
    """A JSON text in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
