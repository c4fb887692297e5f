"""A model of tacit; the options name it and give its parameters."""

import numpy as np
from common import N_THREADS, OPTIONS, K, run
from scipy import sparse

from tacit.registry import find_model


def new():
    """The model, untrained."""
    return find_model(OPTIONS["model"])(n_jobs=N_THREADS, **OPTIONS["parameters"])


def rank(model, X):
    """The arrays of a ranking."""
    found = model.rank(X, k=K)
    return found.labels, found.scores


if __name__ == "__main__":
    small = sparse.csr_matrix(np.eye(40, dtype=np.float32))
    new().fit(small, small).rank(small)  # compiles, or loads what was compiled
    run(lambda X, Y: new().fit(X, Y), lambda model, folder: model.save(folder), rank)
