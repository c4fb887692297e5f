"""``tacit train --dry-run``."""

from __future__ import annotations

import re
import time


def test_a_dry_run_says_what_training_would_take_and_writes_nothing(tacit, articles, tmp_path):
    fields = ("--text", "title,body", "--labels", "tags")
    shown = tacit("train", articles, *fields, "--out", tmp_path / "model", "--dry-run", "--valid", "0.2")
    assert shown.code == 0
    assert re.search(r"OneVsAll is expected to take about .* s, .* MB of memory, a model of .* KB", shown.out)
    assert not list(tmp_path.glob("model*"))


def test_a_dry_run_counts_reading_and_preparing_the_data(tacit, numeric, tmp_path, monkeypatch):
    from tacit.data.load import load_data
    from tacit.estimate import Estimate
    from tacit.tagger import training

    def slowly(function):
        def slow(*arguments, **options):
            time.sleep(0.6)
            return function(*arguments, **options)

        return slow

    monkeypatch.setattr("tacit.cli.train.load_data", slowly(load_data))
    monkeypatch.setattr(training, "prepare", slowly(training.prepare))
    monkeypatch.setattr(training, "estimate_of", lambda *_: Estimate(5.0, 1 << 20, 1 << 20))
    shown = tacit("train", numeric, "--out", tmp_path / "model", "--dry-run")
    assert 6.1 < float(re.search(r"about ([\d.]+) s", shown.out)[1]) < 8
