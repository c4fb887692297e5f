"""Texts and tags in, suggestions out: a vectoriser, a model and what its scores mean, as one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.base import Estimator, NotFittedError
from tacit.checks import as_count, as_features
from tacit.data.vocabulary import Vocabulary
from tacit.errors import DataError, ModelFileError, ParameterError
from tacit.labels import Labels, Names, aligned, label_mask, read_labels
from tacit.metrics import evaluate
from tacit.parameters import parameters_of, unknown_parameter
from tacit.progress import announce
from tacit.ranking import NO_LABEL, NO_SCORE, Ranking
from tacit.registry import find_model, load_model
from tacit.store import folder
from tacit.store.state import Stored
from tacit.tagger import automatic, few_shot, training
from tacit.tagger.amendments import Amendment
from tacit.tagger.calibration import N_PLACES, Calibration, parse_target
from tacit.tagger.few_shot import FewShot
from tacit.tagger.living import LivingVocabulary
from tacit.tagger.training import Training
from tacit.tagger.vectorizer import TextVectorizer

if TYPE_CHECKING:
    from tacit.estimate import Estimate


class Suggestion(NamedTuple):
    """A label for a text, with its score: the probability that it is right, where the tagger is calibrated."""

    label: str
    score: float


class Tagger(LivingVocabulary, Stored):
    """Suggest tags for texts, or for samples with features of your own.

    Parameters
    ----------
    model : str
        Name of a registered model, or "auto" for one that fits the data.
    random_state : int
        Seed; the same seed gives the same model.
    n_jobs : int, optional
        Tasks at a time (-1: all cores).
    calibrate : bool
        Learn on held-out samples what scores mean. Without validation samples this trains twice.
    target : str
        What the stored threshold is for: "f1", or a target such as "precision=0.8", "recall=0.5" or "labels=3".
    keep_texts : bool
        Keep the training data with the model: for examples in explanations and for updates.
    characters : bool
        Use the character n-grams of words too: for inflected languages and misspelt words.
    **model_params
        Parameters of the model.

    Examples
    --------
    >>> tagger = Tagger().fit(["a red apple", "a green pear", "a red car"], [["fruit"], ["fruit"], ["car"]])
    >>> tagger.suggest(["an apple"], k=1)[0][0].label
    'fruit'
    """

    vectorizer_: TextVectorizer | None
    model_: Estimator | None = None
    calibration_: Calibration | None = None
    relations_: sparse.csr_matrix
    training_: Training | None = None
    vocabulary_: Vocabulary | None = None
    amendments_: list[Amendment]
    card_: dict[str, Any]

    def __init__(
        self,
        model: str = "auto",
        random_state: int | None = 0,
        n_jobs: int | None = None,
        *,
        calibrate: bool = True,
        target: str = "f1",
        keep_texts: bool = False,
        characters: bool = False,
        **model_params: Any,
    ) -> None:
        self.model = model
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.calibrate = calibrate
        self.target = target
        self.keep_texts = keep_texts
        self.characters = characters
        self.model_params = model_params
        parse_target(target)
        _check_parameters(model, model_params)

    # -- learning -----------------------------------------------------------------------------------------

    def fit(
        self,
        texts: Any,
        tags: Any,
        *,
        label_names: Sequence[str] | None = None,
        validation: tuple[Any, Any] | None = None,
        max_memory: int | None = None,
    ) -> Tagger:
        """Learn from texts and, for each, its list of tags.

        Parameters
        ----------
        texts : sequence of str, or matrix of features
            One entry per sample.
        tags : list of lists of labels, sparse matrix or array
            The labels of each sample.
        label_names : sequence, optional
            Names in column order, for tags given as a matrix.
        validation : pair (texts, tags), optional
            Samples to calibrate on; by default a part of the training samples is held out.
        max_memory : int, optional
            Bytes that this process may take: the model does less at a time, or is smaller, to stay below.
        """
        X, labels, untrained, reason = self._prepared(texts, tags, label_names)
        held_out = None
        if validation is not None:
            names = None if _are_lists(validation[1]) else labels.names
            held_out = (self._features(validation[0]), read_labels(validation[1], names))
        n_out = training.n_held_out(X.shape[0]) if self.calibrate and validation is None else 0
        twice = not training.is_negligible(n_out, X.shape[0])
        untrained = training.planned(untrained, X, labels.matrix, max_memory, twice=twice)
        seed = self.random_state or 0
        learned = training.learn(untrained, X, labels, held_out, seed=seed, hold_out=self.calibrate)
        self.model_, self.calibration_ = learned.model, learned.calibration
        self.relations_ = training.relations(labels.matrix)
        self.training_ = None
        if self.keep_texts:
            self.training_ = Training(X, labels.matrix, list(texts) if self.vectorizer_ is not None else [])
        self.card_ = training.card(X, labels, learned, seed=self.random_state, reason=reason)
        self.few_shot_ = few_shot.measure(X, labels, self.vectorizer_, seed)
        self.amendments_ = []
        return self

    def estimate(self, texts: Any, tags: Any, *, label_names: Sequence[str] | None = None) -> tuple[str, Estimate]:
        """The model that `fit` would train, and what a training of it would take."""
        from tacit.estimate import estimate

        X, labels, untrained, _ = self._prepared(texts, tags, label_names)
        return type(untrained).__name__, estimate(untrained, X, labels.matrix)

    def _prepared(
        self, texts: Any, tags: Any, label_names: Sequence[str] | None
    ) -> tuple[sparse.csr_matrix, Labels, Estimator, str]:
        """Features, labels, an untrained model for them, and why it is this one."""
        labels = read_labels(tags, label_names)
        self.vectorizer_ = TextVectorizer(characters=self.characters) if _are_texts(texts) else None
        X = as_features(texts) if self.vectorizer_ is None else self.vectorizer_.fit_transform(texts)
        cls, reason = self._choose(X, labels)
        return X, labels, cls(random_state=self.random_state, n_jobs=self.n_jobs, **self.model_params), reason

    def _choose(self, X: sparse.csr_matrix, labels: Labels) -> tuple[type[Any], str]:
        if self.model != "auto":
            return find_model(self.model), "named by the user"
        choice = automatic.choose(X, labels.matrix)
        announce(f"model 'auto': {choice.model}; {choice.reason}")
        cls = find_model(choice.model)
        _check_known(cls, self.model_params)
        return cls, choice.reason

    # -- suggesting ---------------------------------------------------------------------------------------

    def suggest(
        self,
        texts: Any,
        k: int = 5,
        threshold: float | str | None = None,
        include: Any = None,
        exclude: Any = None,
        damp_head: float = 0.0,
    ) -> list[list[Suggestion]]:
        """For each text its `k` best labels, best first.

        Parameters
        ----------
        texts : sequence of str, or matrix of features
            One entry per sample.
        k : int
            Suggestions per text at most.
        threshold : float or str, optional
            Leave out suggestions that are less probable. "auto" takes the threshold stored in the model, "f1",
            "precision=0.8", "recall=0.5" and "labels=3" the one that reached this on held-out samples.
        include, exclude : sequences of labels, optional
            Suggest only these; suggest none of these.
        damp_head : float between 0 and 1
            Discount frequent labels by their propensity, so that a few of them do not drown the rest.
        """
        least = self.threshold_for(threshold)
        ranking = self.rank(texts, k, include, exclude, damp_head=damp_head, threshold=least)
        names = self.classes_
        return [
            [
                Suggestion(str(names[label]), score)
                for label, score in zip(labels, scores, strict=True)
                if label != NO_LABEL
            ]
            for labels, scores in zip(ranking.labels.tolist(), ranking.scores.tolist(), strict=True)
        ]

    def rank(
        self,
        texts: Any,
        k: int = 5,
        include: Any = None,
        exclude: Any = None,
        *,
        damp_head: float = 0.0,
        threshold: float = -np.inf,
    ) -> Ranking:
        """The `k` best labels of each text as column numbers of `classes_`; parameters as for `suggest`."""
        model = self._fitted_model()
        k = as_count(k, "k")
        if not 0 <= damp_head <= 1:
            raise ParameterError(f"damp_head must be between 0 and 1; got {damp_head}")
        X = self._features(texts)
        allowed = label_mask(self.classes_, include, exclude)
        depth = max(k, N_PLACES)  # as deep as calibration looked, so that the first places do not depend on k
        ranking = self.amended().rank(self, X, depth, allowed)
        is_kept = ranking.scores >= threshold
        labels, scores = np.where(is_kept, ranking.labels, NO_LABEL), np.where(is_kept, ranking.scores, NO_SCORE)
        if damp_head > 0:
            propensities = model.propensities_for(len(self.classes_))
            discount = (propensities.min() / propensities) ** damp_head
            scores = np.where(is_kept, scores * discount[labels], NO_SCORE)
        return Ranking(labels, scores).sorted().top(k)

    def probabilities(self, X: sparse.csr_matrix, k: int, include: Any = None) -> Ranking:
        """The labels that the model learned in training, with what their scores mean where that is known."""
        ranking = self._fitted_model().rank(X, k, include)
        return ranking if self.calibration_ is None else self.calibration_.apply(ranking)

    def threshold_for(self, threshold: float | str | None) -> float:
        """The least score that a threshold, as `suggest` takes it, stands for."""
        if threshold is None:
            return -np.inf
        if threshold == "auto":
            return self.threshold_
        try:
            return float(threshold)
        except ValueError:
            parse_target(str(threshold))
        if self.calibration_ is None:
            raise ParameterError(f"threshold '{threshold}' needs a calibrated tagger; train with calibrate=True")
        return self.calibration_.trade.threshold(str(threshold))

    @property
    def threshold_(self) -> float:
        """The threshold stored in the model, which reaches `target` on held-out samples."""
        if self.calibration_ is None:
            return self._fitted_model().threshold_
        return self.calibration_.trade.threshold(self.target)

    def evaluate(self, texts: Any, tags: Any, ks: Sequence[int] = (1, 3, 5)) -> dict[str, float]:
        """Metrics of the suggestions for texts whose tags are known."""
        labels = read_labels(tags)
        if labels.container != "lists":  # columns of a matrix are those of the training matrix
            labels = read_labels(tags, self._fitted_model().classes_)
        ranking = self.rank(texts, max(ks))
        truth = aligned(labels.matrix, labels.names, self.classes_)
        return evaluate(ranking, truth, propensities=self.propensities_for(truth.shape[1]), ks=tuple(ks))

    @property
    def classes_(self) -> Names:
        """Label names in column order: those of the training data, then those added later."""
        return self.amended().names

    def counts_for(self, n_labels: int) -> npt.NDArray[np.int64]:
        """Training positives of each label; labels beyond the model's own have none."""
        return self._fitted_model().counts_for(n_labels)

    def propensities_for(self, n_labels: int) -> npt.NDArray[np.float64]:
        """Propensities from the training counts; labels beyond the model's own have count 0."""
        return self._fitted_model().propensities_for(n_labels)

    def _features(self, texts: Any) -> sparse.csr_matrix:
        if self.vectorizer_ is None:
            if _are_texts(texts):
                raise DataError("this tagger was trained on features, not texts; give it a matrix of features")
            return as_features(texts)
        if not _are_texts(texts):
            raise DataError("this tagger was trained on texts; give it a list of texts")
        return self.vectorizer_.transform(texts)

    def _fitted_model(self) -> Estimator:
        if self.model_ is None:
            raise NotFittedError("this Tagger is not fitted; call fit or load a model")
        return self.model_

    # -- saving -------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the tagger to the folder `path`; a tagger that is there survives any failure."""
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
        own = ("model", "random_state", "calibrate", "target", "keep_texts", "characters")
        return {name: getattr(self, name) for name in own} | self.model_params

    def stored_state(self) -> dict[str, Any]:
        """Fitted attributes by name."""
        return {name: getattr(self, name) for name in self.state_types()}

    @classmethod
    def state_types(cls) -> dict[str, Any]:
        """The declared type of each fitted attribute."""
        return {
            "vectorizer_": TextVectorizer,
            "model_": Estimator,
            "calibration_": Calibration,
            "relations_": sparse.csr_matrix,
            "training_": Training,
            "vocabulary_": Vocabulary,
            "amendments_": list[Amendment],
            "few_shot_": FewShot,
            "card_": dict[str, Any],
        }

    @classmethod
    def restored(cls, parameters: Mapping[str, Any], state: Mapping[str, Any]) -> Tagger:
        """A fitted tagger from its parameters and fitted attributes."""
        tagger = cls(**parameters)
        tagger.relations_ = sparse.csr_matrix((len(state["model_"].classes_),) * 2, dtype=np.float32)
        tagger.amendments_, tagger.card_ = [], {}  # as a tagger of version 0.1 has them
        for name, value in state.items():
            setattr(tagger, name, value)
        return tagger


