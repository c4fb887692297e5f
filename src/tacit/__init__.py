"""Extreme multi-label learning where labels are missing, rare or unseen.

Names are imported when first used, so that ``import tacit`` and ``tacit --help`` take no time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tacit._version import __version__

if TYPE_CHECKING:
    from tacit.blend import Blend
    from tacit.data.cooccurrence import cooccurrence
    from tacit.data.dataset import Dataset
    from tacit.data.load import load_data
    from tacit.data.save import save_data
    from tacit.embedding.annexml import AnnexML
    from tacit.embedding.exmlds1 import ExMLDS1
    from tacit.embedding.exmlds2 import ExMLDS2
    from tacit.embedding.exmlds3 import ExMLDS3
    from tacit.embedding.joint_exmlds import JointExMLDS
    from tacit.embedding.sleec import SLEEC
    from tacit.errors import TacitError
    from tacit.latent.costa import COSTA
    from tacit.latent.lfm import LFM
    from tacit.latent.mllcs import MLLCS
    from tacit.latent.moment_matching import MomentMatching
    from tacit.linear.label_tree import LabelTree
    from tacit.linear.one_vs_all import OneVsAll
    from tacit.linear.popularity import Popularity
    from tacit.metrics import evaluate
    from tacit.progress import show_progress
    from tacit.propensity import propensities
    from tacit.ranking import Ranking
    from tacit.registry import load_model
    from tacit.tagger.tagger import Tagger
    from tacit.tasks import checkpoint
    from tacit.trees.fastxml import FastXML, PfastreXML, PfastXML

_LIVES_IN = {
    "COSTA": "tacit.latent.costa",
    "LFM": "tacit.latent.lfm",
    "MLLCS": "tacit.latent.mllcs",
    "MomentMatching": "tacit.latent.moment_matching",
    "AnnexML": "tacit.embedding.annexml",
    "Blend": "tacit.blend",
    "Dataset": "tacit.data.dataset",
    "FastXML": "tacit.trees.fastxml",
    "ExMLDS1": "tacit.embedding.exmlds1",
    "ExMLDS2": "tacit.embedding.exmlds2",
    "ExMLDS3": "tacit.embedding.exmlds3",
    "JointExMLDS": "tacit.embedding.joint_exmlds",
    "LabelTree": "tacit.linear.label_tree",
    "OneVsAll": "tacit.linear.one_vs_all",
    "PfastXML": "tacit.trees.fastxml",
    "PfastreXML": "tacit.trees.fastxml",
    "Popularity": "tacit.linear.popularity",
    "Ranking": "tacit.ranking",
    "SLEEC": "tacit.embedding.sleec",
    "TacitError": "tacit.errors",
    "Tagger": "tacit.tagger.tagger",
    "checkpoint": "tacit.tasks",
    "cooccurrence": "tacit.data.cooccurrence",
    "evaluate": "tacit.metrics",
    "load_data": "tacit.data.load",
    "load_model": "tacit.registry",
    "show_progress": "tacit.progress",
    "propensities": "tacit.propensity",
    "save_data": "tacit.data.save",
}

__all__ = [
    "COSTA",
    "LFM",
    "MLLCS",
    "SLEEC",
    "AnnexML",
    "Blend",
    "Dataset",
    "ExMLDS1",
    "ExMLDS2",
    "ExMLDS3",
    "FastXML",
    "JointExMLDS",
    "LabelTree",
    "MomentMatching",
    "OneVsAll",
    "PfastXML",
    "PfastreXML",
    "Popularity",
    "Ranking",
    "TacitError",
    "Tagger",
    "__version__",
    "checkpoint",
    "cooccurrence",
    "evaluate",
    "load_data",
    "load_model",
    "propensities",
    "save_data",
    "show_progress",
]


def __getattr__(name: str) -> Any:
    if name not in _LIVES_IN:
        raise AttributeError(f"module 'tacit' has no attribute '{name}'")
    value = getattr(importlib.import_module(_LIVES_IN[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
