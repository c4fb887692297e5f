"""LibMultiLabel: its label tree of linear classifiers with its defaults."""

import pickle

import numpy as np
from common import K, run
from libmultilabel import linear


def save(model, folder):
    """Pickled: it has no format of its own."""
    folder.mkdir()
    with (folder / "model.pickle").open("wb") as file:
        pickle.dump(model, file)


def rank(model, X):
    """The best of all decision values."""
    values = linear.predict_values(model, X)
    order = np.argsort(-values, axis=1, kind="stable")[:, :K]
    return order, np.take_along_axis(values, order, axis=1)


if __name__ == "__main__":
    run(lambda X, Y: linear.train_tree(Y, X, verbose=False), save, rank)
