"""The grid behind ``model="auto"``: the models that it may choose on sets of many sizes, and what the rule loses.

Usage: ``TACIT_DATA=… python -m benchmarks auto [--sets NAME…] [--sizes N…] [--models NAME…] [--markdown] [--write]``

Models are trained with their defaults on random rows of training sets, one thread, and judged on other rows of them.
A model is better if its nDCG@5 is higher, less half a point for each factor of ten in CPU time beyond ten seconds.
Results are kept, so that the same command continues what was interrupted; those of other commands are shown with
``--kept``.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import tacit
from benchmarks.peers.environments import CACHE, machine
from benchmarks.peers.kept import kept
from benchmarks.peers.pages import ROOT, write_block
from benchmarks.peers.tables import Table, as_markdown, as_text
from tacit.core.labels import label_counts
from tacit.registry import find_model
from tacit.tagger.automatic import CANDIDATES, DataSize, choose
from tacit.text.vectorizer import TextVectorizer

SIZES = (1_000, 5_000, 20_000, 100_000)  # of training
VALIDATED = 5_000  # rows at most; a fifth of a small set
RATE = 0.5  # points of nDCG@5 that ten times the CPU time must buy
UNNOTICED = 10.0  # CPU seconds, below which time does not count

Result = dict[str, Any]


# -- sets -------------------------------------------------------------------------------------------------


class Samples(NamedTuple):
    """All rows of a training set: texts or features, and labels."""

    inputs: Any
    Y: sparse.csr_matrix


def matrix(name: str) -> Samples:
    """Features in XMC text."""
    data = tacit.load_data(Path(os.environ["TACIT_DATA"]) / name / "train.txt")
    return Samples(data.X, data.Y)


def ready() -> Samples:
    """Tf-idf of whole texts, as it comes with EURLEX57K."""
    folder = Path(os.environ["TACIT_DATA"]) / "eurlex57k" / "tfidf"
    X, Y = (sparse.csr_matrix(sparse.load_npz(folder / f"{part}.trn.npz")) for part in ("X", "Y"))
    return Samples(X, Y)


def titles(name: str, text: str, labels: str) -> Samples:
    """Short texts."""
    path = Path(os.environ["TACIT_DATA"]) / name / "train.jsonl.gz"
    data = tacit.load_data(path, text=text, labels=labels)
    return Samples(np.array(data.texts, dtype=object), data.Y)


SETS: dict[str, Callable[[], Samples]] = {
    "Bibtex": lambda: matrix("bibtex"),
    "Delicious": lambda: matrix("delicious"),
    "rcv1sub1": lambda: matrix("rcv1sub1"),
    "EURLEX57K texts": ready,
    "EURLEX57K titles": lambda: titles("eurlex57k", "title", "concepts"),
    "yso-finna-en titles": lambda: titles("yso-finna-en", "text", "labels"),
}


@cache
def samples(name: str) -> Samples:
    """The rows of a set, read once."""
    return SETS[name]()


class Part(NamedTuple):
    """Features and labels of training and of validation; all labels occur in training."""

    X: sparse.csr_matrix
    Y: sparse.csr_matrix
    X_valid: sparse.csr_matrix
    Y_valid: sparse.csr_matrix


def part(name: str, n_samples: int) -> Part | None:
    """Some random rows for training and others for validation; all that are left where these are too few."""
    inputs, Y = samples(name)
    order = np.random.default_rng(0).permutation(Y.shape[0])
    valid, rest = np.split(order, [min(VALIDATED, len(order) // 5)])
    if len(rest) < n_samples and len(rest) <= smaller(n_samples):
        return None
    train = rest[:n_samples]
    X, X_valid = features(inputs[train], inputs[valid])
    seen = np.flatnonzero(label_counts(Y[train]))
    return Part(X, Y[train][:, seen], X_valid, Y[valid][:, seen])


def smaller(n_samples: int) -> int:
    """The next smaller size of the grid."""
    return max((size for size in SIZES if size < n_samples), default=0)


def features(train: Any, valid: Any) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Features as they are; those of short texts as a tagger makes them."""
    if sparse.issparse(train):
        return train, valid
    words = TextVectorizer(language="en")
    return words.fit_transform(list(train)), words.transform(list(valid))


# -- results ----------------------------------------------------------------------------------------------


def measure(model: str, data: Part) -> Result:
    """Sizes, CPU seconds of the fit, and accuracy."""
    start = time.process_time()
    fitted = find_model(model)(n_jobs=1).fit(data.X, data.Y)
    found: Result = {"cpu": time.process_time() - start, "size": DataSize.of(data.X, data.Y)._asdict()}
    ranking = fitted.rank(data.X_valid, k=5)
    return found | tacit.evaluate(ranking, data.Y_valid, propensities=tacit.propensities(data.Y))


def warm_up(models: Sequence[str]) -> None:
    """Compile or load all kernels."""
    X = sparse.csr_matrix(np.eye(8, dtype=np.float32))
    Y = sparse.csr_matrix((np.arange(8)[:, None] % 4 == np.arange(4)).astype(np.float32))
    for model in models:
        find_model(model)(n_jobs=1).fit(X, Y).rank(X)


