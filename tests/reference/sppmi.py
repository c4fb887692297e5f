"""SPPMI as it is written down, entry by entry."""

from __future__ import annotations

import math

import numpy as np


def sppmi(M, shift):
    """max(log(M_ij |M| / (Σ_k M_ik Σ_k M_kj)) − log shift, 0); 0 where M_ij is 0."""
    result = np.zeros(M.shape)
    for i, j in zip(*np.nonzero(M), strict=True):
        pmi = math.log(M[i, j] * M.sum() / (M[i].sum() * M[:, j].sum()))
        result[i, j] = max(pmi - math.log(shift), 0)
    return result
