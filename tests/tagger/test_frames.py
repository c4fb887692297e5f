"""A tagger takes DataFrames and their columns."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tagger.articles import articles

TEXTS, TAGS = articles(80)


@pytest.fixture(params=["pandas", "polars"])
def frame(request):
    library = pytest.importorskip(request.param)
    columns = {"nr": range(80), "title": TEXTS, "body": ["more"] * 80, "tags": TAGS}
    return library.DataFrame(columns | {"cells": ["|".join(names) for names in TAGS]})


@pytest.fixture(scope="module")
def plain():
    return tacit.Tagger("OneVsAll", calibrate=False).fit([f"{text}\nmore" for text in TEXTS], TAGS)


@pytest.mark.parametrize("tags", ["tags", "cells"])
def test_frames_and_columns(frame, plain, tags):
    tagger = tacit.Tagger("OneVsAll", calibrate=False).fit(frame[["title", "body"]], frame[tags])
    new = frame[["title", "body"]]
    assert tagger.suggest(new, k=2) == plain.suggest([f"{text}\nmore" for text in TEXTS], k=2)
    assert tagger.suggest(frame["title"], k=2) == plain.suggest(TEXTS, k=2)
    assert tagger.suggest(frame, k=2) == tagger.suggest(new, k=2)  # by the names of the columns
    assert tagger.evaluate(new, frame[tags]) == plain.evaluate([f"{text}\nmore" for text in TEXTS], TAGS)


def test_other_columns_are_joined_and_numbers_are_features():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"headline": TEXTS, "lead": ["more"] * 80})
    tagger = tacit.Tagger("Popularity", keep_texts=True, calibrate=False).fit(frame, TAGS)
    assert tagger.training_.texts[0] == f"{TEXTS[0]}\nmore"
    numbers = pandas.DataFrame(np.eye(80, dtype=np.float32))
    assert not tacit.Tagger("Popularity", calibrate=False).fit(numbers, TAGS).takes_texts
