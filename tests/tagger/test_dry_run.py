from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tacit import Tagger
from tacit.data.dataset import Dataset
from tacit.tagger.dry_run import FACTOR, Cost, estimate, extrapolated


def test_a_power_law_is_continued_exactly():
    def cost(n):
        return Cost(n, 1e-3 * n**1.5, 5e3 * n, 200 * n**0.5)

    expected = extrapolated(cost(500), cost(2_000), 80_000)
    for name in ("seconds", "memory_bytes", "model_bytes"):
        assert getattr(expected, name) == pytest.approx(getattr(cost(80_000), name))


def test_noise_neither_shrinks_nor_explodes_an_estimate():
    slower, faster = Cost(1_000, 2.0, 0, 10), Cost(4_000, 1.0, 0, 1_000_000)
    assert extrapolated(slower, faster, 40_000).seconds == 1.0
    assert extrapolated(slower, faster, 40_000).model_bytes == pytest.approx(100 * 1_000_000)
    assert extrapolated(slower, faster, 40_000).memory_bytes == 0


def test_the_size_of_a_model_is_within_the_stated_factor(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random(6_000, 400, 0.1, format="csr", dtype=np.float32, rng=rng)
    Y = sparse.csr_matrix(((X @ rng.standard_normal((400, 40))) > 1.2).astype(np.float32))
    tagger = Tagger("OneVsAll", calibrate=False)
    expected = estimate(tagger, Dataset(X, Y, [str(label) for label in range(40)]))
    assert expected.model == "OneVsAll"
    assert [subset.n_samples for subset in expected.subsets] == [250, 1_000]
    assert expected.whole.n_samples == 6_000
    tagger.fit(X, Y).save(tmp_path / "model")
    size = sum(file.stat().st_size for file in (tmp_path / "model").iterdir())
    assert 1 / FACTOR < expected.whole.model_bytes / size < FACTOR


def test_the_model_is_chosen_by_all_of_the_data(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random(4_000, 50, 0.2, format="csr", dtype=np.float32, rng=rng)
    Y = sparse.random(4_000, 30, 0.05, format="csr", dtype=np.float32, rng=rng, data_rvs=np.ones)
    monkeypatch.setattr(
        "tacit.tagger.automatic.choose",
        lambda size, **_: ("Popularity" if size.n_samples == 4_000 else "OneVsAll", "by size"),
    )
    assert estimate(Tagger(calibrate=False), Dataset(X, Y, list(map(str, range(30))))).model == "Popularity"
