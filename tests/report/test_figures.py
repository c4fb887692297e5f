from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.samples import Page
from tacit.evaluation.curves import Bin, ThresholdCurve
from tacit.report.figures import WIDTH, Plot, paired_bars, precision_recall, reliability_diagram
from tacit.report.findings import Pair, Reliability


@given(st.floats(-1e7, 1e7), st.floats(-1e7, 1e7))
def test_every_number_of_a_plot_is_on_it(x, y):
    plot = Plot("x", "y")
    plot.line([(-1, 0), (0.5, 3), (x, y)], "curve")
    plot.bar(0, x, y, "model", "a bar")
    plot.dot(x, y, "dot", "a dot")
    markup = plot.markup("a plot")
    numbers = [float(number) for number in re.findall(r'(?<=[ ",])-?\d+\.?\d*(?=[ ",])', "".join(plot.parts))]
    assert min(numbers) >= -90  # the turn of a label
    assert max(numbers) <= WIDTH
    about = {"viewbox": "0 0 340 240", "role": "img", "aria-label": "a plot"}
    assert Page(markup).attributes[0] == ("svg", about)


def drawn(markup: str, class_: str) -> int:
    return sum(class_ in (attributes.get("class") or "").split() for _, attributes in Page(markup).attributes)


@pytest.mark.parametrize("tallest", [0.0, 0.004, 0.1, 0.28, 0.61, 0.8, 0.99, 1.0])
def test_the_axis_of_bars_ends_above_the_tallest(tallest):
    markup = paired_bars("bars", [Pair("1-5", (tallest / 2, 0.0), ((0.0, tallest), (0.0, 0.0)))], "band", "percent")
    assert [drawn(markup, class_) for class_ in ("model", "baseline", "whisker")] == [1, 1, 2]
    ticks = [int(text) for text in re.findall(r'class="tick">(\d+)<', markup)]
    assert ticks[0] == 0
    assert max(ticks) > 100 * tallest or max(ticks) == 100
    assert max(ticks) <= max(1.6 * 100 * tallest + 1, 2)
    assert 2 <= len(ticks) <= 6


def test_curves_mark_the_stored_threshold_and_bins():
    recall = np.linspace(0.001, 0.9, 5000)
    curve = ThresholdCurve((1 - recall).astype(np.float32), 1 - recall / 2, recall, 3 * recall)
    markup = precision_recall(curve, 0.4)
    assert (drawn(markup, "stored"), "threshold 0.4" in markup, len(markup) < 10_000) == (1, True, True)
    bins = [(Bin(0.1, 0.12, 40), (0.05, 0.2)), (Bin(0.8, 0.7, 40), (0.6, 0.8))]
    markup = reliability_diagram(Reliability(bins, 0.06))
    assert [drawn(markup, class_) for class_ in ("dot", "whisker")] == [2, 2]