def _check_parameters(model: str, parameters: Mapping[str, Any]) -> None:
    """Raise unless the model is registered and has these parameters, with these values."""
    if model != "auto":
        cls = find_model(model)
        _check_known(cls, parameters)
        return
    for name in parameters:
        if not any(name in parameters_of(find_model(candidate)) for candidate in automatic.CANDIDATES):
            raise unknown_parameter(find_model(automatic.CANDIDATES[0]), name)


def _check_known(cls: type[Any], parameters: Mapping[str, Any]) -> None:
    known = parameters_of(cls)
    for name, value in parameters.items():
        if name not in known:
            raise unknown_parameter(cls, name)
        known[name].check(value)


def _are_texts(samples: Any) -> bool:
    """Whether samples are texts, all of them; a list with other things among the texts is an error."""
    if isinstance(samples, str):
        raise DataError("texts must be a list of texts; got a single one: wrap it in a list")
    if sparse.issparse(samples) or getattr(samples, "ndim", 1) == 2:
        return False
    for place, text in enumerate(samples):
        if not isinstance(text, str):
            if isinstance(text, list | tuple | np.ndarray):  # rows of features
                return False
            raise DataError(f"texts must be str; entry {place} is a {type(text).__name__}")
    return True


def _are_lists(tags: Any) -> bool:
    return not sparse.issparse(tags) and getattr(tags, "ndim", 1) == 1
