"""EURLEX57K: the test labels that never occur in train, found by co-occurrence or by their place in the thesaurus.

Usage: ``TACIT_DATA=… python -m benchmarks.latent_eurlex``. Counts come from dev and test, always without the sample
that is ranked; or from EuroVoc, where a label is taken to occur like its parents and the other children of these. Every
model is trained once; each column of counts is then a label added to it.
"""

from __future__ import annotations

import gzip
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import tacit

_FACTORS = {"n_factors": 50, "n_sweeps": 10}  # of MLLCS: 4,108 seen labels make a sweep costly


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


def counts_of_relatives(Y: sparse.csr_matrix, relatives: list[np.ndarray]) -> np.ndarray:
    """Counts of labels that occur as their relatives do on average."""
    squares = (Y.T @ Y).tocsc()
    totals = np.maximum(squares.diagonal(), 1)
    columns = np.zeros((Y.shape[1], len(relatives)))
    for column, near in zip(columns.T, relatives, strict=True):
        if len(near):
            column[:] = (squares[:, near].toarray() / totals[near]).mean(axis=1)
    return columns


def equally_frequent(columns: np.ndarray, Y: sparse.csr_matrix) -> np.ndarray:
    """Counts as if every label had as many samples as a label of Y has on average.

    One or two samples do not tell how frequent a label is, and a sample left out must not make the wanted label rarer.
    """
    totals = columns.sum(axis=0)
    per_label, per_sample = Y.sum() / Y.shape[1], Y.sum() / Y.shape[0]
    return per_label * per_sample * columns / np.where(totals > 0, totals, 1)


@dataclass(frozen=True, eq=False)
class Task:
    """Samples with labels that train has not, and the counts from which each of these pairs is to be found.

    Counts have a column for each unseen label and, after these, one for each pair, without its sample.
    """

    X: sparse.csr_matrix
    wanted: list[np.ndarray]
    pairs: list[tuple[int, int]]
    sources: dict[str, np.ndarray]

    def recall(self, model: Any, source: str, k: int = 10) -> float:
        """Mean share of the wanted labels among the k best, in percent; `model` gets the labels added and removed."""
        columns, n_labels = self.sources[source], len(model.classes_)
        model.add_labels(columns)
        added = np.arange(n_labels, len(model.classes_))
        ranking = model.rank(self.X, k=len(added), include=added)
        scores = np.empty((len(self.wanted), len(added)))
        np.put_along_axis(scores, ranking.labels - n_labels, ranking.scores, axis=1)
        model.remove_labels(added)
        table = scores[:, : len(added) - len(self.pairs)]
        for place, (sample, label) in enumerate(self.pairs, start=table.shape[1]):
            table[sample, label] = scores[sample, place]
        best = np.argsort(-table, axis=1, kind="stable")[:, :k]
        return 100 * float(np.mean([np.isin(own, row).mean() for own, row in zip(self.wanted, best, strict=True)]))

    def reachable(self, source: str) -> float:
        """Percentage of the pairs whose label has any count left."""
        return 100 * float(np.mean(self.sources[source][:, -len(self.pairs) :].any(axis=0)))


def task(Y: sparse.csr_matrix, X_test: Any, Y_test: Any, Y_dev: Any, relatives: list[np.ndarray]) -> tuple[Task, Any]:
    """The task, and which labels occur in train."""
    in_train = np.asarray(Y.sum(axis=0)).ravel() > 0
    seen, unseen = np.flatnonzero(in_train), np.flatnonzero(~in_train & (np.asarray(Y_test.sum(axis=0)).ravel() > 0))
    samples = np.flatnonzero(np.diff(Y_test[:, unseen].tocsr().indptr))
    wanted = [row.indices for row in Y_test[samples][:, unseen].tocsr()]
    pairs = [(i, label) for i, row in enumerate(wanted) for label in row]
    others = sparse.vstack([Y_dev, Y_test], format="csr")
    together = (others[:, seen].T @ others[:, unseen]).toarray()
    own = np.column_stack([Y_test[samples[i]][:, seen].toarray().ravel() for i, _ in pairs])
    left = np.hstack([together, together[:, [label for _, label in pairs]] - own])
    positives = [np.asarray(labels[:, seen].sum(axis=0)).ravel() for labels in (Y, others)]
    left *= (positives[0] / np.maximum(positives[1], 1))[:, None]  # to the scale of train
    position = np.full(Y.shape[1], -1)
    position[seen] = np.arange(len(seen))
    near = [position[relatives[label]] for label in (*unseen, *(unseen[label] for _, label in pairs))]
    related = counts_of_relatives(Y[:, seen].tocsr(), [ids[ids >= 0] for ids in near])
    left, related = (equally_frequent(columns, Y[:, seen]) for columns in (left, related))
    known = np.maximum(left.any(axis=0).astype(int) + related.any(axis=0), 1)
    sources = {"dev and test": left, "thesaurus": related, "both": (left + related) / known}
    return Task(X_test[samples], wanted, pairs, sources), seen


def main() -> None:
    """Recall@10 among the unseen labels."""
    X, Y, *rest = load()
    of, seen = task(Y, *rest)
    Y = Y[:, seen].tocsr()
    n_unseen = next(iter(of.sources.values())).shape[1] - len(of.pairs)
    print(f"  {n_unseen} labels, {len(of.wanted)} samples; chance {1000 / n_unseen:.1f} %", flush=True)
    for source in of.sources:
        print(f"  {source}: {of.reachable(source):.0f} % of the wanted labels have counts", flush=True)
    options = {"classifier": "one_vs_all", "calibration_folds": 0}  # only unseen labels are ranked: one scale
    models = (
        tacit.COSTA(base="classifiers", **options),
        tacit.MLLCS(count_positives=0, calibration_folds=0, **_FACTORS),
        tacit.MomentMatching(**options),
    )
    for model in models:
        start = time.process_time()
        model.fit(X, Y, cooccurrence=Y.T @ Y)
        fit = time.process_time() - start
        found = ", ".join(f"{source} {of.recall(model, source):.1f} %" for source in of.sources)
        print(
            f"  {type(model).__name__:15s} recall@10: {found} ({fit:.0f} + {time.process_time() - start - fit:.0f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main()
