from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import tacit
from tacit.data.split import hide_positives
from tacit.data.synthetic import make_dataset
from tacit.data.vocabulary import Vocabulary
from tacit.errors import DataError, ParameterError
from tacit.tagger.find_missing import find_missing
from tagger.articles import TOPICS, articles


@pytest.fixture(scope="module")
def planted_corpus():
    """Samples of which the complete labels are known, and the same with 30 % of them hidden."""
    from planted import planted

    X, Y = planted(600)
    return X, Y, hide_positives(Y, 0.3, seed=1)


def test_hidden_labels_are_found(planted_corpus):
    X, complete, recorded = planted_corpus
    tagger = tacit.Tagger(model="OneVsAll", calibrate=False).fit(X, recorded)
    found = tagger.find_missing(X, recorded, n=1_500)
    assert all(recorded[pair.row, int(pair.label)] == 0 for pair in found)
    is_hidden = np.array([complete[pair.row, int(pair.label)] for pair in found], dtype=bool)
    assert is_hidden[:100].mean() >= 0.98
    assert roc_auc_score(is_hidden, -np.arange(len(found))) > 0.95
    assert is_hidden.sum() > 0.9 * (complete.nnz - recorded.nnz)
    assert (np.diff([pair.probability for pair in found]) <= 0).all()
    known = tagger.find_missing(X, recorded, n=1_500, missing=0.3)
    assert [pair[:2] for pair in known] == [pair[:2] for pair in found]
    tagger.retire_label(found[0].label)
    assert found[0].label not in {pair.label for pair in tagger.find_missing(X, recorded, n=50)}


@pytest.mark.parametrize("missing", [None, 0.3])
def test_stated_precision_is_near_the_true_one(missing):
    """Of labels that annotators would record, or those that are right if the fraction of missing ones is known."""
    made = make_dataset(2500, 1000, 60, seed=3)
    data = made.dataset(made.train, complete=True)
    recorded = hide_positives(data.Y, 0.3, seed=5)
    tagger = tacit.Tagger(model="OneVsAll", calibrate=False).fit(data.X, recorded)
    found = tagger.find_missing(data.X, recorded, n=500, missing=missing)
    stated = np.array([pair.probability for pair in found])
    if missing is None:
        assert stated.max() < 0.9  # of pairs like the surest about 70 % are recorded
    else:
        true = np.array([data.Y[pair.row, int(pair.label)] for pair in found])
        for n in (50, 100, 500):
            assert stated[:n].mean() == pytest.approx(true[:n].mean(), abs=0.12)


def competing(n: int, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Tickets with one of two labels that exclude each other, and nothing missing; every fifth text is misleading."""
    rng = np.random.default_rng(seed)
    words = {"billing": ["invoice", "refund", "price"], "technical": ["crash", "error", "screen"]}
    texts, tags = [], []
    for _ in range(n):
        label, other = ("billing", "technical") if rng.random() < 0.7 else ("technical", "billing")
        said = rng.choice(words[other if rng.random() < 0.2 else label], 2)
        topic = rng.choice(["north", "south", "west"])
        texts.append(" ".join([*said, f"{topic}ern", f"filler{rng.integers(30)}"]))
        tags.append([label, str(topic)])
    return texts, tags


def test_labels_that_exclude_each_other_are_not_missing():
    texts, tags = competing(600)
    tagger = tacit.Tagger(model="OneVsAll", calibrate=False).fit(texts, tags)
    found = tagger.find_missing(texts, tags, n=20)
    assert sum(pair.probability for pair in found) < 2


def test_evidence_names_labels_and_words():
    texts, tags = articles(300)
    recorded = [names[:1] if place % 5 == 0 else names for place, names in enumerate(tags)]
    tagger = tacit.Tagger(model="OneVsAll", calibrate=False).fit(texts, recorded)
    found = find_missing(tagger, texts, recorded, n=20)
    assert np.mean([pair.label in tags[pair.row] for pair in found]) > 0.9
    pair = found[0]
    assert any(word in pair.evidence for word in texts[pair.row].split())
    assert any(f"with {tag} (" in pair.evidence for tag in recorded[pair.row])
    again = find_missing(tagger, texts, recorded, n=20)
    assert again == found
    tagger.vocabulary_ = Vocabulary(list(TOPICS), [name.title() for name in TOPICS])
    named = find_missing(tagger, texts, recorded, n=1)[0]
    assert named.label == pair.label
    assert named.evidence.startswith(f"with {recorded[pair.row][0].title()} (")


def test_wrong_use():
    texts, tags = articles(60)
    tagger = tacit.Tagger(model="OneVsAll", calibrate=False).fit(texts, tags)
    with pytest.raises(ParameterError, match="folds must be at least 2"):
        tagger.find_missing(texts, tags, folds=1)
    with pytest.raises(ParameterError, match="missing must be a fraction between 0 and 1; got 1"):
        tagger.find_missing(texts, tags, missing=1)
    with pytest.raises(DataError, match="one entry per sample; got 60 and 59"):
        tagger.find_missing(texts, tags[:-1])
    with pytest.raises(DataError, match="3 folds need at least 6 differing samples; got 4"):
        tagger.find_missing(texts[:4], tags[:4])


@pytest.mark.real_data
@pytest.mark.slow
def test_bibtex_with_hidden_labels(real_data):
    data = tacit.load_data(real_data / "bibtex" / "train.txt")
    recorded = hide_positives(data.Y, 0.3, seed=11)
    tagger = tacit.Tagger(calibrate=False).fit(data.X, recorded)
    found = tagger.find_missing(data.X, recorded, n=500)
    names = {str(name): column for column, name in enumerate(tagger.classes_)}
    assert np.mean([data.Y[pair.row, names[pair.label]] for pair in found]) > 0.75
