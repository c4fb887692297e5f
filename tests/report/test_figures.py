from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report.samples import Page
from tacit.report.figures import (
    WIDTH,
    Plot,
    found_by_rank,
    frequency_plot,
    paired_bars,
    power_ticks,
    precision_recall,
    reliability_diagram,
    scale,
    share_ticks,
)
from tacit.report.findings import Bin, Frequencies, Operating, Pair, Reliability, TradeOff


def test_scales_map_ends_to_ends():
    linear, log = scale(0, 10, 100, 200), scale(1, 1000, 0, 300, log=True)
    assert [linear(value) for value in (0, 5, 10, 12, -1)] == [100, 150, 200, 200, 100]
    assert [log(value) for value in (1, 10, 1000, 0)] == pytest.approx([0, 100, 300, 0])


@given(st.floats(0.001, 10), st.floats(1.5, 1e6), st.floats(0, 1e7), st.booleans())
def test_scales_stay_on_the_page(low, ratio, value, log):
    assert 10 - 1e-6 <= scale(low, low * ratio, 10, 90, log)(value) <= 90 + 1e-6


def test_ticks():
    assert share_ticks(2) == [(0.0, "0"), (0.5, "50"), (1.0, "100")]
    assert power_ticks(1, 2500) == [(1, "1"), (10, "10"), (100, "100"), (1000, "1,000")]
    assert [text for _, text in power_ticks(1, 1e8)] == ["1", "100", "10,000", "1,000,000", "100,000,000"]


def test_every_number_of_a_plot_is_on_it():
    plot = Plot("a plot", (0, 1), (0, 1), "x", "y")
    plot.axes(share_ticks(), share_ticks())
    plot.line([(-1, 0), (0.5, 3)], "curve")
    plot.bar(0, 0.2, 0, 0.5, "model", "half")
    plot.point(2, 2, "dot")
    plot.point(0.5, 0.5, "missed", "a cross", cross=True)
    numbers = [float(number) for number in re.findall(r'(?<=[ ",])-?\d+\.?\d*(?=[ ",])', "".join(plot.parts))]
    assert min(numbers) >= -90  # the turn of a label
    assert max(numbers) <= WIDTH
    assert Page(plot.markup()).attributes[0] == (
        "svg",
        {"viewbox": "0 0 340 240", "role": "img", "aria-label": "a plot"},
    )


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
    curve = TradeOff((1 - recall).astype(np.float32), 1 - recall / 2, recall, 3 * recall)
    stored = curve.at(0.4)
    markup = precision_recall(curve, stored, [curve.at(0.5), Operating(0.99, 0.0, 0.0, 0.0)])
    assert [drawn(markup, class_) for class_ in ("stored", "step")] == [1, 1]  # none for a threshold that gives nothing
    assert "threshold 0.4" in markup
    assert len(markup) < 10_000


def test_the_reliability_diagram_has_a_dot_for_each_bin():
    bins = [Bin(0.1, 0.12, (0.05, 0.2), 40), Bin(0.8, 0.7, (0.6, 0.8), 40)]
    markup = reliability_diagram(Reliability(bins, 0.06))
    assert [drawn(markup, class_) for class_ in ("dot", "whisker")] == [2, 2]
    assert "0.060" in markup


@pytest.mark.parametrize("n_labels", [1, 2, 7, 300, 30_000])
def test_frequency_plots_of_any_size_are_small(n_labels):
    ranks = np.arange(1, n_labels + 1)
    labels = Frequencies((n_labels / ranks).astype(np.int64) - (n_labels > 2), ranks % 3 > 0, ranks % 3 == 1)
    markup = frequency_plot(labels)
    Page(markup)
    assert drawn(markup, "found") > 0
    assert len(markup) < 40_000
    assert 0 < drawn(found_by_rank(labels), "found-bar") <= 40


def test_labels_at_one_place_show_what_most_of_them_are():
    counts = np.full(5000, 3)
    is_tested = np.ones(5000, np.bool_)
    mostly = frequency_plot(Frequencies(counts, is_tested, np.arange(5000) % 10 > 0))
    rarely = frequency_plot(Frequencies(counts, is_tested, np.arange(5000) % 10 == 0))
    assert drawn(mostly, "missed") < drawn(mostly, "found") / 5
    assert drawn(rarely, "found") < drawn(rarely, "missed") / 5


def test_unseen_labels_have_a_tick_of_their_own():
    seen, tested = np.array([5, 2, 1]), np.ones(3, np.bool_)
    assert ">0</text>" not in frequency_plot(Frequencies(seen, tested, tested))
    assert ">0</text>" in frequency_plot(Frequencies(np.array([5, 2, 0]), tested, tested))
