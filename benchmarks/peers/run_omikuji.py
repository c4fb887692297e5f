"""omikuji with its defaults: three trees of Parabel."""

from common import K, padded, run
from omikuji import Model


def write(X, Y, scratch):
    """The samples as the text file that omikuji reads; it divides rows by their length by itself."""
    path = scratch / "train.txt"
    with path.open("w") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for row in range(X.shape[0]):
            x, y = X[row], Y[row]
            features = " ".join(f"{j}:{v:.6g}" for j, v in zip(x.indices, x.data, strict=True))
            file.write(f"{','.join(map(str, y.indices))} {features}\n")
    return (str(path),)


def rank(model, X):
    """Row by row: there is no other way in Python."""
    return padded([model.predict(list(zip(x.indices, x.data, strict=True)), top_k=K) for x in X])


if __name__ == "__main__":
    run(
        lambda path: Model.train_on_data(path, n_threads=1),
        lambda model, folder: model.save(str(folder)),
        rank,
        write,
    )
