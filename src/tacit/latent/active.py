"""How much the answer to "has this sample this label?" would tell."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

_PROBIT = np.sqrt(np.pi / 8)  # scale at which a probit is closest to the logistic curve
_C2 = np.pi * np.log(2) / 2


def information(mean: Floats, variance: Floats) -> Floats:
    """Bits about the model in the answer, for a Gaussian log-odds (Houlsby et al., 2011, Eq. 3)."""
    from scipy.special import ndtr

    mean, variance = _PROBIT * mean.astype(np.float64), _PROBIT**2 * variance.astype(np.float64)
    p = ndtr(mean / np.sqrt(variance + 1))
    of_mean = _entropy(p)
    mean_of = np.sqrt(_C2 / (variance + _C2)) * np.exp(-(mean**2) / (2 * (variance + _C2)))
    return np.asarray(np.maximum(of_mean - mean_of, 0), dtype=np.float32)


def _entropy(p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    inner = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-(inner * np.log2(inner) + (1 - inner) * np.log2(1 - inner)))
