"""Texts and tags in, suggestions out: a vectoriser and a model as one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.base import Estimator, NotFittedError
from tacit.errors import DataError, ModelFileError
from tacit.labels import Names, aligned, read_labels
from tacit.metrics import evaluate
from tacit.parameters import parameters_of, unknown_parameter
from tacit.progress import announce
from tacit.ranking import NO_LABEL, Ranking
from tacit.registry import find_model, load_model
from tacit.store import folder
from tacit.store.state import Stored
from tacit.tagger.vectorizer import TextVectorizer


class Suggestion(NamedTuple):
    """A label for a text, with its score."""

    label: str
    score: float


class Tagger(Stored):
    """Suggest tags for texts.

    Parameters
    ----------
    model : str
        Name of a registered model, or "auto" for one that fits the data.
    random_state : int
        Seed; the same seed gives the same model.
    n_jobs : int, optional
        Tasks at a time (-1: all cores).
    **model_params
        Parameters of the model.

    Examples
    --------
    >>> tagger = Tagger().fit(["a red apple", "a green pear", "a red car"], [["fruit"], ["fruit"], ["car"]])
    >>> tagger.suggest(["an apple"], k=1)[0][0].label
    'fruit'
    """

    def __init__(
        self, model: str = "auto", random_state: int | None = 0, n_jobs: int | None = None, **model_params: Any
    ) -> None:
        self.model = model
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.model_params = model_params
        cls = find_model("OneVsAll" if model == "auto" else model)
        for name in model_params:
            if name not in parameters_of(cls):
                raise unknown_parameter(cls, name)
        self._untrained: Estimator = cls(random_state=random_state, n_jobs=n_jobs, **model_params)
        self.vectorizer_ = TextVectorizer()
        self.model_: Estimator | None = None

    def fit(self, texts: Sequence[str], tags: Any, *, label_names: Sequence[str] | None = None) -> Tagger:
        """Learn from texts and, for each, its list of tags (or a 0/1 matrix)."""
        _check_texts(texts)
        if self.model == "auto":
            announce("model 'auto': OneVsAll, the strongest general model for vocabularies of this size")
        features = self.vectorizer_.fit_transform(texts)
        self.model_ = self._untrained.fit(features, tags, label_names=label_names)
        return self

    def suggest(
        self,
        texts: Sequence[str],
        k: int = 5,
        threshold: float | str | None = None,
        include: Any = None,
        exclude: Any = None,
    ) -> list[list[Suggestion]]:
        """For each text its `k` best labels, best first.

        Parameters
        ----------
        texts : sequence of str
            One entry per text.
        k : int
            Suggestions per text at most.
        threshold : float or "auto", optional
            Leave out suggestions that score below; "auto" takes the one stored in the model.
        include, exclude : sequences of labels, optional
            Suggest only these; suggest none of these.
        """
        model = self._fitted_model()
        ranking = self.rank(texts, k, include, exclude)
        least = model.threshold_ if threshold == "auto" else -np.inf if threshold is None else float(threshold)
        return [
            [
                Suggestion(str(model.classes_[label]), float(score))
                for label, score in zip(labels, scores, strict=True)
                if label != NO_LABEL and score >= least
            ]
            for labels, scores in zip(ranking.labels, ranking.scores, strict=True)
        ]

    def evaluate(self, texts: Sequence[str], tags: Any, ks: Sequence[int] = (1, 3, 5)) -> dict[str, float]:
        """Metrics of the suggestions for texts whose tags are known."""
        model = self._fitted_model()
        labels = read_labels(tags)
        if labels.container != "lists":  # columns of a matrix are those of the training matrix
            labels = read_labels(tags, model.classes_)
        ranking = self.rank(texts, max(ks))
        truth = aligned(labels.matrix, labels.names, model.classes_)
        return evaluate(ranking, truth, propensities=model.propensities_for(truth.shape[1]), ks=tuple(ks))

    def rank(self, texts: Sequence[str], k: int = 5, include: Any = None, exclude: Any = None) -> Ranking:
        """The `k` best labels of each text as column numbers of `classes_`."""
        model = self._fitted_model()
        _check_texts(texts)
        return model.rank(self.vectorizer_.transform(texts), k, include, exclude)

    @property
    def classes_(self) -> Names:
        """Label names in column order."""
        return self._fitted_model().classes_

    @property
    def threshold_(self) -> float:
        """Score above which `predict` and ``threshold="auto"`` take a label."""
        return self._fitted_model().threshold_

    def counts_for(self, n_labels: int) -> npt.NDArray[np.int64]:
        """Training positives of each label; labels beyond the model's own have none."""
        return self._fitted_model().counts_for(n_labels)

    def propensities_for(self, n_labels: int) -> npt.NDArray[np.float64]:
        """Propensities from the training counts; labels beyond the model's own have count 0."""
        return self._fitted_model().propensities_for(n_labels)

    def _fitted_model(self) -> Estimator:
        if self.model_ is None:
            raise NotFittedError("this Tagger is not fitted; call fit or load a model")
        return self.model_

    def save(self, path: str | Path) -> None:
        """Write the tagger to the folder `path`."""
        self._fitted_model()
        folder.save(self, path)

    @staticmethod
    def load(path: str | Path) -> Tagger:
        """Read a tagger from the folder `path`."""
        loaded = load_model(path)
        if not isinstance(loaded, Tagger):
            raise ModelFileError(f"{path}: holds a {type(loaded).__name__} without texts; use tacit.load_model")
        return loaded

    def stored_parameters(self) -> dict[str, Any]:
        """Parameters that define the tagger."""
        return {"model": self.model, "random_state": self.random_state, **self.model_params}

    def stored_state(self) -> dict[str, Any]:
        """The fitted vectoriser and model."""
        return {"vectorizer_": self.vectorizer_, "model_": self.model_}

    @classmethod
    def state_types(cls) -> dict[str, Any]:
        """The declared type of each fitted attribute."""
        return {"vectorizer_": TextVectorizer, "model_": Estimator}

    @classmethod
    def restored(cls, parameters: Mapping[str, Any], state: Mapping[str, Any]) -> Tagger:
        """A fitted tagger from its parameters and fitted attributes."""
        tagger = cls(**parameters)
        tagger.vectorizer_ = state["vectorizer_"]
        tagger.model_ = state["model_"]
        return tagger


def _check_texts(texts: Any) -> None:
    if isinstance(texts, str):
        raise DataError("texts must be a list of texts; got a single one: wrap it in a list")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"texts must be str; entry {place} is a {type(text).__name__}")
