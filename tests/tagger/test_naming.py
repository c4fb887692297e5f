"""A tagger that reads labels' names."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from tacit import Tagger, load_model
from tacit.data.vocabulary import Vocabulary, load_vocabulary
from tacit.errors import ActError, ParameterError
from tacit.tagger.naming import start_tagger
from tagger.named import FILLER, RARE, TOPICS, corpus, thesaurus


@pytest.fixture(scope="module")
def vocabulary():
    return thesaurus()


@pytest.fixture(scope="module")
def tagger(vocabulary):
    texts, tags = corpus(0, 2500)
    ids = {name: concept for concept, name in zip(vocabulary.ids, vocabulary.names, strict=True)}
    return Tagger("OneVsAll", vocabulary=vocabulary).fit(texts, [[ids[tag] for tag in each] for each in tags])


def test_labels_that_no_sample_has_are_suggested_by_their_names(tagger, vocabulary):
    assert tagger.names_ is not None
    assert set(vocabulary.ids) == set(tagger.classes_)
    assert len(tagger.model_.classes_) == len(vocabulary) - 2
    for name in RARE[-2:]:
        found = tagger.suggest([f"early work on {name}s in winter"], k=3)[0]
        assert name in [tagger.readable(each.label) for each in found]
    assert tagger.readable(tagger.suggest(["about the power of the suns"], k=1)[0][0].label) == "solar energy"


def test_names_raise_what_is_found(tagger, vocabulary):
    texts, tags = corpus(1, 400)
    ids = {name: concept for concept, name in zip(vocabulary.ids, vocabulary.names, strict=True)}
    truth = [[ids[tag] for tag in each] for each in tags]
    plain = Tagger("OneVsAll", vocabulary=vocabulary, names=False).fit(*corpus(0, 2500))
    assert plain.names_ is None
    assert tagger.evaluate(texts, truth)["R@5"] > 0.97
    assert tagger.calibration_.error < 0.05


@pytest.mark.parametrize("as_matrix", [False, True])
def test_deprecated_labels_lead_to_their_successors(vocabulary, as_matrix, monkeypatch):
    """One whose successor is a label, one whose successor is none yet, and one without a successor."""
    texts, tags = corpus(0, 600)
    before = Vocabulary(vocabulary.ids, vocabulary.names, vocabulary.alternatives)
    before.deprecated = {"old-apple": "c0", "old-river": "c1", "old-engine": ""}
    ids = {name: key for key, name in zip(before.ids, before.names, strict=True)}
    ids |= {"river": "old-river", "engine": "old-engine"}
    given = [[ids[tag] for tag in each] for each in tags]
    for number, each in enumerate(given):
        if "c0" in each and number % 2:
            each[each.index("c0")] = "old-apple"
    now = {"old-apple": "c0", "old-river": "c1"}
    expected = [[now.get(tag, tag) for tag in each if tag != "old-engine"] for each in given]
    names = sorted({tag for each in given for tag in each})
    said = [[name in each for name in names] for each in given]
    tagger = Tagger("Popularity", vocabulary=before, keep_texts=True)
    notes = []
    monkeypatch.setattr("tacit.tagger.naming.announce", notes.append)
    if as_matrix:
        tagger.fit(texts, np.array(said, float), label_names=names)
    else:
        tagger.fit(texts, given, validation=(texts[:50], given[:50]))
    assert any("2 lead to their successors" in note and "1 have none" in note for note in notes)
    own = [str(name) for name in tagger.model_.classes_]
    assert not set(own) & before.deprecated.keys()
    assert set(own) == {tag for each in expected for tag in each}
    kept = tagger.training_.labels
    assert [sorted(own[column] for column in row.indices) for row in kept] == [sorted(set(each)) for each in expected]
    assert tagger.column("old-river") == tagger.column("c1")
    tagger.update(["an old engine by the river"], [["old-engine", "old-river"]])
    assert tagger.known("old-engine") is None


def test_acts_on_labels_that_are_known_by_name(tagger, tmp_path):
    tagger.save(tmp_path / "model")
    own = Tagger.load(tmp_path / "model")
    label = RARE[-1]
    own.rename_label(label, "extraction")
    assert own.readable(own.suggest([f"the {label} report"], k=1)[0][0].label) == "extraction"
    own.add_label(RARE[-2], examples=["stanzas and villages", "verse about cows"])
    assert RARE[-2] in [own.readable(each.label) for each in own.suggest(["verse about cows"], k=3)[0]]
    before = own.suggest([f"the {label} report"], include=["extraction"])[0][0].score
    own.learn([(f"the {label} report", "extraction", False)] * 3)
    assert own.suggest([f"the {label} report"], include=["extraction"])[0][0].score < before - 0.2
    own.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").suggest(["verse about cows"]) == own.suggest(["verse about cows"])
    own.retire_label("extraction")
    assert "extraction" not in [own.readable(each.label) for each in own.suggest([f"the {label} report"], k=20)[0]]


def test_a_renamed_concept_keeps_its_id(tagger, tmp_path):
    tagger.save(tmp_path / "model")
    own = Tagger.load(tmp_path / "model")
    first, second = RARE[-2:]
    concept = own.current_name(first)
    assert concept in own.vocabulary_.own_ids
    own.rename_label(first, "extraction")
    own.rename_label(concept, "mining")
    assert own.classes_.tolist() == tagger.classes_.tolist()
    assert own.readable(concept) == "mining"
    assert {own.current_name(name) for name in (concept, first, "extraction", "mining")} == {concept}
    assert own.history()[-1] == f"renamed '{concept}' to 'mining'"
    text = ["a report about mining"]
    assert own.suggest(text, k=1)[0][0].label == concept
    assert own.suggest(text, k=1, include=["mining"])[0][0].label == concept
    with pytest.raises(ActError, match="there is a label 'mining' already"):
        own.rename_label(second, "mining")
    own.save(tmp_path / "model")
    assert load_model(tmp_path / "model").readable(concept) == "mining"
    own.undo()
    assert own.readable(concept) == "extraction"
    own.merge_labels([first, second], into=second)
    assert own.current_name("extraction") == own.current_name(second)


def test_a_name_of_which_a_text_has_a_part_is_told(tagger, tmp_path):
    tagger.save(tmp_path / "model")
    for each in (tagger, Tagger.load(tmp_path / "model")):
        found = each.explain("energies on a hill", "solar energy")
        assert (found.names, found.names_in_part) == ([], ["solar energy"])
        assert "part of its name 'solar energy' is in the text" in str(found)
        assert each.explain("energies on a hill", "apple").names_in_part == []
        whole = each.explain("solar energies", "solar energy")
        assert (whole.names, whole.names_in_part) == (["solar energy"], [])


def test_names_that_say_nothing_are_not_used():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(FILLER, 8)) + f" word{number % 7}" for number in range(800)]
    tags = [[f"label {number % 7}"] for number in range(800)]
    assert Tagger("OneVsAll").fit(texts, tags).names_ is None


def test_a_vocabulary_is_enough(vocabulary, tmp_path):
    tagger = start_tagger(vocabulary)
    for name in vocabulary.names:
        assert tagger.readable(tagger.suggest([f"a new {name} report"], k=1)[0][0].label) == name
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    assert again.suggest(["solar energies of rivers"]) == tagger.suggest(["solar energies of rivers"])
    with pytest.raises(ParameterError, match="this tagger knows a vocabulary alone: give a number"):
        again.suggest(["solar energies"], threshold="precision=0.8")
    assert again.suggest(["solar energies"], threshold="auto")
    again.learn([("a dream of summer", "winter", True)])
    assert again.readable(again.suggest(["a dream of summer"], k=1)[0][0].label) == "winter"


@pytest.mark.parametrize("model", ["OneVsAll", "Popularity"])
@pytest.mark.parametrize("keep_texts", [True, False])
def test_an_update_keeps_names_and_acts(vocabulary, tmp_path, model, keep_texts):
    """First samples of a concept, labels beyond the vocabulary, acts, a reload: each label stays what it is."""
    if model == "OneVsAll" and not keep_texts:
        pytest.skip("cannot be updated")
    texts, tags = corpus(0, 1200)
    ids = {name: concept for concept, name in zip(vocabulary.ids, vocabulary.names, strict=True)}
    tagger = Tagger(model, vocabulary=vocabulary, keep_texts=keep_texts)
    tagger.fit(texts, [[ids[tag] for tag in each] for each in tags])
    assert tagger.names_ is not None
    tagger.save(tmp_path / "model")
    tagger = Tagger.load(tmp_path / "model")
    first, second = RARE[-2:]
    tagger.rename_label(second, "extraction")
    said = tagger.update([f"a {first} report"] * 5 + ["a boat"], [[ids[first]]] * 5 + [["boats"]])
    assert "2 labels are new" in said
    assert first in [tagger.readable(label) for label in map(str, tagger.model_.classes_)]
    for name in (*TOPICS, *RARE[:-1]):
        found = tagger.suggest([f"new work on {name}s"], k=5)[0]
        assert name in [tagger.readable(each.label) for each in found], name
    assert "extraction" in [tagger.readable(each.label) for each in tagger.suggest([f"the {second} report"], k=5)[0]]
    assert len(set(map(str, tagger.classes_))) == len(vocabulary) + 1
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    assert again.suggest(texts[:20]) == tagger.suggest(texts[:20])


def test_labels_come_out_in_the_language_asked_for(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("uri,label_en,label_fi\nhttp://x/1,river,joki\nhttp://x/2,choir,kuoro\n")
    start_tagger(load_vocabulary(path), "en").save(tmp_path / "model")
    tagger = Tagger.load(tmp_path / "model")
    found = [{each.label for each in tagger.suggest(["choir, river"], language=tag)[0]} for tag in (None, "fi")]
    assert found == [{"http://x/1", "http://x/2"}, {"joki", "kuoro"}]
    assert tagger.readable("river", "fi") == "joki"
    with pytest.raises(ParameterError, match="the vocabulary has no names in 'sv'; it has names in en, fi"):
        tagger.suggest([], language="sv")
    with pytest.raises(ParameterError, match="language 'fi': the model has no vocabulary"):
        Tagger("Popularity").fit(["an apple", "a pear"], [["x"], ["y"]]).suggest(["apples"], language="fi")


def test_names_alone_on_real_titles(real_data):
    """P@1 of a started tagger on 5,000 titles that the rules were not made on."""
    folder = real_data / "yso-finna-en"
    concepts = [line.split("\t")[:3] for line in (folder / "labels.tsv").read_text(encoding="utf-8").splitlines()]
    tagger = start_tagger(Vocabulary([key for key, _, _ in concepts], [name for _, _, name in concepts]), "en")
    rows = np.random.default_rng(0).permutation(590_669)[500_000:505_000]
    with gzip.open(folder / "train.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = file.readlines()
    records = [json.loads(lines[row]) for row in rows]
    found = tagger.suggest([record["text"] for record in records], k=1)
    pairs = zip(found, records, strict=True)  # texts without a known word have no suggestion
    assert np.mean([any(best.label in record["labels"] for best in row) for row, record in pairs]) > 0.17
