"""Extreme multi-label learning where labels are missing, rare or unseen.

Names are imported when first used, so that ``import tacit`` and ``tacit --help`` take no time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tacit._version import __version__
from tacit.registry import MODELS

if TYPE_CHECKING:  # what type checkers and editors know; a test compares it with what there is
    from tacit.blend import Blend as Blend
    from tacit.core.features import Features as Features
    from tacit.core.ranking import Ranking as Ranking
    from tacit.data.cooccurrence import cooccurrence as cooccurrence
    from tacit.data.cooccurrence import load_cooccurrence as load_cooccurrence
    from tacit.data.dataset import Dataset as Dataset
    from tacit.data.load import load_data as load_data
    from tacit.data.save import save_data as save_data
    from tacit.data.split import train_test_split as train_test_split
    from tacit.data.vocabulary import load_vocabulary as load_vocabulary
    from tacit.embedding.annexml import AnnexML as AnnexML
    from tacit.embedding.exmlds1 import ExMLDS1 as ExMLDS1
    from tacit.embedding.exmlds2 import ExMLDS2 as ExMLDS2
    from tacit.embedding.exmlds3 import ExMLDS3 as ExMLDS3
    from tacit.embedding.joint_exmlds import JointExMLDS as JointExMLDS
    from tacit.embedding.sleec import SLEEC as SLEEC
    from tacit.errors import TacitError as TacitError
    from tacit.evaluation.metrics import evaluate as evaluate
    from tacit.evaluation.propensity import propensities as propensities
    from tacit.latent.costa import COSTA as COSTA
    from tacit.latent.lfm import LFM as LFM
    from tacit.latent.mllcs import MLLCS as MLLCS
    from tacit.latent.moment_matching import MomentMatching as MomentMatching
    from tacit.linear.label_tree import LabelTree as LabelTree
    from tacit.linear.one_vs_all import OneVsAll as OneVsAll
    from tacit.linear.popularity import Popularity as Popularity
    from tacit.progress import show_progress as show_progress
    from tacit.registry import load_model as load_model
    from tacit.report.write import write_report as write_report
    from tacit.runtime.checkpoint import checkpoint as checkpoint
    from tacit.runtime.cluster import on_cluster as on_cluster
    from tacit.tagger.comparison import compare as compare
    from tacit.tagger.tagger import Tagger as Tagger
    from tacit.text.encoders import Encoded as Encoded
    from tacit.trees.fastxml import FastXML as FastXML
    from tacit.trees.pfastrexml import PfastreXML as PfastreXML
    from tacit.trees.pfastxml import PfastXML as PfastXML
    from tacit.tuning import tune as tune

_LIVES_IN = {entry.name: entry.module for entry in MODELS.values()} | {
    "Dataset": "tacit.data.dataset",
    "Encoded": "tacit.text.encoders",
    "Features": "tacit.core.features",
    "Ranking": "tacit.core.ranking",
    "TacitError": "tacit.errors",
    "Tagger": "tacit.tagger.tagger",
    "checkpoint": "tacit.runtime.checkpoint",
    "compare": "tacit.tagger.comparison",
    "cooccurrence": "tacit.data.cooccurrence",
    "evaluate": "tacit.evaluation.metrics",
    "load_cooccurrence": "tacit.data.cooccurrence",
    "load_data": "tacit.data.load",
    "load_model": "tacit.registry",
    "load_vocabulary": "tacit.data.vocabulary",
    "on_cluster": "tacit.runtime.cluster",
    "propensities": "tacit.evaluation.propensity",
    "save_data": "tacit.data.save",
    "show_progress": "tacit.progress",
    "train_test_split": "tacit.data.split",
    "tune": "tacit.tuning",
    "write_report": "tacit.report.write",
}
__all__ = ["__version__", *sorted(_LIVES_IN)]  # noqa: PLE0604 - names of a table


def __getattr__(name: str) -> Any:
    if name not in _LIVES_IN:
        raise AttributeError(f"module 'tacit' has no attribute '{name}'")
    value = getattr(importlib.import_module(_LIVES_IN[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
