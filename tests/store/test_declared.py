"""Declarations: what they refuse, and that no model that was trained is refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from scipy import sparse

import tacit
from planted import planted
from tacit.errors import ModelFileError
from tacit.store.declared import IDS, Array, Csr, Inside, Items, check_model


@dataclass
class Part:
    starts: Annotated[Any, Array("int64", ("n+1",), starts="n_entries", widest="width")]
    entries: Annotated[Any, Array("int32", ("n_entries",), below="width")]


@dataclass
class Whole:
    names: Annotated[Any, Array("object", ("n_names",), is_filled=True)]
    part: Annotated[Part | None, Inside(("n", "n_names"))]
    parts: Annotated[list[float], Items("n_names")]
    ids: Annotated[Any, Array(IDS, ("",), below="n_names")]
    matrix: Annotated[Any, Csr("float32", ("n_names", "")), Array("float32", ("n_names", ""))]

    def stored_parameters(self) -> dict[str, Any]:
        return {}

    def __init__(self, **other: Any) -> None:
        self.names = np.array(["a", "b"], object)
        self.part = Part(np.array([0, 1, 4]), np.array([2, 0, 1, 2], np.int32))
        self.parts = [1.0, 2]
        self.ids = np.array([0, 1], np.uint16)
        self.matrix = sparse.csr_matrix((2, 3), dtype=np.float32)
        for name, value in other.items():
            setattr(self, name, value)


@pytest.fixture(autouse=True)
def all_fields_are_fitted(monkeypatch):
    for item in Whole.__dataclass_fields__.values():
        monkeypatch.setattr(item, "init", False)


def test_what_is_right_gives_its_sizes():
    assert check_model(Whole()) == {"n_names": 2}
    check_model(Whole(part=None, matrix=np.zeros((2, 1), np.float32)))


ENTRIES = np.array([2, 0, 1, 2], np.int32)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("names", np.empty(0, object), "names must not be empty"),
        ("names", ["a", "b"], "names must be an array; got a list"),
        ("part", Part(np.array([0, 4]), ENTRIES), r"part.starts must have 3 \(n\+1\) entries along axis 0; got 2"),
        ("part", Part(np.array([0, 4, 3]), ENTRIES), "part.starts must begin at 0 and end at 4; got 0 and 3"),
        ("part", Part(np.array([0, 9, 4]), ENTRIES), "part.starts must never fall; got a fall at entry 2"),
        ("part", Part(np.array([0, 2, 4]), ENTRIES), r"part.entries must hold numbers below 2 \(width\); got 2"),
        ("part", Part(np.array([0, 1, 4]), ENTRIES - 1), "part.entries must hold numbers from 0 up; got -1"),
        ("part", 7, "part must be Part; got a whole number"),
        ("parts", [1.0], r"parts must have 2 \(n_names\) entries"),
        ("parts", [1.0, True], "parts.1 must be a number; got true or false"),
        ("ids", np.array([0, 1], np.int32), "ids must have the smallest type for numbers below 2; got int32"),
        ("ids", np.array([0.0]), "ids must be an array of ids; got float64"),
        ("matrix", np.zeros((3, 2), np.float32), r"matrix must have 2 \(n_names\) entries along axis 0; got 3"),
        ("matrix", np.zeros(2, np.float32), "matrix must have 2 axes; got 1"),
        ("matrix", None, "matrix must be a sparse matrix; got nothing"),
    ],
)
def test_a_problem_is_named(name, value, match):
    with pytest.raises(ModelFileError, match=match):
        check_model(Whole(**{name: value}))


def fitted(name: str) -> Any:
    X, Y = planted(60)
    few = {"n_sweeps": 2, "n_factors": 4}
    counts = np.asarray((Y.T @ Y).toarray())
    if name == "gibbs":
        return tacit.MLLCS(**few, inference="gibbs", n_draws=2, n_burn_in=1, thin=1).fit(X, Y)
    if name == "unseen":
        return tacit.MLLCS(**few).fit(X, Y[:, :9], cooccurrence=counts[:9]).add_labels(counts[:9, 0], ["new"])
    if name == "removed":
        return tacit.COSTA(**few, base="classifiers").fit(X, Y).remove_labels([0, 5])
    if name == "no features":
        return tacit.Tagger("Popularity").fit(X, Y)
    if name == "updated":
        tagger = tacit.Tagger("Popularity").fit(["a word"] * 60, [["one"], ["two"]] * 30)
        tagger.update(["another word"], [["three"]])
        return tagger
    if name == "one leaf":
        return tacit.PfastreXML(n_trees=2, max_leaf=1000).fit(X, Y)
    if name == "one label":
        return tacit.LabelTree().fit(X, Y[:, :1])
    return tacit.MLLCS(**few, mapping=name, inference="variational").fit(X, Y)


MAPPINGS = ["linear", "moments"]
VARIANTS = ["gibbs", "unseen", "removed", "no features", "updated", "one leaf", "one label", *MAPPINGS]


@pytest.mark.parametrize("name", VARIANTS)
def test_models_of_unusual_content_are_loaded(tmp_path: Path, name: str):
    if name == "gibbs":
        pytest.importorskip("polyagamma")
    fitted(name).save(tmp_path / "model")
    tacit.load_model(tmp_path / "model")
