"""scikit-learn: one `LinearSVC` per label with its defaults."""

import warnings

import numpy as np
from common import N_THREADS, K, run
from joblib import dump, parallel_config
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

ROWS = 1000  # whose decision values for all labels are held at a time


def train(X, Y):
    """Labels side by side in threads, so that their time and memory are this process's."""
    warnings.simplefilter("ignore")  # of labels without a sample
    X.indptr, X.indices = X.indptr.astype(np.int32), X.indices.astype(np.int32)  # its liblinear takes no others
    with parallel_config(backend="threading"):
        return OneVsRestClassifier(LinearSVC(), n_jobs=N_THREADS).fit(X, Y.astype(np.int64))


def save(model, folder):
    """Pickled, as its manual says."""
    folder.mkdir()
    dump(model, folder / "model.joblib")


def rank(model, X):
    """The best of all decision values."""
    labels, scores = [], []
    for start in range(0, X.shape[0], ROWS):
        values = model.decision_function(X[start : start + ROWS])
        labels.append(np.argsort(-values, axis=1, kind="stable")[:, :K])
        scores.append(np.take_along_axis(values, labels[-1], axis=1))
    return np.vstack(labels), np.vstack(scores)


if __name__ == "__main__":
    run(train, save, rank)