@dataclass(frozen=True)
class Cell:
    """What all models made of one size of one set."""

    name: str
    size: DataSize
    results: dict[str, Result]

    def worth(self, model: str) -> float:
        """NDCG@5 in points, less what the CPU time costs."""
        found = self.results[model]
        return float(100 * found["nDCG@5"] - RATE * math.log10(max(found["cpu"], UNNOTICED)))

    @property
    def best(self) -> str:
        """The model with the highest worth."""
        return max(self.results, key=self.worth)

    @property
    def chosen(self) -> str:
        """The model that the rule chooses."""
        return choose(self.size)[0]

    @property
    def loss(self) -> float:
        """What the choice is worth less than the best."""
        return self.worth(self.best) - self.worth(self.chosen)


def grid(chosen: argparse.Namespace) -> Iterator[Cell]:
    """The cells of which all results are there, which are measured first unless only kept ones are asked for."""
    for name in chosen.sets:
        for n_samples in chosen.sizes:
            paths = {model: chosen.folder / f"{name}-{n_samples}-{model}.json" for model in chosen.models}
            if not chosen.kept and not all(path.exists() for path in paths.values()):
                data = part(name, n_samples)
                for model, path in paths.items() if data is not None else ():
                    kept(path, partial(measure, model, data))
                    print(f"{name}, {n_samples:,}: {model} is done", file=sys.stderr, flush=True)
            if all(path.exists() for path in paths.values()):
                found = {model: kept(path, dict) for model, path in paths.items()}
                yield Cell(name, DataSize(**found[chosen.models[0]]["size"]), found)


def table(cells: Sequence[Cell], models: Sequence[str]) -> Table:
    """A row for each cell; the best is worth most, the chosen one is what the rule takes."""
    headings = ("samples", "labels", "samples/label", "features/sample")
    of_models = [f"{model}: {what}" for model in models for what in ("CPU s", "P@1/3/5", "PSP@1/3/5", "nDCG@5")]
    rows: Table = [("set", *headings, *of_models, "cost", "best", "`auto`")]
    for cell in sorted(cells, key=lambda cell: cell.size.cost):
        size = cell.size
        sizes = (f"{size.n_samples:,}", f"{size.n_labels:,}", f"{size.n_positives / size.n_labels:.0f}")
        shown = [text for model in models for text in _figures(cell.results[model])]
        per_sample = f"{size.n_entries / size.n_samples:.0f}"
        chosen = cell.chosen if cell.loss == 0 else f"{cell.chosen} (−{cell.loss:.1f})"
        rows.append((cell.name, *sizes, per_sample, *shown, f"{size.cost:.0e}", cell.best, chosen))
    return rows


def _figures(found: Result) -> tuple[str, ...]:
    accuracy = ("/".join(f"{100 * found[f'{metric}@{k}']:.1f}" for k in (1, 3, 5)) for metric in ("P", "PSP"))
    return f"{found['cpu']:.1f}", *accuracy, f"{100 * found['nDCG@5']:.1f}"


def limits(cells: Sequence[Cell], models: Sequence[str]) -> str:
    """The mean loss of every limit of the cost at which the rule could go from the first model to the second."""
    costs = sorted({cell.size.cost for cell in cells})
    first, second = models
    lines = []
    for limit in (0.0, *costs):
        losses = [cell.worth(cell.best) - cell.worth(first if cell.size.cost <= limit else second) for cell in cells]
        lines.append(f"{first} up to {limit:.1e}: mean loss {np.mean(losses):.2f}, largest {max(losses):.2f}")
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser("python -m benchmarks auto", description=str(__doc__).partition("\n")[0])
    options.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="(%(default)s)")
    options.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="(%(default)s)")
    options.add_argument("--models", nargs="+", choices=CANDIDATES, default=CANDIDATES, help="(%(default)s)")
    options.add_argument("--kept", action="store_true", help="measure nothing, show what is kept")
    options.add_argument("--markdown", action="store_true", help="print the table for docs")
    options.add_argument("--write", action="store_true", help="write the table into docs")
    options.add_argument("--folder", type=Path, default=CACHE / "auto", help="for results (%(default)s)")
    return options


def main(*arguments: str) -> None:
    """Print the grid, and what other limits of the rule would lose on it."""
    chosen = parser().parse_args(arguments)
    if not chosen.kept:
        warm_up(chosen.models)
    cells = list(grid(chosen))
    if not cells:
        return
    rows = table(cells, chosen.models)
    print((as_markdown if chosen.markdown else as_text)(rows))
    print(f"mean loss of the rule: {np.mean([cell.loss for cell in cells]):.2f}")
    if len(chosen.models) == len(CANDIDATES) == 2:
        print(limits(cells, chosen.models))
    if chosen.write:
        write_block(ROOT / "docs" / "tagger.md", "auto", f"{machine()}, one thread.\n\n{as_markdown(rows)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
