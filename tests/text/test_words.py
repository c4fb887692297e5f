from __future__ import annotations

import sys

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from reference.words import count_words as count_slowly
from reference.words import stored
from tacit.text.words import Lexicon, count_words

#: Lower case that is context, or several characters, or more bytes; marks and half characters that end words.
ODD = (
    "aZ09_ .'\n\0éÉßẞİıſKÅΣσςΑα\u0301\u0307\u00ad\u200d’ДдЁ日本語ªº²½Ⅷⓐﬁ\ud800\udfffⱥȺ\U00010400\U00010428𝐀😀\U0010ffff"
)
TEXTS = st.lists(st.text(st.sampled_from(ODD) | st.characters(), max_size=40), max_size=5)


def assert_counted(texts):
    counts, words = count_words(texts)
    expected, expected_words = count_slowly(texts)
    assert words.names() == expected_words
    np.testing.assert_array_equal(words.chunks, stored(expected_words).chunks)
    np.testing.assert_array_equal(words.starts, stored(expected_words).starts)
    assert counts.dtype == expected.dtype
    np.testing.assert_array_equal(counts.toarray(), expected.toarray())


@given(TEXTS)
@example([])
@example(["", "\n", "\0\0"])
@example(["ΑΣ ΑΣ' ΑΣ'Α ΣΑΣ", "İstanbul İİ iİ", "ŉ ǰ ẞẞ ﬀ"])
@example(["seven77 eight888 nine99999", "eight888 sixteen16sixteen sixteen16sixteenX"])
@example(["éééé ééééa aéééé ééééé", "日本 日本語 a日本語", "𝐀𝐀𝐀 a𝐀𝐀𝐀"])
def test_words_as_the_regular_expression_finds_them(texts):
    assert_counted(texts)


def test_every_character_in_a_word_and_alone():
    characters = [chr(code) for code in range(sys.maxunicode + 1)]
    assert_counted(["".join(f"x{character}Y {character} " for character in characters)])
    assert_counted(["".join(character + character + " " for character in characters if character.isalnum())])


def test_very_long_and_very_many_words():
    assert_counted(["Ab" * 500_000 + " " + "ab" * 500_000, "Ⱥ" * 100_000])  # whose lower case has more bytes
    assert_counted([" ".join(f"word{number}" for number in range(5000)), "word7 " * 3000, "x"])


@given(st.lists(st.lists(st.text("abé", min_size=2, max_size=20), unique=True), max_size=5))
@example([[f"word{number}" for number in range(first, first + 3000)] for first in (0, 2000, 100)])  # tables that grow
@example([["eight888", "eight888sixteen8"], ["eight888sixteen9", "eight888sixteen8", "eight888"], []])
def test_words_of_blocks_are_numbered_by_their_first_occurrence(blocks):
    lexicon, number = Lexicon(), {}
    for words in blocks:
        assert lexicon.number(stored(words)).tolist() == [number.setdefault(word, len(number)) for word in words]
        assert len(lexicon) == len(number)
    assert lexicon.names() == list(number)
