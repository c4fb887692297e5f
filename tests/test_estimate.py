from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import planted
from tacit import estimate as estimating
from tacit.data.vocabulary import load_vocabulary
from tacit.errors import ParameterError, TacitError
from tacit.estimate import Estimate, estimate, within_memory
from tacit.growth import Extent
from tacit.labels import Labels
from tacit.memory import resident_bytes
from tacit.names.index import NameIndex
from tacit.phases import Lap, recorded
from tacit.probe import Measurement, Task, read_task, write_task
from tacit.tagger import cross_fit, learning, training
from tacit.tagger.naming import names_of_labels
from tacit.tagger.samples import Inputs
from tacit.tagger.training import schedule
from tagger.named import RARE, TOPICS, corpus, thesaurus

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="false is a command of Unix")


@pytest.fixture(scope="module")
def data():
    return planted(n_samples=1500)


# -- real trainings ---------------------------------------------------------------------------------------


def folder_size(folder):
    return sum(file.stat().st_size for file in folder.iterdir())


def test_an_estimate_is_near_what_training_takes(data, tmp_path):
    model = tacit.FastXML(n_trees=20)
    before = resident_bytes()
    names = [[f"t{label:02d}" for label in row.indices] for row in data.Y]
    expected = estimate(model, data.X.toarray(), names)
    assert model.get_params() == tacit.FastXML(n_trees=20).get_params()
    assert not hasattr(model, "forest_")
    model.fit(data.X, data.Y).save(tmp_path / "model")
    assert 1 / 1.5 < expected.model_bytes / folder_size(tmp_path / "model") < 1.5
    assert 0 < expected.seconds < 60
    assert expected.memory_bytes > before


def test_dense_features_stay_dense_in_the_trainings_that_are_measured(data, monkeypatch):
    written = []
    keep = estimating.write_task
    monkeypatch.setattr(estimating, "write_task", lambda folder, task, n: written.append(task) or keep(folder, task, n))
    rng = np.random.default_rng(0)
    vectors = (data.X @ rng.normal(size=(data.X.shape[1], 20))).astype(np.float32)
    for X in (vectors, tacit.Features(data.X, vectors)):
        expected = estimate(tacit.LabelTree(n_jobs=1), X, data.Y)
        assert expected.model_bytes > 0
        assert written[-1].X.dense.shape[1] == 20


def test_the_model_of_a_tagger_has_everything_that_is_saved(tmp_path):
    """Names of features and labels, texts that are kept and the vocabulary are much more than the weights here."""
    rng = np.random.default_rng(0)
    texts = [" ".join(f"longwordnumber{word}" for word in rng.integers(0, 500, 12)) for _ in range(1200)]
    tags = [[f"a label with a long name {text.split()[0][-1]}"] for text in texts]
    (tmp_path / "names.tsv").write_text("".join(f"http://example.org/{i}\ta concept {i}\n" for i in range(500)))
    tagger = tacit.Tagger("OneVsAll", keep_texts=True, vocabulary=load_vocabulary(tmp_path / "names.tsv"))
    name, expected = tagger.estimate(texts, tags)
    assert name == "OneVsAll"
    tagger.fit(texts, tags).save(tmp_path / "model")
    assert 1 / 1.3 < expected.model_bytes / folder_size(tmp_path / "model") < 1.3


def test_the_model_that_is_saved_is_the_one_of_all_samples(data, tmp_path):
    """Parts save the one that was fitted without held-out samples, a tenth or a fifth of them."""
    tagger = tacit.Tagger("FastXML", n_trees=20)
    _, expected = tagger.estimate(data.X, data.Y)
    tagger.fit(data.X, data.Y).save(tmp_path / "model")
    assert 1 / 1.1 < expected.model_bytes / folder_size(tmp_path / "model") < 1.1


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
def test_a_probe_that_waits_for_a_busy_machine_is_not_given_up(data, monkeypatch, tmp_path):
    busy = tmp_path / "python"
    busy.write_text(f'#!/bin/sh\nsleep 4\nexec "{sys.executable}" "$@"\n')
    busy.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(busy))
    monkeypatch.setattr(estimating, "_PATIENCE", 3.0)
    assert not estimate(tacit.Popularity(), data.X, data.Y).is_lower_bound


