"""What texts are known by: words alone, or also their prefixes, their character n-grams, or pairs of words.

Usage: ``TACIT_DATA=… python -m benchmarks ngrams [--sets NAME…] [--model NAME] [--kept] [--write]``

On four sets, with rows cut from training sets. Debian's are the packages that this machine's apt knows (`apt-get
update`): names and synopses, and the tags of debtags; packages of one source are in the same part. CPU time is that of
features and training together, one thread. Results are kept, so that the same command continues.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

import tacit
from benchmarks.peers.environments import CACHE, machine
from benchmarks.peers.kept import kept
from benchmarks.peers.pages import ROOT, write_block
from benchmarks.peers.tables import Table, as_markdown, as_text
from tacit.core.labels import label_counts, read_labels
from tacit.numerics.rows import unit_rows
from tacit.registry import find_model
from tacit.tagger.naming import are_short
from tacit.text.vectorizer import FEATURES, TextVectorizer

REFERENCE = "words+characters, scikit-learn, 3–5"
MODELS: dict[str, dict[str, Any]] = {"LabelTree": {"n_trees": 1}, "OneVsAll": {}}

Rows = npt.NDArray[np.intp]


class Part(NamedTuple):
    """Texts and labels of training and of validation; all labels occur in training."""

    texts: list[str]
    Y: sparse.csr_matrix
    valid: list[str]
    Y_valid: sparse.csr_matrix


def part(texts: Sequence[str], Y: sparse.csr_matrix, train: Rows, valid: Rows) -> Part:
    """Some rows for training and others for validation."""
    seen = np.flatnonzero(label_counts(Y[train]))
    return Part([texts[row] for row in train], Y[train][:, seen], [texts[row] for row in valid], Y[valid][:, seen])


def of_file(name: str, text: str, labels: str, n_train: int, n_valid: int) -> Part:
    """Random rows of a training set."""
    path = Path(os.environ["TACIT_DATA"]) / name / "train.jsonl.gz"
    data = tacit.load_data(path, text=text, labels=labels)
    order = np.random.default_rng(0).permutation(data.Y.shape[0])
    return part(data.texts or [], data.Y, order[n_valid : n_valid + n_train], order[:n_valid])


def debian() -> Part | None:
    """Packages with tags, a tenth of the sources for validation; None where apt has no tags."""
    if shutil.which("apt-cache") is None:
        return None
    known = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    texts, tags, sources = [], [], []
    for entry in known.split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*(?:\n .*)*)", entry, re.MULTILINE))
        if "Tag" in fields and "Description" in fields:
            texts.append(f"{fields['Package']}: {fields['Description'].splitlines()[0]}")
            tags.append([tag for tag in re.split(r",\s*", fields["Tag"].strip()) if tag])
            sources.append(fields.get("Source", fields["Package"]).split()[0])
    if not texts:
        return None
    is_held_out = np.array([zlib.crc32(source.encode()) % 10 == 0 for source in sources])
    return part(texts, read_labels(tags).matrix, np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out))


WHOLE = "title,header,recitals,main_body"
SETS: dict[str, Callable[[], Part | None]] = {
    "EURLEX57K texts": partial(of_file, "eurlex57k", WHOLE, "concepts", 10_000, 3_000),
    "EURLEX57K titles": partial(of_file, "eurlex57k", "title", "concepts", 20_000, 4_000),
    "yso-finna-en titles": partial(of_file, "yso-finna-en", "text", "labels", 20_000, 5_000),
    "Debian packages": debian,
}


def vectorised(features: str, data: Part) -> list[sparse.csr_matrix]:
    """Features of training and of validation, as a tagger makes them."""
    words = TextVectorizer(features=features, language="en" if are_short(data.texts) else None)
    return [words.fit_transform(data.texts, 1), words.transform(data.valid, 1)]


def by_scikit_learn(data: Part) -> list[sparse.csr_matrix]:
    """Words, and all character n-grams of three to five letters within words, with half of the weight each."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, min_df=2, dtype=np.float32)
    both = [grams.fit_transform(data.texts), grams.transform(data.valid)]
    pairs = zip(vectorised("words", data), both, strict=True)
    return [unit_rows(sparse.hstack(pair, format="csr")) for pair in pairs]


def measure(features: str, model: str, data: Part) -> dict[str, Any]:
    """CPU seconds of features and fit, sizes, and accuracy."""
    start = time.process_time()
    X, X_valid = by_scikit_learn(data) if features == REFERENCE else vectorised(features, data)
    ready = time.process_time()
    fitted = find_model(model)(random_state=0, n_jobs=1, **MODELS[model]).fit(X, data.Y)
    spent = {"features": ready - start, "fit": time.process_time() - ready}
    found = tacit.evaluate(fitted.rank(X_valid, k=5), data.Y_valid, propensities=tacit.propensities(data.Y))
    return found | {"cpu": spent, "n_features": X.shape[1], "per_sample": X.nnz / X.shape[0]}


def results(chosen: argparse.Namespace) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """A set, features, and what was measured; sets that are not there are left out."""
    for name in chosen.sets:
        paths = {kind: chosen.folder / f"{name}-{chosen.model}-{kind}.json" for kind in (*FEATURES, REFERENCE)}
        is_done = chosen.kept or all(path.exists() for path in paths.values())
        data = None if is_done else SETS[name]()
        if data is not None:
            few = Part(data.texts[:500], data.Y[:500], data.valid[:5], data.Y_valid[:5])
            measure("words+prefixes", chosen.model, few)  # loads kernels
        elif not is_done:
            print(f"{name}: left out, as apt knows no packages with tags here; run apt-get update", file=sys.stderr)
        for kind, path in paths.items():
            if data is not None or path.exists():
                yield name, kind, kept(path, partial(measure, kind, chosen.model, data))


def table(found: Sequence[tuple[str, str, dict[str, Any]]]) -> Table:
    """A row for each set and features; CPU time also relative to that of words."""
    rows: Table = [("set", "features", "P@1/3/5", "PSP@1/3/5", "number", "per sample", "CPU s", "× words")]
    for name, kind, result in found:
        words = next(other for set_name, features, other in found if (set_name, features) == (name, "words"))
        seconds, least = (sum(each["cpu"].values()) for each in (result, words))
        accuracy = ["/".join(f"{100 * result[f'{metric}@{k}']:.1f}" for k in (1, 3, 5)) for metric in ("P", "PSP")]
        sizes = f"{result['n_features']:,}", f"{result['per_sample']:.0f}"
        rows.append((name, kind, *accuracy, *sizes, f"{seconds:.1f}", f"{seconds / least:.1f}"))
    return rows


def main(*arguments: str) -> None:
    """Print the table, or write it into the documentation."""
    options = argparse.ArgumentParser("python -m benchmarks ngrams", description=str(__doc__).partition("\n")[0])
    options.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="(%(default)s)")
    options.add_argument("--model", choices=MODELS, default="LabelTree", help="(%(default)s)")
    options.add_argument("--kept", action="store_true", help="measure nothing, show what is kept")
    options.add_argument("--write", action="store_true", help="write the table into docs")
    options.add_argument("--folder", type=Path, default=CACHE / "ngrams", help="for results (%(default)s)")
    chosen = options.parse_args(arguments)
    rows = table(list(results(chosen)))
    print(as_text(rows))
    if chosen.write:
        write_block(ROOT / "docs" / "tagger.md", "ngrams", f"{machine()}, one thread.\n\n{as_markdown(rows)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
