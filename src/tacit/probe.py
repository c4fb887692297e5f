"""A process that trains on small parts of the data and measures it; `tacit.estimate` starts it.

``python -m tacit.probe FOLDER SECONDS`` reads a number of samples per line and answers each with a `Measurement` as a
line of JSON. It runs the code of `fit` and `save`, except that a model is never fitted a second time on all samples. If
a part takes more processor time than that, the answer is null, and the last.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from sklearn.base import clone

from tacit.errors import TacitError
from tacit.features import FeatureMatrix, Features, sparse_part
from tacit.kernels import has_compiled
from tacit.labels import Labels, positives
from tacit.memory import forget_peak, held_bytes, large_on_disk, peak_bytes, watched_peak
from tacit.numerics.rows import selected
from tacit.parameters import Role, with_role
from tacit.phases import FIT, Lap, phase, recorded
from tacit.store.files import read_arrays
from tacit.tagger import training
from tacit.tagger.naming import Naming
from tacit.tagger.samples import Inputs
from tacit.tagger.tagger import Tagger
from tacit.tagger.vectors import Vectors
from tacit.tasks import checkpoint
from tacit.vectorizer import TextVectorizer

if TYPE_CHECKING:
    from tacit.base import Estimator
    from tacit.store.state import Stored

_FILE = "task.joblib"
_ENTRIES = 1 << 14  # of matrices on disk that are worked on at a time: few, so that parts of any size have many such
_LOOK_SECONDS = 0.1
_COMPILING = 5  # times as long may a part take that compiles kernels, which is done once per machine
_MIN_MATCHES = 20  # with which a part weighs names: all samples have enough


@dataclass(frozen=True)
class Measurement:
    """The measured cost of one training."""

    n_samples: int
    seconds: float  # wall time, saving included
    cpu_seconds: float
    laps: Sequence[Lap]
    memory_bytes: int  # added by training and saving, beyond the data
    model_bytes: int
    array_bytes: Mapping[str, int] = field(default_factory=dict)  # of the saved model, by name
    start_bytes: int = 0  # added by loading kernels; of the first training only
    has_compiled: bool = False  # whether kernels were compiled meanwhile, which happens once per machine

    @property
    def n_fitted(self) -> int:
        """The number of samples that the model was fitted on: all but those that were held out."""
        return next((lap.n_samples for lap in self.laps if lap.phase == FIT), self.n_samples)

    @property
    def effort(self) -> float:
        """Approximate wall time on an idle machine."""
        return min(self.seconds, self.cpu_seconds)


@dataclass(frozen=True, eq=False)
class Task:
    """A training to measure: of an untrained model alone, or of an untrained tagger with that model."""

    model: Estimator
    X: FeatureMatrix
    labels: Labels
    tagger: Tagger | None = None
    vectorizer: TextVectorizer | None = None  # of a tagger for texts
    texts: Sequence[str] = ()  # of the samples, if the tagger keeps them
    validation: tuple[Inputs, Labels] | None = None  # samples to calibrate on
    naming: Naming | None = None  # names of labels in the samples
    vectors: Vectors | None = None  # of an encoder
    on_disk: bool = False  # whether large arrays are there, and do not count

    def rows(self, rows: Any) -> Task:
        """The task with some of the samples."""
        texts = [self.texts[row] for row in rows] if len(self.texts) else []
        labels = replace(self.labels, matrix=self.labels.matrix[rows])
        naming = None if self.naming is None else self.naming.rows(rows)
        vectors = None if self.vectors is None else self.vectors.rows(rows)
        return replace(self, X=selected(self.X, rows), labels=labels, texts=texts, naming=naming, vectors=vectors)

    def part(self, n_samples: int, n_all: int) -> Task:
        """The task with the first samples and the labels that they have, as a share of `n_all` samples."""
        Y = self.labels.matrix[:n_samples]
        columns = np.unique(positives(Y).indices)
        if not len(columns):
            columns = np.arange(Y.shape[1])
        validation, naming = self.validation, self.naming
        if validation is not None:
            n_rows = max(round(validation[0].shape[0] * n_samples / n_all), 1)
            validation = validation[0][:n_rows], replace(validation[1], matrix=validation[1].matrix[:n_rows])
        if naming is not None:
            naming = replace(naming, min_matches=_MIN_MATCHES)
            if validation is not None and validation[0].matches is not None:
                found = replace(naming, matches=validation[0].matches).of_labels(columns, self.labels.names).matches
                validation = replace(validation[0], matches=found), validation[1]
            naming = naming.rows(slice(n_samples)).of_labels(columns, self.labels.names)
        return replace(
            self,
            model=_scaled(self.model, n_samples / n_all),
            X=self.X[:n_samples],
            labels=Labels(Y[:, columns].tocsr(), self.labels.names[columns], self.labels.container),
            texts=self.texts[:n_samples],
            validation=validation,
            naming=naming,
            vectors=None if self.vectors is None else self.vectors.rows(slice(n_samples)),
        )

    def trained(self, folder: Path) -> Stored:
        """Train as a command does, with finished tasks kept in `folder`."""
        if self.tagger is None:
            with phase(FIT, self.X.shape[0]):
                return self.model.fit(self.X, self.labels.matrix, label_names=list(self.labels.names))
        prepared = training.Prepared(
            self.X, self.labels, self.model, "", self.vectorizer, self.naming, None, self.vectors
        )
        with checkpoint(folder):
            state = training.trained(self.tagger, prepared, self.validation, self.texts, again=False)
        tagger = Tagger(**self.tagger.get_params())
        for name, value in state.items():
            setattr(tagger, name, value)
        tagger.vocabulary_ = self.tagger.vocabulary
        return tagger


def _scaled(model: Estimator, share: float) -> Estimator:
    """A copy for a share of the samples, with as many clusters as for all of them."""
    copy: Estimator = clone(model)
    for name in with_role(type(model), Role.COUNTS_SAMPLES):
        copy.set_params(**{name: max(math.ceil(share * getattr(copy, name)), 2)})
    return copy


# -- a task in a folder -----------------------------------------------------------------------------------


def write_task(folder: Path, task: Task, n_all: int) -> None:
    """Write a task to `folder`; its samples are a part of `n_all`."""
    untrained = {"model": _untrained(task.model), "tagger": None}
    if task.tagger is not None:  # without its encoder, which has done its work and may be any object
        untrained["tagger"] = _untrained(task.tagger).set_params(encoder=None)
    joblib.dump(({**vars(task), **untrained}, n_all), folder / _FILE)


def read_task(folder: Path) -> tuple[Task, int]:
    """The task that `write_task` wrote, and its `n_all`; only for folders of our own, because pickle runs code."""
    content, n_all = joblib.load(folder / _FILE)
    return Task(**content), n_all


def _untrained(learner: Any) -> Any:
    return type(learner)(**learner.get_params(deep=False))


# -- measuring --------------------------------------------------------------------------------------------


def _measure(task: Task, held: int) -> Measurement:
    """Train and save; `held` are the bytes of the process before, including the data of the task."""
    forget_peak()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tacit-")))
        laps = stack.enter_context(recorded())
        peak = stack.enter_context(watched_peak()) if task.on_disk else peak_bytes
        began, cpu_began = time.perf_counter(), time.process_time()
        task.trained(folder / "kept").save(folder / "model")  # type: ignore[attr-defined]
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        size = sum(file.stat().st_size for file in (folder / "model").iterdir())
        memory = max(peak() - held, 0)
        arrays = _array_bytes(folder / "model")
    return Measurement(task.X.shape[0], seconds, cpu_seconds, laps, memory, size, arrays, has_compiled=has_compiled())


def _array_bytes(folder: Path) -> dict[str, int]:
    """The size of each array of a saved model."""
    stored = (read_arrays(file) for file in folder.glob("*.safetensors"))
    return {name: array.nbytes for arrays in stored for name, array in arrays.items()}


@contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """End this process with the answer null if the block takes more processor time than that.

    Wall time would say more of other work on the machine than of the training.
    """
    over, began = threading.Event(), time.process_time()

    def watch() -> None:
        while not over.wait(_LOOK_SECONDS):
            if time.process_time() - began > seconds * (_COMPILING if has_compiled() else 1):
                print("null", flush=True)
                os._exit(0)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _data_bytes(task: Task) -> int:
    parts = (sparse_part(task.X), task.labels.matrix)
    dense: int = task.X.dense.nbytes if isinstance(task.X, Features) else 0
    return dense + sum(int(getattr(matrix, part).nbytes) for matrix in parts for part in ("data", "indices", "indptr"))


def main() -> None:
    """Answer each line of stdin, a number of samples, with a line of JSON."""
    lines = iter(sys.stdin)
    first = next(lines, None)
    if first is None:
        return
    task, n_all = read_task(Path(sys.argv[1]))  # written while this process started
    with large_on_disk(Path(sys.argv[1]), 1, _ENTRIES) if task.on_disk else nullcontext():
        _answer(chain([first], lines), task, n_all, float(sys.argv[2]))


def _answer(lines: Iterable[str], task: Task, n_all: int, seconds: float) -> None:
    before = held = held_bytes() or peak_bytes()
    for place, line in enumerate(lines):
        try:
            part = task.part(int(line), n_all)
            with _patience(seconds):
                measured = _measure(part, held + _data_bytes(part))
            if place == 0:  # the first training compiles kernels or loads them, and they stay
                forget_peak()
                held = held_bytes() or peak_bytes()
                measured = replace(measured, start_bytes=max(held - before - _data_bytes(part), 0))
            answer: dict[str, Any] = asdict(measured)
        except (TacitError, MemoryError) as error:
            answer = {"error": str(error) or "out of memory"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
