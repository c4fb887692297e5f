from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import N_LABELS, planted
from tacit.core.ranking import Ranking
from tacit.evaluation.metrics import evaluate
from tacit.tagger.comparison import compare, compare_models


def ranking_of(labels) -> Ranking:
    labels = np.asarray(labels, np.int32)
    return Ranking(labels, np.tile(-np.arange(labels.shape[1], dtype=np.float32), (len(labels), 1)))


def guesses(Y: sparse.csr_matrix, n_right: int) -> Ranking:
    """The first `n_right` samples get a true label first, the others a false one."""
    truth = Y.toarray()
    first = [np.argmax(row) if place < n_right else np.argmin(row) for place, row in enumerate(truth)]
    rest = [[label for label in range(N_LABELS) if label != own][:4] for own in first]
    return ranking_of(np.column_stack([first, rest]))


@pytest.fixture(scope="module")
def data():
    return planted(n_samples=400)


def test_values_are_those_of_evaluate(data):
    a, b = guesses(data.Y, 100), guesses(data.Y, 300)
    weights = tacit.propensities(data.Y)
    found = {one.metric: one for one in compare(a, b, data.Y, weights)}
    assert list(found) == [f"{name}@{k}" for name in ("P", "nDCG", "PSP") for k in (1, 3, 5)]
    for name, value in evaluate(a, data.Y, weights).items():
        if name in found:
            assert found[name].a == pytest.approx(value)
            assert found[name].b - found[name].a == pytest.approx(found[name].difference)


def test_a_large_difference_has_a_winner_on_either_side(data):
    worse, better = guesses(data.Y, 100), guesses(data.Y, 300)
    first = compare(worse, better, data.Y, ks=(1,))[0]
    assert first.winner == "B"
    assert first.difference == pytest.approx(0.5)
    assert first.interval[0] < first.difference < first.interval[1]
    assert compare(better, worse, data.Y, ks=(1,))[0].winner == "A"


def test_models_with_different_labels(data):
    names = [f"l{label}" for label in range(N_LABELS)]
    full = tacit.OneVsAll().fit(data.X, data.Y, label_names=names)
    backwards = tacit.OneVsAll().fit(data.X, data.Y[:, ::-1], label_names=names[::-1])
    half = tacit.OneVsAll().fit(data.X, data.Y[:, :6], label_names=names[:6])
    test = planted(n_samples=200, seed=1)
    same = compare_models(full, test.X, backwards, test.X, test.Y, names)
    assert all(one.a == pytest.approx(one.b, abs=0.01) for one in same)
    assert all(one.winner == "A" for one in compare_models(full, test.X, half, test.X, test.Y, names))
    assert all(one.winner == "B" for one in compare_models(half, test.X, full, test.X, test.Y, names))


def test_labels_are_the_same_by_any_name_that_either_model_knows(data):
    names = [f"label {column}" for column in range(N_LABELS)]
    plain = tacit.Tagger("OneVsAll", calibrate=False).fit(data.X, data.Y, label_names=names)
    changed = tacit.Tagger("OneVsAll", calibrate=False).fit(data.X, data.Y, label_names=names)
    changed.rename_label(names[0], "first")
    changed.rename_label(names[1], "second")
    for a, b in ((plain, changed), (changed, plain)):
        for tested in (names, ["first", "second", *names[2:]]):
            found = compare_models(a, data.X, b, data.X, data.Y, tested, n_bootstrap=10)
            assert all(one.difference == pytest.approx(0, abs=1e-9) for one in found)
            assert found[0].a > 0.8
    changed.merge_labels([names[2], names[3]], "both")
    merged = compare_models(changed, data.X, plain, data.X, data.Y, names, n_bootstrap=10)[0]
    assert merged.a > 0.8
