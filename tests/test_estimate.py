from __future__ import annotations

import contextlib
import logging
import shutil
import signal
import sys
import threading

import numpy as np
import pytest

import tacit
from planted import planted
from tacit import estimate as estimating
from tacit.errors import ParameterError, TacitError
from tacit.estimate import (
    Estimate,
    estimate,
    format_seconds,
    format_size,
    memory_limit,
    parse_size,
    within_memory,
)
from tacit.probe import Measurement, data_bytes, resident_bytes
from tacit.store.folder import read_manifest

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems keep no limit on memory")


@pytest.fixture(scope="module")
def data():
    return planted(n_samples=1500)


# -- sizes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size"),
    [("8G", 8 << 30), ("500M", 500 << 20), ("1.5GiB", 3 << 29), ("64 kb", 64 << 10), ("123", 123), (99, 99)],
)
def test_sizes_are_read(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "8 gigs", "-1G", "0", "nan"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ParameterError, match=f"such as 8G or 500M; got '{text}'"):
        parse_size(text)


def test_sizes_and_times_are_shown_as_people_say_them():
    assert [format_size(size) for size in (0, 900, 1536, 12 << 20, 1.4 * 2**30, 5 << 40)] == [
        "0 bytes", "900 bytes", "1.5 KB", "12 MB", "1.4 GB", "5.0 TB",
    ]  # fmt: skip
    assert [format_seconds(s) for s in (0.26, 35.2, 300, 7800)] == ["0.3 s", "35 s", "5 min", "2 h 10 min"]


# -- estimates --------------------------------------------------------------------------------------------


def test_an_estimate_is_near_what_training_takes(data, tmp_path):
    model = tacit.FastXML(n_trees=20)
    before = resident_bytes()
    names = [[f"t{label:02d}" for label in row.indices] for row in data.Y]
    expected = estimate(model, data.X.toarray(), names)
    assert model.get_params() == tacit.FastXML(n_trees=20).get_params()
    assert not hasattr(model, "forest_")
    model.fit(data.X, data.Y).save(tmp_path / "model")
    assert 0.5 < expected.model_bytes / read_manifest(tmp_path / "model")["file"]["size"] < 2
    assert 0 < expected.seconds < 60
    assert expected.memory_bytes > before


def test_a_part_has_a_label_where_there_is_one(data):
    Y = data.Y.tolil()
    Y[:700], Y[701:] = 0, 0
    assert estimating._random_rows(Y.tocsr())[0] == 700


def test_a_wrong_parameter_is_found_before_anything_starts(data):
    with pytest.raises(ParameterError, match="'C' must be float, > 0; got 0"):
        estimate(tacit.OneVsAll(C=0), data.X, data.Y)


def test_what_a_fit_refuses_is_said(data):
    with pytest.raises(TacitError, match="no positive label anywhere"):
        estimate(tacit.Popularity(), data.X, 0 * data.Y)


def test_a_probe_that_takes_too_long_is_given_up(data, monkeypatch):
    monkeypatch.setattr(estimating, "_PATIENCE", 0.01)
    expected = estimate(tacit.OneVsAll(), data.X, data.Y)
    assert expected.is_lower_bound
    assert expected.seconds == pytest.approx(0.01 * 1500 / 500)
    assert str(expected).startswith("more than 0.0 s")


