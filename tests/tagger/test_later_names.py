"""Names that labels get after the training are looked for in texts like the others."""

from __future__ import annotations

import copy

import pytest

from tacit import Tagger
from tacit.errors import ActError
from tagger.articles import articles
from tagger.named import corpus, thesaurus


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tagger") / "model"
    Tagger("OneVsAll", vocabulary=thesaurus()).fit(*corpus(0, 2500)).save(path)
    return path


@pytest.fixture
def tagger(folder):
    found = Tagger.load(folder)
    assert found.names_ is not None
    return found


def labels_of(tagger, text, k=3):
    return [each.label for each in tagger.suggest([text], k=k)[0]]


def score_of(tagger, text, label):
    return next(each.score for each in tagger.suggest([text], k=len(tagger.classes_))[0] if each.label == label)


def test_an_added_label_is_found_by_its_name_at_once(tagger, tmp_path):
    text = "a report about zebra fishes in a river"
    assert tagger.add_label("zebra fish") == "zebra fish"
    assert "zebra fish" in labels_of(tagger, text)
    assert "zebra fish" in [each.label for each in tagger.suggest([text], threshold="f1")[0]]
    assert score_of(tagger, "a report about a river", "zebra fish") < 0.05
    assert tagger.explain(text, "zebra fish").names == ["zebra fish"]
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    assert again.suggest([text]) == tagger.suggest([text])
    again.undo()
    assert "zebra fish" not in labels_of(again, text, 30)


def test_acts_on_added_labels(tagger):
    tagger.add_label("zebra fish")
    with pytest.raises(ActError, match="already"):
        tagger.add_label("zebra fish")
    tagger.rename_label("zebra fish", "danio")
    for text in ("new danios", "a zebra fish"):
        assert labels_of(tagger, text, 1) == ["danio"]
    assert tagger.explain("a zebra fish", "danio").names == ["zebra fish"]
    before = score_of(tagger, "new danios", "danio")
    tagger.learn([("new danios", "danio", False)] * 3)
    assert score_of(tagger, "new danios", "danio") < before - 0.2
    tagger.undo()
    tagger.add_label("whale song")
    tagger.merge_labels(["danio", "whale song"], into="sea life")
    for text in ("a zebra fish", "songs of the whales", "lives of the sea", "a danio"):
        assert labels_of(tagger, text, 1) == ["sea life"], text
    assert tagger.explain("songs of whales", "sea life").names == ["whale song"]
    tagger.retire_label("sea life")
    assert "sea life" not in labels_of(tagger, "a zebra fish", 40)


def test_a_renamed_label_is_found_by_both_names(tagger):
    text = "lovely work on wharfs in winter"
    before = tagger.suggest([text])
    tagger.rename_label("harbour", "wharf")
    assert set(labels_of(tagger, text, 2)) == {"wharf", "winter"}
    assert "wharf" in labels_of(tagger, "harbours and choirs", 2)
    assert tagger.explain(text, "wharf").names == ["wharf"]
    assert tagger.explain("a harbour", "wharf").names == ["harbour"]
    tagger.undo()
    assert tagger.suggest([text]) == before


def test_an_added_label_gets_samples():
    tagger = Tagger("OneVsAll", vocabulary=thesaurus(), keep_texts=True).fit(*corpus(0, 2500))
    tagger.add_label("zebra fish")
    tagger.rename_label("harbour", "wharf")
    tagger.update(["stripes of a zebra fish"] * 5, [["zebra fish"]] * 5)
    assert "zebra fish" in tagger.model_.classes_
    assert set(labels_of(tagger, "a zebra fish at the wharf", 2)) == {"zebra fish", "wharf"}


@pytest.fixture(scope="module", params=[{"names": False}, {"calibrate": False}], ids=["no names", "uncalibrated"])
def nameless(request):
    found = Tagger("OneVsAll", **request.param).fit(*articles(200))
    assert found.names_ is None
    return found


@pytest.mark.parametrize("name", ["gearbox", "road brake"], ids=["unknown word", "known words"])
@pytest.mark.parametrize("parent", [None, "cars"])
def test_a_label_added_to_a_model_without_names_is_found_by_its_name(nameless, name, parent, tmp_path):
    tagger = copy.copy(nameless)
    before = tagger.suggest(["chord song song tune"])
    tagger.add_label(name, parent=parent)
    for text in (f"chord song song tune {name}", f"the {name}"):
        found = tagger.suggest([text], k=3)[0]
        assert name in [each.label for each in found], text
        assert tagger.explain(text, name).names == [name]
        assert tagger.suggest([text], include=[name])[0][0].score == pytest.approx(score_of(tagger, text, name))
    assert score_of(tagger, f"chord {name}", name) > score_of(tagger, "chord", name)
    assert tagger.suggest(["chord song song tune"], exclude=[name]) == before
    tagger.rename_label(name, "thing")
    assert "thing" in labels_of(tagger, f"the {name}", 2)
    tagger.learn([(f"the {name}", "thing", False)] * 3)
    tagger.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").suggest([f"a {name}"]) == tagger.suggest([f"a {name}"])
    for _ in range(3):
        tagger.undo()
    assert tagger.suggest(["chord song song tune"]) == before
