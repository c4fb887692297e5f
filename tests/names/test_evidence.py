"""Names and a model's scores as evidence."""

from __future__ import annotations

import numpy as np
import pytest

from planted import planted
from tacit import OneVsAll
from tacit.names.boosting import BoostedTrees
from tacit.names.evidence import EVIDENCE, NameCounts, NameEvidence
from tacit.names.index import Name, NameIndex


@pytest.mark.parametrize("n_ranked", [4, 30])
@pytest.mark.parametrize("asked", [[2], [3, 7, 11], [0, 1, 12, 13], [12, 13], [12], list(range(0, 12, 2))])
def test_scores_do_not_depend_on_what_else_is_asked_for(asked, n_ranked):
    """The place of a label and the best score are those among all labels. Two labels are known by name alone."""
    X, Y = planted(200)
    model = OneVsAll().fit(X, Y)
    rules = [(EVIDENCE.index("model place"), place + 0.5, -0.5) for place in range(12)]
    rules += [(EVIDENCE.index(name), 0.3, 0.7) for name in ("best score", "model score", "words of the name")]
    rules.append((EVIDENCE.index("matches in the text"), 1.5, 0.4))
    index = NameIndex.of([Name(12, "apple"), Name(13, "pear")], None)
    trees = BoostedTrees.of_rules(0.1, rules)
    evidence = NameEvidence(14, index, NameCounts.none(index, 14), trees, ["12", "13"], n_ranked=n_ranked)
    matches = index.matches([""] * 200 if 12 not in asked else ["an apple"] * 100 + ["pear, apple"] * 100)
    full = evidence.rank(model, X, matches, 14)
    found = evidence.rank(model, X, matches, len(asked), np.array(asked))
    for row in range(200):
        scores = dict(zip(full.labels[row].tolist(), full.scores[row].tolist(), strict=True))
        told = dict(zip(found.labels[row].tolist(), found.scores[row].tolist(), strict=True))
        assert told == pytest.approx({label: scores[label] for label in asked})
    for k in (1, 3, 5, 9):
        first = evidence.rank(model, X, matches, k)
        assert (first.labels == full.labels[:, :k]).all()
        assert first.scores == pytest.approx(full.scores[:, :k])


@pytest.mark.parametrize(("least_share", "is_found"), [(0.5, True), (0.6, False), (1.0, False)])
def test_a_label_is_a_candidate_by_a_part_of_its_name(least_share, is_found):
    """Without samples all words weigh the same: the text has half of one name and a third of the other."""
    X, Y = planted(200)
    model = OneVsAll().fit(X, Y)
    index = NameIndex.of([Name(12, "apple pie"), Name(13, "apple pie crust")], None)
    trees = BoostedTrees.of_rules(-9.0, [(EVIDENCE.index("of these in the text"), 0.5, 18.0)])
    of_names = 14, index, NameCounts.none(index, 14), trees, ["12", "13"]
    ranking = NameEvidence(*of_names, least_share=least_share).rank(model, X[:1], index.matches(["an apple"]), 1)
    assert (ranking.labels[0, 0] == 12) == is_found
    assert (ranking.scores[0, 0] > 0.9) == is_found
