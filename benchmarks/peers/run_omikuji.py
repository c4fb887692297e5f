"""omikuji: three trees of Parabel by default; options are its hyper-parameters."""

import numpy as np
from common import N_THREADS, OPTIONS, K, padded, run
from omikuji import Model


def write(X, Y, scratch):
    """The samples as the text file that omikuji reads; it divides rows by their length by itself."""
    path = scratch / "train.txt"
    rows = np.flatnonzero(np.diff(X.indptr) + np.diff(Y.indptr))  # it cannot read an empty line
    with path.open("w") as file:
        file.write(f"{len(rows)} {X.shape[1]} {Y.shape[1]}\n")
        for row in rows:
            x, y = slice(*X.indptr[row : row + 2]), slice(*Y.indptr[row : row + 2])
            features = [f"{j}:{v:.6g}" for j, v in zip(X.indices[x], X.data[x], strict=True)]
            file.write(" ".join([",".join(map(str, Y.indices[y])), *features]) + "\n")
    return (str(path),)


def train(path):
    """Train with the defaults but for the options."""
    hyper_parameters = Model.default_hyper_param()
    for name, value in OPTIONS.items():
        setattr(hyper_parameters, name, value)
    return Model.train_on_data(path, hyper_parameters, n_threads=N_THREADS)


def rank(model, X):
    """Row by row: there is no other way in Python."""
    return padded([model.predict(list(zip(x.indices, x.data, strict=True)), top_k=K) for x in X])


if __name__ == "__main__":
    run(train, lambda model, folder: model.save(str(folder)), rank, write)
