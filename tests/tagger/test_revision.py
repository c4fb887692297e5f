"""A newer version of a vocabulary: what it adds, renames, replaces and deprecates, as acts."""

from __future__ import annotations

import pytest

from tacit import Tagger
from tacit.data.vocabulary import Vocabulary
from tacit.errors import ParameterError
from tacit.tagger.naming import start_tagger
from tacit.tagger.revision import revise
from tagger.named import corpus, thesaurus

KINDS = ["start", "ids", "names", "no names"]


def newer_one() -> Vocabulary:
    """Without c0 (apple), replaced by c3 (choir), and c1 (river); c2 has another name, and c99 is new."""
    old = thesaurus()
    ids, names, others = ([*values[2:]] for values in (old.ids, old.names, old.alternatives))
    names[0] = "motor"
    deprecated = {"c0": "c3", "c1": "", "never": ""}
    return Vocabulary([*ids, "c99"], [*names, "zeppelin"], [*others, ["airship"]], deprecated=deprecated)


def tagger_of(kind: str) -> Tagger:
    old = thesaurus()
    if kind == "start":
        return start_tagger(old, "en")
    texts, tags = corpus(0, 600)
    ids = dict(zip(old.names, old.names if kind == "names" else old.ids, strict=True))
    tags = [[ids[tag] for tag in each] for each in tags]
    return Tagger("OneVsAll", vocabulary=old, names=kind != "no names").fit(texts, tags)


@pytest.mark.parametrize("kind", KINDS)
def test_a_newer_vocabulary_becomes_acts_that_can_be_undone(kind, tmp_path):
    tagger_of(kind).save(tmp_path / "model")
    tagger = Tagger.load(tmp_path / "model")
    tagger.learn([("choirs in winter", "choir", True)])
    tagger.save(tmp_path / "model")
    before = [tagger.readable(str(label)) for label in tagger.classes_]
    changes = revise(tagger, newer_one())
    assert [each.act.kind for each in changes] == ["add", "rename", "merge", "retire"]
    assert not any(each.refused for each in changes)
    tagger.save(tmp_path / "model")

    tagger = Tagger.load(tmp_path / "model")
    assert [act.kind for act in tagger.acts_] == ["judge", *(each.act.kind for each in changes)]
    assert tagger.column("apple") == tagger.column("choir") == tagger.column("c0")
    assert tagger.column("engine") == tagger.column("motor")
    suggested = {tagger.readable(str(label)) for label in tagger.classes_[tagger._state.is_suggested]}
    assert {"motor", "choir"} <= suggested
    assert not {"apple", "river", "engine"} & suggested
    for text, name in (("a zeppelin", "zeppelin"), ("an airship", "zeppelin"), ("a motor", "motor")):
        assert kind == "no names" or tagger.readable(tagger.suggest([text], k=1)[0][0].label) == name
    assert revise(tagger, newer_one()) == []

    while len(tagger.history()) > 1:
        tagger.undo()
    assert [tagger.readable(str(label)) for label in tagger.classes_] == before


def test_a_successor_that_is_no_label_yet_takes_the_place_of_the_label():
    old = Vocabulary(["c1", "c2", "c3"], ["kayak", "river", "canoe"])
    tagger = Tagger("Popularity", vocabulary=old, names=False).fit(["a kayak", "a river"] * 9, [["c1"], ["c2"]] * 9)
    newer = Vocabulary(["c2", "c3"], ["river", "canoe"], deprecated={"c1": "c3"})
    assert [each.words for each in revise(tagger, newer)] == ["rename 'kayak' to 'canoe'"]
    assert sorted(map(str, tagger.classes_)) == ["c2", "c3"]
    assert revise(tagger, newer) == []


def test_another_vocabulary_is_refused():
    with pytest.raises(ParameterError, match="no concept"):
        revise(start_tagger(thesaurus(), "en"), Vocabulary(["x"], ["apple"]))
    tagger = Tagger("Popularity").fit(["a kayak", "a river"] * 9, [["x"], ["y"]] * 9)
    with pytest.raises(ParameterError, match="no vocabulary"):
        revise(tagger, thesaurus())


def test_the_command_shows_and_applies(tacit, tmp_path):
    lines = ["id,name", *(f"c{n},{name}" for n, name in enumerate(("apple", "river", "engine")))]
    (tmp_path / "old.csv").write_text("\n".join(lines))
    (tmp_path / "new.csv").write_text("\n".join([*lines[:-1], "c2,motor", "c3,zeppelin"]))
    model = tmp_path / "model"
    assert tacit("start", tmp_path / "old.csv", "--out", model).code == 0
    shown = tacit("vocabulary", model, tmp_path / "new.csv")
    assert shown.out.splitlines()[:2] == ["add 'zeppelin'", "rename 'engine' to 'motor'"]
    assert "took back" not in tacit("labels", model, "history").out
    assert not Tagger.load(model).acts_
    assert tacit("vocabulary", model, tmp_path / "new.csv", "--apply").code == 0
    assert [act.kind for act in Tagger.load(model).acts_] == ["add", "rename"]
    assert "nothing to change" in tacit("vocabulary", model, tmp_path / "new.csv", "--apply").out
