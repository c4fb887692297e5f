from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import tacit
from planted import planted
from tacit.embedding import search
from tacit.embedding.neighbors import embedded_neighbors, unit_vectors
from tacit.errors import MissingExtraError

X, Y = planted()


def test_small_clusters_are_searched_exactly():
    assert not search.wants_index("auto", search.MIN_APPROXIMATE - 1)
    assert tacit.ExMLDS1().fit(X, Y).search_recall_ == 1


def test_without_the_extra_large_clusters_are_searched_exactly(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not search.wants_index("auto", search.MIN_APPROXIMATE)
    with pytest.raises(MissingExtraError, match=r"approximate search needs the extra 'ann'"):
        tacit.ExMLDS1(search="approximate").fit(X, Y)


def test_an_index_finds_nearly_all_neighbours():
    pytest.importorskip("faiss", reason="needs the extra 'ann'", exc_type=ImportError)
    points = unit_vectors(np.random.default_rng(0).standard_normal((500, 8), dtype=np.float32))
    index = search.build_index(points)
    assert search.recall(index, points, 10) > 0.95
    exact, found = embedded_neighbors(points[:9], points, 1), search.approximate_neighbors(index, points[:9], 1)
    assert np.array_equal(exact.samples, found.samples)
    assert found.similarities == pytest.approx(exact.similarities, abs=1e-5)


def test_a_model_with_an_index_is_saved_and_agrees_with_an_exact_one(tmp_path):
    pytest.importorskip("faiss", reason="needs the extra 'ann'", exc_type=ImportError)
    model = tacit.ExMLDS1(search="approximate").fit(X, Y)
    exact = tacit.ExMLDS1(search="exact").fit(X, Y)
    assert model.search_recall_ > 0.9
    model.save(tmp_path / "model")
    loaded = tacit.load_model(tmp_path / "model")
    assert np.array_equal(loaded.rank(X).labels, model.rank(X).labels)
    assert (model.rank(X, k=1).labels == exact.rank(X, k=1).labels).mean() > 0.95
