from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse

import tacit
from tacit.errors import ParameterError
from tacit.tagger.explain import occlusion, occlusions
from tagger.articles import articles

TEXTS, TAGS = articles()


@pytest.fixture(scope="module")
def trained() -> tacit.Tagger:
    return tacit.Tagger(model="OneVsAll", keep_texts=True).fit(TEXTS, TAGS)


def test_features_are_the_words_that_matter(trained):
    found = trained.explain("the song of an engine", "music")
    assert found.label == "music"
    assert found.score == trained.suggest(["the song of an engine"], include=["music"])[0][0].score
    assert found.features[0].feature == "song"
    assert found.features[0].loss > 0.1
    assert [loss for _, loss in found.features] == sorted((loss for _, loss in found.features), reverse=True)
    assert "without 'song'" in str(found)


def test_other_labels_and_samples(trained):
    found = trained.explain("song chord engine wheel", "music", n=3)
    together = sum("music" in tags and "cars" in tags for tags in TAGS)
    share = next(evidence.share for evidence in found.labels if evidence.label == "cars")
    assert share == pytest.approx(together / sum("cars" in tags for tags in TAGS))
    assert len(found.samples) == 3
    assert all("music" in TAGS[row] and TEXTS[row] == text for row, text, _ in found.samples)
    assert found.samples[0].similarity >= found.samples[1].similarity > 0


def test_without_kept_texts_there_are_no_samples():
    tagger = tacit.Tagger(model="OneVsAll").fit(TEXTS, TAGS)
    assert tagger.explain("song", "music").samples == []


def test_acts_behind_a_label(trained):
    tagger = copy.copy(trained)
    tagger.add_label("orchestra", cooccurs={"music": 30})
    tagger.rename_label("orchestra", "ensemble")
    tagger.rename_label("cars", "vehicles")
    found = tagger.explain("a song", "ensemble")
    assert found.acts == ["added 'orchestra' from 1 co-occurring label", "renamed 'orchestra' to 'ensemble'"]
    assert found.features[0].feature == "song"
    assert tagger.explain("a song", "music").acts == []


def test_nothing_to_explain(trained):
    assert trained.explain("words never seen", "music").features == []
    with pytest.raises(ParameterError, match="unknown label 'musik' .did you mean 'music'"):
        trained.explain("song", "musik")


def test_features_without_names():
    from planted import planted

    X, Y = planted()
    tagger = tacit.Tagger(model="OneVsAll", keep_texts=True).fit(X, Y)
    label = int(Y[0].indices[0])
    found = tagger.explain(X[0], str(label))
    assert found.features[0].feature == str(label)  # the feature that the label has for its own
    assert found.samples[0].row == 0
    assert found.samples[0].text == ""


def test_several_samples_are_looked_at_in_one_call():
    """Each by itself has the same features: those that count, or where they make up for each other, each alone."""
    X = sparse.csr_matrix(np.array([[3.0, 0, 2, 1], [0, 4, 0, 0], [0, 0, 0, 0], [0, 0, 5, 5]], np.float32))
    weights, calls = np.array([1.0, 2.0, 0.5, -1.0]), []

    def score(rows: sparse.csr_matrix, of: np.ndarray | int = 3) -> np.ndarray:
        calls.append(rows.shape[0])
        either = np.asarray(rows[:, 2:].max(axis=1).todense()).ravel()
        return np.where(np.asarray(of) == 3, either, rows @ weights).astype(np.float32)

    found = occlusions(score, X, 2, 10)
    assert [each.tolist() for each in found] == [[0, 1], [0], [], [0, 1]]
    assert calls == [4 + 2 + 1 + 3, 3]
    assert occlusion(score, X[3], 2, 10).tolist() == [0, 1]
    assert [each.tolist() for each in occlusions(score, X, 2, 1)] == [[0], [0], [], [0]]
