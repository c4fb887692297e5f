"""scikit-learn: one `LinearSVC` per label with its defaults; its manual keeps models with joblib."""

import warnings

import numpy as np
from joblib import dump, load, parallel_config
from matrices import N_THREADS, run, top_of_blocks
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

ROWS = 1000  # whose decision values for all labels are held at a time


def columns(X, Y):
    """Its liblinear takes 32-bit row pointers alone."""
    X.indptr, X.indices = X.indptr.astype(np.int32), X.indices.astype(np.int32)
    return X, Y.astype(np.int64)


def train(X, Y):
    """Labels side by side in threads, so that their time and memory are this process's."""
    warnings.simplefilter("ignore")  # of labels without a sample
    with parallel_config(backend="threading"):
        return OneVsRestClassifier(LinearSVC(), n_jobs=N_THREADS).fit(X, Y)


def save(model, folder):
    """Into a file in the folder."""
    folder.mkdir()
    dump(model, folder / "model.joblib")


if __name__ == "__main__":
    run(
        train,
        save,
        lambda folder: load(folder / "model.joblib"),
        lambda model, X: top_of_blocks(model.decision_function, X, ROWS),
        prepare=columns,
    )
