from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.samples import Page
from tacit.evaluation.curves import Bin, ThresholdCurve
from tacit.report.figures import WIDTH, Plot, paired_bars, precision_recall, reliability_diagram
from tacit.report.findings import Operating, Pair, Reliability, operating_points


@given(st.floats(-1e7, 1e7), st.floats(-1e7, 1e7))
def test_every_number_of_a_plot_is_on_it(x, y):
    plot = Plot("x", "y")
    plot.line([(-1, 0), (0.5, 3), (x, y)], "curve")
    plot.bar(0, x, y, "model", "a bar")
    plot.whisker(x, (0.1, y))
    plot.dot(x, y, "dot", "a dot")
    markup = plot.markup("a plot")
    numbers = [float(number) for number in re.findall(r'(?<=[ ",])-?\d+\.?\d*(?=[ ",])', "".join(plot.parts))]
    assert min(numbers) >= -90  # the turn of a label
    assert max(numbers) <= WIDTH
    about = {"viewbox": "0 0 340 240", "role": "img", "aria-label": "a plot"}
    assert Page(markup).attributes[0] == ("svg", about)


def test_ends_of_the_axes_are_ends_of_the_plot():
    plot = Plot("x", "y", [(0, "")], [(0, ""), (20, "")], (0, 10))
    assert [plot.x(value) for value in (-1, 0, 5, 10, 12)] == [44, 44, 186, 328, 328]
    assert [plot.y(value) for value in (-1, 0, 10, 20, 21)] == [202, 202, 106, 10, 10]


def drawn(markup: str, class_: str) -> int:
    return sum(class_ in (attributes.get("class") or "").split() for _, attributes in Page(markup).attributes)


def test_bars_have_whiskers_where_there_is_an_interval():
    pairs = [Pair("P@1", (0.6, 0.1), ((0.5, 0.7), (0.1, 0.1))), Pair("C@1", (0.2, 0.0), (None, None))]
    markup = paired_bars("bars", pairs, "metric", "percent")
    assert [drawn(markup, class_) for class_ in ("model", "baseline", "whisker")] == [2, 2, 1]
    assert "P@1, model: 60.0 %" in markup
    assert drawn(paired_bars("no bands", [], "band", "percent"), "model") == 0


@pytest.mark.parametrize("tallest", [0.0, 0.004, 0.03, 0.1, 0.28, 0.4, 0.61, 0.77, 0.8, 0.99, 1.0])
def test_the_axis_of_bars_ends_above_the_tallest(tallest):
    markup = paired_bars("bars", [Pair("P@1", (tallest / 2, 0.0), ((0.0, tallest), None))], "metric", "percent")
    ticks = [int(text) for text in re.findall(r'class="tick">(\d+)<', markup)]
    assert ticks[0] == 0
    assert max(ticks) > 100 * tallest or max(ticks) == 100
    assert max(ticks) <= max(1.6 * 100 * tallest + 1, 2)
    assert 2 <= len(ticks) <= 6
    tops = [float(y) for y in re.findall(r'points="[\d.]+,([\d.]+) [^"]*" class="grid"', markup)]
    assert min(tops) == 10  # the last tick is the top of the plot


def test_the_curve_marks_the_stored_threshold():
    recall = np.linspace(0.001, 0.9, 5000)
    curve = ThresholdCurve((1 - recall).astype(np.float32), 1 - recall / 2, recall, 3 * recall)
    stored, step = operating_points(curve, [0.4, 0.5])
    markup = precision_recall(curve, stored, [step, Operating(0.99, 0.0, 0.0, 0.0)])
    assert [drawn(markup, class_) for class_ in ("stored", "step")] == [1, 1]  # none for a threshold that gives nothing
    assert "threshold 0.4" in markup
    assert len(markup) < 10_000


def test_the_reliability_diagram_has_a_dot_for_each_bin():
    bins = [(Bin(0.1, 0.12, 40), (0.05, 0.2)), (Bin(0.8, 0.7, 40), (0.6, 0.8))]
    markup = reliability_diagram(Reliability(bins, 0.06))
    assert [drawn(markup, class_) for class_ in ("dot", "whisker")] == [2, 2]
    assert "0.060" in markup
