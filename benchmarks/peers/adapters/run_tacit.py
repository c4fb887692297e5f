"""A model of tacit; the options name it and give its parameters.

The step ``compile`` fills the cache of compiled kernels and measures nothing. The others load kernels from there, each
in its own process: that is part of the time and of the memory of training and of the first row.
"""

from matrices import N_THREADS, OPTIONS, STEP, K, read, run

import tacit
from tacit.registry import find_model

N_COMPILE = 1_000  # rows
MODEL = find_model(OPTIONS["model"])  # imports what tacit leaves until it is needed, as the peers' imports do


def new():
    """The model, untrained."""
    return MODEL(n_jobs=N_THREADS, **OPTIONS["parameters"])


def load(folder):
    """The stored model."""
    return tacit.load_model(folder).set_params(n_jobs=N_THREADS)


def arrays(ranking):
    """Labels and scores."""
    return ranking.labels, ranking.scores


if __name__ == "__main__":
    if STEP == "compile":
        X = read("X.trn")[:N_COMPILE]
        new().fit(X, read("Y.trn")[:N_COMPILE]).rank(X, k=K)
        print("{}")
    else:
        run(
            lambda X, Y: new().fit(X, Y),
            lambda model, folder: model.save(folder),
            load,
            lambda model, X: model.rank(X, k=K),
            arrays,
            version=tacit.__version__,
        )
