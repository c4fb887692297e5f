"""A model at the end of a scikit-learn pipeline: any vectoriser in front, label names out."""

from __future__ import annotations

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import tacit

texts = ["a ripe apple and a pear", "pears and plums", "the engine of a car", "a car with new brakes"] * 5
tags = [["fruit"], ["fruit"], ["cars"], ["cars", "repair"]] * 5

pipeline = make_pipeline(TfidfVectorizer(), tacit.OneVsAll(random_state=0))
pipeline.fit(texts, tags)
print(pipeline.predict(["an apple", "brakes of a car"]))

# `predict` gives label sets; the ranking behind them is the last step's own.
ranking = pipeline[-1].rank(pipeline[:-1].transform(["brakes"]), k=2)
print([str(name) for name in pipeline[-1].classes_[ranking.labels[0]]])
