"""What COSTA promises beyond the contract of all models."""

from __future__ import annotations

import pytest

import tacit
from topics import fitted, unseen_precision


@pytest.mark.parametrize(
    "parameters", [{}, {"base": "classifiers"}, {"base": "classifiers", "classifier": "one_vs_all"}], ids=str
)
def test_unseen_labels_are_found_by_their_topic(parameters):
    assert unseen_precision(fitted(tacit.COSTA, **parameters)) > 0.4  # a third of that by chance
