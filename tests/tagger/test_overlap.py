"""What a tagger knows of its training samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from tacit.tagger.overlap import share_in_training
from tagger.articles import articles


def samples(n: int, seed: int) -> sparse.csr_matrix:
    return sparse.random(n, 500, 0.02, format="csr", dtype=np.float32, rng=np.random.default_rng(seed))


def fitted(X: sparse.csr_matrix) -> tacit.Tagger:
    return tacit.Tagger("Popularity", calibrate=False).fit(X, [["x"]] * X.shape[0])


@pytest.mark.parametrize("n_train", [300, 20_000])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_share_of_training_samples(n_train, share):
    X, others = samples(n_train, 0), samples(n_train, 1)
    n_known = int(share * n_train)
    mixed = sparse.vstack([X[:n_known], others[n_known:]], format="csr")[np.random.default_rng(2).permutation(n_train)]
    assert share_in_training(fitted(X), mixed) == pytest.approx(share, abs=0.001)


def test_texts_and_updates():
    texts, tags = articles(40)
    tagger = tacit.Tagger("Popularity", calibrate=False).fit(texts, tags)
    assert share_in_training(tagger, [f" {texts[0].replace(' ', chr(10))}", "new", f"{texts[1]} new", texts[2]]) == 0.5
    tagger.update(["new"], [tags[0]])
    assert share_in_training(tagger, [texts[0], "new", "newer", "newest"]) == 0.5


def test_a_blank_text_is_none_that_was_in_training():
    texts, tags = articles(40)
    tagger = tacit.Tagger("Popularity", calibrate=False).fit([*texts, " "], [*tags, tags[0]])
    assert share_in_training(tagger, ["", "new"]) == 0
