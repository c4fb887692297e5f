"""PECOS XR-Linear with its own label tree and its defaults.

Its README trains with these three calls, and loads with ``is_predict_only=True`` for fast inference: the README of
``pecos.xmc.xlinear`` says that a model loaded in this way predicts faster.
"""

from matrices import N_THREADS, K, run, top_of_sparse
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel


def train(X, Y):
    """Cluster the labels and train the tree."""
    clusters = Indexer.gen(LabelEmbeddingFactory.create(Y, X, threads=N_THREADS), threads=N_THREADS)
    return XLinearModel.train(X, Y, C=clusters, threads=N_THREADS)


if __name__ == "__main__":
    run(
        train,
        lambda model, folder: model.save(str(folder)),
        lambda folder: XLinearModel.load(str(folder), is_predict_only=True),
        lambda model, X: model.predict(X, only_topk=K, threads=N_THREADS),
        top_of_sparse,
    )
