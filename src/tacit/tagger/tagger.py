"""Texts and tags in, suggestions out: a vectoriser, a calibrated model, and the acts that change it after training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator

from tacit.core.base import Estimator, NotFittedError
from tacit.core.labels import label_sets, labels_in_order
from tacit.core.parameters import (
    Range,
    check_parameters,
    check_values,
    document_parameters,
    parameters_of,
    show_parameters,
)
from tacit.core.ranking import NO_LABEL, Ranking
from tacit.data.records import tags_in, texts_in
from tacit.data.vocabulary import Vocabulary
from tacit.errors import ParameterError
from tacit.evaluation.metrics import SCORE_METRIC, evaluate
from tacit.names.evidence import NameEvidence
from tacit.progress import announce
from tacit.registry import find_model, find_stored
from tacit.store import folder
from tacit.store.declared import Array, Csr, Size, Sizes
from tacit.store.packing import Stored, name_of
from tacit.tagger import automatic, few_shot, home, suggest, training
from tacit.tagger import explain as explaining
from tacit.tagger import update as updating
from tacit.tagger.calibration import Calibration, parse_target
from tacit.tagger.changes import Changes, without_acts
from tacit.tagger.few_shot import FewShot
from tacit.tagger.inputs import Inputs
from tacit.tagger.suggest import Suggestion, Wish
from tacit.tagger.teaching import Teaching
from tacit.tagger.training import Training
from tacit.tagger.vectors import OF_WORDS, Encoding, inconsistency, split_texts
from tacit.text.vectorizer import TextFeatures, TextVectorizer, features_of
from tacit.text.words import check_language

if TYPE_CHECKING:
    from tacit.tagger.find_missing import MissingLabel


@document_parameters
@dataclass(init=False, eq=False, repr=False)
class Tagger(Teaching, Stored, BaseEstimator):  # type: ignore[misc]
    """Suggest tags for texts, or labels for samples given as features.

    Further keyword arguments are parameters of the model: ``Tagger("PfastreXML", n_trees=20)``.

    Examples
    --------
    >>> tagger = Tagger().fit(["a red apple", "a green pear", "a red car"], [["fruit"], ["fruit"], ["car"]])
    >>> tagger.suggest(["an apple"], k=1)[0][0].label
    'fruit'
    """

    model: Annotated[str | type, "name of a model, its class, or 'auto' to choose by the size of the data"] = "auto"
    random_state: Annotated[int | None, Range(low=0), "seed; the same seed gives the same model"] = 0
    n_jobs: Annotated[
        int | None, Range(other_than=0), "number of parallel tasks (-1: all cores); never changes the model"
    ] = None
    calibrate: Annotated[bool, "calibrate scores to probabilities on a held-out set; may train twice"] = True
    target: Annotated[str, "goal of the stored threshold: 'f1', 'precision=0.8', 'recall=0.5', 'labels=3'"] = "f1"
    keep_texts: Annotated[bool, "keep the training data, for examples in explanations and for updates"] = False
    features: TextFeatures = "words"
    vocabulary: Annotated[Any, "names of labels: a Vocabulary, or a file that load_vocabulary reads"] = None
    names: Annotated[bool, "look for labels' names in texts; suggest all concepts of the vocabulary"] = True
    language: Annotated[str | None, "language of the texts, such as 'en'; 'auto': detected; None: no stems"] = "auto"
    encoder: Annotated[Any, "vectors beside words: 'model2vec:NAME', or any object with a method `encode`"] = None
    vector_weight: Annotated[float | None, Range(low=0), "of vectors; None: chosen on held-out samples"] = None

    vectorizer_: Annotated[TextVectorizer | None, OF_WORDS] = field(init=False)
    model_: Estimator | None = field(init=False, default=None)
    calibration_: Calibration | None = field(init=False, default=None)
    relations_: Annotated[sparse.csr_matrix | None, Csr("float32", ("n_labels", "n_labels"))] = field(
        init=False, default=None
    )
    training_: Annotated[Training | None, OF_WORDS] = field(init=False, default=None)
    vocabulary_: Vocabulary | None = field(init=False, default=None)
    names_: Annotated[NameEvidence | None, OF_WORDS] = field(init=False, default=None)
    few_shot_: Annotated[FewShot | None, OF_WORDS] = field(init=False, default=None)
    encoding_: Encoding | None = field(init=False, default=None)
    n_words_: Annotated[int | None, Size("n_word_features", if_none="n_features")] = field(init=False, default=None)
    known_samples_: Annotated[npt.NDArray[np.uint64] | None, Array("uint64", ("n_known", "2"))] = field(
        init=False, default=None
    )
    card_: dict[str, Any] = field(init=False)

    def __init__(
        self, model: str | type = "auto", random_state: int | None = 0, n_jobs: int | None = None, **parameters: Any
    ) -> None:
        own = {item.name: item.default for item in fields(type(self)) if item.init}
        own |= {"model": model, "random_state": random_state, "n_jobs": n_jobs}
        for name in own.keys() & parameters.keys():
            own[name] = parameters.pop(name)
        for name, value in own.items():
            setattr(self, name, value)
        self.model_params = parameters
        self._home: home.Home | None = None
        self._known: Changes | None = None
        self.card_ = {}
        self._check_parameters()

    def problem(self, sizes: Sizes) -> tuple[str, str] | None:
        """Names, calibration and vectors are for as many labels and dimensions as there are."""
        return inconsistency(sizes.get("n_labels", 0), self.names_, self.calibration_, self.encoding_)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - the signature is scikit-learn's
        """The parameters of the tagger and those that were given for its model."""
        return {name: getattr(self, name) for name in parameters_of(type(self))} | self.model_params

    def set_params(self, **parameters: Any) -> Tagger:
        """Set parameters of the tagger or of its model."""
        own = parameters_of(type(self))
        for name, value in parameters.items():
            if name in own:
                setattr(self, name, value)
            else:
                self.model_params = {**self.model_params, name: value}
        if "n_jobs" in parameters and self.model_ is not None:
            self.model_.n_jobs = self.n_jobs
        self._check_parameters()
        return self

    def _check_parameters(self) -> None:
        check_parameters(self)
        parse_target(self.target)
        check_language(None if self.language == "auto" else self.language)
        candidates = automatic.CANDIDATES if self.model == "auto" else (self.model,)
        check_values(map(find_model, candidates), self.model_params)

    def fit(
        self,
        texts: Any,
        tags: Any,
        *,
        label_names: Sequence[str] | None = None,
        validation: tuple[Any, Any] | None = None,
        cooccurrence: Any = None,
    ) -> Tagger:
        """Learn from texts and, for each, its list of tags.

        Parameters
        ----------
        texts : sequence of str, tacit.Encoded, DataFrame with texts, or matrix of features
            None and NaN are blank texts. Of a DataFrame, the columns that `load_data` takes by default, or else all.
        tags : list of lists of labels, column of a DataFrame, sparse matrix or array
            The labels of each sample.
        label_names : sequence of str, optional
            Names of the columns of a matrix of labels.
        validation : pair (texts, tags), optional
            A validation set to calibrate on; by default a part of the training samples is held out.
        cooccurrence : dense or sparse matrix of shape (n_labels, n_labels), optional
            How often labels occur together; `label_names` may then end with labels that no sample has.
        """
        self._check_parameters()
        texts, tags = texts_in(texts), tags_in(tags)
        validation = None if validation is None else (texts_in(validation[0]), tags_in(validation[1]))
        state = training.train(self, texts, tags, label_names, validation, cooccurrence)
        for name, value in state.items():
            setattr(self, name, value)
        self._home = self._known = None
        if self.calibration_ is not None and (shortfall := self.calibration_.trade.nearest(self.target)[1]):
            announce(f"target '{self.target}': {shortfall}; the stored threshold comes nearest to it")
        return self

    def update(self, texts: Any, tags: Any, *, label_names: Sequence[str] | None = None) -> str:
        """Train on new samples; returns a summary.

        Popularity and MLLCS are trained incrementally, other models again, on the new samples and the old ones, which
        the tagger must have kept (``keep_texts=True``). Acts stay in force.
        """
        return updating.update(self, texts_in(texts), tags_in(tags), label_names)

    @staticmethod
    def around(model: Any) -> Tagger:
        """A tagger that wraps a fitted model and takes features; a tagger is returned unchanged."""
        if isinstance(model, Tagger):
            return model
        if not isinstance(model, Estimator):
            raise ParameterError(f"a tagger must wrap a fitted model; got a {type(model).__name__}")
        model._check_fitted()
        parameters = model.get_params(deep=False)
        parameters.pop("target", None)  # of a blend: not that of a tagger
        tagger = Tagger(type(model), calibrate=False, **parameters)
        tagger.vectorizer_, tagger.model_ = None, model
        return tagger

    def suggest(
        self,
        texts: Any,
        k: int | None = None,
        threshold: float | str | None = None,
        include: Any = None,
        exclude: Any = None,
        damp_head: float = 0.0,
        language: str | None = None,
    ) -> list[list[Suggestion]]:
        """The best labels of each text, best first; none for a text without a word that the model knows.

        Parameters
        ----------
        texts : sequence of str, DataFrame with texts, or matrix of features
            One entry per sample.
        k : int, optional
            Most suggestions per text; by default 5, or with a threshold all that reach it.
        threshold : float or str, optional
            Lowest score to suggest. "auto" is the threshold stored in the model; "f1", "precision=0.8", "recall=0.5"
            and "labels=3" are targets, for the threshold that reached them on held-out samples.
        include, exclude : sequences of labels, optional
            Suggest only these; suggest none of these. Any name of a label is accepted, including former ones.
        damp_head : float between 0 and 1
            Weight labels by inverse propensity to this power, after the threshold, so that rare labels come forward.
        language : str, optional
            Name labels in this language of the vocabulary; by default they are as in `classes_`.
        """
        self.check_language(language)
        wish = Wish(k, threshold, include, exclude, damp_head)
        if wish.k is not None:
            wish = replace(wish, k=min(wish.k, len(self._state)))  # a list needs no padding
        found = suggest.named(self._ranked(texts, wish), self.classes_)
        if language is None:
            return found
        return [[Suggestion(self.readable(label, language), score) for label, score in row] for row in found]

    def rank(
        self,
        texts: Any,
        k: int | None = None,
        include: Any = None,
        exclude: Any = None,
        *,
        damp_head: float = 0.0,
        threshold: float | str | None = None,
    ) -> Ranking:
        """The best labels of each text as indices into `classes_`; parameters as for `suggest`."""
        return self._ranked(texts, Wish(k, threshold, include, exclude, damp_head))

    def _ranked(self, texts: Any, wish: Wish) -> Ranking:
        changes, texts = self._changes, texts_in(texts)
        samples = self._samples(texts, changes)
        ranking = suggest.rank(changes.scores, changes.state, samples, wish, self.propensities_for)
        return suggest.of_known(ranking, suggest.are_known(samples, texts)) if self.takes_texts else ranking

    def knows(self, texts: Any) -> npt.NDArray[np.bool_]:
        """For each text, whether it has a word, a part of a name or a vector that a suggestion could be based on."""
        texts = texts_in(texts)
        return suggest.are_known(self._samples(texts), texts)

    def predict(self, texts: Any) -> Any:
        """Label sets: the labels that reach the stored threshold, in the form the training labels had."""
        ranking = self.rank(texts, threshold="auto")
        chosen = Ranking(ranking.labels, np.where(ranking.labels == NO_LABEL, -np.inf, 1))
        return label_sets(chosen.to_csr(len(self.classes_)), self.classes_, self._fitted_model().container_)  # type: ignore[arg-type]

    def threshold_for(self, threshold: float | str | None) -> float:
        """The lowest score to suggest, for a threshold as `suggest` takes it."""
        return self._changes.scores.threshold_for(threshold)

    @property
    def threshold_(self) -> float:
        """The threshold stored in the model, which reaches `target` on held-out samples."""
        return self._changes.scores.threshold

    @property
    def n_places_(self) -> int:
        """Length of the rankings that calibration and reports are based on."""
        return self._changes.scores.n_places

    def evaluate(self, texts: Any, tags: Any, ks: Sequence[int] = (1, 3, 5)) -> dict[str, float]:
        """Metrics of the suggestions for texts whose tags are known."""
        truth = labels_in_order(tags_in(tags), self.classes_, self._fitted_model().classes_, self.current_name)
        weights = self.propensities_for(truth.shape[1])
        return evaluate(self.rank(texts, max(ks)), truth, propensities=weights, ks=tuple(ks))

    def score(self, texts: Any, tags: Any) -> float:
        """nDCG@5 of the suggestions, which scikit-learn's searches maximise unless given `scoring`."""
        return self.evaluate(texts, tags)[SCORE_METRIC]

    @property
    def takes_texts(self) -> bool:
        """Whether the tagger was trained on texts, not on features."""
        return self.vectorizer_ is not None

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self._fitted_model().n_features_in_

    @property
    def n_samples_(self) -> int:
        """Number of training samples."""
        return self._fitted_model().n_samples_

    @property
    def model_name_(self) -> str:
        """The class name of the model inside."""
        return type(self._fitted_model()).__name__

    def counts_for(self, n_labels: int) -> npt.NDArray[np.int64]:
        """Training positives of each label; labels beyond the model's own have none."""
        return self._fitted_model().counts_for(n_labels)

    def propensities_for(self, n_labels: int) -> npt.NDArray[np.float64]:
        """Propensities from the training counts; labels beyond the model's own have count 0."""
        return self._fitted_model().propensities_for(n_labels)

    def explain(self, text: Any, label: str, n: int = 10) -> explaining.Explanation:
        """The evidence for a suggestion: up to `n` features, co-occurring labels and training samples, and acts."""
        return explaining.explain(self, text, label, n)

    def find_missing(self, texts: Any, tags: Any, n: int = 100, **options: Any) -> list[MissingLabel]:
        """The labels most likely missing from a tagged corpus, as (sample, label) pairs; see `find_missing`."""
        from tacit.tagger.find_missing import find_missing

        return find_missing(self, texts_in(texts), tags_in(tags), n, **options)

    @property
    def _changes(self) -> Changes:
        """The acts, applied to the current model."""
        known, model = self._known, self._fitted_model()
        own = self.calibration_, self.target, self._few_shot, self.vocabulary_, self.encoder
        if known is None or not known.is_based_on(model, *own):
            fresh = without_acts(self)
            self._known = fresh if known is None else fresh.plus(known.acts)
        return self._known  # type: ignore[return-value]

    @property
    def _few_shot(self) -> FewShot:
        if self.few_shot_ is None:
            self.few_shot_ = few_shot.without_background(self._fitted_model().n_features_in_)
        return self.few_shot_

    def _become(self, changes: Changes) -> None:
        self._known = changes

    def _set_home(self, where: home.Home) -> None:
        self._home, self._known = where, where.changes

    def _samples(self, texts: Any, changes: Changes | None = None) -> Inputs:
        return (changes or self._changes).scores.inputs(
            features_of(split_texts(texts)[0], self.vectorizer_, self.n_jobs), texts
        )

    def _fitted_model(self) -> Estimator:
        if self.model_ is None:
            raise NotFittedError("this Tagger is not fitted; call fit or load a model")
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return self.model_ is not None

    def save(self, path: str | Path, *, acts: home.Policy = None) -> None:
        """Save the tagger to the folder `path`; if saving fails, a tagger that is already there stays intact.

        In the folder that it was loaded from, only new acts are appended. Acts that others have recorded meanwhile
        stay, and an act that no longer applies raises an error. `acts` says what to do with the acts of another model
        in the folder: "keep" applies them to this one, "discard" drops them; by default it is not replaced.
        """
        self._fitted_model()
        home.save(self, Path(path), acts)

    @staticmethod
    def load(path: str | Path, *, verify: bool = True, acts: str | Path | None = None) -> Tagger:
        """Load a tagger and its acts from the folder `path`; a saved model is wrapped in a tagger.

        With `verify`, the checksum is verified first, which reads all data once. `acts` is a ledger outside the folder,
        with further acts; new acts are recorded there.
        """

        def reader(where: Path, manifest: dict[str, Any]) -> Tagger:
            tagger = Tagger.around(folder.read_base(where, manifest, find_stored, verify=verify))
            home.attach(tagger, where, manifest, None if acts is None else Path(acts))
            return tagger

        return folder.read(path, reader)

    def attach_to(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        """Remember the folder that the tagger was loaded from, and apply the acts there."""
        home.attach(self, folder, manifest)

    def stored_parameters(self) -> dict[str, Any]:
        """Parameters that define the tagger."""
        left_out = ("n_jobs", "vocabulary", "encoder")
        own = {name: value for name, value in self.get_params().items() if name not in left_out}
        return own | {"model": name_of(self.model) if isinstance(self.model, type) else self.model}


show_parameters(Tagger, n_positional=3, others="model_params")
