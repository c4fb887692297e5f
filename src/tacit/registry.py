"""The registry of models, one line each, used by the command line, model files, tests and benchmarks."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import ModelFileError, ParameterError, brief, did_you_mean

if TYPE_CHECKING:
    from tacit.store.packing import Stored


@dataclass(frozen=True)
class Entry:
    """A model: its name, the module of its class, and a one-line summary."""

    name: str
    module: str
    summary: str

    def load(self) -> type[Any]:
        """Import the class."""
        return getattr(importlib.import_module(self.module), self.name)  # type: ignore[no-any-return]


MODELS = {
    entry.name: entry
    for entry in (
        Entry("Popularity", "tacit.linear.popularity", "the most frequent labels, for every sample"),
        Entry("OneVsAll", "tacit.linear.one_vs_all", "a linear classifier per label, small weights pruned"),
        Entry("LabelTree", "tacit.linear.label_tree", "linear classifiers in label trees, for large vocabularies"),
        Entry("FastXML", "tacit.trees.fastxml", "trees with splits that rank labels; fast, for frequent labels"),
        Entry("PfastXML", "tacit.trees.pfastxml", "FastXML with inverse-propensity weights, for missing labels"),
        Entry("PfastreXML", "tacit.trees.pfastrexml", "PfastXML, re-ranked by distance from label centres"),
        Entry("ExMLDS1", "tacit.embedding.exmlds1", "nearest-neighbour votes, embedding by shifted positive PMI"),
        Entry("ExMLDS2", "tacit.embedding.exmlds2", "nearest-neighbour votes, embedding by skip-gram"),
        Entry("ExMLDS3", "tacit.embedding.exmlds3", "joint embedding of samples and labels: missing labels"),
        Entry("SLEEC", "tacit.embedding.sleec", "nearest-neighbour votes, embedding by singular value projection"),
        Entry("LFM", "tacit.latent.lfm", "logistic latent factors of samples and labels"),
        Entry("COSTA", "tacit.latent.costa", "unseen labels as means of the seen labels they co-occur with"),
        Entry("MLLCS", "tacit.latent.mllcs", "factor model of labels and their co-occurrence, for unseen labels"),
        Entry("MomentMatching", "tacit.latent.moment_matching", "unseen labels fitted to their co-occurrence counts"),
        Entry("JointExMLDS", "tacit.embedding.joint_exmlds", "nearest-neighbour votes, map trained directly by SGNS"),
        Entry("AnnexML", "tacit.embedding.annexml", "nearest-neighbour votes, map trained directly by softmax"),
        Entry("Blend", "tacit.blend", "weighted ensemble of other models, learned for a metric"),
    )
}

#: Registered as well, but a wrapper of a model: it can be saved and loaded, but is not a model to choose for training.
TAGGER = Entry("Tagger", "tacit.tagger.tagger", "texts and tags in, suggestions out")


IMPORTED = "TACIT_IMPORT"  # environment variable with modules that define models, separated by blanks


def find_model(name: str | type[Any]) -> type[Any]:
    """The class of a model by its name, not case-sensitive, or as ``module:Class``; a class is returned unchanged.

    Names may come from a model folder: no module is imported but those of `MODELS` and of TACIT_IMPORT.
    """
    from tacit.core.base import Estimator

    wanted = str(name)
    entry = {known.lower(): entry for known, entry in MODELS.items()}.get(wanted.lower())
    found = name if isinstance(name, type) else _imported(wanted) if entry is None else entry.load()
    if found is None:
        raise ParameterError(
            f"unknown model '{brief(wanted)}'{did_you_mean(wanted, MODELS)} (there are: {', '.join(MODELS)}; import a "
            "module before its model is named module:Class)"
        )
    if not issubclass(found, Estimator):
        raise ParameterError(f"a model must be a subclass of tacit.core.base.Estimator; got '{brief(wanted)}'")
    return found


def import_model(name: str) -> type[Any]:
    """`find_model` for a name that the user gives; the module of ``module:Class`` is imported."""
    if ":" in name:
        _import(name.partition(":")[0])
    return find_model(name)


def find_stored(name: str) -> type[Stored]:
    """The class of a model, or of the tagger, by the exact name stored in a model folder."""
    from tacit.store.packing import Stored

    entry = {**MODELS, TAGGER.name: TAGGER}.get(name)
    found = _imported(name) if entry is None else entry.load()
    if found is not None and issubclass(found, Stored):
        return found
    module = brief(name.partition(":")[0])
    advice = f"; import {module} first (for commands: {IMPORTED}={module})" if ":" in name else ""
    raise ModelFileError(f"the model folder names the class '{brief(name)}', which is not a registered model{advice}")


def _imported(name: str) -> type[Any] | None:
    """The class ``module:Class`` of a module that has been imported, or that TACIT_IMPORT names."""
    from tacit.store.packing import imported_class

    for module in os.environ.get(IMPORTED, "").split():
        _import(module)
    return imported_class(name)


def _import(module: str) -> None:
    try:
        importlib.import_module(module)
    except (ImportError, ValueError) as error:  # ValueError: no name of a module
        message = f"the module '{brief(module)}' must be importable ({error}); add its folder to PYTHONPATH"
        raise ParameterError(message) from error


def load_model(path: str | Path, verify: bool = True) -> Any:
    """Load the model folder that `save` wrote; arrays are memory-mapped.

    With `verify`, the checksum is verified first, which reads all data once.
    """
    from tacit.store import folder

    return folder.load(path, find_stored, verify=verify)
