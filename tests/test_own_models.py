"""Models of other packages: found by import, saved if they can be loaded, never imported for a file."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field

import numpy as np
import pytest

import tacit
from planted import planted
from tacit.errors import ModelFileError, ParameterError
from tacit.linear.popularity import Popularity
from tacit.registry import import_model
from tacit.store import folder

MODULE = """
from tacit.linear.popularity import Popularity


class Mine(Popularity):
    pass
"""


class Own(Popularity):
    pass


@dataclass(kw_only=True, eq=False, repr=False)
class Declared(Popularity):
    more_: np.ndarray = field(init=False)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module that can be imported, and has not been."""
    (tmp_path / "models_of_others.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "models_of_others"
    sys.modules.pop("models_of_others", None)


def saved_and_forgotten(module, path):
    X, Y = planted()
    import_model(f"{module}:Mine")().fit(X, Y).save(path)
    del sys.modules[module]
    return path


@pytest.mark.parametrize("model", [Own, f"{Own.__module__}:Own"])
def test_a_tagger_takes_a_class_or_its_name(tmp_path, model):
    tagger = tacit.Tagger(model).fit(["red apple", "green pear", "fast car"] * 9, [["fruit"], ["fruit"], ["car"]] * 9)
    tagger.save(tmp_path / "model")
    assert isinstance(tacit.load_model(tmp_path / "model").model_, Own)


def test_no_module_is_imported_for_a_model_folder(module, tmp_path):
    path = saved_and_forgotten(module, tmp_path / "model")
    with pytest.raises(ModelFileError, match=f"TACIT_IMPORT={module}"):
        tacit.load_model(path)
    assert module not in sys.modules


def test_no_module_is_imported_for_a_parameter_of_a_model_folder(module, tmp_path):
    tacit.Tagger("Popularity", calibrate=False).fit(["red apple", "a car"], [["fruit"], ["car"]]).save(tmp_path / "m")
    manifest = json.loads((tmp_path / "m" / "manifest.json").read_text())
    manifest["parameters"]["map"]["model"] = f"{module}:Mine"
    manifest["sha256"] = folder._checksum(manifest)
    (tmp_path / "m" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelFileError, match="unknown model"):
        tacit.load_model(tmp_path / "m")
    assert module not in sys.modules


def test_modules_named_by_the_environment_are_imported(module, tmp_path, monkeypatch):
    path = saved_and_forgotten(module, tmp_path / "model")
    monkeypatch.setenv("TACIT_IMPORT", module)
    assert type(tacit.load_model(path)).__name__ == "Mine"


@pytest.mark.parametrize(
    "name", ["missing_module:Mine", ":Mine", "json:JSONDecoder", "tacit.linear.popularity:Nothing"]
)
def test_what_is_no_model(name):
    with pytest.raises(ParameterError):
        import_model(name)


def test_a_class_that_nobody_could_load_is_not_saved(tmp_path, monkeypatch):
    class Local(Popularity):
        pass

    X, Y = planted()
    for cls in (Local, Own):
        with pytest.raises(ModelFileError, match="top of an importable module"):
            cls().fit(X, Y).save(tmp_path / "model")
        monkeypatch.setattr(Own, "__module__", "__main__")
    assert not (tmp_path / "model").exists()


def test_attributes_that_would_be_lost_are_not_saved(tmp_path):
    X, Y = planted()
    undeclared, incomplete = Own().fit(X, Y), Declared().fit(X, Y)
    undeclared.coef_ = np.ones(3)
    for model, name in ((undeclared, "coef_"), (incomplete, "more_")):
        with pytest.raises(ModelFileError, match=name):
            model.save(tmp_path / "model")
