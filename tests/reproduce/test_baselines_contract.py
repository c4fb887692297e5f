"""What every model promises holds for the baselines as well, which the registry knows only while these tests run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import test_contract as contract
from planted import planted
from reproduce.baselines.settings import BASELINES
from small import small
from tacit.registry import MODELS, find_model

ENTRIES = {entry.name: entry for entry in BASELINES.values()}
NAMES = list(ENTRIES)

#: Parameters with which 240 samples are enough; those of the others are the ones they are shipped with.
FOR_FEW_SAMPLES: dict[str, dict[str, Any]] = {
    "DXML": {"n_epochs": 150, "rate": 0.01, "decay": 0.001},
    "CS": {"dimension": 30},
}

#: Checks that are parametrised over the registry itself, or about models with probabilities.
APART = {
    "test_other_scores_are_no_probabilities",
    "test_probabilities_are_better_than_shares_of_labels",
    "test_probabilities_are_those_of_the_first_places",
    "test_scikit_learn_checks",
}

assert set(vars(contract)) >= APART
globals().update(
    {name: each for name, each in vars(contract).items() if name.startswith("test_") and name not in APART}
)


@contextmanager
def registered() -> Iterator[None]:
    with patch.dict(MODELS, ENTRIES):
        yield


@pytest.fixture(scope="module", autouse=True)
def baselines_are_registered() -> Iterator[None]:
    with registered():
        yield


def made(name: str) -> Any:
    return find_model(name)(random_state=0, **small(name))


@pytest.fixture(params=NAMES)
def model(request: pytest.FixtureRequest) -> Any:
    return made(request.param)


@pytest.fixture(params=["LEML", "LEMLIMC"])  # one for each way to take input
def taker(request: pytest.FixtureRequest) -> Any:
    return made(request.param)


@pytest.fixture(scope="module")
def data() -> Iterator[Any]:
    made = planted()
    yield made
    fresh = planted()
    assert (made.X != fresh.X).nnz == (made.Y != fresh.Y).nnz == 0, "a model has changed its caller's matrices"


@pytest.fixture(scope="module", params=NAMES)
def fitted(request: pytest.FixtureRequest, data: Any) -> Any:
    model = find_model(request.param)(random_state=0, **FOR_FEW_SAMPLES.get(request.param, {}))
    return model.fit(data.X, data.Y, label_names=contract.NAMES)


@pytest.fixture(scope="module", params=NAMES)
def saved(request: pytest.FixtureRequest, data: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An untrained model and the files that it saves, trained in one task at a time."""
    model, folder = made(request.param), tmp_path_factory.mktemp("saved")
    clone(model).fit(data.X, data.Y).save(folder / "one")
    return model, contract.folder_bytes(folder / "one")


saved_mixed = contract.saved_mixed

with registered():
    SINGLE = [contract.for_scikit_learn(name) for name in NAMES]


@parametrize_with_checks(SINGLE, expected_failed_checks=contract.expected_failures)
def test_scikit_learn_checks(estimator, check):
    contract.run_check(estimator, check)
