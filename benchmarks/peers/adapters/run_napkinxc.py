"""napkinXC: a probabilistic label tree with its defaults.

It writes its model while it trains. As in its example train_store_load.py, a new object with the folder of the model
loads it; ``load`` does so at once instead of with the first prediction.
"""

from matrices import HOME, N_THREADS, K, run, top_of_lists
from napkinxc.models import PLT


def tree():
    """A tree that is, or will be, in the folder of the model."""
    return PLT(str(HOME / "model"), threads=N_THREADS, verbose=False)


def lists(X, Y):
    """Labels as lists; the folder must be there."""
    (HOME / "model").mkdir()
    return X, [list(map(int, row.indices)) for row in Y]


def load(folder):  # noqa: ARG001
    """The model in memory."""
    model = tree()
    model.load()
    return model


if __name__ == "__main__":
    run(
        lambda X, Y: tree().fit(X, Y),
        lambda *_: None,
        load,
        lambda model, X: model.predict_proba(X, top_k=K),
        top_of_lists,
        lists,
    )
