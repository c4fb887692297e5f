"""How training grows with labels and samples, predicted before it is measured; and features larger than memory.

Usage: ``python -m benchmarks scale [--labels N…] [--max-memory 6G] [--folder FOLDER]`` trains ``LabelTree(n_trees=1)``
by the command line, from a file of synthetic data, on 10,000 to a million labels with two samples each. Before a size
is run, CPU time, memory and size of the model are predicted from the two sizes before it, on a line in log-log as
``tacit train --dry-run`` does. *Moved* are the bytes that a worker of a cluster would get once (features and labels)
and the model that comes back. CPU time includes reading the file.

``python -m benchmarks scale --features 10G --max-memory 4G``: texts with character n-grams whose features take so much,
trained within that limit. *Memory* is what the limit counts: that of the process, without memory-mapped files.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import tacit
from tacit.core.labels import label_counts
from tacit.data.files import Staging
from tacit.data.numeric import write_rows
from tacit.data.synthetic import Recipe, feature_names, texts_of_counts
from tacit.sizes import format_size, parse_size
from tacit.tagger.dry_run import Cost, extrapolated

LABELS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
SAMPLES_PER_LABEL = 2
N_FEATURES = 100_000
OPTIONS: dict[str, Any] = {"exponent": 0.6, "hide": False, "unseen_share": 0.0, "test_share": 0.0}
TRAIN = ("--model", "LabelTree", "--param", "n_trees=1", "--no-calibrate")
TEXTS: dict[str, Any] = {"n_features": 20_000, "n_labels": 500, "noise_words": 90, **OPTIONS}
TRAIN_TEXTS = ("--features", "words+characters", "--no-names", *TRAIN[:4], "--param", "max_passes=1")
#: Samples, and labels and features per sample, of data that are larger than what is run here.
BEYOND = {"Amazon-3M": (1_717_899, 36.0, 50.0), "10^8 pages, 10^7 labels": (100_000_000, 5.0, 200.0)}
BYTES_PER_ENTRY = 8  # of features: a column and a value
_SECONDS_BETWEEN_LOOKS = 0.05


@dataclass(frozen=True)
class Run:
    """What a training took."""

    seconds: float
    cpu_seconds: float
    memory_bytes: int
    resident_bytes: int
    model_bytes: int


def train(data: Path, out: Path, *arguments: str) -> Run:
    """Run ``tacit train`` as a user does, and look at its memory meanwhile."""
    command = ["tacit", "train", str(data), "--out", str(out), *arguments]
    began, peak = time.perf_counter(), 0
    process = subprocess.Popen([sys.executable, "-m", *command], stdout=sys.stderr)
    status = Path(f"/proc/{process.pid}/status")
    while True:
        done, code, used = os.wait4(process.pid, os.WNOHANG)
        if done:
            break
        found = re.search(r"RssAnon:\s+(\d+)", status.read_text()) if status.exists() else None
        peak = max(peak, 1024 * int(found[1]) if found else 0)
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with exit code {process.returncode}")
    size = sum(file.stat().st_size for file in out.iterdir())
    cpu_seconds = used.ru_utime + used.ru_stime
    seconds = time.perf_counter() - began
    return Run(seconds, cpu_seconds, peak, 1024 * used.ru_maxrss, size)


# -- labels and samples that grow -------------------------------------------------------------------------


class Extent(NamedTuple):
    """The size of a data set: samples, and labels that have some."""

    n_samples: int
    n_labels: int


@dataclass(frozen=True)
class Size:
    """A size that was run: its extent, how many features and labels its samples have in all, and what it took."""

    extent: Extent
    n_entries: int
    n_positives: int
    run: Run

    @property
    def data_bytes(self) -> int:
        """Bytes of features and labels."""
        return BYTES_PER_ENTRY * (self.n_entries + self.n_positives)


def predicted(extent: Extent, known: Sequence[Size]) -> tuple[float, float, float]:
    """CPU seconds, bytes of memory and bytes of the model, from the two largest sizes."""
    costs = [
        Cost(one.extent.n_samples, one.run.cpu_seconds, one.run.memory_bytes, one.run.model_bytes) for one in known[-2:]
    ]
    found = extrapolated(*costs, extent.n_samples)
    return found.seconds, found.memory_bytes, found.model_bytes


def grow(labels: Sequence[int], folder: Path, max_memory: str | None) -> None:
    """Run each size, and print what was predicted beside what was measured."""
    known: list[Size] = []
    limit = () if max_memory is None else ("--max-memory", max_memory)
    print("labels (in train) × samples: CPU time, memory, model, as predicted / measured; moved to a worker, once")
    for n_labels in labels:
        kept = folder / f"scale-{n_labels}.json"
        if kept.exists():
            extent, n_entries, n_positives, run = json.loads(kept.read_text())
            size = Size(Extent(*extent), n_entries, n_positives, Run(**run))
            print(_line(size, predicted(size.extent, known) if len(known) > 1 else None), flush=True)
        else:
            size = measured(n_labels, folder, known, *limit)
            kept.write_text(json.dumps((size.extent, size.n_entries, size.n_positives, asdict(size.run))))
        known.append(size)
    plan(known, n_workers=16)


def write_synthetic(path: Path, n_samples: int, n_features: int, n_labels: int, **options: Any) -> None:
    """Write the features and observed labels of `Recipe.blocks` as an XMC file, block by block."""
    with Staging() as staging, staging.open(path) as file:
        file.write(f"{n_samples} {n_features} {n_labels}\n".encode())
        for block in Recipe(n_samples=n_samples, n_features=n_features, n_labels=n_labels, **options).blocks():
            write_rows(file, block.X, block.Y)


def measured(n_labels: int, folder: Path, known: Sequence[Size], *arguments: str) -> Size:
    """Predict a size, run it, and print both."""
    data = folder / f"scale-{n_labels}.txt"
    if not data.exists():
        write_synthetic(data, SAMPLES_PER_LABEL * n_labels, N_FEATURES, n_labels, **OPTIONS)
    found = tacit.load_data(data)
    extent = Extent(len(found), int((label_counts(found.Y) > 0).sum()))
    sizes = int(found.X.nnz), int(found.Y.nnz)
    del found
    before = predicted(extent, known) if len(known) > 1 else None
    if before is not None:
        print(f"{extent.n_labels:>9,} × {extent.n_samples:,}: {', '.join(_shown(before))} predicted", flush=True)
    with tempfile.TemporaryDirectory(dir=folder) as out:
        size = Size(extent, *sizes, train(data, Path(out, "model"), *TRAIN, *arguments))
    print(_line(size, before), flush=True)
    return size


def plan(known: Sequence[Size], n_workers: int) -> None:
    """Print what larger data would take, if work grows with the features of the samples of all labels."""
    last = known[-1]
    work = last.n_positives * last.n_entries / last.extent.n_samples
    print(f"a tree on {n_workers} workers: core-hours, memory of a worker, sent to all workers, model")
    for name, (n_samples, labels, features) in BEYOND.items():
        more = n_samples * labels * features / work
        data = BYTES_PER_ENTRY * n_samples * (labels + features)
        model = more * last.run.model_bytes
        hours = more * last.run.cpu_seconds / 3600
        sizes = (format_size(round(size)) for size in (data, n_workers * data, model))
        print(f"{name}: {hours:,.1f}, {', '.join(sizes)}", flush=True)


def _shown(values: tuple[float, float, float]) -> list[str]:
    return [f"{values[0]:,.0f} s", format_size(round(values[1])), format_size(round(values[2]))]


def _line(size: Size, before: tuple[float, float, float] | None) -> str:
    run, extent = size.run, size.extent
    cells = _shown((run.cpu_seconds, run.memory_bytes, run.model_bytes))
    if before is not None:
        cells = [f"{guess} / {found}" for guess, found in zip(_shown(before), cells, strict=True)]
    moved = format_size(size.data_bytes + run.model_bytes)
    return f"{extent.n_labels:>9,} × {extent.n_samples:,}: {', '.join(cells)}; {moved}; {run.seconds:,.0f} s"


# -- features larger than memory --------------------------------------------------------------------------


def write_texts(path: Path, n_texts: int) -> None:
    """Synthetic texts with labels, as JSONL."""
    words = feature_names(range(TEXTS["n_features"]))
    draft = path.with_name(f".{path.name}")  # what is not whole is not taken for the data later
    with gzip.open(draft, "wt", encoding="utf-8", compresslevel=1) as file:
        for block in Recipe(n_samples=n_texts, **TEXTS).blocks():
            for row, text in enumerate(texts_of_counts(block.counts, words)):
                tags = [f"label {tag}" for tag in block.Y.indices[slice(*block.Y.indptr[row : row + 2])]]
                file.write(json.dumps({"text": text, "labels": tags}) + "\n")
    draft.rename(path)


def larger_than_memory(features: str, max_memory: str, folder: Path) -> None:
    """Train on texts whose features take so many bytes, within a limit of memory."""
    sample = folder / "sample.jsonl.gz"
    write_texts(sample, 2000)
    texts = tacit.load_data(sample).texts or []
    tagger = tacit.Tagger("Popularity", features="words+characters", names=False)
    vectorizer = tagger.fit(texts, [["x"]] * len(texts)).vectorizer_
    assert vectorizer is not None
    per_text = vectorizer.transform(texts).nnz / len(texts)
    n_texts = int(parse_size(features) / (BYTES_PER_ENTRY * per_text))
    data = folder / f"texts-{n_texts}.jsonl.gz"
    if not data.exists():
        write_texts(data, n_texts)
    with tempfile.TemporaryDirectory(dir=folder) as out:
        run = train(data, Path(out, "model"), *TRAIN_TEXTS, "--max-memory", max_memory)
        vectorizer = tacit.Tagger.load(Path(out, "model")).vectorizer_
        assert vectorizer is not None
        size = round(BYTES_PER_ENTRY * n_texts * vectorizer.transform(texts).nnz / len(texts))
    print(
        f"{n_texts:,} texts, features of {format_size(size)}, within {max_memory}: {run.cpu_seconds:,.0f} s of CPU "
        f"time ({run.seconds:,.0f} s), {format_size(run.memory_bytes)} of memory, "
        f"a model of {format_size(run.model_bytes)}"
    )


def main(*arguments: str) -> None:
    """Run what the options ask for."""
    parser = argparse.ArgumentParser("python -m benchmarks scale", description=str(__doc__).partition("\n")[0])
    parser.add_argument("--labels", type=int, nargs="+", default=LABELS, help="(%(default)s)")
    parser.add_argument("--features", metavar="SIZE", help="train on texts whose features take so much instead")
    parser.add_argument("--max-memory", metavar="SIZE", help="of tacit train")
    parser.add_argument("--folder", type=Path, help="for data and results, which are kept there")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        if given.features is not None:
            larger_than_memory(given.features, given.max_memory or "4G", folder)
        else:
            grow(sorted(given.labels), folder, given.max_memory)


if __name__ == "__main__":
    main(*sys.argv[1:])
