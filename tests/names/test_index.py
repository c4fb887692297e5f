"""Names in texts, against a search by loops."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.names.index import Matches, Name, NameIndex, extended
from tacit.text.words import roots, stemmed, words_of
from tagger.named import RARE, TOPICS

NAMES = ["heat pump", "heat", "pumps", "electric heat pump", "bank (finance)", "bank (river)", "Pump", "car", "of"]
NAMES += ["pump of pumps"]
words = st.sampled_from(["heat", "pump", "pumps", "electric", "bank", "car", "of", "the", "a", "river", "heating"])
texts = st.lists(st.lists(words, max_size=12).map(" ".join), max_size=6)


def stems_of(text, language):
    return roots(stemmed(words_of(text), language), language)


def slowly(names, text, language):
    """For each label all of whose stems are in the text: what is told of the best of its names."""
    tokens = stems_of(text, language)
    found = {}
    in_text = [stems_of(name.text.split(" (")[0], language) for name in names]
    in_text = [stems for stems in in_text if set(stems) <= set(tokens)]
    for name in names:
        stems = stems_of(name.text.split(" (")[0], language)
        if stems and set(stems) <= set(tokens):
            containing = sum(len(other) > len(stems) and set(stems) <= set(other) for other in in_text)
            firsts = [tokens.index(stem) for stem in stems]
            gap = max(0, max(firsts) - min(firsts) + 1 - len(stems))
            is_phrase = any(tokens[at : at + len(stems)] == stems for at in range(len(tokens)))
            key = (-len(stems), not name.is_preferred, min(firsts))
            entry = (key, min(firsts), gap, min(tokens.count(stem) for stem in stems), containing, is_phrase)
            found[name.label] = min(found.get(name.label, entry), entry)
    return {label: entry[1:] for label, entry in found.items()}


@pytest.mark.parametrize("language", ["en", None])
@settings(max_examples=100)
@given(found_in=texts)
def test_matches_are_those_of_a_loop(language, found_in):
    names = [Name(place % 7, text, place % 2 == 0) for place, text in enumerate(NAMES)]
    matches = NameIndex.of(names, language).matches(found_in)
    assert len(matches) == len(found_in)
    for row, text in enumerate(found_in):
        inside = slice(matches.starts[row], matches.starts[row + 1])
        columns = (matches.first, matches.gap, matches.occurrences, matches.containing, matches.is_phrase)
        told = zip(*(column[inside].tolist() for column in columns), strict=True)
        assert dict(zip(matches.labels[inside].tolist(), told, strict=True)) == slowly(names, text, language)
        assert matches.n_words[row] == len(stems_of(text, language))


def test_english_spellings_and_endings_do_not_matter():
    names = ["sense of humour", "call centres", "economics"]
    index = NameIndex.of([Name(label, name) for label, name in enumerate(names)], "en")
    matches = index.matches(["The economy and a sense of humor", "A call center", "Un centre économique"])
    assert matches.labels.tolist() == [0, 2, 1]
    by_stem = NameIndex.of([Name(0, "humour")], "en", by_root=False)
    assert not len(by_stem.matches(["humor"]).labels)  # as in indexes of older models


def test_names_that_are_shared_or_qualified():
    index = NameIndex.of([Name(0, "bank (finance)"), Name(1, "bank (river)"), Name(2, "car"), Name(3, "(x)")], "en")
    assert index.n_alike.tolist() == [2, 2, 1, 1]
    assert index.is_qualified.tolist() == [True, True, False, True]
    assert index.matches(["the banks"]).labels.tolist() == [0, 1]


def test_rows_and_parts_of_matches():
    index = NameIndex.of([Name(place, text) for place, text in enumerate(NAMES)], "en")
    matches = index.matches(["heat pump", "", "a car", "electric heat pump of a car"])
    chosen = matches.rows(np.array([3, 1, 0, 3]))
    again = index.matches(["electric heat pump of a car", "", "heat pump", "electric heat pump of a car"])
    for name in Matches.__dataclass_fields__:
        left, right = getattr(chosen, name), getattr(again, name)
        assert (left.toarray() if name == "words" else left).tolist() == (
            right.toarray() if name == "words" else right
        ).tolist()


def test_the_time_for_a_text_does_not_grow_with_the_square_of_the_names_in_it():
    rng = np.random.default_rng(0)
    vocabulary = np.array([f"b{number}" for number in range(20_000)])
    names = [Name(label, " ".join(rng.choice(vocabulary, rng.integers(1, 4)))) for label in range(50_000)]
    index = NameIndex.of(names, None)
    text = " ".join(rng.choice(vocabulary, 40_000))
    index.matches([text])
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        assert len(index.matches([text]).labels) > 30_000
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.5


@pytest.mark.parametrize("language", ["en", None])
@settings(max_examples=100)
@given(found_in=texts)
def test_cover_is_that_of_a_loop(language, found_in):
    names = [Name(place % 7, text, place % 2 == 0) for place, text in enumerate(NAMES)]
    index = NameIndex.of(names, language)
    weights = np.random.default_rng(0).uniform(1, 5, len(index.stems)).astype(np.float32)
    weight_of = dict(zip(index.stems, weights.tolist(), strict=True))
    rows, labels = (each.ravel() for each in np.mgrid[: len(found_in), :8])  # label 7 has no name
    found = index.cover(rows, labels, index.matches(found_in), weights)
    for row, label, told in zip(rows.tolist(), labels.tolist(), found.tolist(), strict=True):
        text_words = words_of(found_in[row])
        text_stems = set(stems_of(found_in[row], language))
        total = sum(weight_of.get(stem, 0) for stem in text_stems)
        expected = [0.0] * 5
        for name in sorted((name for name in names if name.label == label), key=lambda name: not name.is_preferred):
            own = words_of(name.text.split(" (")[0])
            own_stems = stems_of(" ".join(own), language)
            each = [weight_of[stem] for stem in own_stems]
            inside = sum(weight_of[stem] for stem in own_stems if stem in text_stems)
            if expected[3] == 0 or inside / sum(each) > expected[0] + 1e-9:
                exact = sum(word in text_words for word in own) / len(own)
                expected = [inside / sum(each), inside / max(total, 1e-6), min(each), max(each), exact]
        assert told == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("language", ["en", None])
@pytest.mark.parametrize("least_share", [0.2, 0.5, 0.8])
@settings(max_examples=100)
@given(found_in=texts)
def test_names_in_part_are_those_of_a_loop(language, least_share, found_in):
    names = [Name(place, text) for place, text in enumerate(NAMES)]
    index = NameIndex.of(names, language)
    weights = np.random.default_rng(0).uniform(1, 5, len(index.stems)).astype(np.float32)
    weight_of = dict(zip(index.stems, weights.tolist(), strict=True))
    stems_in = [stems_of(name.text.split(" (")[0], language) for name in names]
    frequency = Counter(stem for stems in stems_in for stem in stems)
    rarest = [min(stems, key=frequency.__getitem__) for stems in stems_in]
    expected = {}
    for row, text in enumerate(found_in):
        own = set(stems_of(text, language))
        for name, stems in enumerate(stems_in):
            inside = [stem for stem in stems if stem in own]
            share = sum(map(weight_of.__getitem__, inside)) / sum(map(weight_of.__getitem__, stems))
            if rarest[name] in own and len(inside) < len(stems) and share >= least_share:
                expected[row, name] = [len(stems), len(inside), rarest.count(rarest[name])]
    rows, found, told = index.partly_named(index.matches(found_in), weights, least_share)
    assert dict(zip(zip(rows.tolist(), found.tolist(), strict=True), told.tolist(), strict=True)) == expected


def test_of_names_in_part_the_heaviest_are_kept(monkeypatch):
    monkeypatch.setattr("tacit.names.index._MOST_PARTLY_NAMED", 2)
    index = NameIndex.of([Name(each, f"{word} of the north") for each, word in enumerate(("sea", "sky", "ice"))], None)
    weights = np.ones(len(index.stems), np.float32)
    weights[index.stems.index("sky")] = 2
    weights[index.stems.index("ice")] = 3
    _, names, _ = index.partly_named(index.matches(["sea, sky and ice of the"]), weights, 0.5)
    assert names.tolist() == [1, 2]


def test_an_extended_index_is_that_of_all_names():
    names = [Name(place, text) for place, text in enumerate([*TOPICS, *RARE, "bank (river)"])]
    later = [
        Name(30, "winter energy"), Name(31, "bank (finance)"), Name(32, "zebra"), Name(32, "energy solar", False),
        Name(33, "solar energy"), Name(34, "()"), Name(35, "zebra (animal)"),
    ]  # fmt: skip
    texts = ["solar energies in winter", "zebras in banks", "apples", "rural museums of energy", ""]
    for size in range(len(later) + 1):
        found = extended(NameIndex.of(names, "en"), later[:size])
        wanted = NameIndex.of([*names, *later[:size]], "en")
        for name in (
            "stems",
            "forms",
            "form_stems",
            "name_starts",
            "name_stems",
            "labels",
            "is_preferred",
            "is_qualified",
            "n_alike",
        ):
            assert list(getattr(found, name)) == list(getattr(wanted, name)), name
        one, other = found.matches(texts), wanted.matches(texts)
        assert (one.words != other.words).nnz == 0
        for name in sorted(set(type(one).__dataclass_fields__) - {"words"}):
            assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


def test_the_preferred_name_of_a_label_is_its_last():
    index = extended(NameIndex.of([Name(0, "apple"), Name(1, "pear")], "en"), [Name(0, "malus")])
    assert index.is_preferred.tolist() == [False, True, True]
