"""MLLCS: labels of samples and co-occurrence of labels as one latent factor model (ML-LCS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.base import Link, _check_samples
from tacit.checks import as_count
from tacit.errors import ParameterError
from tacit.kernels.score import top_k
from tacit.labels import label_counts, label_mask, positives, read_labels
from tacit.latent.active import information
from tacit.latent.calibration import Curve
from tacit.latent.counts import Cooccurrence, read_cooccurrence, row_scales
from tacit.latent.em import Problem, label_precisions, types_of
from tacit.latent.gibbs import Draws, sample_posterior
from tacit.latent.lfm import FactorModel
from tacit.latent.mapping import Mapping, MappingName, fit_mapping
from tacit.latent.matching import Samples, chosen_rows, joined_samples, matched_vectors, sample_scales
from tacit.latent.model import Counts, Factors, Priors, Spread, weighed_counts
from tacit.latent.online import OnlineState, online_resume, online_start, online_step
from tacit.latent.training import label_vectors, with_constant
from tacit.latent.vectors import LabelVectors
from tacit.latent.zero_shot import all_names, n_rows
from tacit.numerics.ridge import MAX_FACTOR
from tacit.parameters import OneOf, Range, Tune, document_parameters
from tacit.ranking import Ranking
from tacit.store.declared import Array, Inside, Sometimes
from tacit.tasks import one_blas_thread

if TYPE_CHECKING:
    from typing_extensions import Self

Floats32 = npt.NDArray[np.float32]

_MATCHING_STEPS = 40


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class MLLCS(FactorModel):
    """Bernoulli labels and negative-binomial co-occurrence counts that share the factors of seen labels.

    An unseen label has only counts; a map Ψ takes them to the factors that predict it.
    """

    lambda_beta: Annotated[float, Range(above=0), "precision of type-2 factors"] = 1.0
    lambda_psi: Annotated[float, Range(above=0), Tune(0.03, 3), "penalty on the map Ψ"] = 0.3
    dispersion: Annotated[float, Range(above=0), Tune(30, 3000), "r of the negative binomial"] = 300.0
    count_weight: Annotated[
        float, Range(above=0), Tune(0.01, 1), "weight of the counts beside the labels of samples"
    ] = 0.1
    own_counts: Annotated[bool, "whether the count of a label with itself is learned from"] = False
    mapping: MappingName = "moments"
    mapping_in_model: Annotated[bool, "learn a linear Ψ in every sweep, as the prior mean of label factors"] = False
    moment_ridge: Annotated[float, Range(above=0), Tune(0.005, 0.5), "penalty on label factors (mapping='moments')"] = (
        0.05
    )
    count_positives: Annotated[
        float, Range(low=0), "positives that the counts of a seen label stand for in its score (mapping='moments')"
    ] = 10.0
    max_samples: Annotated[int, Range(low=1), "samples at most that are kept, for moments and for partial_fit"] = 20000
    inference: Annotated[
        str, OneOf(("em", "variational", "gibbs")), "point estimates, these with variances, or draws (small data)"
    ] = "em"
    n_draws: Annotated[int, Range(low=1), "draws kept (gibbs)"] = 50
    n_burn_in: Annotated[int, Range(low=0), "draws thrown away first (gibbs)"] = 100
    thin: Annotated[int, Range(low=1), "draws for each one that is kept (gibbs)"] = 4
    online_samples: Annotated[
        int | None, Range(low=1), "how many samples the batches of partial_fit come from (None: those seen so far)"
    ] = None
    calibration_folds: Annotated[
        int, Range(low=0, high=5), "trials with seen labels hidden, to put unseen ones on their scale; 0: none"
    ] = 2

    label_factors_: Annotated[Floats32, Array("float32", ("n_seen", "n_factors"), up_to=1e9)] = field(init=False)
    regression_: Annotated[Floats32, Array("float32", ("n_features+1", "n_factors"))] = field(init=False)
    scales_: Annotated[npt.NDArray[np.float64], Array("float64", ("n_seen",))] = field(init=False)
    mapping_: Mapping = field(init=False)
    samples_: Annotated[Samples, Inside(("n_inputs", "n_factors")), Sometimes()] = field(init=False)
    sample_scales_: Annotated[npt.NDArray[np.float64], Array("float64", ("n_seen",)), Sometimes()] = field(init=False)
    cooccurrence_: Cooccurrence = field(init=False)
    draws_: Annotated[Draws, Sometimes(unless=("inference", "gibbs"))] = field(init=False)
    online_: Annotated[OnlineState, Sometimes()] = field(init=False)
    relabelled_: Annotated[bool, Sometimes()] = field(init=False)

    @property
    def _link(self) -> Link:
        return "logistic"

    def _priors(self) -> Priors:
        psi = self.lambda_psi if self.mapping_in_model else None
        return Priors(self.lambda_u, self.lambda_v, self.lambda_beta, self.lambda_w, psi)

    def _counts(self, cooccurrence: Cooccurrence, own: bool) -> Counts:
        return weighed_counts(cooccurrence.scaled(self.scales_), self.dispersion, self.count_weight, own=own)

    def _learn(self, X: sparse.csr_matrix, Y: sparse.csr_matrix, cooccurrence: Cooccurrence) -> LabelVectors:
        for left in ("draws_", "online_", "relabelled_"):  # by an earlier fit with other parameters
            self.__dict__.pop(left, None)
        ones = positives(Y)
        self.cooccurrence_ = cooccurrence
        self.scales_ = _relative_scales(cooccurrence, ones)
        counts = self._counts(cooccurrence, self.own_counts)
        trained = self._train(X, Y, counts, self.inference == "variational")
        self._map_unseen(trained.factors, counts)
        rows = chosen_rows(X.shape[0], self.max_samples, self.random_state)
        self._keep(Samples(X[rows], Y[rows]))
        problem = self._problem(X, Y, counts)
        if self.inference == "gibbs":
            self.draws_ = sample_posterior(
                problem, trained.factors, self.n_draws, self.n_burn_in, self.thin, self.random_state
            )
            self.projection_ = None
            return _mean_scores(self.draws_.W, self.draws_.V)
        return self._with_counts(self._with_variances(problem, trained.factors, trained.spread), label_counts(ones))

    def _keep(self, samples: Samples) -> None:
        """Keep samples by their features: where they are in the space of the factors changes with every batch."""
        self.samples_ = samples
        self.sample_scales_ = sample_scales(samples, self.cooccurrence_)

    def _latent_samples(self) -> Samples:
        """The samples kept, in the space of the factors as it is."""
        kept, W = self.samples_, self.regression_
        if isinstance(kept.X, np.ndarray):  # by an earlier version, which kept them in that space
            return kept
        last = getattr(self, "_in_space", None)
        if last is None or last[0] is not kept or last[1] is not W:
            last = (kept, W, Samples(np.asarray(with_constant(kept.X) @ W), positives(kept.Y)))
            self._in_space = last
        return last[2]

    def _with_variances(self, problem: Problem, factors: Factors, spread: Spread | None) -> LabelVectors:
        """Label vectors and their variances; after EM those of a Gaussian at its end (Laplace)."""
        variances = 1 / label_precisions(problem, factors) if spread is None else spread.V
        found = label_vectors(factors.W, factors.V)
        return LabelVectors(found.columns, found.intercepts, np.ascontiguousarray(variances.T, dtype=np.float32))

    def _with_counts(self, own: LabelVectors, n_positives: npt.NDArray[np.int64]) -> LabelVectors:
        """Seen labels told from their samples and, as unseen ones are, from their counts.

        Both err in their own way, and counts may come from more samples than these; the rarer a label, the more it
        owes to them.
        """
        if self.mapping != "moments" or self.count_positives == 0:
            return own
        counts = self.cooccurrence_.columns(slice(len(n_positives)))
        is_counted = np.asarray(counts.counts.sum(axis=0)).ravel() > 0
        shares = is_counted * self.count_positives / (self.count_positives + n_positives)
        return own.mixed(self._unseen_vectors(counts), shares.astype(np.float32))

    def _map_unseen(self, factors: Factors, counts: Counts) -> None:
        """Keep what vectors of unseen labels are made from."""
        V, n_seen = factors.V, len(factors.V)
        self.label_factors_, self.regression_ = V, factors.W
        own = Counts(counts.values[:, :n_seen], counts.totals[:, :n_seen])
        B = types_of(V, own, self.lambda_beta)
        self.mapping_ = fit_mapping(self.mapping, B, V, self.lambda_psi, self.random_state)

    def _unseen_vectors(self, cooccurrence: Cooccurrence) -> LabelVectors:
        counts = self._counts(cooccurrence, own=True)
        if self.inference == "gibbs":
            pairs = zip(self.draws_.V, self.draws_.B, strict=True)
            maps = [(V, fit_mapping("linear", B[: len(V)], V, self.lambda_psi, None)) for V, B in pairs]
            V = np.stack([mapping(types_of(V, counts, self.lambda_beta)) for V, mapping in maps])
            return _mean_scores(self.draws_.W, V)
        if self.mapping == "moments" and self._has_samples():
            data = (self._latent_samples(), self.sample_scales_, cooccurrence)
            matched = matched_vectors(*data, "logistic", self.moment_ridge, _MATCHING_STEPS, self.n_jobs)
            V, shift = matched.columns.T, matched.intercepts
        else:
            V = self.mapping_(types_of(self.label_factors_, counts, self.lambda_beta))
            shift = np.zeros(len(V), np.float32)
        found = label_vectors(self.regression_, V)
        unsure = np.full_like(found.columns, 1 / self.lambda_v)  # no sample has been seen: the prior's
        return LabelVectors(found.columns, found.intercepts + shift, unsure)

    # -- what to ask about ----------------------------------------------------------------------------------

    def uncertain(self, X: Any, k: int = 5, include: Any = None, exclude: Any = None) -> Ranking:
        """The `k` labels of each sample whose answer, yes or no, would teach the model most.

        Scores are the expected information in bits. Parameters as in `rank`.
        """
        self._check_fitted()
        if self.vectors_.variances is None or self.projection_ is None:
            raise ParameterError("uncertain needs inference='em' or 'variational'; use intervals after Gibbs sampling")
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
        """Lower and upper ends of the probability of every label of Y, from the draws of Gibbs sampling."""
        self._check_fitted()
        if self.inference != "gibbs":
            raise ParameterError("intervals come from draws; train with inference='gibbs'")
        features = with_constant(self._features(X))
        log_odds = np.stack([(features @ W) @ V.T for W, V in zip(self.draws_.W, self.draws_.V, strict=True)])
        tails = (1 - level) / 2
        low, high = np.quantile(np.tanh(log_odds / 2) / 2 + 0.5, [tails, 1 - tails], axis=0)
        return low.astype(np.float32), high.astype(np.float32)

    # -- batches ----------------------------------------------------------------------------------------------

    def partial_fit(
        self, X: Any, Y: Any, *, label_names: Sequence[Any] | None = None, cooccurrence: Any = None
    ) -> Self:
        """Learn from a batch of samples by online EM; call it again with the next batch.

        The first call needs the co-occurrence (by default that of its own labels) and says which labels there are.
        After `fit` it goes on from the statistics of the fit, which the samples kept (`max_samples`) stand for: a batch
        counts as much as its samples do among all so far. Counts and calibration stay those of the fit, and unseen
        labels are mapped as there. Without a fit, every batch replaces a share of what is known, which falls slowly,
        and unseen labels are mapped by the linear Ψ; but with more than 4,000 features the first batch is fitted.
        The statistics take n_seen · K² numbers.
        """
        if self.inference == "gibbs":
            raise ParameterError("partial_fit learns by EM and cannot go on from draws; use inference='em'")
        is_first = not hasattr(self, "classes_")
        if not is_first and (len(self.classes_) != self.cooccurrence_.n_labels or getattr(self, "relabelled_", False)):
            raise ParameterError("labels were added or removed since the training; fit again with all of them")
        names = self.seen_names_ if not is_first else None if label_names is None else list(label_names)
        n_seen = None if cooccurrence is None else n_rows(cooccurrence)
        labels = read_labels(Y, names if names is None else names[:n_seen], known_negatives=self.absent == "missing")
        checked = self._checked(X, is_fit=is_first)
        _check_samples(checked, labels.matrix)
        if is_first and checked.shape[1] > MAX_FACTOR:  # statistics of features by features would be too large
            return self.fit(X, Y, label_names=label_names, cooccurrence=cooccurrence)
        features = self._scaled(checked)
        with one_blas_thread():
            if is_first:
                self._start_online(labels, features, names, cooccurrence)
            elif not hasattr(self, "online_"):
                self._resume_online()
            self._learn_on(features, labels.matrix)
        return self

    def _learn_on(self, X: sparse.csr_matrix, Y: sparse.csr_matrix) -> None:
        """One step of online EM, and the label vectors it leads to."""
        is_from_fit = self.online_.is_from_fit
        past = with_constant(self.samples_.X) if is_from_fit else None
        total = self.online_samples
        self.online_ = online_step(self.online_, with_constant(X), Y, self._priors(), self.absent, total, past)
        n_positives = label_counts(Y)
        self.label_counts_ = self.label_counts_ + np.pad(n_positives, (0, len(self.label_counts_) - len(n_positives)))
        n_before = self.n_samples_
        self.n_samples_ += int(X.shape[0])
        factors = self.online_.factors
        self.projection_ = factors.W[:-1].copy()
        self._map_unseen(factors, self.online_.counts)
        n_seen = len(factors.V)
        if not is_from_fit:
            self.vectors_ = label_vectors(factors.W, np.vstack([factors.V, self.mapping_(factors.B[n_seen:])]))
            self.threshold_ = self._matching_threshold(X, positives(Y))
            return
        self._keep(joined_samples(self.samples_, Samples(X, Y), n_before, self.max_samples, self.random_state))
        own = label_vectors(factors.W, factors.V)
        precisions = self.online_.label_precisions(self._priors(), total)
        variances = np.ascontiguousarray(1 / precisions.T, dtype=np.float32)
        n_positives = self.label_counts_[:n_seen]
        own = self._with_counts(LabelVectors(own.columns, own.intercepts, variances), n_positives)
        self._join_vectors(own, n_positives, self.cooccurrence_)
        self.threshold_ = self._matching_threshold(self.samples_.X, positives(self.samples_.Y))

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
        self.seen_curve_ = self.unseen_curve_ = Curve(1.0, 0.0)
        self.cooccurrence_ = counts
        weighed = self._counts(counts, self.own_counts)
        K = min(self.n_factors, max(2, n_seen))
        self.online_ = online_start(X.shape[1] + 1, weighed, K, self.random_state)

    def _resume_online(self) -> None:
        """The statistics of the fit."""
        if not self._has_samples() or isinstance(self.samples_.X, np.ndarray):
            raise ParameterError(
                "this model was saved by an earlier version, without the samples that partial_fit goes on from; "
                "fit it again"
            )
        kept = self.samples_
        data = (with_constant(kept.X), kept.Y, self.label_factors_, self.regression_)
        counts = self._counts(self.cooccurrence_, self.own_counts)
        options = (self._priors(), self.absent, self.n_samples_, self.online_samples)
        self.online_ = online_resume(*data, counts, *options)

    def _has_samples(self) -> bool:
        """Whether the samples kept belong to the factors: earlier versions let batches change these alone."""
        is_left_behind = hasattr(self, "online_") and not self.online_.is_from_fit
        return hasattr(self, "samples_") and not is_left_behind

    def add_labels(self, columns: Any, names: Sequence[Any] | None = None) -> Self:
        """Add labels known by their co-occurrence with the seen labels; see `ZeroShot.add_labels`."""
        super().add_labels(columns, names)
        self.relabelled_ = True
        return self

    def remove_labels(self, ids: Any) -> Self:
        """Remove labels, by column number or name; see `ZeroShot.remove_labels`."""
        super().remove_labels(ids)
        self.relabelled_ = True
        return self


def _mean_scores(W: Floats32, V: Floats32) -> LabelVectors:
    """The mean over draws of xᵀWv, which is linear in x."""
    draws = np.stack([w @ v.T for w, v in zip(W, V, strict=True)])
    coefficients = np.asarray(draws.mean(axis=0, dtype=np.float64), dtype=np.float32)
    return LabelVectors(coefficients[:-1].copy(), coefficients[-1].copy())


def _relative_scales(cooccurrence: Cooccurrence, Y: sparse.csr_matrix) -> npt.NDArray[np.float64]:
    """Scales of the rows among each other; all counts together keep their size, which says how sure they are."""
    scales = row_scales(cooccurrence, label_counts(Y).astype(np.float64))
    own = cooccurrence.counts.diagonal().sum()
    total = float(scales @ cooccurrence.counts.diagonal())
    return scales * (own / total) if total > 0 else scales
