"""Names and texts that no file can hold, and blank names: told in one line before anything is trained or changed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from tacit.errors import TacitError

HALF = "\ud800"  # a lone surrogate: JSON can write it, UTF-8 cannot
TEXTS = ["a red apple", "a green pear", "a red car"] * 4
TAGS = [["fruit"], ["fruit"], ["car"]] * 4
X = sparse.csr_matrix(np.eye(6, dtype=np.float32))
Y = sparse.csr_matrix(np.eye(6, 3, dtype=np.float32))


@pytest.fixture
def tagger() -> tacit.Tagger:
    return tacit.Tagger("OneVsAll").fit(TEXTS, TAGS)


def told(match: str, function, *arguments, **options) -> None:
    with pytest.raises(TacitError, match=match) as error:
        function(*arguments, **options)
    assert str(error.value).isprintable()


FITS = {
    "tags": ("label names must be valid Unicode; entry 2 .* half a character", TEXTS, [*TAGS[:-1], [HALF]], {}),
    "texts": ("texts must be valid Unicode; entry 0 .* half a character", [f"an {HALF} apple", *TEXTS[1:]], TAGS, {}),
    "label_names": ("label names must be valid Unicode", X, Y, {"label_names": ["a", "b", HALF]}),
    "validation": ("texts must be valid Unicode", TEXTS, TAGS, {"validation": ([HALF], [["fruit"]])}),
}


@pytest.mark.parametrize("name", FITS)
def test_half_a_character_is_told_before_training(monkeypatch, name):
    monkeypatch.setattr(tacit.OneVsAll, "fit", lambda *_, **__: pytest.fail("it was trained"))
    match, samples, tags, options = FITS[name]
    told(match, tacit.Tagger("OneVsAll").fit, samples, tags, **options)


@pytest.mark.parametrize("model", [tacit.OneVsAll, tacit.MLLCS])
def test_models_take_no_half_characters(model):
    told("label names must be valid Unicode", model().fit, X, Y, label_names=["a", "b", HALF])


@pytest.mark.parametrize(("name", "match"), [(HALF, "must be valid Unicode"), ("", "blank"), (" \t", "blank")])
def test_names_of_new_labels(tagger, name, match):
    told(match, tagger.add_label, name, examples=["a plum apple"])
    told(match, tagger.add_label, name, examples=[])
    told(match, tagger.add_label, name)
    told(match, tagger.rename_label, "car", name)
    told(match, tagger.merge_labels, ["car", "fruit"], name)
    for model in (tacit.MLLCS(n_factors=2, n_sweeps=2), tacit.COSTA(), tacit.MomentMatching()):
        fitted = model.fit(X, Y, label_names=["a", "b", "c"])
        told(match, fitted.add_labels, np.ones((3, 1)), names=[name])
        assert list(fitted.classes_) == ["a", "b", "c"]
    assert tagger.history() == []


def test_what_is_taught_has_no_half_characters(tagger):
    told("texts must be valid Unicode", tagger.learn, [(f"apple {HALF}", "fruit", True)])
    told("texts must be valid Unicode", tagger.add_label, "pome", examples=[f"apple {HALF}"])
    told("texts must be valid Unicode", tagger.add_label, "pome", description=f"apple {HALF}")
    told("texts must be valid Unicode", tagger.suggest, [HALF])
    told("texts must be valid Unicode", tagger.update, [HALF], [["fruit"]])
