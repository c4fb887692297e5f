"""MLLCS: labels of samples and co-occurrence of labels in one latent factor model (ML-LCS)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import ndtr

from tacit.arrays import Floats32, Floats64
from tacit.core.base import Link, check_samples, within_range
from tacit.core.checks import as_count
from tacit.core.labels import label_counts, label_mask, positives, read_labels
from tacit.core.parameters import OneOf, Range, Tune, check_parameters, document_parameters
from tacit.core.ranking import Ranking
from tacit.errors import ParameterError
from tacit.kernels.score import top_k
from tacit.latent.counts import Cooccurrence, read_cooccurrence, row_scales
from tacit.latent.em import EMProblem, label_precisions, ridge_map, types_of
from tacit.latent.gibbs import Draws, draw_types, sample_posterior
from tacit.latent.label_vectors import LabelVectors
from tacit.latent.lfm import FACTORS_AS_PRINTED, FactorModel
from tacit.latent.model import Counts, Factors, Priors, weighted_counts, with_constant
from tacit.latent.moment_matching import Samples, chosen_rows, joined_samples, matched_vectors, sample_scales
from tacit.latent.online import OnlineState, online_resume, online_start, online_step
from tacit.latent.zero_shot import CalibrationFolds, ScoreScale, all_names, n_rows
from tacit.numerics.logistic import sigmoid
from tacit.runtime.tasks import one_blas_thread
from tacit.store.declared import Array, Sometimes

if TYPE_CHECKING:
    from typing_extensions import Self

_MATCHING_STEPS = 40
_PROBIT = np.sqrt(np.pi / 8)  # scale at which a probit is closest to the logistic curve
_C2 = np.pi * np.log(2) / 2
_ACT_WITH = {  # options that act with one value of another only; the ones that a search tries may be idle
    "count_positives": ("mapping", "moments"),
    **dict.fromkeys(("n_draws", "n_burn_in", "thin"), ("inference", "gibbs")),
}


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
    mapping: Annotated[
        str,
        OneOf(("linear", "moments")),
        "Ψ from counts to vectors of unseen labels: regression on type-2 factors, or moments matched in latent space",
    ] = "moments"
    moment_ridge: Annotated[float, Range(above=0), Tune(0.005, 0.5), "penalty on factors (mapping='moments')"] = 0.05
    count_positives: Annotated[
        float, Range(low=0), "positives that the counts of a seen label stand for in its score (mapping='moments')"
    ] = 10.0
    max_samples: Annotated[int, Range(low=1), "largest number of samples kept, for moments and partial_fit"] = 20000
    inference: Annotated[
        str, OneOf(("em", "variational", "gibbs")), "point estimates, posterior variances, or Gibbs draws (small data)"
    ] = "em"
    n_draws: Annotated[int, Range(low=1), "draws kept (gibbs)"] = 50
    n_burn_in: Annotated[int, Range(low=0), "burn-in draws, which are discarded (gibbs)"] = 100
    thin: Annotated[int, Range(low=1), "draws for each one kept (gibbs)"] = 4
    online_samples: Annotated[
        int | None, Range(low=1), "number of samples that the batches of partial_fit come from (None: those so far)"
    ] = None
    calibration_folds: CalibrationFolds = 2

    label_factors_: Annotated[Floats32, Array("float32", ("n_seen", "n_factors"), up_to=1e9)] = field(init=False)
    regression_: Annotated[Floats32, Array("float32", ("n_features+1", "n_factors"))] = field(init=False)
    scales_: Annotated[Floats64, Array("float64", ("n_seen",))] = field(init=False)
    mapping_: Annotated[Floats32, Array("float32", ("n_factors", "n_factors"))] = field(init=False)
    samples_: Samples = field(init=False)
    sample_scales_: Annotated[Floats64, Array("float64", ("n_seen",))] = field(init=False)
    cooccurrence_: Cooccurrence = field(init=False)
    draws_: Annotated[Draws, Sometimes(unless=("inference", "gibbs"))] = field(init=False)
    label_draws_: Annotated[Floats32, Array("float32", ("n_draws", "n_labels", "n_factors+1")), Sometimes()] = field(
        init=False
    )
    online_: Annotated[OnlineState, Sometimes()] = field(init=False)
    relabelled_: Annotated[bool, Sometimes()] = field(init=False)

    PAPER: ClassVar[Mapping[str, Any]] = {
        **FACTORS_AS_PRINTED,
        "lambda_beta": 1.0,
        "lambda_psi": 1.0,
        "dispersion": 5.0,
        "count_weight": 1.0,
        "own_counts": True,
        "mapping": "linear",
        "inference": "em",
    }

    @property
    def _link(self) -> Link:
        return "logistic"

    def _priors(self) -> Priors:
        return Priors(self.lambda_u, self.lambda_v, self.lambda_beta, self.lambda_w)

    def _counts(self, cooccurrence: Cooccurrence, own: bool) -> Counts:
        return weighted_counts(cooccurrence.scaled(self.scales_), self.dispersion, self.count_weight, own=own)

    def _fit_checked(self, X: Any, Y: Any, label_names: Sequence[Any] | None, **data: Any) -> Self:
        self._check_options()
        return super()._fit_checked(X, Y, label_names, **data)

    def _check_options(self) -> None:
        check_parameters(self)
        for name, (other, needed) in _ACT_WITH.items():
            value = getattr(self, name)
            if value != getattr(type(self), name) and getattr(self, other) != needed:
                raise ParameterError(
                    f"{name}={value!r} acts only with {other}='{needed}', not with '{getattr(self, other)}'; leave it "
                    f"out, or set {other}='{needed}'"
                )

    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, cooccurrence: Cooccurrence) -> LabelVectors:
        for left in ("draws_", "label_draws_", "online_", "relabelled_"):  # of an earlier fit with other parameters
            self.__dict__.pop(left, None)
        ones = positives(Y)
        self.cooccurrence_ = cooccurrence
        self.scales_ = _relative_scales(cooccurrence, ones)
        counts = self._counts(cooccurrence, self.own_counts)
        trained = self._train(X, Y, counts, cooccurrence.n_labels, self.inference == "variational")
        self._map_unseen(trained.factors, counts)
        rows = chosen_rows(X.shape[0], self.max_samples, self.random_state)
        self._keep(Samples(X[rows], Y[rows]))
        problem = self._problem(X, Y, counts)
        if self.inference == "gibbs":
            options = (self.n_draws, self.n_burn_in, self.thin, self.random_state)
            self.draws_ = sample_posterior(problem, trained.factors, *options)
            self.projection_ = None
            self.label_draws_ = self._drawn_labels(label_counts(ones))
            return _mean_scores(self.draws_.W, self.label_draws_)
        factors, spread = trained.factors, trained.spread
        # After EM the variances are those of the Laplace approximation.
        variances = 1 / label_precisions(problem, factors) if spread is None else spread.V
        variances = np.ascontiguousarray(variances.T, dtype=np.float32)
        return self._with_counts(LabelVectors.of_factors(factors.W, factors.V, variances), label_counts(ones))

    def _keep(self, samples: Samples) -> None:
        """Keep samples by their features, because their latent factors change with every batch."""
        self.samples_ = samples
        self.sample_scales_ = sample_scales(samples, self.cooccurrence_)

    def _latent_samples(self) -> Samples:
        """The kept samples, in the present space of the factors."""
        kept, W = self.samples_, self.regression_
        last = getattr(self, "_in_space", None)
        if last is None or last[0] is not kept or last[1] is not W:
            last = (kept, W, Samples(np.asarray(with_constant(kept.features) @ W), positives(kept.Y)))
            self._in_space = last
        return last[2]

    def _with_counts(self, own: LabelVectors, n_positives: npt.NDArray[np.int64]) -> LabelVectors:
        """Vectors of seen labels averaged with those that their counts alone lead to, as for unseen labels.

        The errors of both differ, and the counts may come from more samples than the training data. The fewer
        positives a label has, the larger the weight of its counts.
        """
        if self.mapping != "moments" or self.count_positives == 0:
            return own
        counts = self.cooccurrence_.columns(slice(len(n_positives)))
        return own.mixed(self._unseen_vectors(counts), self._shares_of_counts(n_positives))

    def _shares_of_counts(self, n_positives: npt.NDArray[np.int64]) -> Floats32:
        counts = self.cooccurrence_.columns(slice(len(n_positives)))
        is_counted = np.asarray(counts.counts.sum(axis=0)).ravel() > 0
        shares = is_counted * self.count_positives / (self.count_positives + n_positives)
        return np.asarray(shares, dtype=np.float32)

    def _drawn_labels(self, n_positives: npt.NDArray[np.int64]) -> Floats32:
        """For each draw, the factors of all labels, and what is added to their scores."""
        from_counts = self._drawn_vectors(self.cooccurrence_, self.draws_.B)
        n_more = self.cooccurrence_.n_labels - len(n_positives)
        own = np.pad(self.draws_.V, ((0, 0), (0, n_more), (0, 1)))
        shares = np.where(n_positives > 0, 0, np.float32(1))
        if self.mapping == "moments" and self.count_positives > 0:
            shares = np.where(n_positives > 0, self._shares_of_counts(n_positives), shares)
        shares = np.pad(shares, (0, n_more), constant_values=1)[:, None]
        return np.asarray((1 - shares) * own + shares * from_counts, dtype=np.float32)

    def _drawn_vectors(self, cooccurrence: Cooccurrence, B: Floats32) -> Floats32:
        """For each draw, what Ψ makes of counts and of the type-2 factors drawn for them; see `_drawn_labels`."""
        found = []
        for W, V, own, types in zip(self.draws_.W, self.draws_.V, self.draws_.B, B, strict=True):
            if self.mapping == "moments":
                samples = Samples(np.asarray(with_constant(self.samples_.features) @ W), positives(self.samples_.Y))
                matched = self._matched(samples, cooccurrence)
                found.append(np.vstack([matched.columns, matched.intercepts]).T)
            else:
                found.append(np.pad(types @ ridge_map(own[: len(V)], V, self.lambda_psi), ((0, 0), (0, 1))))
        return np.stack(found)

    def _matched(self, samples: Samples, cooccurrence: Cooccurrence) -> LabelVectors:
        options = ("logistic", self.moment_ridge, _MATCHING_STEPS, self.n_jobs)
        return matched_vectors(samples, self.sample_scales_, cooccurrence, *options)

    def _join_vectors(self, learned: LabelVectors, n_positives: npt.NDArray[np.int64], counts: Cooccurrence) -> None:
        if self.inference != "gibbs":
            super()._join_vectors(learned, n_positives, counts)
            return
        is_unseen = np.pad(n_positives == 0, (0, counts.n_labels - len(n_positives)), constant_values=True)
        is_unknown = is_unseen & (np.asarray(counts.counts.sum(axis=0)).ravel() == 0)
        seen, unseen = (curve.applied(learned) for curve in (self.seen_curve_, self.unseen_curve_))
        self.vectors_ = seen.mixed(unseen, is_unseen.astype(np.float32)).silenced(is_unknown)

    def _map_unseen(self, factors: Factors, counts: Counts) -> None:
        """Keep what the vectors of unseen labels are computed from."""
        V, n_seen = factors.V, len(factors.V)
        self.label_factors_, self.regression_ = V, factors.W
        own = Counts(counts.values[:, :n_seen], counts.totals[:, :n_seen])
        self.mapping_ = ridge_map(types_of(V, own, self.lambda_beta), V, self.lambda_psi)

    def _unseen_vectors(self, cooccurrence: Cooccurrence) -> LabelVectors:
        counts = self._counts(cooccurrence, own=True)
        if self.inference == "gibbs":  # labels that are added: those of the fit have draws
            B = draw_types(self.draws_.V, counts, self.lambda_beta, self.random_state)
            drawn = self._drawn_vectors(cooccurrence, B)
            self.label_draws_ = np.concatenate([self.label_draws_, drawn], axis=1)
            return _mean_scores(self.draws_.W, drawn)
        if self.mapping == "moments":
            matched = self._matched(self._latent_samples(), cooccurrence)
            V, shift = matched.columns.T, matched.intercepts
        else:
            V = types_of(self.label_factors_, counts, self.lambda_beta) @ self.mapping_
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
        if not hasattr(self, "label_draws_"):
            raise ParameterError("intervals come from draws of all labels; train with inference='gibbs'")
        features = with_constant(self._features(X))
        draws = zip(self.draws_.W, self.label_draws_, strict=True)
        log_odds = np.stack([(features @ W) @ V[:, :-1].T + V[:, -1] for W, V in draws])
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
        counts and calibration stay those of the fit. The weight of a batch is the share of its samples among all so
        far, and without a fit a power of it, so that what the poor first factors led to is forgotten. The statistics
        take n_seen · K² numbers.
        """
        self._check_options()
        if self.inference == "gibbs":
            raise ParameterError("partial_fit learns by EM and cannot continue from draws; use inference='em'")
        is_first = not hasattr(self, "classes_")
        if not is_first and (len(self.classes_) != self.cooccurrence_.n_labels or getattr(self, "relabelled_", False)):
            raise ParameterError("labels were added or removed since the training; fit again with all of them")
        names = self.seen_names_ if not is_first else None if label_names is None else list(label_names)
        n_seen = None if cooccurrence is None else n_rows(cooccurrence)
        labels = read_labels(Y, names if names is None else names[:n_seen], known_negatives=self.absent == "missing")
        checked = self._checked(X, is_fit=is_first)
        check_samples(checked, labels.matrix)
        features = self._scaled(checked, is_fit=is_first)
        with one_blas_thread(), within_range():
            if is_first:
                self._start_online(labels, features, names, cooccurrence)
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
        variances = np.ascontiguousarray(1 / self.online_.label_precisions(self._priors(), total).T, dtype=np.float32)
        limit = (self.max_samples, self.random_state)
        rows = chosen_rows(X.shape[0], *limit)
        first = Samples(X[rows], Y[rows])
        self._keep(joined_samples(self.samples_, Samples(X, Y), n_before, *limit) if n_before else first)
        n_positives = self.label_counts_[: len(factors.V)]
        own = self._with_counts(LabelVectors.of_factors(factors.W, factors.V, variances), n_positives)
        self._join_vectors(own, n_positives, self.cooccurrence_)
        self.threshold_ = self._matching_threshold(self.samples_.features, positives(self.samples_.Y))

    def _batch(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> EMProblem:
        return EMProblem(with_constant(X), Y, None, self._priors(), absent=self.absent)

    def _start_online(self, labels: Any, X: sparse.csr_matrix, names: Any, cooccurrence: Any) -> None:
        ones = positives(labels.matrix)
        n_seen = labels.matrix.shape[1]
        counts = read_cooccurrence(ones.T @ ones if cooccurrence is None else cooccurrence, n_seen)
        self.scales_ = np.ones(n_seen)
        self.seen_names_, self.container_ = labels.names, labels.container
        more = None if names is None else np.array(names[n_seen:], dtype=object)
        self.classes_ = all_names(labels.names, more, counts.n_labels)
        self.label_counts_ = np.zeros(counts.n_labels, np.int64)
        self.n_samples_ = 0
        self.trace_ = np.empty(0)
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
        super().add_labels(columns, names)
        self.relabelled_ = True
        return self

    def remove_labels(self, ids: Any) -> Self:
        """Remove labels, by column number or name; see `ZeroShot.remove_labels`."""
        self._check_fitted()
        kept = label_mask(self.classes_, None, ids)
        super().remove_labels(ids)
        if hasattr(self, "label_draws_"):
            self.label_draws_ = self.label_draws_[:, kept]
        self.relabelled_ = True
        return self


def information(mean: Floats32, variance: Floats32) -> Floats32:
    """Expected information about the model in the answer for a Gaussian log-odds (Houlsby et al., 2011, Eq. 3)."""
    mean, variance = _PROBIT * mean.astype(np.float64), _PROBIT**2 * variance.astype(np.float64)
    p = np.clip(ndtr(mean / np.sqrt(variance + 1)), 1e-12, 1 - 1e-12)
    entropy_of_mean = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    mean_entropy = np.sqrt(_C2 / (variance + _C2)) * np.exp(-(mean**2) / (2 * (variance + _C2)))
    return np.asarray(np.maximum(entropy_of_mean - mean_entropy, 0), dtype=np.float32)


def _mean_scores(W: Floats32, labels: Floats32) -> LabelVectors:
    """The mean over draws of the scores of labels, which are linear in x; see `MLLCS._drawn_labels`."""
    draws = np.stack([w @ v[:, :-1].T for w, v in zip(W, labels, strict=True)])
    draws[:, -1] += labels[:, :, -1]
    coefficients = np.asarray(draws.mean(axis=0, dtype=np.float64), dtype=np.float32)
    return LabelVectors(coefficients[:-1].copy(), coefficients[-1].copy())


def _relative_scales(cooccurrence: Cooccurrence, Y: sparse.csr_matrix) -> Floats64:
    """Factors that bring rows to one scale but keep the total of all counts, which is their weight as evidence."""
    scales = row_scales(cooccurrence, label_counts(Y).astype(np.float64))
    own = cooccurrence.counts.diagonal().sum()
    total = float(scales @ cooccurrence.counts.diagonal())
    return scales * (own / total) if total > 0 else scales
