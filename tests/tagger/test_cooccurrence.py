"""Taggers whose model is given the co-occurrence of labels: labels without samples are suggested."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from tacit.errors import DataError, ParameterError

TOPICS = {
    "fruit": ("apple pear plum fig", ["sweet", "fruit"]),
    "cars": ("engine wheel brake road", ["cars", "fast"]),
    "music": ("song chord tune choir", ["music", "loud"]),
}
SEEN = ["cars", "fast", "fruit", "loud", "music", "sweet"]
NAMES = [*SEEN, "jam", "traffic"]  # the last two have no sample
MODELS = ["MomentMatching", "COSTA", "MLLCS"]


def _samples(n=120, seed=0):
    rng = np.random.default_rng(seed)
    texts, tags = [], []
    for _ in range(n):
        words, labels = TOPICS[str(rng.choice(list(TOPICS)))]
        texts.append(" ".join(rng.choice(words.split(), 4)))
        tags.append([label for label in labels if rng.random() < 0.8] or labels[:1])
    return texts, tags


def _counts():
    """Jam occurs with sweet fruit, traffic with fast cars."""
    counts = np.zeros((8, 8))
    for labels in (["fruit", "sweet", "jam"], ["cars", "fast", "traffic"], ["music", "loud"]):
        places = [NAMES.index(label) for label in labels]
        counts[np.ix_(places, places)] = 30
    np.fill_diagonal(counts, 40)
    return counts


TEXTS, TAGS = _samples()
NEW = ["plum fig pear", "wheel brake road"]


def _fitted(model, tags=TAGS, **options):
    made = tacit.Tagger(model, **options)
    return made.fit(TEXTS, tags, label_names=NAMES, cooccurrence=_counts())


def _best(tagger):
    """The best label of each new text among those without samples, and whether it is among the first four of all."""
    best = [row[0].label for row in tagger.suggest(NEW, k=1, include=["jam", "traffic"])]
    shown = [{each.label for each in row} for row in tagger.suggest(NEW, k=4)]
    return best, [label in labels for label, labels in zip(best, shown, strict=True)]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("calibrate", [True, False])
def test_labels_without_samples_are_suggested_where_their_neighbours_are(model, calibrate):
    tagger = _fitted(model, calibrate=calibrate)
    assert (tagger.calibration_ is not None) == calibrate
    assert list(tagger.classes_) == NAMES
    assert _best(tagger) == (["jam", "traffic"], [True, True])


# -- updates ------------------------------------------------------------------------------------------------


def test_batches_of_labels_with_samples_leave_the_others():
    tagger = _fitted("MLLCS")
    assert tagger.update(NEW, [["fruit"], ["cars"]]).startswith("trained MLLCS on 2 new samples")
    assert _best(tagger)[0] == ["jam", "traffic"]


def test_a_first_sample_of_a_label_needs_the_training_data():
    with pytest.raises(ParameterError, match="MLLCS cannot learn labels that are new to it without the training data"):
        _fitted("MLLCS").update(NEW[:1], [["jam"]])


def test_training_again_keeps_the_counts():
    tagger = _fitted("MomentMatching", keep_texts=True)
    assert "; 1 label is new" in tagger.update(["plum song", *NEW], [["opera"], ["fruit"], ["cars"]])
    assert tagger.training_.cooccurrence.shape == (9, 9)
    assert _best(tagger)[0] == ["jam", "traffic"]


# -- errors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["auto", "OneVsAll"])
def test_a_model_that_takes_no_counts_says_which_do(model):
    with pytest.raises(ParameterError, match=f"'{model}' takes no co-occurrence counts; models that do: ExMLDS3, LFM"):
        _fitted(model)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (np.ones((6, 8)), r"cooccurrence must have shape \(8, 8\), labels by labels; got \(6, 8\)"),
        (-np.ones((8, 8)), "cooccurrence must hold finite counts of at least 0; row 0, column 0 holds -1"),
    ],
)
def test_wrong_counts_are_refused(counts, message):
    with pytest.raises(DataError, match=message):
        tacit.Tagger("COSTA").fit(TEXTS, TAGS, label_names=NAMES, cooccurrence=counts)
