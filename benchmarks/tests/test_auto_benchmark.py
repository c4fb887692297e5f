"""The benchmark behind ``model="auto"``: a grid that resumes, and what a choice is worth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from benchmarks import auto
from tacit.tagger.automatic import DataSize

SMALL = DataSize(1_000, 100, 10_000, 3_000)


def cell(one_vs_all, label_tree):
    """NDCG@5 in points and CPU seconds of both models."""
    pairs = {"OneVsAll": one_vs_all, "LabelTree": label_tree}
    found = {model: {"nDCG@5": points / 100, "cpu": cpu} for model, (points, cpu) in pairs.items()}
    return auto.Cell("set", SMALL, found)


@pytest.mark.parametrize(
    ("one_vs_all", "label_tree", "best"),
    [
        ((60.4, 100), (60.0, 10), "LabelTree"),  # ten times the time for less than half a point
        ((60.6, 100), (60.0, 10), "OneVsAll"),
        ((60.1, 9), (60.0, 0.1), "OneVsAll"),  # nobody notices these seconds
        ((60.0, 9), (60.1, 500), "OneVsAll"),
    ],
)
def test_time_is_weighed_against_accuracy(one_vs_all, label_tree, best):
    found = cell(one_vs_all, label_tree)
    assert found.best == best
    assert found.chosen == "OneVsAll"
    assert (found.loss == 0) == (best == "OneVsAll")


def test_the_grid_resumes_and_has_no_size_twice(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix((rng.random((2_000, 30)) < 0.2).astype(np.float32))
    measured = []
    monkeypatch.setitem(auto.SETS, "Bibtex", lambda: auto.Samples(X, X[:, :7]))
    monkeypatch.setattr(auto, "measure", lambda model, data: measured.append(model) or fake(model, data))
    auto.samples.cache_clear()
    arguments = ("--sets", "Bibtex", "--folder", str(tmp_path))
    for _ in range(2):
        auto.main(*arguments)
    assert measured == ["OneVsAll", "LabelTree"] * 2  # 1,000 of the 1,600 rows, and all of them; not a third time
    auto.main(*arguments, "--kept", "--markdown")
    shown = capsys.readouterr().out
    assert "1,600" in shown
    assert "mean loss of the rule: 0.00" in shown
    auto.samples.cache_clear()


def fake(model, data):
    metrics = {f"{metric}@{k}": 0.5 for metric in ("P", "PSP", "nDCG") for k in (1, 3, 5)}
    return metrics | {"cpu": 1.0 if model == "OneVsAll" else 20.0, "size": DataSize.of(data.X, data.Y)._asdict()}
