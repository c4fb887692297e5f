"""omikuji: three trees of Parabel by default; the options hold other hyper-parameters.

As in the Python example of its README, the weights of a loaded model are made dense from a density of 0.05, which
takes memory and makes it faster.
"""

import numpy as np
from matrices import HOME, N_THREADS, OPTIONS, K, run, top_of_lists
from omikuji import Model


def write(X, Y):
    """The samples as the text file that omikuji reads; it divides rows by their length by itself."""
    path = HOME / "train.txt"
    rows = np.flatnonzero(np.diff(X.indptr) + np.diff(Y.indptr))  # it cannot read an empty line
    with path.open("w") as file:
        file.write(f"{len(rows)} {X.shape[1]} {Y.shape[1]}\n")
        for row in rows:
            x, y = slice(*X.indptr[row : row + 2]), slice(*Y.indptr[row : row + 2])
            features = [f"{j}:{v:.6g}" for j, v in zip(X.indices[x], X.data[x], strict=True)]
            file.write(" ".join([",".join(map(str, Y.indices[y])), *features]) + "\n")
    return (str(path),)


def train(path):
    """Read the file, which there is no way around, and train."""
    hyper_parameters = Model.default_hyper_param()
    for name, value in OPTIONS["hyper_parameters"].items():
        setattr(hyper_parameters, name, value)
    return Model.train_on_data(path, hyper_parameters, n_threads=N_THREADS)


def load(folder):
    """The model with dense weights where that is fast."""
    model = Model.load(str(folder))
    model.init_prediction_thread_pool(N_THREADS)
    model.densify_weights(0.05)
    return model


def rank(model, X):
    """Row by row: there is no other way in Python; the threads share the trees of a row."""
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    pairs = (list(zip(X.indices[start:end], X.data[start:end], strict=True)) for start, end in ends)
    return [model.predict(row, top_k=K) for row in pairs]


if __name__ == "__main__":
    run(train, lambda model, folder: model.save(str(folder)), load, rank, top_of_lists, write)
