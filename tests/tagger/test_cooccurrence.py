"""Taggers whose model is given the co-occurrence of labels: labels without samples are suggested."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

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


def test_they_are_still_after_saving(tmp_path):
    tagger = _fitted("MomentMatching", keep_texts=True)
    tagger.save(tmp_path / "model")
    loaded = tacit.Tagger.load(tmp_path / "model")
    assert loaded.suggest(NEW) == tagger.suggest(NEW)
    assert (loaded.training_.cooccurrence != tagger.training_.cooccurrence).nnz == 0


def test_calibration_does_not_take_them_for_wrong():
    """No held-out sample has them: judged, they would lower the curve of all labels, of which 0.8 are right here."""
    score = {each.label: each.score for each in _fitted("MomentMatching").suggest(NEW[:1], k=8)[0]}
    assert score["fruit"] > 0.7
    assert score["jam"] > 0.7
    assert score["traffic"] < 0.1


def test_tags_may_be_a_matrix_of_the_labels_that_have_samples():
    Y = np.array([[label in tags for label in SEEN] for tags in TAGS], dtype=np.float32)
    lists = _fitted("MomentMatching").rank(NEW, k=8)
    for form in (np.asarray, sparse.csr_matrix):
        ranking = _fitted("MomentMatching", form(Y)).rank(NEW, k=8)
        assert np.array_equal(ranking.labels, lists.labels)
        np.testing.assert_array_equal(ranking.scores, lists.scores)


def test_validation_samples_may_have_them():
    tagger = tacit.Tagger("MomentMatching", names=False)
    validation = (TEXTS, [[*tags, "jam"] if "sweet" in tags else tags for tags in TAGS])
    tagger.fit(TEXTS, TAGS, label_names=NAMES, cooccurrence=_counts(), validation=validation)
    assert _best(tagger)[0] == ["jam", "traffic"]


def test_validation_labels_may_be_a_matrix_of_those_that_have_samples():
    Y = sparse.csr_matrix(np.array([[label in tags for label in SEEN] for tags in TAGS], dtype=np.float32))
    by_form = [
        tacit.Tagger("COSTA").fit(TEXTS, Y, label_names=NAMES, cooccurrence=_counts(), validation=(TEXTS, tags))
        for tags in (TAGS, Y, Y.toarray())
    ]
    first, *others = (tagger.rank(NEW, k=8) for tagger in by_form)
    for ranking in others:
        np.testing.assert_array_equal(ranking.scores, first.scores)


def test_exmlds3_learns_from_the_counts_it_is_given():
    given = _fitted("ExMLDS3", calibrate=False).model_
    other = tacit.Tagger("ExMLDS3", calibrate=False).fit(TEXTS, TAGS, label_names=NAMES).model_
    assert given.given_label_[NAMES.index("fruit"), NAMES.index("jam")] == pytest.approx(30 / 40)
    assert other.given_label_[:, NAMES.index("jam")].nnz == 0


def test_exmlds3_suggests_a_label_without_samples():
    assert _best(_fitted("ExMLDS3", calibrate=False))[0] == ["jam", "traffic"]


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