@only_linux
def test_a_probe_that_breaks_says_so(data, monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(TacitError, match="the process that tries the model out ended early"):
        estimate(tacit.OneVsAll(), data.X, data.Y)


@pytest.mark.parametrize(
    ("what", "values", "power"),
    [("cpu_seconds", (1, 2, 4), 1.0), ("cpu_seconds", (1, 1.01, 1.02), 0.9), ("memory_bytes", (1, 8, 64), 1.1)],
)
def test_a_power_law_is_carried_on_within_bounds(what, values, power):
    blank = {"seconds": 1.0, "cpu_seconds": 1.0, "memory_bytes": 1, "model_bytes": 1}
    measured = [Measurement(n, **{**blank, what: v}) for n, v in zip((100, 200, 400), values, strict=True)]
    assert estimating._extrapolated(measured, what, 4000) == pytest.approx(values[-1] * 10**power)


def test_time_is_processor_time_at_the_rate_it_was_given():
    measured = [Measurement(n, seconds, n / 100, 1, 1) for n, seconds in ((100, 3.0), (200, 1.0), (400, 3.0))]
    assert estimating._seconds(measured, 800) == pytest.approx(8.0)


def test_probes_grow_until_they_have_taken_their_time():
    asked = []

    def measure(n_samples):
        asked.append(n_samples)
        return Measurement(n_samples, n_samples / 1000, n_samples / 500, n_samples, n_samples)

    estimating._measure_parts(measure, 100_000, 25_000, max_seconds=20.0)
    assert asked == [100, 500, 1000, 2000]  # a twentieth of 100 s, with the next probe
    asked.clear()
    estimating._measure_parts(measure, 1000, 1000, max_seconds=20.0)
    assert asked == [100, 500, 1000]


def test_parts_of_a_clustered_model_have_as_many_clusters_as_all():
    from tacit.probe import _scaled

    assert _scaled(tacit.ExMLDS1(max_cluster=1000), 0.1).max_cluster == 100
    assert _scaled(tacit.ExMLDS1(max_cluster=10), 0.01).max_cluster == 2
    assert _scaled(tacit.OneVsAll(), 0.1).get_params() == tacit.OneVsAll().get_params()


# -- limits -----------------------------------------------------------------------------------------------


def estimates_by(per_job: int, per_tree: int):
    """An estimate whose memory is known: the smaller the model and the fewer jobs, the less."""

    def known(model, X, Y):
        trees = getattr(model, "n_trees", 0)
        return Estimate(1.0, 100 + per_job * (model.n_jobs or 1) + per_tree * trees, 1)

    return known


@pytest.mark.parametrize(
    ("limit", "n_jobs", "n_trees", "said"),
    [
        (1000, 4, 50, ""),
        (620, 2, 50, "to stay within 620 bytes: n_jobs 2 instead of 4"),
        (400, 1, 29, "n_jobs 1 instead of 4, n_trees 29 instead of 50"),
        (120, 1, 1, "n_trees 1 instead of 50"),
    ],
)
def test_a_model_does_less_to_stay_within_a_limit(data, monkeypatch, caplog, limit, n_jobs, n_trees, said):
    monkeypatch.setattr(estimating, "estimate", estimates_by(per_job=10, per_tree=10))
    model = tacit.FastXML(n_jobs=4)
    with caplog.at_level(logging.INFO, logger="tacit"):
        fitting = within_memory(model, data.X, data.Y, limit)
    assert (fitting.n_jobs, fitting.n_trees) == (n_jobs, n_trees)
    assert (model.n_jobs, model.n_trees) == (4, 50)
    assert said in caplog.text


def test_a_limit_that_nothing_fits_is_an_error(data, monkeypatch):
    monkeypatch.setattr(estimating, "estimate", estimates_by(per_job=10, per_tree=10))
    with pytest.raises(TacitError, match="FastXML needs about 120 bytes .* but 110 bytes are allowed; allow more"):
        within_memory(tacit.FastXML(n_jobs=4), data.X, data.Y, 110)
    with pytest.raises(TacitError, match="OneVsAll needs about 110 bytes"):
        within_memory(tacit.OneVsAll(), data.X, data.Y, 50, Estimate(1.0, 110, 1))


def test_no_limit_changes_nothing():
    with memory_limit(None):
        assert np.ones(1000).sum() == 1000


@only_linux
def test_an_array_beyond_the_limit_is_an_error_and_the_limit_is_lifted_again():
    limit = memory_limit(data_bytes() + (200 << 20))
    with pytest.raises(TacitError, match="more than the allowed .* of memory are needed; allow more"), limit:
        np.ones(400 << 17)
    assert np.ones(400 << 17)[-1] == 1


def grow():
    held = []
    while True:
        held.append(np.ones(1 << 12))


@only_linux
def test_many_small_steps_beyond_the_limit_are_an_error_too():
    with pytest.raises(TacitError, match="more than the allowed"), memory_limit(data_bytes() + (200 << 20)):
        grow()
    assert not [thread for thread in threading.enumerate() if isinstance(thread, estimating._Watch)]


@only_linux
def test_the_limit_holds_where_interruptions_are_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(TacitError, match="more than the allowed"), memory_limit(data_bytes() + (200 << 20)):
            grow()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@only_linux
def test_an_interruption_that_got_lost_is_repeated():
    def grow_on():
        with contextlib.suppress(KeyboardInterrupt):
            grow()
        grow()

    with pytest.raises(TacitError, match="more than the allowed"), memory_limit(data_bytes() + (200 << 20)):
        grow_on()


@only_linux
def test_a_limit_below_what_is_held_already_is_refused():
    message = "1.0 MB of memory are too few: this process holds .* allow at least"
    with pytest.raises(TacitError, match=message), memory_limit(1 << 20):
        pytest.fail("the block must not run")


@only_linux
@pytest.mark.parametrize("error", [KeyboardInterrupt, KeyError])
def test_other_errors_and_interruptions_pass_through(error):
    with pytest.raises(error), memory_limit(data_bytes() + (1 << 30)):
        raise error
