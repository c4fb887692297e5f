"""The settings of the PfastreXML paper.

The supplementary material prints the algorithms and no settings. The main paper has those of FastXML: 50 trees, at most
10 samples in a leaf, 100 labels kept in a leaf; and for the tail classifiers α = 0.8 and γ = 30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FASTXML: Mapping[str, Any] = {"n_trees": 50, "max_leaf": 10, "labels_per_leaf": 100}
PFASTXML: Mapping[str, Any] = {**FASTXML, "A": 0.55, "B": 1.5}
PFASTREXML: Mapping[str, Any] = {**PFASTXML, "alpha": 0.8, "gamma": 30.0}

#: (A, B) of the propensity model by set, as the literature has them for these kinds of data.
BY_SET: Mapping[str, Mapping[str, Any]] = {
    "wikilshtc": {"A": 0.5, "B": 0.4},
    "amazon-670k": {"A": 0.6, "B": 2.6},
}

#: 1 − δ is the confidence of Theorems 4.3 and 4.4 in our demonstrations.
DELTA = 0.05
