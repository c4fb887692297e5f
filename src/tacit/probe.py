"""A process that tries a training out on small parts of the data; `tacit.estimate` starts it.

``python -m tacit.probe FOLDER`` reads a number of samples per line and answers each with a `Measurement` as a line of
JSON. It runs what `fit` and `save` run, so that nothing they do is forgotten; but where a model is fitted a second time
on all samples, the first fit tells enough.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from tacit.data.vocabulary import Vocabulary
from tacit.errors import TacitError
from tacit.kernels import has_compiled
from tacit.labels import Labels, positives
from tacit.memory import forget_peak, peak_bytes, resident_bytes
from tacit.parameters import Role, with_role
from tacit.phases import FIT, Lap, phase, recorded
from tacit.registry import find_model
from tacit.store.files import read_arrays, write_arrays
from tacit.store.state import Arrays, Unpacker, pack
from tacit.tagger import training
from tacit.tagger.naming import Naming
from tacit.tagger.samples import Inputs
from tacit.tagger.tagger import Tagger
from tacit.tasks import checkpoint
from tacit.vectorizer import TextVectorizer

if TYPE_CHECKING:
    from scipy import sparse

    from tacit.base import Estimator
    from tacit.store.state import Stored

_ARRAYS, _TREE = "part.safetensors", "part.json"
_MIN_MATCHES = 20  # with which a part weighs names: all samples have enough


@dataclass(frozen=True)
class Measurement:
    """What one training took.

    Attributes
    ----------
    n_samples : int
        Samples it was trained on.
    seconds, cpu_seconds : float
        Wall and processor time of everything.
    laps : list of Lap
        Those of its phases.
    start_bytes : int
        Memory that loading kernels added to the process; of the first training alone.
    memory_bytes : int
        Memory that training and saving added, beyond the data.
    model_bytes : int
        Size of the saved model.
    has_compiled : bool
        Whether kernels were compiled meanwhile, which happens once per machine.
    """

    n_samples: int
    seconds: float
    cpu_seconds: float
    laps: Sequence[Lap]
    memory_bytes: int
    model_bytes: int
    start_bytes: int = 0
    has_compiled: bool = False

    @property
    def effort(self) -> float:
        """Seconds that the training would have taken on a machine that does nothing else, as far as can be told."""
        return min(self.seconds, self.cpu_seconds)


@dataclass(frozen=True, eq=False)
class Task:
    """A training to try out: of a model alone, or of a tagger with everything that it does beside.

    Attributes
    ----------
    model : Estimator
        Untrained.
    X, labels
        Samples and their labels.
    tagger : Tagger, optional
        Whose parameters say what is done beside; untrained.
    vectorizer : TextVectorizer, optional
        Of a tagger for texts.
    texts : list of str
        Of the samples, where the tagger keeps them.
    validation : pair (Inputs, Labels), optional
        Samples to calibrate on.
    naming : Naming, optional
        Names of labels in the samples.
    """

    model: Estimator
    X: sparse.csr_matrix
    labels: Labels
    tagger: Tagger | None = None
    vectorizer: TextVectorizer | None = None
    texts: Sequence[str] = ()
    validation: tuple[Inputs, Labels] | None = None
    naming: Naming | None = None

    def rows(self, rows: Any) -> Task:
        """The task with some of the samples alone."""
        texts = [self.texts[row] for row in rows] if len(self.texts) else []
        labels = replace(self.labels, matrix=self.labels.matrix[rows])
        naming = None if self.naming is None else self.naming.rows(rows)
        return replace(self, X=self.X[rows], labels=labels, texts=texts, naming=naming)

    def part(self, n_samples: int, n_all: int) -> Task:
        """The task with the first of the samples and the labels that they have, as a share of `n_all` samples.

        Labels without a sample would take time that they do not take where they have some.
        """
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
        )

    def trained(self, folder: Path) -> Stored:
        """Train as a command does, with finished tasks kept in `folder`."""
        if self.tagger is None:
            with phase(FIT, self.X.shape[0]):
                return self.model.fit(self.X, self.labels.matrix, label_names=list(self.labels.names))
        prepared = training.Prepared(self.X, self.labels, self.model, "", self.vectorizer, self.naming)
        with checkpoint(folder):
            state = training.trained(self.tagger, prepared, self.validation, self.texts, again=False)
        tagger = Tagger(**self.tagger.get_params())
        for name, value in state.items():
            setattr(tagger, name, value)
        tagger.vocabulary_ = self.tagger.vocabulary
        return tagger


def _scaled(model: Estimator, share: float) -> Estimator:
    """A copy for a share of the samples, with as many clusters as all of them would give."""
    copy: Estimator = clone(model)
    for name in with_role(type(model), Role.COUNTS_SAMPLES):
        copy.set_params(**{name: max(math.ceil(share * getattr(copy, name)), 2)})
    return copy


# -- a task in a folder -----------------------------------------------------------------------------------


def write_task(folder: Path, task: Task, n_all: int) -> None:
    """Write a task to `folder`: a part of the `n_all` samples that it is meant for."""
    arrays: Arrays = {}
    tagger, validation = task.tagger, task.validation
    content = {
        "model": _described(task.model),
        "tagger": None if tagger is None else _described(tagger),
        "vocabulary": None if tagger is None else tagger.vocabulary,
        "vectorizer": task.vectorizer,
        "texts": list(task.texts),
        "data": [task.X, task.labels.matrix, task.labels.names],
        "validation": None if validation is None else [validation[0], validation[1].matrix, validation[1].names],
        "naming": task.naming,
        "n_all": n_all,
    }
    tree = pack(content, arrays)
    write_arrays(folder / _ARRAYS, arrays)
    (folder / _TREE).write_text(json.dumps(tree), encoding="utf-8")


def _described(learner: Estimator | Tagger) -> dict[str, Any]:
    parameters = learner.stored_parameters()
    return {"name": type(learner).__name__, "parameters": {**parameters, "n_jobs": learner.n_jobs}}


def read_task(folder: Path) -> tuple[Task, int]:
    """The task that `write_task` wrote, and the number of samples that it is meant for."""
    tree = json.loads((folder / _TREE).read_text(encoding="utf-8"))["map"]
    unpacker = Unpacker(read_arrays(folder / _ARRAYS), find_model)
    read = {key: unpacker.value(tree[key]) for key in ("model", "tagger", "data", "validation", "texts", "n_all")}
    tagger = None
    if read["tagger"] is not None:
        tagger = Tagger(**read["tagger"]["parameters"])
        tagger.vocabulary = unpacker.value(tree["vocabulary"], Vocabulary)
    vectorizer = unpacker.value(tree["vectorizer"], TextVectorizer)
    model = find_model(read["model"]["name"])(**read["model"]["parameters"])
    X, Y, names = read["data"]
    validation = None
    if read["validation"] is not None:
        _, Y_out, names_out = read["validation"]
        inputs = unpacker.value(tree["validation"]["list"][0], Inputs)
        validation = replace(inputs, X=inputs.X.copy()), Labels(Y_out.copy(), names_out, "sparse")
    labels, naming = Labels(Y.copy(), names, "sparse"), unpacker.value(tree["naming"], Naming)
    return Task(model, X.copy(), labels, tagger, vectorizer, read["texts"], validation, naming), read["n_all"]


# -- measuring --------------------------------------------------------------------------------------------


def _measure(task: Task, held_bytes: int) -> Measurement:
    """Train and save in a process that held so much memory, the data of the task among it."""
    forget_peak()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tacit-")))
        laps = stack.enter_context(recorded())
        began, cpu_began = time.perf_counter(), time.process_time()
        task.trained(folder / "kept").save(folder / "model")  # type: ignore[attr-defined]
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        size = sum(file.stat().st_size for file in (folder / "model").iterdir())
    memory = max(peak_bytes() - held_bytes, 0)
    return Measurement(task.X.shape[0], seconds, cpu_seconds, laps, memory, size, has_compiled=has_compiled())


def _data_bytes(task: Task) -> int:
    matrices = (task.X, task.labels.matrix)
    return sum(getattr(matrix, part).nbytes for matrix in matrices for part in ("data", "indices", "indptr"))


def main() -> None:
    """Answer each line of stdin, a number of samples, with a line of JSON."""
    lines = iter(sys.stdin)
    first = next(lines, None)
    if first is None:
        return
    task, n_all = read_task(Path(sys.argv[1]))  # written while this process started
    before = held = resident_bytes() or peak_bytes()
    for place, line in enumerate(chain([first], lines)):
        try:
            part = task.part(int(line), n_all)
            measured = _measure(part, held + _data_bytes(part))
            if place == 0:  # the first training compiles kernels or loads them, and they stay
                forget_peak()
                held = resident_bytes() or peak_bytes()
                measured = replace(measured, start_bytes=max(held - before - _data_bytes(part), 0))
            answer: dict[str, Any] = asdict(measured)
        except (TacitError, MemoryError) as error:
            answer = {"error": str(error) or "out of memory"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
