"""The public data sets, as they are distributed."""

from __future__ import annotations

import pytest

from data.samples import assert_same_matrix, assert_sound
from tacit.data.load import load_data

pytestmark = pytest.mark.real_data


@pytest.mark.parametrize(
    ("name", "shape", "n_labels", "n_positives"),
    [
        ("bibtex/train.txt", (4880, 1836), 159, 11_616),
        ("bibtex/test.txt", (2515, 1836), 159, 6_146),
        ("delicious/train.txt", (12920, 500), 983, 246_088),
        ("delicious/test.txt", (3185, 500), 983, 60_229),
        ("rcv1sub1/train.txt", (3000, 47236), 101, 8_743),
        ("rcv1sub1/test.txt", (3000, 47236), 101, 8_627),
    ],
)
def test_xmc_files(real_data, name, shape, n_labels, n_positives):
    data = load_data(real_data / name)
    assert_sound(data)
    assert data.X.shape == shape
    assert data.Y.shape == (shape[0], n_labels)
    assert data.Y.nnz == n_positives
    assert data.label_names == (real_data / name).with_name("labels.txt").read_text().splitlines()


@pytest.mark.parametrize("part", ["train", "test"])
def test_bibtex_is_the_same_as_text_and_as_arff(real_data, part):
    text = load_data(real_data / "bibtex" / f"{part}.txt")
    arff = load_data(real_data / "bibtex" / f"bibtex-{part}.arff")
    assert_same_matrix(text.X, arff.X)
    assert sorted(text.label_names) == sorted(arff.label_names)
    columns = [arff.label_names.index(name) for name in text.label_names]
    assert_same_matrix(text.Y, arff.Y[:, columns])
    assert text.feature_names == arff.feature_names


def test_yso_texts_with_their_vocabulary(real_data):
    folder = real_data / "yso-finna-en"
    data = load_data(folder / "test.jsonl.gz", folder / "labels.tsv")
    assert_sound(data)
    assert len(data) == 65_889
    assert data.label_names[0] == "environmental awareness"
