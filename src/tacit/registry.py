"""All models, one line each: what the command line, model files, tests and benchmarks know of them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import ModelFileError, ParameterError, did_you_mean

if TYPE_CHECKING:
    from tacit.store.state import Stored


@dataclass(frozen=True)
class Entry:
    """A model: its name, where its class lives, and what it is in a line."""

    name: str
    module: str
    summary: str

    def load(self) -> type[Any]:
        """Import the class."""
        return getattr(importlib.import_module(self.module), self.name)  # type: ignore[no-any-return]


MODELS = {
    entry.name: entry
    for entry in (
        Entry("Popularity", "tacit.linear.popularity", "the most frequent labels, whatever the sample"),
        Entry("OneVsAll", "tacit.linear.one_vs_all", "a linear classifier per label, small weights pruned"),
        Entry("LabelTree", "tacit.linear.label_tree", "linear classifiers in trees over labels: large vocabularies"),
        Entry("FastXML", "tacit.trees.fastxml", "trees whose nodes rank labels; fast, for frequent labels"),
        Entry("PfastXML", "tacit.trees.pfastxml", "FastXML with rare labels weighted for those left out"),
        Entry("PfastreXML", "tacit.trees.pfastrexml", "PfastXML, re-ranked by nearness to each label's centre"),
        Entry("ExMLDS1", "tacit.embedding.exmlds1", "votes of near samples, embedded by shifted positive PMI"),
        Entry("ExMLDS2", "tacit.embedding.exmlds2", "votes of near samples, embedded by skip-gram"),
        Entry("ExMLDS3", "tacit.embedding.exmlds3", "samples and labels embedded as one: missing labels"),
        Entry("SLEEC", "tacit.embedding.sleec", "votes of near samples, embedded by singular value projection"),
        Entry("LFM", "tacit.latent.lfm", "logistic latent factors of samples and labels"),
        Entry("COSTA", "tacit.latent.costa", "unseen labels as means of the seen ones they occur with"),
        Entry("MLLCS", "tacit.latent.mllcs", "labels and their co-occurrence as one factor model: unseen labels"),
        Entry(
            "MomentMatching",
            "tacit.latent.moment_matching",
            "unseen labels that occur with the seen ones as counts say",
        ),
        Entry("JointExMLDS", "tacit.embedding.joint_exmlds", "votes of near samples, map trained directly by SGNS"),
        Entry("AnnexML", "tacit.embedding.annexml", "votes of near samples, map trained directly by softmax"),
        Entry("Blend", "tacit.blend", "any of these joined by weights learned for a metric"),
    )
}

#: Registered too, but made of a model: it can be saved and loaded, not named as a model to train.
TAGGER = Entry("Tagger", "tacit.tagger.tagger", "texts and tags in, suggestions out")


def find_model(name: str) -> type[Any]:
    """The class of a registered model; upper and lower case are one."""
    by_lower_case = {known.lower(): entry for known, entry in MODELS.items()}
    entry = by_lower_case.get(str(name).lower())
    if entry is None:
        raise ParameterError(
            f"unknown model '{name}'{did_you_mean(str(name), MODELS)} (there are: {', '.join(MODELS)})"
        )
    return entry.load()


def find_stored(name: str) -> type[Stored]:
    """The class of a model, or the tagger, by the exact name that a model folder has."""
    entry = {**MODELS, TAGGER.name: TAGGER}.get(name)
    if entry is None:
        raise ModelFileError(f"the model folder names the class '{name}', which is not a registered model")
    return entry.load()


def load_model(path: str | Path, verify: bool = True) -> Any:
    """Read a model folder; the data are mapped into memory, not copied.

    Parameters
    ----------
    path : str or Path
        The folder that `save` wrote.
    verify : bool
        Compare the data with their checksum first, which reads them once.
    """
    from tacit.store import folder

    return folder.load(path, find_stored, verify=verify)
