from __future__ import annotations

import re

import numpy as np

from report.samples import Page
from tacit.evaluation.curves import Bin, ThresholdCurve
from tacit.report.figures import WIDTH, precision_recall, reliability_diagram


def drawn(markup: str, class_: str) -> int:
    return sum(class_ in (attributes.get("class") or "").split() for _, attributes in Page(markup).attributes)


def test_curves_mark_the_stored_threshold_and_bins():
    recall = np.linspace(0.001, 0.9, 5000)
    curve = ThresholdCurve((1 - recall).astype(np.float32), 1 - recall / 2, recall, 3 * recall)
    markup = precision_recall(curve, 0.4)
    assert (drawn(markup, "stored"), "threshold 0.4" in markup, len(markup) < 10_000) == (1, True, True)
    bins = [(Bin(0.1, 0.12, 40), (0.05, 0.2)), (Bin(0.8, 0.7, 40), (0.6, 0.8))]
    markup = reliability_diagram(bins, 0.06)
    assert [drawn(markup, class_) for class_ in ("dot", "whisker")] == [2, 2]
    assert Page(markup).attributes[0][1]["viewbox"] == f"0 0 {WIDTH} 240"
    numbers = [float(number) for number in re.findall(r'(?<=[ ",])-?\d+\.?\d*(?=[ ",])', markup)]
    assert max(numbers) <= WIDTH
