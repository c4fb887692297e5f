"""Names and a model's scores as evidence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from planted import planted
from tacit import OneVsAll
from tacit.core.ranking import Ranking
from tacit.names import evidence
from tacit.names.boosting import BoostedTrees
from tacit.names.evidence import EVIDENCE, NameCounts, NameEvidence
from tacit.names.index import Name, NameIndex
from tacit.names.similar import Votes


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
    named = NameEvidence(14, index, NameCounts.none(index, 14), trees, ["12", "13"], n_ranked=n_ranked)
    matches = index.matches([""] * 200 if 12 not in asked else ["an apple"] * 100 + ["pear, apple"] * 100)
    full = named.rank(model, X, matches, 14)
    found = named.rank(model, X, matches, len(asked), np.array(asked))
    for row in range(200):
        scores = dict(zip(full.labels[row].tolist(), full.scores[row].tolist(), strict=True))
        told = dict(zip(found.labels[row].tolist(), found.scores[row].tolist(), strict=True))
        assert told == pytest.approx({label: scores[label] for label in asked})
    for k in (1, 3, 5, 9):
        first = named.rank(model, X, matches, k)
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


def test_wrong_labels_beyond_a_limit_are_sampled_and_count_for_the_others(monkeypatch):
    """Each text has all names, of which one is right; what is right is always learned from."""
    n_texts, n_labels = 300, 20
    words = [f"word{label}" for label in range(n_labels)]
    index = NameIndex.of([Name(label, word) for label, word in enumerate(words)], None)
    matches = index.matches([" ".join(words)] * n_texts)
    truth = sparse.csr_matrix((np.ones(n_texts), (np.arange(n_texts), np.arange(n_texts) % n_labels)))
    learned = []
    monkeypatch.setattr(evidence.BoostedTrees, "fit", lambda X, y, weights, _: learned.append((len(X), y, weights)))
    for most in (100_000, 1000):
        monkeypatch.setattr(evidence, "_MOST_WRONG", most)
        no_votes = Votes(*(np.empty(0, kind) for kind in (int, int, "f4", "f4")), np.zeros(n_texts, "f4"))
        counts = NameCounts.none(index, n_labels)
        evidence.learn_evidence(index, counts, Ranking.empty(n_texts, 1), matches, no_votes, None, truth, seed=0)
    (n_all, all_right, equal), (n_some, some_right, weights) = learned
    assert n_all == 2 * n_texts * n_labels  # twice: some labels are also treated as if no sample had them
    assert (equal == 1).all()
    assert some_right.sum() == all_right.sum() == 2 * n_texts
    assert (weights[some_right] == 1).all()
    assert n_some - some_right.sum() == pytest.approx(1000, rel=0.1)
    assert weights[~some_right].sum() == pytest.approx((~all_right).sum(), rel=0.1)
