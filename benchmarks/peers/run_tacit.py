"""A model of tacit, named with its parameters in JSON as the third argument."""

import json
import sys

import numpy as np
from common import K, run
from scipy import sparse

from tacit.registry import find_model


def rank(model, X):
    """The arrays of a ranking."""
    found = model.rank(X, k=K)
    return found.labels, found.scores


if __name__ == "__main__":
    name, parameters = json.loads(sys.argv[3])
    small = sparse.csr_matrix(np.eye(40, dtype=np.float32))
    find_model(name)(**parameters).fit(small, small).rank(small)  # compiles, or loads what was compiled
    run(
        lambda X, Y: find_model(name)(**parameters).fit(X, Y),
        lambda model, folder: model.save(folder),
        rank,
    )
