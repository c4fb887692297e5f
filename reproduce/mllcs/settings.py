"""The settings of the ML-LCS paper, section 6, "Experimental Settings"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: "we fix the regularization hyperparameters for the various model parameters equal to 1".
_LAMBDAS = {"lambda_u": 1.0, "lambda_v": 1.0, "lambda_w": 1.0}
#: "The number of latent factors was set to 80% of the total number of labels."
#: "We run the EM algorithm for 500 iterations."
_FACTORS = {**_LAMBDAS, "n_factors": 0.8, "n_sweeps": 500}

LFM: Mapping[str, Any] = {**_FACTORS}
COSTA: Mapping[str, Any] = {**_FACTORS, "base": "latent"}
#: "The negative binomial overdispersion parameter was set to 5."
MLLCS: Mapping[str, Any] = {**_FACTORS, "lambda_beta": 1.0, "lambda_psi": 1.0, "dispersion": 5.0}

#: Not as printed: Delicious, with K = 786, takes 1.2 CPU seconds a sweep and more, so that 100 of 500 are run.
BY_SET: Mapping[str, Mapping[str, Any]] = {"delicious": {"n_sweeps": 100}}

#: "we use half of the total labels as the seen labels".
UNSEEN = 0.5
#: Figure 2: "we vary the fraction of seen labels from 20%-80% in the increments of 10%".
SEEN_SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
#: Figure 3 goes to 500; the paper says that EM converges in about 100.
SWEEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
