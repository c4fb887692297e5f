"""What the models of this family promise beyond the contract of all models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import planted
from tacit.data.split import hold_out_labels
from tacit.errors import DataError, ParameterError

FAMILY = [tacit.LFM, tacit.COSTA, tacit.MLLCS, tacit.MomentMatching]
ZERO_SHOT = FAMILY[1:]


def related(n_samples: int = 400, seed: int = 0) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Samples of three topics, each with eight labels of its own that are drawn often, and a feature per topic."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, 3, n_samples)
    Y = np.zeros((n_samples, 24), np.float32)
    for row, topic in enumerate(topics):
        Y[row, 8 * topic + rng.choice(8, 4, replace=False)] = 1
    X = np.zeros((n_samples, 8), np.float32)
    X[np.arange(n_samples), topics] = 1
    X[:, 3:] = 0.3 * rng.random((n_samples, 5))
    return sparse.csr_matrix(X), sparse.csr_matrix(Y)


X, Y = related()
HELD = hold_out_labels(Y, 0.5, seed=1)
N_SEEN = len(HELD.seen)
TRUTH = Y[:, HELD.order].tocsr()


def fitted(cls, **parameters):
    return cls(**parameters).fit(X, HELD.Y_seen, cooccurrence=HELD.cooccurrence)


def unseen_precision(model) -> float:
    ranking = model.rank(X, k=2, include=np.arange(N_SEEN, 24))
    return tacit.evaluate(ranking, TRUTH, ks=(1,))["P@1"]


VARIANTS = [
    (tacit.COSTA, {}),
    (tacit.COSTA, {"base": "classifiers"}),
    (tacit.COSTA, {"base": "classifiers", "classifier": "one_vs_all"}),
    (tacit.MomentMatching, {}),
    (tacit.MomentMatching, {"link": "linear"}),
    (tacit.MomentMatching, {"max_samples": 100, "classifier": "one_vs_all"}),
    (tacit.MLLCS, {}),
    (tacit.MLLCS, {"inference": "variational", "mapping": "linear"}),
    *((tacit.MLLCS, {"mapping": kind}) for kind in ("linear", "kernel", "neural")),
    (tacit.MLLCS, {"mapping": "linear", "mapping_in_model": True}),
]


@pytest.mark.parametrize(("cls", "parameters"), VARIANTS)
def test_unseen_labels_are_found_by_their_topic(cls, parameters):
    assert unseen_precision(fitted(cls, **parameters)) > 0.4  # a third of that by chance


@pytest.mark.parametrize("cls", FAMILY)
def test_all_labels_are_ranked(cls):
    ranking = fitted(cls).rank(X[:5], k=24)
    assert (np.sort(ranking.labels, axis=1) == np.arange(24)).all()


def test_lfm_ranks_what_it_cannot_score_last():
    ranking = fitted(tacit.LFM).rank(X, k=24)
    assert set(ranking.labels[:, N_SEEN:].ravel()) == set(range(N_SEEN, 24))


@pytest.mark.parametrize("cls", ZERO_SHOT)
def test_unseen_labels_neither_drown_nor_are_drowned(cls):
    top = fitted(cls).rank(X, k=4).labels
    assert 0.2 < (top >= N_SEEN).mean() < 0.8  # half of the labels of a sample are unseen


# -- labels that come and go ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", ZERO_SHOT)
@pytest.mark.parametrize("form", [np.asarray, sparse.csc_matrix])
def test_an_added_label_is_the_one_the_fit_gave(cls, form):
    model = fitted(cls)
    before = model._scores(model._features(X))
    columns = HELD.cooccurrence[:, 20:].toarray()
    model.remove_labels(np.arange(20, 24)).add_labels(form(columns))
    assert len(model.classes_) == 24
    np.testing.assert_allclose(model._scores(model._features(X)), before, atol=0.15)


@pytest.mark.parametrize("cls", ZERO_SHOT)
def test_labels_are_added_and_removed_by_name(cls, tmp_path):
    names = [f"label {i}" for i in range(24)]
    model = cls().fit(X, HELD.Y_seen, label_names=names, cooccurrence=HELD.cooccurrence)
    before = model.rank(X, k=24, exclude=["label 0", "label 20"])
    model.remove_labels(["label 0", "label 20"])
    after = model.rank(X, k=22)
    assert np.array_equal(model.classes_[after.labels], np.array(names, object)[before.labels[:, :22]])
    model.add_labels(HELD.cooccurrence[:, 20], ["label 20 again"])
    assert model.classes_[-1] == "label 20 again"
    model.save(tmp_path / "model")
    loaded = tacit.load_model(tmp_path / "model").add_labels(HELD.cooccurrence[:, 21], ["one more"])
    assert len(loaded.classes_) == 24
    assert np.isfinite(loaded.rank(X, k=24).scores).all()


@pytest.mark.parametrize("cls", ZERO_SHOT)
def test_a_label_without_counts_ranks_last(cls):
    model = fitted(cls).add_labels(np.zeros(N_SEEN))
    assert (model.rank(X, k=25).labels[:, -1] == 24).all()


def test_wrong_labels_are_refused():
    model = fitted(tacit.COSTA)
    with pytest.raises(DataError, match="columns must have a row for each of the 12 labels of Y"):
        model.add_labels(np.ones((3, 1)))
    with pytest.raises(DataError, match="finite counts of at least 0"):
        model.add_labels(-np.ones((N_SEEN, 1)))
    with pytest.raises(ParameterError, match="names column 99, but there are 24 labels"):
        model.remove_labels([99])
    with pytest.raises(DataError, match="must keep at least one label"):
        model.remove_labels(np.arange(24))
    named = tacit.COSTA().fit(
        X, HELD.Y_seen, label_names=[f"l{i}" for i in range(12)], cooccurrence=HELD.cooccurrence[:, :12]
    )
    with pytest.raises(DataError, match="1 labels without a name: give names for all 13 labels"):
        named.add_labels(HELD.cooccurrence[:, 12])
    with pytest.raises(DataError, match="label names must differ"):
        named.add_labels(HELD.cooccurrence[:, 12], ["l3"])


# -- counts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", ZERO_SHOT)
@pytest.mark.parametrize("form", [np.asarray, sparse.coo_array, sparse.csc_matrix, lambda M: M.astype(np.int16)])
def test_any_form_of_cooccurrence_gives_the_same_model(cls, form):
    expected = fitted(cls, calibration_folds=0).rank(X)
    found = cls(calibration_folds=0).fit(X, HELD.Y_seen, cooccurrence=form(HELD.cooccurrence.toarray())).rank(X)
    assert np.array_equal(found.labels, expected.labels)


@pytest.mark.parametrize("cls", ZERO_SHOT)
def test_counts_from_another_source_are_rescaled(cls):
    scaled = sparse.diags(np.linspace(2, 9, N_SEEN)) @ HELD.cooccurrence
    model = cls().fit(X, HELD.Y_seen, cooccurrence=scaled)
    assert unseen_precision(model) > 0.4


@pytest.mark.parametrize("cls", ZERO_SHOT)
def test_unobserved_counts_are_left_out(cls):
    partly = HELD.cooccurrence.toarray().astype(float)
    partly[np.random.default_rng(0).random(partly.shape) < 0.2] = np.nan
    assert unseen_precision(cls().fit(X, HELD.Y_seen, cooccurrence=partly)) > 0.4


def test_seen_labels_lean_on_their_counts_the_rarer_they_are():
    matrix = HELD.cooccurrence.toarray().astype(float)
    matrix[:, 0] = np.nan  # nothing is known of the first label but its samples
    own, mixed, counts = (
        tacit.MLLCS(calibration_folds=0, count_positives=n).fit(X, HELD.Y_seen, cooccurrence=matrix).vectors_.columns
        for n in (0.0, 10.0, 1e9)
    )
    shares = 10 / (10 + np.asarray(HELD.Y_seen.sum(axis=0)).ravel())
    shares[0] = 0
    expected = (1 - shares) * own[:, :N_SEEN] + shares * counts[:, :N_SEEN]
    assert mixed[:, :N_SEEN] == pytest.approx(expected, abs=1e-4)
    assert np.array_equal(mixed[:, 0], own[:, 0])


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((3, 24)), "a row for each of the 12 labels of Y .* got shape .3, 24."),
        (np.ones((12, 5)), "a column for each of the 12 labels of Y; got 5"),
        (-np.ones((12, 24)), "finite counts of at least 0; row 0, column 0 holds -1"),
        ([["many"] * 24] * 12, "cooccurrence must be a matrix of counts"),
    ],
)
def test_wrong_cooccurrence_is_refused(matrix, message):
    with pytest.raises(DataError, match=message):
        tacit.MomentMatching().fit(X, HELD.Y_seen, cooccurrence=matrix)


def test_lists_of_names_need_names_for_unseen_labels():
    names = [f"t{i:02d}" for i in range(24)]
    lists = [[names[i] for i in row.indices] for row in HELD.Y_seen]
    with pytest.raises(DataError, match="12 labels without a name"):
        tacit.COSTA().fit(X, lists, cooccurrence=HELD.cooccurrence)
    model = tacit.COSTA().fit(X, lists, label_names=names, cooccurrence=HELD.cooccurrence)
    assert list(model.classes_) == names


def test_a_column_without_positives_is_unseen_too():
    labels = sparse.hstack([HELD.Y_seen, sparse.csr_matrix((X.shape[0], 12))], format="csr")
    square = sparse.vstack([HELD.cooccurrence, sparse.csr_matrix((12, 24))], format="csr")
    model = tacit.MomentMatching().fit(X, labels, cooccurrence=square)
    assert unseen_precision(model) > 0.4


# -- inference -------------------------------------------------------------------------------------------------


def test_unknown_labels_are_left_out():
    X, Y = planted()
    known = sparse.csr_matrix(np.random.default_rng(0).random(Y.shape) < 0.5)
    partly = sparse.csr_matrix((np.asarray(Y[known.nonzero()]).ravel(), known.indices, known.indptr), shape=Y.shape)
    test = planted(seed=1)
    for cls in (tacit.LFM, tacit.MLLCS):
        ranking = cls(absent="missing").fit(X, partly).rank(test.X, k=1)
        assert tacit.evaluate(ranking, test.Y, ks=(1,))["P@1"] > 0.9


def test_batches_learn_what_all_samples_teach():
    batch = fitted(tacit.MLLCS, mapping="linear", n_factors=8)
    online = tacit.MLLCS(n_factors=8, online_samples=X.shape[0])
    rng = np.random.default_rng(0)
    for _ in range(6):
        for rows in np.array_split(rng.permutation(X.shape[0]), 4):
            online.partial_fit(X[rows], HELD.Y_seen[rows], cooccurrence=HELD.cooccurrence)
    with_all, with_batches = (tacit.evaluate(model.rank(X, k=3), TRUTH)["P@1"] for model in (batch, online))
    assert with_batches > with_all - 0.1
    assert unseen_precision(online) > 0.4
    batch.partial_fit(X, HELD.Y_seen)  # goes on from what fit found
    assert tacit.evaluate(batch.rank(X, k=3), TRUTH)["P@1"] > with_all - 0.1
    with pytest.raises(ParameterError, match="labels were added or removed"):
        batch.remove_labels([0]).partial_fit(X, HELD.Y_seen)


@pytest.mark.parametrize("inference", ["em", "variational"])
def test_what_is_not_known_is_asked(inference):
    model = fitted(tacit.MLLCS, inference=inference)
    asked = model.uncertain(X, k=3)
    assert asked.labels.shape == (X.shape[0], 3)
    assert ((asked.scores >= 0) & (asked.scores <= 1)).all()
    assert (np.diff(asked.scores, axis=1) <= 0).all()
    assert set(model.uncertain(X[:3], k=2, include=[1, 4]).labels.ravel()) <= {1, 4}


def blurred(n_samples: int, seed: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """One or more of twelve labels, each with a feature of its own under noise: right answers, but not always found."""
    rng = np.random.default_rng(seed)
    labels = rng.random((n_samples, 12)) < 0.15
    labels[np.arange(n_samples), rng.integers(0, 12, n_samples)] = True
    features = labels + 0.4 * rng.standard_normal((n_samples, 12))
    return sparse.csr_matrix(features.astype(np.float32)), sparse.csr_matrix(labels.astype(np.float32))


def test_gibbs_sampling_agrees_with_em():
    pytest.importorskip("polyagamma", reason="needs the extra 'gibbs'")
    options = {"n_factors": 12, "mapping": "linear", "calibration_folds": 0}
    X, Y = blurred(300, 0)
    X_test, Y_test = blurred(3000, 1)  # a point of P@1 is well beyond chance
    em = tacit.MLLCS(**options).fit(X, Y)
    gibbs = tacit.MLLCS(inference="gibbs", n_draws=40, n_burn_in=60, thin=2, **options).fit(X, Y)
    first, second = (1 / (1 + np.exp(-model._scores(model._features(X_test)))) for model in (em, gibbs))
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] > 0.95
    precisions = [tacit.evaluate(model.rank(X_test, k=1), Y_test, ks=(1,))["P@1"] for model in (em, gibbs)]
    assert precisions[0] == pytest.approx(precisions[1], abs=0.01)
    assert 0.8 < precisions[0] < 0.99  # neither trivial nor lost
    low, high = gibbs.intervals(X, 0.9)
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    with pytest.raises(ParameterError, match="train with inference='gibbs'"):
        em.intervals(X)
    with pytest.raises(ParameterError, match="uncertain needs inference='em' or 'variational'"):
        gibbs.uncertain(X)


# -- public data ----------------------------------------------------------------------------------------------


@pytest.mark.real_data
@pytest.mark.slow
def test_online_em_is_half_a_point_from_batch_em_on_bibtex(real_data):
    train, test = (tacit.load_data(real_data / "bibtex" / f"{part}.txt") for part in ("train", "test"))
    counts = train.Y.T @ train.Y
    batch = tacit.MLLCS(mapping="linear", calibration_folds=0).fit(train.X, train.Y)
    online = tacit.MLLCS(online_samples=train.X.shape[0])
    rng = np.random.default_rng(0)
    for _ in range(5):
        for rows in np.array_split(rng.permutation(train.X.shape[0]), 9):
            online.partial_fit(train.X[rows], train.Y[rows], cooccurrence=counts)
    with_all, with_batches = (tacit.evaluate(model.rank(test.X), test.Y) for model in (batch, online))
    for k in (1, 3, 5):
        assert with_batches[f"P@{k}"] >= with_all[f"P@{k}"] - 0.005


@pytest.mark.real_data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "parameters", "least", "least_unseen"),
    [
        (tacit.MomentMatching, {}, (52.3, 32.0, 23.8), (30.5, 17.5, 13.0)),
        (tacit.MLLCS, {"mapping": "linear"}, (48.0, 28.5, 21.0), (23.0, 13.0, 10.0)),
    ],
)
def test_unseen_labels_of_bibtex(real_data, cls, parameters, least, least_unseen):
    train, test = (tacit.load_data(real_data / "bibtex" / f"{part}.txt") for part in ("train", "test"))
    found = []
    for seed in range(5):
        held = hold_out_labels(train.Y, 0.5, seed=seed)
        model = cls(**parameters).fit(train.X, held.Y_seen, cooccurrence=held.cooccurrence)
        truth = test.Y[:, held.order]
        for include in (None, np.arange(len(held.seen), truth.shape[1])):
            metrics = tacit.evaluate(model.rank(test.X, include=include), truth)
            found.append([100 * metrics[f"P@{k}"] for k in (1, 3, 5)])
    assert (np.mean(found[::2], axis=0) >= least).all()
    assert (np.mean(found[1::2], axis=0) >= least_unseen).all()
