from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import tacit
from planted import planted
from tacit.kernels.dual import SQUARED, SQUARED_HINGE
from tacit.numerics.classifiers import (
    CLUSTERED_FROM,
    LOSSES,
    POSITIVES,
    ClassifierOptions,
    objective_of,
    train_classifiers,
)

MODELS = {"OneVsAll": tacit.OneVsAll, "LabelTree": tacit.LabelTree}


def losses(name, targets, margins):
    """Of margins y·w·x beside the targets of these."""
    if name == SQUARED_HINGE:
        return np.maximum(0, targets - margins) ** 2
    return (targets - margins) ** 2 if name == SQUARED else np.logaddexp(0, -margins)


def risk(objective, observed, scores):
    """The objective's loss of one sample, by label, without the penalty."""
    positive = objective.positive_costs * losses(objective.loss, objective.positive_targets, scores)
    negative = objective.negative_cost * losses(objective.loss, 1.0, -scores)
    return np.where(observed, positive, negative)


@st.composite
def labels_and_scores(draw):
    size = draw(st.integers(1, 6))
    numbers = {"min_size": size, "max_size": size}
    propensities = draw(st.lists(st.floats(0.05, 1.0), **numbers))
    complete = draw(st.lists(st.booleans(), **numbers))
    scores = draw(st.lists(st.floats(-3, 3), **numbers))
    return np.array(propensities), np.array(complete), np.array(scores)


@given(labels_and_scores())
def test_the_unbiased_squared_loss_is_that_of_complete_labels_in_expectation(drawn):
    """The derivative with respect to the scores, so that what does not depend on them plays no part."""
    p, complete, scores = drawn
    hidden, plain = (objective_of("squared", kind, 1.0, p) for kind in ("unbiased", "equal"))

    def slope(objective, observed):
        return (risk(objective, observed, scores + 0.5) - risk(objective, observed, scores - 0.5)).astype(float)

    seen, unseen = slope(hidden, np.ones(len(p), bool)), slope(hidden, np.zeros(len(p), bool))
    expected = np.where(complete, p * seen + (1 - p) * unseen, unseen)
    np.testing.assert_allclose(expected, slope(plain, complete), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_losses_of_positives_are_divided_by_propensities(loss):
    p = np.array([0.1, 0.5, 1.0])
    objective = objective_of(loss, "propensity", 2.0, p)
    np.testing.assert_allclose(objective.positive_costs, 2 / p, rtol=1e-6)
    assert (objective.positive_targets == 1).all()
    assert objective.loss == LOSSES[loss]


@pytest.mark.parametrize("positives", POSITIVES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("model", MODELS)
def test_models_learn_with_every_objective(model, loss, positives):
    X, Y = planted()
    test = planted(seed=1)
    options = {"loss": loss, "positives": positives, "C": 3.0 if loss == "logistic" else 0.4}
    if model == "LabelTree":
        options["max_leaf"] = 4
    ranking = MODELS[model](**options).fit(X, Y).rank(test.X)
    assert tacit.evaluate(ranking, test.Y)["P@1"] > 0.95


def test_each_label_gets_its_own_classifier_wherever_it_is_trained():
    """Blocks hold labels with similar samples; a label trained alone has the same weights."""
    X, Y = planted(300)
    Y = sparse.hstack([Y] * 25, format="csr")[:, np.random.default_rng(0).permutation(25 * Y.shape[1])]
    assert Y.shape[1] >= CLUSTERED_FROM
    Y = Y.multiply(np.arange(Y.shape[1]) != 5).tocsr()
    Y.eliminate_zeros()
    options = ClassifierOptions(tolerance=1e-4, max_passes=1000, prune=0)
    found = train_classifiers(X, Y, options, 0, None)
    for label in (0, 5, 17, 170, Y.shape[1] - 1):
        alone = train_classifiers(X, Y[:, [label]], options, 1, None)
        assert found.weights[:, [label]].toarray() == pytest.approx(alone.weights.toarray(), abs=2e-3)
        assert found.intercepts[label] == pytest.approx(alone.intercepts[0], abs=2e-3)
