"""Texts that are None or NaN count as blank ones, and it is said how many there are."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import tacit
from tagger.articles import articles

TEXTS, TAGS = articles(60)
MISSING = [0, 7, 21]


def test_missing_texts_are_blank(caplog):
    caplog.set_level(logging.INFO, "tacit")
    pandas = pytest.importorskip("pandas")
    blank = ["" if place in MISSING else text for place, text in enumerate(TEXTS)]
    none, nan = ([nothing if text == "" else text for text in blank] for nothing in (None, float("nan")))
    plain = tacit.Tagger("OneVsAll", calibrate=False).fit(blank, TAGS)
    for given in (none, nan, np.array(nan, dtype=object), pandas.Series(none), pandas.DataFrame({"text": nan})):
        tagger = tacit.Tagger("OneVsAll", calibrate=False).fit(given, TAGS)
        assert tagger.suggest(given) == plain.suggest(blank)
        assert not tagger.suggest(given[:1])[0]
        assert tagger.evaluate(given, TAGS) == plain.evaluate(blank, TAGS)
        assert tagger.find_missing(given, TAGS, 5) == plain.find_missing(blank, TAGS, 5)
    assert "3 of 60 texts" in caplog.text


@pytest.mark.parametrize("given", [["a text", 3.5], [None, 3], [["a"], None]])
def test_other_values_are_no_texts(given):
    with pytest.raises(tacit.TacitError):
        tacit.Tagger("OneVsAll", calibrate=False).fit(given, [["a"], ["b"]])
