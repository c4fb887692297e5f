"""The whole page, for models and data of every kind."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import pytest

import tacit
from planted import planted
from report.samples import Page, dataset, new_dataset, texts_and_tags, trained_tagger
from tacit.data.vocabulary import Vocabulary
from tacit.errors import DataError, FileError
from tacit.report.findings import evaluate_model
from tacit.report.write import page, write_report
from tacit.store.packing import Stored

SECTIONS = ["what", "metrics", "bands", "thresholds", "probabilities", "labels", "samples"]


def report(tagger: Stored, samples: tacit.Dataset, **names: str) -> Page:
    """The page for a model and data, once it has been found to be sound."""
    content = page(evaluate_model(tagger, samples), **names)
    found = Page(content)
    assert [name for name in found.ids if not name.endswith("-title")] == SECTIONS
    assert len(set(found.ids)) == len(found.ids)
    assert not {"script", "link", "img", "iframe"} & {name for name, _ in found.attributes}
    for _, attributes in found.attributes:
        assert (attributes.get("href") or "#").startswith("#")
        assert (attributes.get("aria-labelledby") or found.ids[0]) in found.ids
        assert not any(name.startswith("on") for name in attributes)
    assert "url(" not in content
    assert "http" not in content
    assert not re.search(r"\b(nan|inf|None)\b", found.text())
    return found


def test_a_calibrated_tagger_has_everything():
    found = report(trained_tagger(), new_dataset(), model="my model", data="new.csv")
    text = found.text()
    assert text.count("How good is OneVsAll?") == 1
    assert found.count("svg") == 2
    assert found.count("h1") == 1
    for words in (
        "my model",
        "new.csv: 60 samples",
        "160 samples",
        "Expected calibration error: 0.",
        "a probability is uncertain by ±",
        "seed 0",
        "✓ fruit",
    ):
        assert words in text
    for metric in ("P@1", "nDCG@5", "R@3", "PSP@5", "PSnDCG@3", "C@5"):
        assert metric in text
    sections = {attributes.get("scope") for name, attributes in found.attributes if name == "th"}
    assert sections == {"col", "row"}
    assert found.count("table") == found.count("caption")
    assert found.count("figure") == found.count("figcaption") == found.count("svg")


def test_numbers_are_those_of_evaluate():
    tagger, data = trained_tagger(), new_dataset()
    found = evaluate_model(tagger, data)
    expected = tacit.evaluate(found.ranking, found.truth, tagger.propensities_for(found.truth.shape[1]))
    for metric in found.metrics:
        assert metric.values[0] == expected[metric.name]
        assert all(low <= metric.values[0] <= high for low, high in metric.intervals[:1])
    baseline = tacit.evaluate(found.baseline, found.truth)
    assert all(metric.values[1] == baseline[metric.name] for metric in found.metrics if metric.name in baseline)
    assert found.baseline.labels[0].tolist() == np.argsort(-found.counts, kind="stable").tolist()


def test_names_and_texts_cannot_become_markup():
    text = report(trained_tagger(), new_dataset()).text()
    assert "<b>law</b> & order" in text
    hostile = dataset(['<script>alert("x")</script> apple', "pear"], [["fruit"], ['"><img src=x onerror=alert(1)>']])
    assert "onerror=alert(1)>" in report(trained_tagger(), hostile, data="<i>.csv").text()


def test_scores_without_calibration_are_not_called_probabilities():
    found = report(trained_tagger(calibrate=False), new_dataset())
    assert "not probabilities" in found.text()
    assert "Expected calibration error" not in found.text()
    assert found.count("svg") == 1


def test_features_instead_of_texts():
    X, Y = planted()
    names = [f"name {label}" for label in range(Y.shape[1])]
    words = [f"word{column}" for column in range(X.shape[1])]
    data = tacit.Dataset(X, Y, names, feature_names=words)
    tagger = tacit.Tagger("OneVsAll").fit(X, Y, label_names=names)
    text = report(tagger, data).text()
    assert re.search(r"✓ name \d", text)
    bare = tacit.OneVsAll().fit(X, Y, label_names=names)
    assert "not probabilities" in report(bare, tacit.Dataset(X, Y, names)).text()


def test_labels_unseen_in_training():
    texts, tags = ["apple pear", "a chord", "court"], [["fruit", "new label"], ["newer"], ["new label"]]
    text = report(trained_tagger(), dataset(texts, tags)).text()
    assert "4 different" not in text
    assert "3 different, 1.33 per sample; 2 unseen in training" in text
    assert "new label" in text
    assert "unseen2 labels, 3 × true; 2 of them unknown to the model" in text
    with pytest.raises(DataError, match="no sample of the data has a label"):
        evaluate_model(trained_tagger(), dataset(["apple"], [[]]))


def test_labels_never_suggested_have_no_precision():
    data = dataset(["apple"] * 9, [["fruit"]] * 8 + [["new label"]])
    cells = [text for element, text in report(trained_tagger(), data).texts if element in ("bdi", "td")]
    assert cells[cells.index("new label") :][:4] == ["new label", "–", "0.0", "0.0"]


def test_a_model_that_was_trained_on_the_samples():
    texts, tags = texts_and_tags()
    own = report(trained_tagger(), dataset(texts, tags), data="old <b>.csv").text()
    assert "100% of the samples of old <b>.csv were in the training data of the model" in own
    assert "of the samples of the data were in" in report(trained_tagger(), dataset(texts, tags)).text()
    new = dataset([f"{text} {row}" for row, text in enumerate(texts)], tags)
    assert "in the training data of the model" not in report(trained_tagger(), new).text()


def test_labels_changed_since_training_and_named_by_a_vocabulary(tmp_path):
    trained_tagger().save(tmp_path / "model")
    tagger = tacit.Tagger.load(tmp_path / "model")
    tagger.vocabulary_ = Vocabulary(["fruit"], ["pomes"])
    tagger.add_label("jam", cooccurs={"fruit": 20})
    tagger.rename_label("cars", "vehicles")
    tagger.retire_label("music")
    text = report(
        tagger, dataset(["apple pear", "engine", "a tune"], [["fruit", "jam"], ["vehicles"], ["music"]])
    ).text()
    assert "3 changes: labels amended" in text
    assert "✗ music" not in text
    assert "✓ vehicles" in text
    assert "✓ pomes" in text


def test_the_same_report_is_the_same_bytes(tmp_path):
    for name in ("a.html", "b.html"):
        write_report(tmp_path / name, trained_tagger(), new_dataset(), data_name="new.csv", date=dt.date(2026, 3, 1))
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert "<dt>date</dt><dd>2026-03-01</dd>" in (tmp_path / "a.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("report.csv", "must end in .html"),
        ("absent/report.html", "there is no folder"),
        ("folder.html", "it is a folder"),
    ],
)
def test_bad_paths(tmp_path, name, message):
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(FileError, match=message):
        write_report(tmp_path / name, trained_tagger(), new_dataset())
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]
