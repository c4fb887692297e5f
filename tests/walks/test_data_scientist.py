"""A data scientist in a notebook: DataFrames in, models compared, suggestions back in the DataFrame."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import tacit as library
from walks.files import TOPICS, ticket

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def frame():
    rng = random.Random(1)
    rows = [{"nr": number, **ticket(rng)} for number in range(500)]
    made = pandas.DataFrame(rows)
    made["topics"] = made["topics"].str.split("|")
    return made.sample(frac=1, random_state=0)  # an index out of order, as in life


def test_from_a_frame_to_a_report(frame, tmp_path, tacit):
    data = read(frame)
    parts = library.train_test_split(data.Y, 0.3)
    train, test = frame.iloc[parts.train], frame.iloc[parts.test]
    tagger = fit_and_suggest(train, test)
    choose_a_model(data, parts)
    report_and_share(tagger, data.rows(parts.test), test, tmp_path, tacit)


def read(frame):
    """Wrong turns name the argument to give."""
    with pytest.raises(library.TacitError, match="DataFrame:1: no field for text .* among nr, subject.*with text="):
        library.load_data(frame)
    with pytest.raises(library.TacitError, match=r"has no field 'topic' .did you mean 'topics'"):
        library.load_data(frame, text=["subject", "message"], labels="topic")
    data = library.load_data(frame, text=["subject", "message"], labels="topics")
    assert data.label_names == sorted(TOPICS)
    assert len(data) == len(frame)
    return data


def fit_and_suggest(train, test):
    texts = ["subject", "message"]
    tagger = library.Tagger("OneVsAll").fit(train[texts], train["topics"])
    with pytest.raises(library.TacitError, match="texts must be a list of texts; got a single one"):
        tagger.suggest("where is my parcel")
    with pytest.raises(library.TacitError, match="a threshold must be a number, 'auto'"):
        tagger.suggest(test[texts], threshold="precison=0.8")
    found = tagger.suggest(test[texts], threshold="precision=0.8")
    joined = test.assign(suggested=[[label for label, _ in row] for row in found])  # by row, whatever the index
    right = [label in truth for truth, row in zip(joined["topics"], joined["suggested"], strict=True) for label in row]
    assert np.mean(right) > 0.75
    assert tagger.evaluate(test[texts], test["topics"])["P@1"] > 0.9
    assert "Annotated" not in str(library.Tagger.__init__.__signature__)
    return tagger


def choose_a_model(data, parts):
    train, test = data.rows(parts.train), data.rows(parts.test)
    from tacit.text.vectorizer import TextVectorizer

    words = TextVectorizer()
    X, X_test = words.fit_transform(train.texts), words.transform(test.texts)
    with pytest.raises(library.TacitError, match="OneVsAll has no parameter 'c'"):
        library.tune("OneVsAll", X, train.Y, fixed={"c": 1})
    found = library.tune("OneVsAll", X, train.Y, target="nDCG@3", budget_seconds=2)
    assert found.score >= found.default_score
    search = GridSearchCV(library.OneVsAll(), {"C": [0.1, 1.0]}, cv=3).fit(X, train.Y)
    tuned = library.OneVsAll(**found.parameters).fit(X, train.Y)
    popular = library.Popularity().fit(X, train.Y)
    differences = library.compare(popular.rank(X_test, 5), tuned.rank(X_test, 5), test.Y)
    assert {one.metric: one.winner for one in differences}["P@1"] == "B"
    assert search.best_estimator_.score(X_test, test.Y) > 0.9


def report_and_share(tagger, test, frame, tmp_path, tacit):
    """The report and the model go to colleagues, the rows as Parquet to the command line."""
    library.write_report(tmp_path / "report.html", tagger, test)
    assert "Expected calibration error" in (tmp_path / "report.html").read_text(encoding="utf-8")
    tagger.save(tmp_path / "model")
    (tmp_path / "names.csv").write_text("id,name\nlogin,Signing in\nbilling,Money\n")
    assert library.load_vocabulary(tmp_path / "names.csv").name_of("login") == "Signing in"
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "test.parquet", index=False)
    fields = ("--text", "subject,message", "--labels", "topics")
    refused = tacit("evaluate", tmp_path / "model", tmp_path / "test.parquet")
    assert refused.err.endswith("name it with text=\n")
    evaluated = tacit("evaluate", tmp_path / "model", tmp_path / "test.parquet", *fields)
    assert (evaluated.code, evaluated.err) == (0, "")
    out = tmp_path / "suggestions.csv"
    done = tacit("suggest", tmp_path / "model", tmp_path / "test.parquet", *fields[:2], "--id", "nr", "--out", out)
    assert done.code == 0, done.err
    merged = frame.merge(pandas.read_csv(out), on="nr", validate="one_to_one")
    assert len(merged) == len(frame)
