"""Paired bootstrap comparison of two models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.labels import aligned, read_labels
from tacit.core.ranking import NO_LABEL, Ranking
from tacit.evaluation.metrics import KS, METRICS, Interval, Ratio, contributions, judge, resample
from tacit.evaluation.propensity import propensities_from_counts
from tacit.tagger.tagger import Tagger


@dataclass(frozen=True)
class Difference:
    """One metric of two models.

    Attributes
    ----------
    metric : str
        Such as "P@1".
    a, b : float
        Its value for the first and the second model.
    difference : float
        `b` - `a`.
    interval : (low, high)
        95 % bootstrap interval of the difference, over resamples of the test samples.
    """

    metric: str
    a: float
    b: float
    difference: float
    interval: Interval

    @property
    def winner(self) -> str:
        """``"A"`` or ``"B"`` if the interval excludes 0, else an empty string."""
        low, high = self.interval
        return "B" if low > 0 else "A" if high < 0 else ""


def compare(
    ranking_a: Ranking,
    ranking_b: Ranking,
    Y_test: Any,
    propensities: Any = None,
    ks: Sequence[int] = KS,
    n_bootstrap: int = 1000,
    seed: int = 0,
) -> list[Difference]:
    """Differences of the metrics of two rankings of the same samples.

    Parameters
    ----------
    ranking_a, ranking_b : Ranking
        Labels of each test sample, best first, as columns of `Y_test`.
    Y_test, propensities, ks
        As for `tacit.evaluate`; PSP is left out without propensities.
    n_bootstrap : int
        Resamples of the test samples.
    seed : int
        Seed of the resampling.
    """
    of_a, of_b = (contributions(judge(ranking, Y_test, propensities, ks), ks) for ranking in (ranking_a, ranking_b))
    names = [name for name in of_a if METRICS[name.partition("@")[0]].is_compared]
    # Both models have the same denominators, so a difference of metrics is itself a ratio, and is resampled as one.
    differences = {name: Ratio(of_b[name].numerator - of_a[name].numerator, of_a[name].denominator) for name in names}
    intervals = resample(differences, n_bootstrap, seed)
    return [
        Difference(name, a := of_a[name].value(), b := of_b[name].value(), b - a, intervals[name]) for name in names
    ]


def compare_models(
    model_a: Any, samples_a: Any, model_b: Any, samples_b: Any, Y: Any, label_names: Sequence[Any], **options: Any
) -> list[Difference]:
    """`compare` for two fitted models or taggers, which may know different labels.

    Both get the test samples in the form that each takes. `Y` holds the labels of the samples, `label_names` the names
    of its columns; `options` are `ks`, `n_bootstrap` and `seed` of `compare`.
    """
    model_a, model_b = Tagger.around(model_a), Tagger.around(model_b)
    k = max(options.get("ks", KS))
    names_a, names_b = list(map(str, model_a.classes_)), _names_beside(model_a, model_b)
    column = {name: place for place, name in enumerate(dict.fromkeys((*names_a, *names_b)))}
    tested = [_called(str(name), ((model_a, names_a), (model_b, names_b))) for name in label_names]
    truth = aligned(read_labels(Y).matrix, tested, np.array(list(column), dtype=object))
    counts = np.zeros((2, truth.shape[1]), np.int64)
    rankings = []
    for row, (model, samples, names) in enumerate(((model_a, samples_a, names_a), (model_b, samples_b, names_b))):
        columns = np.array([column[name] for name in names], np.int32)
        counts[row, columns] = model.counts_for(len(columns))
        found = model.rank(samples, k)
        labels = np.where(found.labels == NO_LABEL, np.int32(NO_LABEL), columns[found.labels])
        rankings.append(Ranking(labels, found.scores))
    n_samples = max(model.n_samples_ for model in (model_a, model_b))
    weights = propensities_from_counts(counts.max(axis=0), n_samples)
    return compare(rankings[0], rankings[1], truth, weights, **options)


def _called(label: str, models: Sequence[tuple[Tagger, list[str]]]) -> str:
    """What the first of several models that knows a label, by any of its names, calls it; or the label itself."""
    found = (names[place] for model, names in models if (place := model.known(label)) is not None)
    return next(found, label)


def _names_beside(model: Tagger, other: Tagger) -> list[str]:
    """Names of the labels of `other`: those of `model` where it has the label, by any name that either knows."""
    own, names = list(map(str, model.classes_)), list(map(str, other.classes_))
    same = {place: model.known(name) for place, name in enumerate(names)}
    for column, name in enumerate(own):
        place = other.known(name)
        if place is not None and same[place] is None:
            same[place] = column
    taken: set[str] = set()
    for place, found in same.items():  # of labels that `model` has merged, the first
        if found is not None and own[found] not in taken:
            names[place] = own[found]
        taken.add(names[place])
    return names
