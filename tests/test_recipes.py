"""The recipes of CONTRIBUTING.md: a model, a format and a metric, added by exactly the steps that it names."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np

import tacit
from tacit import registry
from tacit.core.base import Estimator
from tacit.core.parameters import document_parameters
from tacit.core.ranking import Ranking
from tacit.data import formats
from tacit.data.dataset import label_lists
from tacit.data.label_names import text_dataset
from tacit.evaluation.metrics import METRICS, JudgedRanking, RankingMetric, Ratio, evaluate, read_metric
from tacit.tagger.comparison import compare

ROOT = Path(__file__).parents[1]


def test_recipes_name_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipes = re.findall(r"(?ms)^### (A new \w+)\n(.*?)(?=^##)", text)
    kinds = ("model", "format", "command", "metric", "endpoint")
    assert [name for name, _ in recipes] == [f"A new {kind}" for kind in kinds]
    for name, steps in recipes:
        places = re.findall(r"`(src/[\w/.]+)`", steps)
        assert 1 <= len(set(places)) <= 3, name
        assert all((ROOT / place).exists() for place in places), places


@document_parameters
@dataclass(kw_only=True, eq=False, repr=False)
class Alphabetical(Estimator):
    """Labels in the order of their columns."""

    order_: list[int] = field(init=False)

    def _fit(self, X, Y):
        self.order_ = list(range(Y.shape[1]))

    def _rank(self, X, k, allowed):
        best = np.array([label for label in self.order_ if allowed is None or allowed[label]][:k], np.int32)
        return Ranking(np.tile(best, (X.shape[0], 1)), np.tile(-best.astype(np.float32), (X.shape[0], 1)))


def test_a_model(monkeypatch, tmp_path):
    module = ModuleType("toy_model")
    module.Alphabetical = Alphabetical
    monkeypatch.setitem(sys.modules, "toy_model", module)
    entry = registry.Entry("Alphabetical", "toy_model", "labels in order")
    monkeypatch.setitem(registry.MODELS, entry.name, entry)  # the line in registry.py
    tagger = tacit.Tagger("alphabetical", calibrate=False).fit(["an apple", "a pear"], [["b"], ["a"]])
    tagger.save(tmp_path / "model")
    assert [found.label for found in tacit.Tagger.load(tmp_path / "model").suggest(["an apple"])[0]] == ["a", "b"]


def test_a_metric(monkeypatch):
    def first_hit(first: JudgedRanking, k: int) -> Ratio:
        return Ratio(first.hits[:, :k].any(axis=1).astype(np.float64))

    metric = RankingMetric("Hit", "samples with a right label among the first k", first_hit, is_compared=True)
    monkeypatch.setitem(METRICS, metric.name, metric)  # the entry in metrics.py
    ranking = Ranking([[0, 1], [1, 0]], [[1.0, 0.5], [1.0, 0.5]])
    truth = np.array([[1, 0], [1, 0]])
    assert evaluate(ranking, truth, ks=(1, 2))["Hit@1"] == 0.5
    assert read_metric("Hit@3") == (metric, 3)
    assert "Hit@1" in [difference.metric for difference in compare(ranking, ranking, truth, n_bootstrap=5)]


def test_a_format(monkeypatch, tmp_path):
    module = ModuleType("tacit.data.colon")

    def read(source):
        lines = [line.split(":") for line in source.path.read_text().splitlines()]
        return text_dataset(source, [1, 2], [text for _, text in lines], [labels.split(",") for labels, _ in lines])

    def write(dataset, target, staging):
        rows = zip(label_lists(dataset), dataset.texts, strict=True)
        with staging.open(target.path) as file:
            file.writelines(f"{','.join(labels)}:{text}\n".encode() for labels, text in rows)

    module.read, module.write = read, write
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = formats.Format("colon", True, "colon", "`a,b:text`", (".colon",))
    monkeypatch.setitem(formats.FORMATS, entry.name, entry)  # the line in formats.py
    (tmp_path / "a.colon").write_text("b,a:an apple\nb:a pear\n")
    dataset = tacit.load_data(tmp_path / "a.colon")
    assert dataset.texts == ["an apple", "a pear"]
    tacit.save_data(dataset, tmp_path / "b.colon")
    assert (tmp_path / "b.colon").read_text() == "a,b:an apple\nb:a pear\n"