def test_patience_is_with_processor_time():
    code = """if True:
        import time
        from tacit.probe import _patience
        with _patience(0.2):
            time.sleep(0.5)
        print("waited", flush=True)
        with _patience(0.2):
            while True: pass
        print("worked", flush=True)
    """
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "waited\nnull\n"


@only_linux
def test_a_probe_that_breaks_says_so(data, monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(TacitError, match="the process that tries the model out ended early"):
        estimate(tacit.OneVsAll(), data.X, data.Y)


# -- planted trainings, whose cost is known ---------------------------------------------------------------


PER_SAMPLE, PER_ROW, SAVING, LOADING = 2e-3, 1e-2, 0.3, 1.5  # seconds


def planted_cost(n_samples, laps, *, is_first=False):
    """What a training takes whose fits cost so much for each sample, and whose calibration for each row."""
    made = [Lap(name, n, n * (PER_SAMPLE if name == "fit" else PER_ROW), 2 * n * PER_SAMPLE) for name, n in laps]
    seconds = sum(lap.seconds for lap in made) + SAVING + (LOADING if is_first else 0)
    return Measurement(n_samples, seconds, seconds, made, 1000 * n_samples, 500 * n_samples + 7000)


@pytest.fixture
def planted_probe(monkeypatch):
    """Instead of a process, trainings that cost what they should, on no data."""
    state = {"task": None, "asked": [], "compiles": 0, "hold_out": False}

    @contextmanager
    def probe(_folder):
        started = []

        def measure(n_samples):
            state["asked"].append(n_samples)
            laps = schedule(n_samples, None, hold_out=state["hold_out"])[-2:]
            measured = planted_cost(n_samples, laps, is_first=not started)
            started.append(n_samples)
            if state["compiles"]:
                state["compiles"] -= 1
                return Measurement(**{**measured.__dict__, "seconds": 60.0, "cpu_seconds": 60.0, "has_compiled": True})
            return measured

        yield measure

    monkeypatch.setattr(estimating, "_probe", probe)
    return state


def test_fits_calibration_loading_and_saving_all_count(planted_probe, data):
    planted_probe["hold_out"] = True
    _, expected = tacit.Tagger("OneVsAll").estimate(data.X, data.Y)
    fits, calibrating = (1350 + 1500) * PER_SAMPLE, 150 * PER_ROW
    assert expected.seconds == pytest.approx(LOADING + fits + calibrating + SAVING, rel=0.1)
    assert expected.model_bytes == pytest.approx(500 * 1500 + 7000, rel=0.02)


def test_a_tagger_that_calibrates_is_told_to_take_about_twice(planted_probe, data):
    expected = {}
    for calibrate in (True, False):
        planted_probe["hold_out"] = calibrate
        tagger = tacit.Tagger("OneVsAll", calibrate=calibrate)
        expected[calibrate] = tagger.estimate(data.X, data.Y)[1].seconds - SAVING
    assert 1.6 < expected[True] / expected[False] < 2.4


def test_what_is_trained_once_on_many_samples_is_told_to_be_trained_once():
    extent = Extent(300_000, 10, 10, 100)
    parts = [planted_cost(n, schedule(n, None, hold_out=True), is_first=n == 100) for n in (100, 500, 2000, 8000)]
    goal = estimating._Goal(extent, schedule(300_000, None, hold_out=True), lambda n: Extent(n, 10, 10, 100))
    once = 295_000 * PER_SAMPLE + 5000 * PER_ROW
    assert goal.seconds(parts) == pytest.approx(once, rel=0.05)


def test_what_is_compiled_is_measured_by_another_process(planted_probe, data):
    planted_probe["compiles"] = 1
    expected = estimate(tacit.OneVsAll(), data.X, data.Y)
    assert planted_probe["asked"][:3] == [100, 100, 500]
    assert expected.seconds < 20  # compiling took 60
    planted_probe["compiles"] = 2  # nothing can be cached: every process compiles
    assert 60 < estimate(tacit.OneVsAll(), data.X, data.Y).seconds < 80


def test_an_estimate_of_what_is_announced_counts_the_announcement(planted_probe, data, monkeypatch):
    plain = tacit.Tagger("OneVsAll").estimate(data.X, data.Y)[1].seconds
    write = estimating.write_task
    monkeypatch.setattr(estimating, "write_task", lambda *a: (__import__("time").sleep(0.5), write(*a)))
    assert tacit.Tagger("OneVsAll").estimate(data.X, data.Y)[1].seconds == pytest.approx(plain, abs=0.2)
    told = tacit.Tagger("OneVsAll").estimate(data.X, data.Y, max_memory=8 << 30)[1].seconds
    assert told > plain + 0.4


@pytest.mark.parametrize("slower", [1.0, 20.0], ids=["idle", "busy"])
def test_probes_grow_until_they_have_taken_their_time(slower):
    """On a busy machine the parts are at least as large as on an idle one: small ones say little of memory."""
    asked = []

    def goal(n_samples):
        return estimating._Goal(Extent(n_samples, 1, 1, 1), [("fit", n_samples)], lambda n: Extent(n, 1, 1, 1))

    def measure(n_samples):
        asked.append(n_samples)
        seconds = n_samples / 1000
        laps = [Lap("fit", n_samples, seconds, seconds)]
        return Measurement(n_samples, slower * seconds, seconds, laps, n_samples, n_samples)

    estimating._measure_parts(measure, goal(100_000), 50_000, max_seconds=20.0)
    assert asked[:5] == [100, 500, 1000, 2000, 4000]  # 15 % of 100 s, but not with the next
    assert (len(asked) == 5) == (slower == 1)  # on a busy machine, 15 % of a longer time
    asked.clear()
    estimating._measure_parts(measure, goal(100_000), 50_000, max_seconds=3.0)
    assert asked == [100, 500, 1000]
    asked.clear()
    estimating._measure_parts(measure, goal(700), 700, max_seconds=20.0)
    assert asked == [100, 500, 700]
    asked.clear()
    estimating._measure_parts(measure, goal(60), 60, max_seconds=20.0)
    assert asked == [60, 60]


def test_a_part_is_only_twice_as_large_where_four_times_would_take_too_long():
    asked = []
    goal = estimating._Goal(Extent(50_000, 1, 1, 1), [("fit", 50_000)], lambda n: Extent(n, 1, 1, 1))

    def measure(n_samples):
        asked.append(n_samples)
        seconds = n_samples / 6000
        return Measurement(n_samples, seconds, seconds, [Lap("fit", n_samples, seconds, seconds)], 1, 1)

    estimating._measure_parts(measure, goal, 50_000, max_seconds=1.8)
    assert asked == [100, 500, 2000, 4000]


def test_time_is_processor_time_at_the_rate_it_was_given():
    laps = [Lap("fit", n, seconds, n / 100) for n, seconds in ((100, 9.0), (200, 1.0), (400, 3.0))]
    known = [(lap, Extent(lap.n_samples, 1, 1, 1)) for lap in laps]
    assert estimating._lap_at(Extent(800, 1, 1, 1), known) == pytest.approx(8 * 4 / 6)


def test_waiting_for_the_disk_is_not_carried_on_as_if_samples_waited():
    """Fifty trees are kept in fifty files, however many samples there are."""
    extents = [Extent(n, 1, 1, 1) for n in (400, 800, 8000)]
    laps = [Lap("fit", one.n_samples, one.n_samples / 1000 + 0.4, one.n_samples / 1000) for one in extents]
    known = list(zip(laps, extents, strict=True))
    assert estimating._lap_at(extents[-1], known[:-1]) == pytest.approx(laps[-1].seconds, rel=0.1)
    busy = [(Lap("fit", one.n_samples, 3 * one.n_samples, one.n_samples), one) for one in extents]
    assert estimating._lap_at(extents[-1], busy[:-1]) == pytest.approx(3 * 8000, rel=0.1)


# -- parts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("calibrate", [True, False])
@pytest.mark.parametrize("n_samples", [40, 240])
def test_a_schedule_is_what_a_training_does(calibrate, n_samples):
    X, Y = planted(n_samples)
    tagger = tacit.Tagger("Popularity", calibrate=calibrate)
    with recorded() as laps:
        tagger.fit(X, Y)
    assert [lap[:2] for lap in laps] == schedule(n_samples, None, hold_out=calibrate)
    with recorded() as laps:
        tagger.fit(X, Y, validation=(X[:30], Y[:30]))
    assert [lap[:2] for lap in laps] == schedule(n_samples, 30, hold_out=calibrate)


def test_a_training_with_many_samples_is_scheduled_once(monkeypatch):
    monkeypatch.setattr(learning, "_MAX_HELD_OUT", 4)
    monkeypatch.setattr(cross_fit, "_ENOUGH", 4)
    X, Y = planted(240)
    with recorded() as laps:
        tacit.Tagger("Popularity").fit(X, Y)
    assert [lap[:2] for lap in laps] == schedule(240, None, hold_out=True) == [("fit", 236), ("calibrate", 4)]


def test_a_part_has_a_label_where_there_is_one(data):
    Y = data.Y.tolil()
    Y[:700], Y[701:] = 0, 0
    assert estimating._random_rows(data.X, Y.tocsr())[0] == 700


def test_the_largest_part_is_small_where_samples_have_many_features(data, monkeypatch):
    assert len(estimating._random_rows(data.X, data.Y)) > estimating._FIRST_PART
    monkeypatch.setattr(estimating, "_LARGEST_ENTRIES", 10)
    assert len(estimating._random_rows(data.X, data.Y)) == estimating._FIRST_PART


def test_a_part_has_the_labels_of_its_samples_alone():
    Y = sparse.csr_matrix(np.eye(10, dtype=np.float32))
    labels = Labels(Y, np.array([f"l{i}" for i in range(10)], dtype=object), "sparse")
    validation = (Inputs(sparse.csr_matrix(np.ones((6, 3), np.float32))), Labels(Y[:6], labels.names, "sparse"))
    task = Task(tacit.OneVsAll(), sparse.csr_matrix(np.ones((10, 3), np.float32)), labels, validation=validation)
    part = task.part(4, 20)
    assert part.X.shape == (4, 3)
    assert part.labels.names.tolist() == ["l0", "l1", "l2", "l3"]
    assert part.labels.matrix.toarray().tolist() == np.eye(4).tolist()
    assert part.validation[0].shape == (1, 3)


def test_a_task_is_read_as_it_was_written(tmp_path):
    _, Y = planted(60)
    texts = [f"text {i}" for i in range(60)]
    tagger = tacit.Tagger("FastXML", n_trees=3, n_jobs=2, calibrate=False, keep_texts=True)
    prepared = training.prepare(tagger, texts, Y, [f"l{i}" for i in range(12)])
    validation = (Inputs(prepared.X[:9]), Labels(Y[:9], prepared.labels.names, "sparse"))
    task = Task(prepared.model, prepared.X, prepared.labels, tagger, prepared.vectorizer, texts, validation)
    write_task(tmp_path, task.rows([3, 1, 2]), 60)
    read, n_all = read_task(tmp_path)
    assert n_all == 60
    assert read.texts == ["text 3", "text 1", "text 2"]
    assert (prepared.X[[3, 1, 2]] != read.X).nnz == 0
    assert read.labels.names.tolist() == prepared.labels.names.tolist()
    assert read.model.get_params() == prepared.model.get_params()
    assert read.tagger.get_params() == tagger.get_params()
    assert (prepared.X[:9] != read.validation[0].X).nnz == 0
    state = read.trained(tmp_path / "kept")
    assert state.suggest(["text 1"], k=1)[0][0].label in set(prepared.labels.names)


@pytest.mark.parametrize("is_validated", [False, True])
def test_names_are_weighed_in_parts(tmp_path, is_validated):
    """What names take is part of what calibration takes; a part knows the labels that it lacks as others."""
    texts, tags = corpus(0, 1500)
    tagger = tacit.Tagger("OneVsAll", vocabulary=thesaurus())
    prepared = training.prepare(tagger, texts, tags, None)
    held_out = training.validation_of(prepared, corpus(1, 400)) if is_validated else None
    task = Task(prepared.model, prepared.X, prepared.labels, tagger, prepared.vectorizer, (), held_out, prepared.naming)
    write_task(tmp_path, task.rows(np.arange(1200)[::-1]), 1500)
    part = read_task(tmp_path)[0].part(900, 1500)
    known = {*part.labels.names.tolist(), *part.naming.others}
    assert known == {*TOPICS, *RARE}
    index = NameIndex.of(names_of_labels(part.labels.names, thesaurus())[0], "en")
    wanted = index.matches(texts[1199:299:-1])
    assert part.naming.others == names_of_labels(part.labels.names, thesaurus())[1]
    for row in range(0, 900, 100):
        found = (set(each.labels[each.starts[row] : each.starts[row + 1]]) for each in (part.naming.matches, wanted))
        assert next(found) == next(found)
    with recorded() as laps:
        trained = part.trained(tmp_path / "kept")
    assert trained.names_ is not None
    assert next(lap.seconds for lap in laps if lap.phase == "calibrate") > 0.1  # without names a few milliseconds


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
        (100, 1, 1, "120 bytes of memory are expected; 100 bytes may be enough"),
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


def test_what_was_tried_on_a_tiny_part_is_neither_refused_nor_made_smaller(data, caplog):
    guess = Estimate(1.0, 1000, 1, share_tried=0.001)
    with caplog.at_level(logging.INFO, logger="tacit"):
        model = within_memory(tacit.FastXML(n_jobs=2, n_trees=9), data.X, data.Y, 100, guess, estimated=lambda _: guess)
    assert (model.n_jobs, model.n_trees) == (1, 9)
    said = "1000 bytes of memory are expected; 100 bytes may be enough, as that is a guess from 0.10% of the samples"
    assert said in caplog.text


def test_less_work_never_seems_to_need_more_memory(data, caplog):
    """Estimates are uncertain: that of one job may be above that of two."""
    with caplog.at_level(logging.INFO, logger="tacit"):
        options = {"expected": Estimate(1.0, 110, 1), "estimated": lambda _: Estimate(1.0, 1000, 1)}
        within_memory(tacit.OneVsAll(n_jobs=2), data.X, data.Y, 100, **options)
    assert "110 bytes of memory are expected; 100 bytes may be enough" in caplog.text


def test_a_limit_that_nothing_fits_is_an_error(data, monkeypatch):
    monkeypatch.setattr(estimating, "estimate", estimates_by(per_job=10, per_tree=10))
    with pytest.raises(TacitError, match="FastXML needs about 120 bytes .* but 90 bytes are allowed; allow more"):
        within_memory(tacit.FastXML(n_jobs=4), data.X, data.Y, 90)
    with pytest.raises(TacitError, match="OneVsAll needs about 110 bytes"):
        within_memory(tacit.OneVsAll(), data.X, data.Y, 50, Estimate(1.0, 110, 1))
