"""MLLCS: labels of samples and co-occurrence of labels in one latent factor model (ML-LCS)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import ndtr

from tacit.arrays import Floats, Floats32, Floats64
from tacit.core.base import Link, check_samples, within_range
from tacit.core.checks import as_count
from tacit.core.labels import label_counts, label_mask, positives, read_labels
from tacit.core.parameters import OneOf, Range, Tune, check_parameters, document_parameters
from tacit.core.ranking import Ranking
from tacit.errors import ParameterError
from tacit.kernels.score import top_k
from tacit.latent.counts import Cooccurrence, read_cooccurrence, row_scales
from tacit.latent.em import EMProblem, label_precisions, ridge_map, types_of
from tacit.latent.gibbs import Draws, sample_posterior
from tacit.latent.label_vectors import LabelVectors
from tacit.latent.lfm import FACTORS_AS_PRINTED, FactorModel
from tacit.latent.model import Counts, Factors, Priors, weighted_counts, with_constant
from tacit.latent.moment_matching import Samples, joined_samples, matched_vectors, sample_scales
from tacit.latent.online import OnlineState, online_resume, online_start, online_step
from tacit.latent.zero_shot import CalibrationFolds, ScoreScale, all_names, split_names
from tacit.numerics.logistic import sigmoid
from tacit.runtime.tasks import one_blas_thread
from tacit.store.declared import Array, Sometimes

if TYPE_CHECKING:
    from typing_extensions import Self

_MATCHING_STEPS = 40
_PROBIT = np.sqrt(np.pi / 8)  # scale at which a probit is closest to the logistic curve
_C2 = np.pi * np.log(2) / 2


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class MLLCS(FactorModel):
    """Bernoulli labels and negative-binomial co-occurrence counts that share the factors of seen labels.

    Of an unseen label only counts are known; a map Ψ leads from these to the factors that predict it.
    """

    lambda_beta: Annotated[float, Range(above=0), "precision of type-2 factors"] = 1.0
    lambda_psi: Annotated[float, Range(above=0), Tune(0.03, 3), "penalty on the map Ψ"] = 0.3
    dispersion: Annotated[float, Range(above=0), Tune(30, 3000), "r of the negative binomial"] = 300.0
    count_weight: Annotated[float, Range(above=0), Tune(0.01, 1), "weight of the counts beside the labels"] = 0.1
    own_counts: Annotated[bool, "learn from the count of a label with itself too"] = False
    mapping: Annotated[str, OneOf(("linear", "moments")), "Ψ (gibbs: linear), or moments in latent space"] = "moments"
    moment_ridge: Annotated[float, Range(above=0), Tune(0.005, 0.5), "penalty on factors (mapping='moments')"] = 0.05
    count_positives: Annotated[float, Range(low=0), "positives that counts of a seen label weigh (moments)"] = 10.0
    max_samples: Annotated[int, Range(low=1), "largest number of samples kept, for moments and partial_fit"] = 20000
    inference: Annotated[str, OneOf(("em", "variational", "gibbs")), "how factors are learned"] = "em"
    n_draws: Annotated[int, Range(low=1), "draws kept (gibbs)"] = 50
    n_burn_in: Annotated[int, Range(low=0), "burn-in draws, which are discarded (gibbs)"] = 100
    thin: Annotated[int, Range(low=1), "draws for each one kept (gibbs)"] = 4
    online_samples: Annotated[int | None, Range(low=1), "samples that batches come from (None: those so far)"] = None
    calibration_folds: CalibrationFolds = 2

    label_factors_: Annotated[Floats32, Array("float32", ("n_seen", "n_factors"), up_to=1e9)] = field(init=False)
    regression_: Annotated[Floats32, Array("float32", ("n_features+1", "n_factors"))] = field(init=False)
    scales_: Annotated[Floats64, Array("float64", ("n_seen",))] = field(init=False)
    mapping_: Annotated[Floats32, Array("float32", ("n_factors", "n_factors"))] = field(init=False)
    samples_: Samples = field(init=False)
    sample_scales_: Annotated[Floats64, Array("float64", ("n_seen",))] = field(init=False)
    cooccurrence_: Cooccurrence = field(init=False)
    draws_: Annotated[Draws, Sometimes(unless=("inference", "gibbs"))] = field(init=False)
    online_: Annotated[OnlineState, Sometimes()] = field(init=False)
    relabelled_: Annotated[bool, Sometimes()] = field(init=False)

    PAPER: ClassVar[Mapping[str, Any]] = {
        **FACTORS_AS_PRINTED,
        "lambda_psi": 1.0,
        "dispersion": 5.0,
        "count_weight": 1.0,
        "own_counts": True,
        "mapping": "linear",
    }

    @property
    def _link(self) -> Link:
        return "logistic"

    def _priors(self) -> Priors:
        return Priors(self.lambda_u, self.lambda_v, self.lambda_beta, self.lambda_w)

    def _counts(self, cooccurrence: Cooccurrence, own: bool) -> Counts:
        return weighted_counts(cooccurrence.scaled(self.scales_), self.dispersion, self.count_weight, own=own)

    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, cooccurrence: Cooccurrence) -> LabelVectors:
        for left in ("draws_", "online_", "relabelled_"):  # of an earlier fit with other parameters
            self.__dict__.pop(left, None)
        n_positives = label_counts(Y)
        self.cooccurrence_ = cooccurrence
        self.scales_ = _relative_scales(cooccurrence, n_positives)
        counts = self._counts(cooccurrence, self.own_counts)
        problem = self._problem(X, Y, counts)
        trained = self._train(problem, cooccurrence.n_labels, self.inference == "variational")
        factors, spread = trained.factors, trained.spread
        self._map_unseen(factors, counts)
        self._keep(joined_samples(None, Samples(X, Y), 0, self.max_samples, self.random_state))
        if self.inference == "gibbs":
            steps = range(self.n_burn_in, self.n_burn_in + self.n_draws * self.thin, self.thin)
            options = (self.lambda_psi, steps, self.random_state)
            self.draws_ = sample_posterior(problem, counts, factors, n_positives > 0, *options)
            self.projection_ = None
            return self.draws_.mean_scores()
        # After EM the variances are those of the Laplace approximation.
        variances = 1 / label_precisions(problem, factors) if spread is None else spread.V
        return self._with_counts(factors, variances, n_positives)

    def _keep(self, samples: Samples) -> None:
        """Keep samples by their features, because their latent factors change with every batch."""
        self.samples_ = samples
        self.sample_scales_ = sample_scales(samples, self.cooccurrence_)

    def _with_counts(self, factors: Factors, variances: Floats, n_positives: npt.NDArray[np.int64]) -> LabelVectors:
        """Vectors of seen labels averaged with those that their counts alone lead to, as for unseen labels.

        The errors of both differ, and the counts may come from more samples than the training data. The fewer
        positives a label has, the larger the weight of its counts.
        """
        own = LabelVectors.of_factors(factors.W, factors.V, np.ascontiguousarray(variances.T, dtype=np.float32))
        if self.mapping != "moments" or self.count_positives == 0:
            return own
        counts = self.cooccurrence_.columns(slice(len(n_positives)))
        shares = counts.is_counted() * self.count_positives / (self.count_positives + n_positives)
        return own.mixed(self._unseen_vectors(counts), np.asarray(shares, dtype=np.float32))

    def _join_vectors(self, learned: LabelVectors, n_positives: npt.NDArray[np.int64], counts: Cooccurrence) -> None:
        if self.inference != "gibbs":
            super()._join_vectors(learned, n_positives, counts)
            return
        is_unseen = np.pad(n_positives == 0, (0, counts.n_labels - len(n_positives)), constant_values=True)
        seen, unseen = (curve.applied(learned) for curve in (self.seen_curve_, self.unseen_curve_))
        self.vectors_ = seen.mixed(unseen, is_unseen.astype(np.float32)).silenced(is_unseen & ~counts.is_counted())

    def _map_unseen(self, factors: Factors, counts: Counts) -> None:
        """Keep what the vectors of unseen labels are computed from."""
        V, n_seen = factors.V, len(factors.V)
        self.label_factors_, self.regression_ = V, factors.W
        own = Counts(counts.values[:, :n_seen], counts.totals[:, :n_seen])
        self.mapping_ = ridge_map(types_of(V, own, self.lambda_beta), V, self.lambda_psi)

    def _unseen_vectors(self, cooccurrence: Cooccurrence) -> LabelVectors:
        if self.mapping == "moments":
            kept, options = self.samples_, (self.moment_ridge, _MATCHING_STEPS, self.n_jobs)
            latent = Samples(np.asarray(with_constant(kept.features) @ self.regression_), positives(kept.Y))
            matched = matched_vectors(latent, self.sample_scales_, cooccurrence, *options)
            V, shift = matched.columns.T, matched.intercepts
        else:
            V = types_of(self.label_factors_, self._counts(cooccurrence, own=True), self.lambda_beta) @ self.mapping_
            shift = np.zeros(len(V), np.float32)
        found = LabelVectors.of_factors(self.regression_, V)
        variances = np.full_like(found.columns, 1 / self.lambda_v)  # those of the prior, as no sample was seen
        return LabelVectors(found.columns, found.intercepts + shift, variances)

    # -- active learning ----------------------------------------------------------------------------------

    def uncertain(self, X: Any, k: int = 5, include: Any = None, exclude: Any = None) -> Ranking:
        """The `k` labels of each sample about which a yes-or-no answer would teach the model most.

        Scores are the expected information of the answer in bits. Parameters are those of `rank`.
        """
        self._check_fitted()
        if self.vectors_.variances is None or self.projection_ is None:
            raise ParameterError(
                "uncertain needs variances of the label factors, which inference='em' and 'variational' keep, but not "
                "Gibbs sampling; use intervals"
            )
        k = as_count(k, "k")
        features = self._features(X)
        allowed = label_mask(self.classes_, include, exclude)
        U = np.asarray(features @ self.projection_ + self.regression_[-1])
        vectors = self.vectors_
        variance = (U * U) @ vectors.variances + (vectors.columns**2).sum(axis=0) / np.float32(self.lambda_u)
        scores = information(self._scores(features), variance)
        mask = np.ones(len(self.classes_), np.bool_) if allowed is None else allowed
        return Ranking(*top_k(scores, mask, min(k, int(mask.sum()))))

    def intervals(self, X: Any, level: float = 0.9) -> tuple[Floats32, Floats32]:
        """Lower and upper bounds of the probability of every label, from the draws of Gibbs sampling."""
        self._check_fitted()
        if not hasattr(self, "draws_"):
            raise ParameterError("intervals come from draws; train with inference='gibbs'")
        log_odds = self.draws_.log_odds(with_constant(self._features(X)))
        seen, unseen = (curve.slope * log_odds + curve.intercept for curve in (self.seen_curve_, self.unseen_curve_))
        log_odds = np.where(self.label_counts_ > 0, seen, unseen)
        tails = (1 - level) / 2
        low, high = np.quantile(sigmoid(log_odds), [tails, 1 - tails], axis=0)
        return low.astype(np.float32), high.astype(np.float32)

    # -- batches ----------------------------------------------------------------------------------------------

    def partial_fit(
        self, X: Any, Y: Any, *, label_names: Sequence[Any] | None = None, cooccurrence: Any = None
    ) -> Self:
        """Learn from a batch of samples by online EM; call it again with the next batch.

        The first call determines the labels and needs the co-occurrence, by default that of its own labels. After
        `fit`, learning continues from the statistics of the fit, which the kept samples (`max_samples`) represent;
        counts and calibration stay those of the fit. The weight of a batch is its fraction of all samples so far, and
        without a fit a power of it, so that what the poor first factors led to is forgotten. The statistics take
        n_seen · K² numbers.
        """
        check_parameters(self)
        if self.inference == "gibbs":
            raise ParameterError("partial_fit learns by EM and cannot continue from draws; use inference='em'")
        is_first = not hasattr(self, "classes_")
        if getattr(self, "relabelled_", False):
            raise ParameterError("labels were added or removed since the training; fit again with all of them")
        seen, unseen = split_names(label_names, cooccurrence) if is_first else (self.seen_names_, None)
        labels = read_labels(Y, seen, known_negatives=self.absent == "missing")
        checked = self._checked(X, is_fit=is_first)
        check_samples(checked, labels.matrix)
        features = self._scaled(checked, is_fit=is_first)
        with one_blas_thread(), within_range():
            if is_first:
                self._start_online(labels, features, unseen, cooccurrence)
            elif not hasattr(self, "online_"):
                self._resume_online()
            self._learn_on(features, labels.matrix)
        return self

    def _learn_on(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        """One step of online EM, and the label vectors that follow from it."""
        past = with_constant(self.samples_.features) if self.n_samples_ else None
        total = self.online_samples
        self.online_ = online_step(self.online_, self._batch(X, Y), total, past)
        n_positives = label_counts(Y)
        self.label_counts_ = self.label_counts_ + np.pad(n_positives, (0, len(self.label_counts_) - len(n_positives)))
        n_before = self.n_samples_
        self.n_samples_ += int(X.shape[0])
        factors = self.online_.factors
        self.projection_ = factors.W[:-1].copy()
        self._map_unseen(factors, self.online_.counts)
        variances = 1 / self.online_.label_precisions(self._priors(), total)
        kept = self.samples_ if n_before else None
        self._keep(joined_samples(kept, Samples(X, Y), n_before, self.max_samples, self.random_state))
        n_positives = self.label_counts_[: len(factors.V)]
        self._join_vectors(self._with_counts(factors, variances, n_positives), n_positives, self.cooccurrence_)
        self.threshold_ = self._matching_threshold(self.samples_.features, positives(self.samples_.Y))

    def _batch(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> EMProblem:
        return EMProblem(with_constant(X), Y, None, self._priors(), absent=self.absent)

    def _start_online(self, labels: Any, X: sparse.csr_matrix, unseen_names: Any, cooccurrence: Any) -> None:
        ones = positives(labels.matrix)
        n_seen = labels.matrix.shape[1]
        counts = read_cooccurrence(ones.T @ ones if cooccurrence is None else cooccurrence, n_seen)
        self.scales_ = np.ones(n_seen)
        self.seen_names_, self.container_ = labels.names, labels.container
        self.classes_ = all_names(labels.names, unseen_names, counts.n_labels)
        self.label_counts_ = np.zeros(counts.n_labels, np.int64)
        self.n_samples_ = 0
        self.seen_curve_ = self.unseen_curve_ = ScoreScale()
        self.cooccurrence_ = counts
        K = self._length(n_seen, counts.n_labels)
        self.online_ = online_start(X.shape[1] + 1, self._counts(counts, self.own_counts), K, self.random_state)

    def _resume_online(self) -> None:
        """Start online EM from the statistics of the fit."""
        data = (self._batch(self.samples_.features, self.samples_.Y), self._counts(self.cooccurrence_, self.own_counts))
        factors = (self.label_factors_, self.regression_)
        self.online_ = online_resume(*data, *factors, self.n_samples_, self.online_samples)

    def add_labels(self, columns: Any, names: Sequence[Any] | None = None) -> Self:
        """Add labels known by their co-occurrence with the seen labels; see `ZeroShot.add_labels`."""
        if hasattr(self, "draws_"):
            raise ParameterError("labels cannot be added to draws from the posterior; fit again with all of them")
        super().add_labels(columns, names)
        self.relabelled_ = True
        return self

    def remove_labels(self, ids: Any) -> Self:
        """Remove labels, by column number or name; see `ZeroShot.remove_labels`."""
        self._check_fitted()
        kept = label_mask(self.classes_, None, ids)
        super().remove_labels(ids)
        if hasattr(self, "draws_"):
            self.draws_ = replace(self.draws_, V=self.draws_.V[:, kept])
        self.relabelled_ = True
        return self


def information(mean: Floats32, variance: Floats32) -> Floats32:
    """Expected information about the model in the answer for a Gaussian log-odds (Houlsby et al., 2011, Eq. 3)."""
    mean, variance = _PROBIT * mean.astype(np.float64), _PROBIT**2 * variance.astype(np.float64)
    p = np.clip(ndtr(mean / np.sqrt(variance + 1)), 1e-12, 1 - 1e-12)
    entropy_of_mean = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    mean_entropy = np.sqrt(_C2 / (variance + _C2)) * np.exp(-(mean**2) / (2 * (variance + _C2)))
    return np.asarray(np.maximum(entropy_of_mean - mean_entropy, 0), dtype=np.float32)


def _relative_scales(cooccurrence: Cooccurrence, n_positives: npt.NDArray[np.int64]) -> Floats64:
    """Factors that bring rows to one scale but keep the total of all counts, which is their weight as evidence."""
    scales = row_scales(cooccurrence, n_positives.astype(np.float64))
    own = cooccurrence.counts.diagonal()
    total = float(scales @ own)
    return scales * (own.sum() / total) if total > 0 else scales
