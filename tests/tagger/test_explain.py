from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse

import tacit
from tacit.errors import ParameterError
from tacit.tagger.explain import occlusion
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


def test_features_that_count_or_where_they_make_up_for_each_other_each_alone():
    weights = np.array([1.0, 2.0, 0.5, -1.0])

    def by_sum(rows: sparse.csr_matrix) -> np.ndarray:
        return np.asarray(rows @ weights, np.float32)

    def by_either(rows: sparse.csr_matrix) -> np.ndarray:
        return np.asarray(rows.max(axis=1).todense(), np.float32).ravel()

    X = sparse.csr_matrix(np.array([[3.0, 0, 2, 1], [0, 4, 0, 0], [0, 0, 0, 0], [0, 0, 5, 5]], np.float32))
    assert [occlusion(by_sum, x, 2, 10).tolist() for x in X[:3]] == [[0, 1], [0], []]
    assert [occlusion(by_sum, x, 2, 1).tolist() for x in X[:3]] == [[0], [0], []]
    assert occlusion(by_either, X[3], 2, 10).tolist() == [0, 1]
