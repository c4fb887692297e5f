"""napkinXC: a probabilistic label tree with its defaults."""

from common import N_THREADS, K, padded, run
from napkinxc.models import PLT


def lists(X, Y, scratch):
    """Labels as lists, and the folder to which napkinXC writes its model while it trains."""
    (scratch / "model").mkdir()
    return X, [list(map(int, row.indices)) for row in Y], scratch / "model"


def train(X, Y, folder):
    """Train the tree."""
    model = PLT(str(folder), threads=N_THREADS, verbose=False)
    model.fit(X, Y)
    return model


if __name__ == "__main__":
    run(train, lambda *_: None, lambda model, X: padded(model.predict_proba(X, top_k=K)), lists)
