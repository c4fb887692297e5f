"""EURLEX57K: the test labels that never occur in train, found by co-occurrence or by their place in the thesaurus.

Usage: ``TACIT_DATA=… python -m benchmarks.latent_eurlex``. Counts come from dev and test, always without the sample
that is ranked; or from EuroVoc, where a label is taken to occur like its parents and the other children of these.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import tacit
from tacit.latent.counts import read_cooccurrence
from tacit.latent.matching import Samples, chosen_rows, match_logistic, moments_of

_AS_MANY = 5.0  # samples that a label of the thesaurus stands for


def load() -> tuple[Any, ...]:
    """Features and labels of train and test, the labels of dev, and the columns of each label's relatives."""
    folder = Path(os.environ["TACIT_DATA"]) / "eurlex57k"
    X, Y, X_test, Y_test = (
        sparse.load_npz(folder / "tfidf" / f"{part}.npz").tocsr().astype(np.float32)
        for part in ("X.trn", "Y.trn", "X.tst", "Y.tst")
    )
    names = (folder / "tfidf" / "labels.txt").read_text(encoding="utf-8").split()
    column = {name: i for i, name in enumerate(names)}
    with gzip.open(folder / "dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        concepts = [[column[c] for c in json.loads(line)["concepts"] if c in column] for line in lines]
    rows = np.repeat(np.arange(len(concepts)), [len(row) for row in concepts])
    places = (rows, np.concatenate([np.array(row, int) for row in concepts]))
    Y_dev = sparse.csr_matrix((np.ones(len(rows), np.float32), places), shape=(len(concepts), len(names)))
    thesaurus = json.loads((folder / "eurovoc_en.json").read_text(encoding="utf-8"))
    parents = {name: entry.get("parents", []) for name, entry in thesaurus.items()}
    children: dict[str, list[str]] = {}
    for name, above in parents.items():
        for parent in above:
            children.setdefault(parent, []).append(name)
    relatives = []
    for name in names:
        near = {*parents.get(name, ())}.union(*(children[parent] for parent in parents.get(name, ())))
        relatives.append(np.array(sorted(column[other] for other in near - {name} if other in column), int))
    return X, Y, X_test, Y_test, Y_dev, relatives


def recall(scores: np.ndarray, truth: list[np.ndarray], k: int = 10) -> float:
    """Mean share of the wanted columns among the k best of each row."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return 100 * float(np.mean([np.isin(wanted, row).mean() for wanted, row in zip(truth, best, strict=True)]))


def main() -> None:
    """Recall@10 among the unseen labels."""
    X, Y, X_test, Y_test, Y_dev, relatives = load()
    in_train = np.asarray(Y.sum(axis=0)).ravel() > 0
    seen, unseen = np.flatnonzero(in_train), np.flatnonzero(~in_train & (np.asarray(Y_test.sum(axis=0)).ravel() > 0))
    wanted = [np.flatnonzero(row) for row in Y_test[:, unseen].toarray()]
    samples = np.array([i for i, row in enumerate(wanted) if len(row)])
    wanted = [wanted[i] for i in samples]
    print(f"  {len(unseen)} labels, {len(samples)} samples; chance {1000 / len(unseen):.1f} %", flush=True)
    others = sparse.vstack([Y_dev, Y_test], format="csr")
    together = (others[:, seen].T @ others[:, unseen]).toarray()
    squares = (Y[:, seen].T @ Y[:, seen]).toarray()
    related = np.zeros((len(seen), len(unseen)))
    position = np.full(Y.shape[1], -1)
    position[seen] = np.arange(len(seen))
    for i, label in enumerate(unseen):
        near = position[relatives[label]]
        near = near[near >= 0]
        if len(near):
            columns = squares[:, near] / np.maximum(squares[near, near], 1)
            related[:, i] = _AS_MANY * columns.mean(axis=1)
    rows = chosen_rows(X.shape[0], 20000, 0)
    kept = Samples(X[rows], Y[rows][:, seen].tocsr())
    classifiers = tacit.OneVsAll(n_jobs=1).fit(X, Y[:, seen])
    weights = classifiers.weights_.toarray()

    def matched(columns: np.ndarray) -> np.ndarray:
        # the size of the source does not matter for one label: all its counts grow alike
        scales = np.full(len(seen), len(rows) / others.shape[0])
        moments = moments_of(kept, scales, read_cooccurrence(columns, len(seen)))
        return match_logistic(kept, moments, 0.003, 40)

    def averaged(columns: np.ndarray) -> np.ndarray:
        shares = columns / np.maximum(columns.sum(axis=0), 1e-12)
        return np.vstack([weights @ shares, classifiers.intercepts_ @ shares])

    for source, columns in (("dev and test", together), ("thesaurus", related), ("both", together + related)):
        left_out = [(i, label) for i, row in enumerate(wanted) for label in row] if source != "thesaurus" else []
        own = [
            columns[:, label] - Y_test[samples[i]][:, seen].toarray().ravel() for i, label in left_out
        ]  # without the sample that is ranked
        everything = np.maximum(np.column_stack([columns, *own]), 0)
        for what, solve in (("COSTA", averaged), ("moment matching", matched)):
            point = solve(everything)
            scores = X_test[samples] @ point[:-1] + point[-1]
            scores[:, everything.sum(axis=0) == 0] = -np.inf
            table = scores[:, : len(unseen)].copy()
            for place, (i, label) in enumerate(left_out):
                table[i, label] = scores[i, len(unseen) + place]
            known = np.mean(everything[:, : len(unseen)].sum(axis=0) > 0)
            print(
                f"  {source:13s} {what:16s} recall@10 {recall(table, wanted):.1f} % ({known:.0%} have counts)",
                flush=True,
            )


if __name__ == "__main__":
    main()
