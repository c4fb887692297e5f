from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from reference.words import count_words as count_slowly
from reference.words import stored
from tacit.errors import DataError
from tacit.text import vectorizer as texts_to_features
from tacit.text.vectorizer import FEATURES, TextVectorizer

WORDS = st.sampled_from(
    "apple pear Äpfel a car cars x9 long-word naïve 日本語 ! İzmir ΟΔΟΣ STRAẞE e\u0301a".split()  # noqa: SIM905
)
TEXTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join), min_size=1, max_size=8)


@given(TEXTS)
def test_words_as_scikit_learn_weighs_them(texts):
    try:
        expected = TfidfVectorizer(sublinear_tf=True, dtype=np.float32).fit(texts)
    except ValueError:
        with pytest.raises(DataError, match="hold no words to learn from"):
            TextVectorizer().fit_transform(texts)
        return
    vectorizer = TextVectorizer()
    features = vectorizer.fit_transform(texts)
    assert list(vectorizer.feature_names_) == list(expected.get_feature_names_out())
    np.testing.assert_allclose(features.toarray(), expected.transform(texts).toarray(), atol=1e-6)
    np.testing.assert_array_equal(vectorizer.transform(texts).toarray(), features.toarray())


def fitted(texts, **options):
    vectorizer = TextVectorizer(**options)
    vectorizer.fit_transform(texts)
    return vectorizer


#: What the features beside words are, slowly: from a word, and the share.
SLOWLY = {
    "words+characters": (lambda word: [f" {word} "[start : start + 4] for start in range(len(word) - 1)], 0.5),
    "words+prefixes": (lambda word: [word[:4]] if len(word) > 4 else [], 0.25),
}


@pytest.mark.parametrize("features", SLOWLY)
@given(texts=TEXTS)
def test_other_features_as_scikit_learn_counts_them(features, texts):
    parts_of, share = SLOWLY[features]
    words = TfidfVectorizer().build_analyzer()
    parts = TfidfVectorizer(
        analyzer=lambda text: [part for word in words(text) for part in parts_of(word)], sublinear_tf=True
    )
    try:
        plain = TextVectorizer().fit_transform(texts).toarray()
        expected = parts.fit_transform(texts).toarray()
    except (DataError, ValueError):  # no words, or no parts of words
        return
    vectorizer = TextVectorizer(features=features)
    found = vectorizer.fit_transform(texts)
    n_words = plain.shape[1]
    assert [name[1:] for name in vectorizer.feature_names_[n_words:]] == list(parts.get_feature_names_out())
    expected = np.hstack([np.sqrt(1 - share) * plain, np.sqrt(share) * expected])
    expected /= np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-9)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-5)
    np.testing.assert_array_equal(vectorizer.transform(texts).toarray(), found.toarray())


@pytest.mark.parametrize("features", FEATURES)
def test_odd_texts_have_features_or_none(features):
    vectorizer = fitted(["red apples, red apples", "red apples and x"], features=features)
    for text in ("", " ", "x", "\N{PILE OF POO}", "!", "\ua7f7", "a\ua7f7b", "\ud800", "qq"):
        assert vectorizer.transform([text]).nnz == 0
    assert vectorizer.transform(["APPLES"]).nnz > 0
    assert vectorizer.transform(["", "red apples"])[1].nnz > 0


def test_a_second_fit_forgets_the_first():
    vectorizer = fitted(["apple pear"])
    vectorizer.transform(["apple"])
    again = vectorizer.fit_transform(["car pear", "car"])
    np.testing.assert_array_equal(vectorizer.transform(["car pear", "car"]).toarray(), again.toarray())


def test_unknown_words_are_left_out_but_for_their_grams():
    assert fitted(["red apples"]).transform(["words never seen"]).nnz == 0
    assert fitted(["red apples"], features="words+characters").transform(["apple"]).nnz > 0
    assert fitted(["red apples"]).transform([]).shape == (0, 2)


def test_words_of_one_text_are_dropped_where_there_are_many_long_texts():
    common = [f"word{number}" for number in range(60)]
    texts = [" ".join(common)] * 1000 + ["hapax word0"]
    assert list(fitted(texts).feature_names_) == sorted(common)
    assert "hapax" in fitted(texts[900:]).feature_names_  # few texts


@pytest.mark.parametrize(
    "options",
    [*({"features": kind} for kind in FEATURES), {"language": "en"}, {"language": "fi", "features": "words+prefixes"}],
)
@settings(max_examples=25, deadline=None)
@given(texts=TEXTS, others=TEXTS)
def test_features_are_those_of_words_counted_slowly(options, texts, others):
    def features(count, size, n_jobs):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(texts_to_features, "count_words", count)
            patch.setattr(texts_to_features, "_CHARACTERS_PER_BLOCK", size)
            vectorizer = TextVectorizer(**options)
            rows = vectorizer.fit_transform(["two words", *texts], n_jobs), vectorizer.transform(others, n_jobs)
        arrays = [array for X in rows for array in (X.data, X.indices, X.indptr)]
        return vectorizer.feature_names_, vectorizer.idf_, *arrays

    def count_and_store(texts):
        counts, words = count_slowly(texts)
        return counts, stored(words)

    expected = features(count_and_store, 10**6, None)
    for size, n_jobs in ((10**6, None), (12, None), (12, 2)):
        for array, wanted in zip(features(texts_to_features.count_words, size, n_jobs), expected, strict=True):
            assert array.dtype == wanted.dtype
            np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize("features", ["words", "words+characters", "words+prefixes"])
def test_restricted_features_are_those_of_a_vocabulary_without_the_other_words(features):
    texts = ["red apple", "green apple tree", "red tree", "green pear"]
    all_texts, first = TextVectorizer(features=features), fitted(texts[:3], features=features)
    X = all_texts.fit_transform(texts)
    columns = [all_texts.positions()[name] for name in first.feature_names_]
    first.idf_ = all_texts.idf_[columns]
    is_known = np.zeros(X.shape[1], np.bool_)
    is_known[columns] = True
    restricted = all_texts.restricted_to(X[3:], is_known)
    np.testing.assert_allclose(restricted[:, columns].toarray(), first.transform(texts[3:]).toarray(), rtol=1e-5)
    assert restricted[:, ~is_known].nnz == 0
