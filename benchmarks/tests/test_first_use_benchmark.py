"""The benchmark of the first use: what is compiled in an empty cache is loaded from it the next time."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import first_use as benchmark


@pytest.mark.slow
def test_kernels_are_compiled_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(Path(__file__).parents[2])
    first, second = (benchmark.in_new_process("OneVsAll", str(tmp_path)) for _ in range(2))
    assert 0 < sum(seconds for seconds, _ in first.kernels.values()) <= first.seconds
    assert all(n_signatures == 1 for kernel, (_, n_signatures) in first.kernels.items() if kernel.startswith("score."))
    assert second.kernels == {}
    monkeypatch.setattr(benchmark, "in_new_process", lambda *_: first)
    benchmark.main(["OneVsAll"])
    assert "OneVsAll" in capsys.readouterr().out
