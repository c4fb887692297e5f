"""PECOS XR-Linear with its own label tree, defaults."""

from common import N_THREADS, K, run, top
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel


def train(X, Y):
    """Cluster the labels and train the tree."""
    return XLinearModel.train(X, Y, C=Indexer.gen(LabelEmbeddingFactory.create(Y, X)), threads=N_THREADS)


if __name__ == "__main__":
    run(
        train,
        lambda model, folder: model.save(str(folder)),
        lambda model, X: top(model.predict(X, only_topk=K, threads=N_THREADS)),
    )
