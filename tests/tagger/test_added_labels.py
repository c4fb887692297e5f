"""Labels added later, on a real vocabulary: by name, by examples, and those that are there already."""

from __future__ import annotations

import copy
import gzip

import numpy as np
import pytest

import tacit
from tacit.data.vocabulary import load_vocabulary
from tacit.errors import ActError
from tagger.articles import articles


def trained(real_data, folder, n_titles, **options) -> tacit.Tagger:
    """Titles with YSO concepts; there are samples of a third of the vocabulary at most."""
    part = folder / "titles.jsonl"
    with gzip.open(real_data / "yso-finna-en" / "train.jsonl.gz", "rt", encoding="utf-8") as file:
        part.write_text("".join(next(file) for _ in range(n_titles)), encoding="utf-8")
    titles = tacit.load_data(part)
    vocabulary = load_vocabulary(real_data / "yso-finna-en" / "labels.tsv")
    model = tacit.Tagger("LabelTree", n_trees=1, vocabulary=vocabulary, keep_texts=True, **options)
    return model.fit(titles.texts, titles.Y, label_names=titles.label_names)


@pytest.fixture(scope="module")
def tagger(real_data, tmp_path_factory) -> tacit.Tagger:
    return trained(real_data, tmp_path_factory.mktemp("yso"), 6000, names=False)


@pytest.mark.real_data
def test_a_text_that_is_the_name_of_any_concept_gets_it(real_data, tmp_path):
    named = trained(real_data, tmp_path, 2000)
    vocabulary = named.vocabulary_
    others = [label for label in named.names_.others if vocabulary.name_of(label).count("(") == 0]
    assert len(others) > 10_000
    chosen = np.random.default_rng(0).permutation(others)[:300]
    found = named.suggest([vocabulary.name_of(label) for label in chosen])
    n_found = sum(label in {each.label for each in row} for label, row in zip(chosen, found, strict=True))
    assert n_found >= 0.95 * len(chosen)  # others share their words with several concepts


@pytest.mark.real_data
def test_a_text_that_is_the_name_of_an_added_label_gets_it(tagger):
    vocabulary = tagger.vocabulary_
    known = set(map(str, tagger.classes_))
    named = [
        (place, concept)
        for place, concept in enumerate(vocabulary.ids)
        if vocabulary.find(vocabulary.names[place]) == place
    ]
    missing = [place for place, concept in named if concept not in known]
    n_added = n_found = 0
    for place in np.random.default_rng(0).permutation(missing)[:150]:
        later = copy.copy(tagger)
        try:
            label = later.add_label(vocabulary.names[place])
        except ActError:  # no word of its name is in the training texts
            continue
        assert label == vocabulary.ids[place]  # as the labels of this model are called
        n_added += 1
        n_found += label in {each.label for each in later.suggest([vocabulary.names[place]])[0]}
    assert n_added > 50
    assert n_found == n_added


@pytest.mark.real_data
def test_verbatim_examples_reach_the_threshold(tagger):
    texts = tagger.training_.texts
    for first in range(0, 90, 3):
        later = copy.copy(tagger)
        later.add_label("a label of the house", examples=texts[first : first + 3])
        scores = later.rank(texts[first : first + 3], 1, include=["a label of the house"]).scores[:, 0]
        assert scores.min() >= later.threshold_


@pytest.mark.real_data
def test_a_concept_that_is_there_is_not_added_again(tagger):
    label = str(tagger.classes_[0])
    name = tagger.readable(label)
    with pytest.raises(ActError, match=f"'{name}' is the label '{label}', which exists already"):
        tagger.add_label(name)
    assert tagger.acts_ == []


@pytest.mark.parametrize("known_by", [{}, {"cooccurs": {"fruit": 2}}, {"parent": "cars"}, {"description": "a drum"}])
def test_whatever_else_is_known_an_example_has_its_label(known_by):
    tagger = tacit.Tagger(model="OneVsAll").fit(*articles())
    examples = ["apple drum road", "snow chord", "brake brake fig"]
    tagger.add_label("odd", examples=examples, **known_by)
    for row in tagger.suggest(examples, threshold="auto"):
        assert "odd" in {each.label for each in row}
