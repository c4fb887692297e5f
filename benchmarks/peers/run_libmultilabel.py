"""LibMultiLabel: its label tree of linear classifiers with its defaults."""

import pickle

import numpy as np
from common import N_THREADS, K, run
from libmultilabel import linear

ROWS = 1000  # whose decision values for all labels are held at a time


def save(model, folder):
    """Pickled: it has no format of its own."""
    folder.mkdir()
    with (folder / "model.pickle").open("wb") as file:
        pickle.dump(model, file)


def rank(model, X):
    """The best of all decision values."""
    parts = [best(linear.predict_values(model, X[start : start + ROWS])) for start in range(0, X.shape[0], ROWS)]
    labels, scores = zip(*parts, strict=True)
    return np.vstack(labels), np.vstack(scores)


def best(values):
    """The K largest values of each row and their columns."""
    order = np.argsort(-values, axis=1, kind="stable")[:, :K]
    return order, np.take_along_axis(values, order, axis=1)


if __name__ == "__main__":
    run(lambda X, Y: linear.train_tree(Y, X, options=f"-m {N_THREADS}", verbose=False), save, rank)
