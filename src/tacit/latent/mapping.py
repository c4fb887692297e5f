"""Ψ: from the type-2 factors of a label, which come from its counts, to those of type 1, which predict it.

It is learned on the seen labels, which have both: linear ridge regression as in the paper, kernel regression, or a
small neural network that corrects the linear map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import linalg
from scipy.optimize import minimize

from tacit.arrays import Floats, Floats32
from tacit.core.parameters import OneOf
from tacit.latent.em import ridge_map
from tacit.store.declared import Array

MAPPINGS = ("linear", "kernel", "neural", "moments")
MappingName = Annotated[
    str,
    OneOf(MAPPINGS),
    "Ψ from counts to the vectors of unseen labels: regression on type-2 factors, or moments matched in their space",
]

_HIDDEN = 32
_DECAY = 0.1
_NETWORK_STEPS = 200


@dataclass(frozen=True, eq=False)
class PsiMap:
    """A fitted Ψ: a linear map, plus a correction from kernel centres or a hidden layer."""

    kind: Annotated[str, OneOf(MAPPINGS)]
    linear: Annotated[Floats32, Array("float32", ("n_factors", "n_factors"))]
    first: Annotated[  # kernel: centres; neural: weights of the hidden layer, the last row its intercepts
        Floats32, Array("float32", ("", ""))
    ]
    second: Annotated[  # from kernel values or hidden units to the correction
        Floats32, Array("float32", ("", "n_factors"))
    ]
    width: float

    def __call__(self, B: Floats) -> Floats32:
        """Type-1 factors for type-2 factors."""
        result = B @ self.linear
        if self.kind == "kernel":
            result += _kernel(B, self.first, self.width) @ self.second
        if self.kind == "neural":
            result += np.tanh(B @ self.first[:-1] + self.first[-1]) @ self.second
        return np.asarray(result, dtype=np.float32)


def fit_mapping(kind: str, B: Floats32, V: Floats32, ridge: float, seed: int | None) -> PsiMap:
    """Learn Ψ from labels with both types of factors (ML-LCS Eq. 8)."""
    empty = np.zeros((0, V.shape[1]), np.float32)
    linear = ridge_map(B, V, ridge)
    if kind == "kernel":
        width = float(np.sqrt(np.median(_squared_distances(B, B)))) or 1.0
        K = _kernel(B, B, width).astype(np.float64)
        K.flat[:: len(K) + 1] += ridge
        return PsiMap(kind, np.zeros_like(linear), B, linalg.solve(K, V, assume_a="pos").astype(np.float32), width)
    if kind == "neural":
        first, second = _fit_network(B, V - B @ linear, seed)
        return PsiMap(kind, linear, first, second, 0.0)
    return PsiMap("linear", linear, empty, empty, 0.0)


def _squared_distances(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.maximum((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T, 0))


def _kernel(a: Floats, b: Floats, width: float) -> Floats:
    return np.asarray(np.exp(-_squared_distances(a, b) / (2 * width**2)))


def _fit_network(inputs: Floats32, outputs: Floats32, seed: int | None) -> tuple[Floats32, Floats32]:
    """One hidden layer by least squares with weight decay, from a small random start."""
    n_in, n_out = inputs.shape[1], outputs.shape[1]
    rng = np.random.default_rng(seed)
    sizes = ((n_in + 1) * _HIDDEN, _HIDDEN * n_out)
    start = rng.standard_normal(sum(sizes)) * 0.5 / np.sqrt(n_in + 1)
    constant = np.hstack([inputs, np.ones((len(inputs), 1))]).astype(np.float64)

    def unpacked(point: Floats) -> tuple[Floats, Floats]:
        return point[: sizes[0]].reshape(-1, _HIDDEN), point[sizes[0] :].reshape(_HIDDEN, -1)

    def objective(point: Floats) -> tuple[float, Floats]:
        first, second = unpacked(point)
        hidden = np.tanh(constant @ first)
        off = hidden @ second - outputs
        value = 0.5 * float(np.sum(off**2) + _DECAY * np.sum(point**2))
        slope_first = constant.T @ ((off @ second.T) * (1 - hidden**2))
        return value, np.concatenate([slope_first.ravel(), (hidden.T @ off).ravel()]) + _DECAY * point

    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": _NETWORK_STEPS})
    first, second = unpacked(found.x)
    return first.astype(np.float32), second.astype(np.float32)
