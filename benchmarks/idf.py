"""What weights by inverse document frequency are worth where features are flags or counts, for each model.

Usage: ``TACIT_DATA=… python -m benchmarks idf [--sets NAME…] [--models NAME…] [--seeds N…] [--kept]
[--markdown] [--write]``

Every model is trained with ``idf=False`` and ``idf=True`` on a part of a training set, and judged on another part of
it. Results are kept, so that the same command continues what was interrupted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

import tacit
from benchmarks.peers.environments import CACHE
from benchmarks.peers.kept import kept
from benchmarks.peers.pages import ROOT, write_block
from benchmarks.peers.tables import Table, as_markdown, as_text
from tacit.core.labels import label_counts
from tacit.data.split import hold_out_labels
from tacit.registry import find_model

LATENT = ("LFM", "MLLCS", "COSTA", "MomentMatching")
EMBEDDINGS = ("ExMLDS1", "ExMLDS2", "ExMLDS3", "SLEEC", "JointExMLDS", "AnnexML")
MODELS = ("OneVsAll", "LabelTree", *EMBEDDINGS, *LATENT)
METRICS = ("P@1", "P@5", "PSP@5", "nDCG@5")
LEAST = 5  # samples of a label that latent models, which take dense labels, learn on texts

Result = dict[str, Any]


class Part(NamedTuple):
    """Features and labels of training and of validation."""

    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    X_valid: sparse.csr_matrix
    Y_valid: sparse.csr_matrix


# -- sets -------------------------------------------------------------------------------------------------


@cache
def flags(name: str) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """The training part of a set whose features are flags."""
    data = tacit.load_data(Path(os.environ["TACIT_DATA"]) / name / "train.txt")
    return data.X, data.Y


@cache
def counts(name: str, n_rows: int, fields: str) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Counts of words in the first texts of a set, permuted; words of a single text are left out."""
    with gzip.open(Path(os.environ["TACIT_DATA"]) / name / "train.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = file.readlines()
    rows = [json.loads(lines[row]) for row in np.random.default_rng(0).permutation(len(lines))[:n_rows]]
    texts = [" ".join(" ".join(row[field]) if isinstance(row[field], list) else row[field] for field in fields.split())
             for row in rows]  # fmt: skip
    labels: dict[Any, int] = {}
    tags = [[labels.setdefault(tag, len(labels)) for tag in row.get("labels", row.get("concepts"))] for row in rows]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in tags])])
    Y = sparse.csr_matrix((np.ones(starts[-1], np.float32), np.concatenate(tags), starts), (len(rows), len(labels)))
    return sparse.csr_matrix(CountVectorizer(min_df=2).fit_transform(texts), dtype=np.float32), Y


