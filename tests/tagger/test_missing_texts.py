"""Texts that are None or NaN count as blank ones, and it is said how many there are."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import tacit
from tagger.articles import articles

TEXTS, TAGS = articles(60)
MISSING = [0, 7, 21]
BLANK = ["" if place in MISSING else text for place, text in enumerate(TEXTS)]


def with_missing(kind, nothing):
    texts = [nothing if place in MISSING else text for place, text in enumerate(TEXTS)]
    if kind == "list":
        return texts
    if kind == "array":
        return np.array(texts, dtype=object)
    pandas = pytest.importorskip("pandas")
    return pandas.Series(texts) if kind == "series" else pandas.DataFrame({"text": texts})


@pytest.fixture(scope="module")
def plain():
    return tacit.Tagger("OneVsAll", calibrate=False).fit(BLANK, TAGS)


@pytest.mark.parametrize("nothing", [None, float("nan")])
@pytest.mark.parametrize("kind", ["list", "array", "series", "frame"])
def test_missing_texts_are_blank(kind, nothing, plain, caplog):
    caplog.set_level(logging.INFO, "tacit")
    given = with_missing(kind, nothing)
    tagger = tacit.Tagger("OneVsAll", calibrate=False).fit(given, TAGS)
    assert "3 of 60 texts" in caplog.text
    assert tagger.suggest(given) == plain.suggest(BLANK)
    assert not tagger.suggest(given[:1])[0]
    assert tagger.evaluate(given, TAGS) == plain.evaluate(BLANK, TAGS)
    assert tagger.find_missing(given, TAGS, 5) == plain.find_missing(BLANK, TAGS, 5)
    assert caplog.text.count("texts are missing") == 5


@pytest.mark.parametrize("given", [["a text", 3.5], [None, 3], [["a"], None]])
def test_other_values_are_no_texts(given):
    with pytest.raises(tacit.TacitError):
        tacit.Tagger("OneVsAll", calibrate=False).fit(given, [["a"], ["b"]])
