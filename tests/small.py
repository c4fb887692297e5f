"""Parameters with which models train in milliseconds, for rules that need no good model."""

from __future__ import annotations

from typing import Any

from tacit.registry import find_model

#: Parameters that make training long, and how much of them is enough.
ENOUGH = {
    "n_trees": 5,
    "n_learners": 2,
    "dimension": 20,
    "n_factors": 10,
    "n_passes": 5,
    "n_sweeps": 5,
    "n_steps": 10,
    "max_steps": 20,
    "calibration_folds": 2,
}


def small(name: str) -> dict[str, Any]:
    """Parameters of a small model; those that are not large by default stay as they are."""
    defaults = find_model(name)().get_params()
    return {key: most for key, most in ENOUGH.items() if key in defaults and defaults[key] > most}