def eurlex() -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Counts of words in whole texts."""
    return counts("eurlex57k", 7_500, "title header recitals main_body")


SETS: dict[str, Callable[[], tuple[sparse.csr_matrix, sparse.csr_matrix]]] = {
    "bibtex": lambda: flags("bibtex"),
    "delicious": lambda: flags("delicious"),
    "eurlex57k": eurlex,
    "eurlex57k-flags": lambda: (eurlex()[0].sign(), eurlex()[1]),  # whether a word is in a text
    "eurlex57k-titles": lambda: counts("eurlex57k", 5_000, "title"),
    "yso-finna-en": lambda: counts("yso-finna-en", 10_000, "text"),
}
FLAGS = ("bibtex", "delicious", "eurlex57k-flags")
SMALL = ("bibtex", "delicious")  # in labels


def part(name: str, seed: int, is_latent: bool) -> Part:
    """A random fifth of a training set for validation, the rest for training."""
    X, Y = SETS[name]()
    valid, train = np.split(np.random.default_rng(seed).permutation(X.shape[0]), [X.shape[0] // 5])
    least = LEAST if is_latent and name not in SMALL else 1
    Y = Y[:, np.flatnonzero(label_counts(Y[train]) >= least)]
    return Part(X[train], Y[train], X[valid], Y[valid])


# -- results ----------------------------------------------------------------------------------------------


def measure(name: str, model: str, seed: int, idf: bool) -> Result:
    """Accuracy of one model, with or without weights; CPU seconds of its fit."""
    data = part(name, seed, model in LATENT)
    fitted = find_model(model)(random_state=seed, idf=idf, **({"calibration_folds": 0} if model in LATENT else {}))
    start = time.process_time()
    fitted.fit(data.X, data.Y)
    found = {"cpu": time.process_time() - start}
    propensities = tacit.propensities(data.Y)
    found |= tacit.evaluate(fitted.rank(data.X_valid, k=5), data.Y_valid, propensities=propensities)
    return found | (unseen(data, model, seed, idf) if model in LATENT[1:] else {})


def unseen(data: Part, model: str, seed: int, idf: bool) -> Result:
    """NDCG@5 among labels without samples, where half of the labels are hidden."""
    held = hold_out_labels(data.Y, 0.5, seed=seed)
    fitted = find_model(model)(random_state=seed, idf=idf, calibration_folds=0)
    fitted.fit(data.X, held.Y_seen, cooccurrence=held.cooccurrence)
    hidden = np.arange(len(held.seen), data.Y.shape[1])
    ranking = fitted.rank(data.X_valid, k=5, include=hidden)
    return {"unseen nDCG@5": tacit.evaluate(ranking, data.Y_valid[:, held.order])["nDCG@5"]}


def results(chosen: argparse.Namespace, name: str, model: str) -> Iterator[tuple[Result, Result]]:
    """For each seed, the results without and with weights; of seeds that have both, if only kept ones are shown."""
    for seed in chosen.seeds:
        paths = {idf: chosen.folder / f"{name}-{model}-{seed}-{idf}.json" for idf in (False, True)}
        if not chosen.kept or all(path.exists() for path in paths.values()):
            plain, weighted = (kept(path, partial(measure, name, model, seed, idf)) for idf, path in paths.items())
            yield plain, weighted


def row(name: str, model: str, found: Sequence[tuple[Result, Result]]) -> tuple[str, ...]:
    """Means without weights, and what weights add to them, in points; the spread of the gain over seeds."""
    metrics = [metric for metric in (*METRICS, "unseen nDCG@5") if metric in found[0][0]]
    cells = {metric: [(100 * plain[metric], 100 * (weighted[metric] - plain[metric])) for plain, weighted in found]
             for metric in metrics}  # fmt: skip
    shown = [_cell(cells[metric]) if metric in cells else "" for metric in (*METRICS, "unseen nDCG@5")]
    values = "flags" if name in FLAGS else "counts"
    return (f"`{model}`", f"{name.removesuffix('-flags')}, {values}", str(len(found)), *shown)


def _cell(values: Sequence[tuple[float, float]]) -> str:
    gains = [gain for _, gain in values]
    spread = f" ± {statistics.stdev(gains):.1f}" if len(gains) > 1 else ""
    return f"{statistics.mean(plain for plain, _ in values):.1f} {statistics.mean(gains):+.1f}{spread}"


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser("python -m benchmarks idf", description=str(__doc__).partition("\n")[0])
    options.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="(%(default)s)")
    options.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, help="(%(default)s)")
    options.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="(%(default)s)")
    options.add_argument("--kept", action="store_true", help="measure nothing, show what is kept")
    options.add_argument("--markdown", action="store_true", help="print the table for docs")
    options.add_argument("--write", action="store_true", help="write the table into docs")
    options.add_argument("--folder", type=Path, default=CACHE / "idf", help="for results (%(default)s)")
    return options


def main(*arguments: str) -> None:
    """Print the table."""
    chosen = parser().parse_args(arguments)
    table: Table = [("", "set", "seeds", *METRICS, "unseen nDCG@5")]
    for model, name in product(chosen.models, chosen.sets):
        found = list(results(chosen, name, model))
        if found:
            table.append(row(name, model, found))
    print((as_markdown if chosen.markdown else as_text)(table))
    if chosen.write and len(table) > 1:
        write_block(ROOT / "docs" / "linear.md", "idf", as_markdown(table))


if __name__ == "__main__":
    main(*sys.argv[1:])
