"""Vectors beside words, on real data: words, vectors and both, with and without the names of labels.

Usage: ``TACIT_DATA=… python -m benchmarks.vectors [--dev] [--sets NAME…] [--systems NAME…] [--markdown]``

The encoder is the mean of static token vectors: the 32,000 vectors of 256 dimensions inside the package ``wordllama``,
which pip fetches, and the tokenizer beside them. Both files are read directly. Every training runs alone in a process
of its own with one thread; what it measured is kept by its settings, so that a long run resumes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import tacit
from benchmarks.annif import N_ALL, tested_rows, train_rows
from benchmarks.peers.environments import CACHE, SOURCES, digest, machine, texts_of
from benchmarks.peers.kept import kept, written
from benchmarks.peers.tables import as_markdown, as_text
from tacit.core.labels import aligned
from tacit.data.dataset import Dataset
from tacit.data.vocabulary import Vocabulary
from tacit.evaluation.bands import BANDS, evaluate_by_band
from tacit.runtime.memory import forget_peak, peak_bytes, resident_bytes
from tacit.text.encoders import Encoded, TextEncoder

PACKAGE = "wordllama==0.4.0.post1"
EURLEX_FIELDS = {"text": "title,header,recitals,main_body", "labels": "concepts"}
ALONE = 100.0  # weight at which words are a hundredth of a sample: vectors alone, beside names of labels
KS = (1, 3, 5)

Result = dict[str, Any]


# -- the encoder ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenVectors:
    """The mean vector of the tokens of a text."""

    folder: Path

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(next(self.folder.glob("*.json"))))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    @cached_property
    def _vectors(self) -> np.ndarray:
        from safetensors.numpy import load_file

        (vectors,) = load_file(next(self.folder.glob("*.safetensors"))).values()
        return vectors.astype(np.float32)

    def encode(self, texts: list[str]) -> np.ndarray:
        """The vectors of texts."""
        found = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        for row, tokens in enumerate(self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)):
            if tokens.ids:
                found[row] = self._vectors[tokens.ids].mean(axis=0)
        return found


def fetch_encoder(folder: Path) -> None:
    """Take the two files out of the package's wheel."""
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"):
            (folder / Path(name).name).write_bytes(archive.read(f"wordllama/{name}"))
    wheel.unlink()


# -- data -------------------------------------------------------------------------------------------------


def eurlex(source: Path, n: int | None, is_dev: bool) -> tuple[Dataset, Dataset, Any]:
    """EURLEX57K: rows of train, all or the first of a permutation, and dev or test; EuroVoc."""
    folder = source / "eurlex57k"
    train = tacit.load_data(folder / "train.jsonl.gz", **EURLEX_FIELDS)
    if n is not None:
        train = train.rows(np.random.default_rng(0).permutation(len(train))[:n])
    tested = tacit.load_data(folder / f"{'dev' if is_dev else 'test'}.jsonl.gz", **EURLEX_FIELDS)
    return train, tested, tacit.load_vocabulary(folder / "eurovoc_en.json")


def yso(source: Path, n: int | None, is_dev: bool) -> tuple[Dataset, Dataset, Any]:
    """yso-finna-en: the rows of `benchmarks.annif`; YSO in English."""
    folder = source / "yso-finna-en"
    train = tacit.load_data(folder / "train.jsonl.gz")
    tested = train if is_dev else tacit.load_data(folder / "test.jsonl.gz")
    lines = [line.split("\t") for line in (folder / "labels.tsv").read_text(encoding="utf-8").splitlines()]
    vocabulary = Vocabulary([line[0] for line in lines], [line[2] for line in lines])
    return train.rows(train_rows(n or N_ALL, is_dev)), tested.rows(tested_rows(is_dev)), vocabulary


SETS = {
    "yso-20k": ("yso-finna-en, 20,000 rows", yso, 20_000),
    "eurlex-20k": ("EURLEX57K, 20,000 rows", eurlex, 20_000),
    "eurlex": ("EURLEX57K, all 45,000 rows", eurlex, None),
    "yso": ("yso-finna-en, all 590,669 rows", yso, None),
}
SYSTEMS: dict[str, dict[str, Any]] = {"words": {}, "vectors": {"vector_weight": ALONE}, "both": {}}


# -- runs -------------------------------------------------------------------------------------------------


def run(options: Result) -> Result:
    """Train on a set and measure: with names of labels, and the model inside without them."""
    _, read, n = SETS[options["set"]]
    train, tested, vocabulary = read(Path(options["source"]), n, options["dev"])
    encoder = None if options["system"] == "words" else TokenVectors(Path(options["encoder"]))
    texts, tested_texts = train.texts, tested.texts
    if encoder is not None:  # encoded before, so that it is not part of the training
        texts, tested_texts = (Encoded(part, TextEncoder.of(encoder).encode(part)) for part in (texts, tested_texts))
    parameters = {**SYSTEMS[options["system"]], "vocabulary": vocabulary, "encoder": encoder, "n_jobs": 1}
    tagger = tacit.Tagger("LabelTree", **parameters)
    forget_peak()
    before, began = resident_bytes() or 0, time.process_time()
    tagger.fit(texts, train.Y, label_names=train.label_names)
    cpu, memory = time.process_time() - began, peak_bytes() - before
    samples = tagger._samples(tested_texts)
    with_names = tagger.rank(tested_texts, max(KS))
    alone = tagger.model_.rank(tagger._changes.scores.features(samples), max(KS))
    truth = aligned(tested.Y, tested.label_names, tagger.classes_)
    return {
        "plain": measures(tagger, alone, truth),
        "named": measures(tagger, with_names, truth),
        "uses_names": tagger.names_ is not None,
        "cpu": cpu,
        "fit_cpu": cpu_of_a_fit(tagger, texts, train.Y),
        "memory_mb": memory / 1e6,
        "weight": None if tagger.encoding_ is None else tagger.encoding_.weight,
        "load": os.getloadavg()[0],
    }


def cpu_of_a_fit(tagger: tacit.Tagger, texts: Any, Y: Any) -> float:
    """CPU seconds of the model inside, trained once on features that are there."""
    features, model = tagger._changes.scores.features(tagger._samples(texts)), clone(tagger.model_)
    began = time.process_time()
    model.fit(features, Y)
    return time.process_time() - began


def measures(tagger: tacit.Tagger, ranking: tacit.Ranking, truth: Any) -> dict[str, float]:
    """P and PSP at 1, 3 and 5, and recall at 5 by band of training samples, in percent."""
    n_labels = truth.shape[1]
    metrics = tacit.evaluate(ranking, truth, propensities=tagger.propensities_for(n_labels), ks=KS)
    found = {f"{name}@{k}": metrics[f"{name}@{k}"] for name in ("P", "PSP") for k in KS}
    bands = evaluate_by_band(ranking, truth, tagger.counts_for(n_labels), ks=(5,), n_bootstrap=1)
    found |= {band.name: band.values["R@5"] for band in bands if band.n_positives}
    return {name: 100 * value for name, value in found.items()}


def measured(options: Result, folder: Path) -> Result:
    """What a run measured, in a process of its own; kept results are not measured again."""
    key = digest([json.dumps(options, sort_keys=True), *texts_of(SOURCES)])

    def make() -> Result:
        print(f"{options['set']}, {options['system']}", file=sys.stderr, flush=True)
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "benchmarks.vectors", "--run", json.dumps(options)]
        done = subprocess.run(command, env={**os.environ, **threads}, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        found: Result = json.loads(done.stdout.splitlines()[-1])
        return found

    return kept(folder / f"{options['set']}-{options['system']}-{key}.json", make)


# -- results ----------------------------------------------------------------------------------------------

HEADINGS = (
    *("trained on", "features", "names", "weight", "P@1/3/5", "PSP@1/3/5"),
    *(name for name, _ in BANDS),
    *("fit CPU", "train CPU", "memory"),
)


def rows_of(title: str, system: str, found: Result) -> list[tuple[str, ...]]:
    """The rows of a training: without names of labels and with them."""
    weight = "" if found["weight"] is None or system == "vectors" else f"{found['weight']:g}"
    costs = f"{found['fit_cpu']:,.0f} s", f"{found['cpu']:,.0f} s", f"{found['memory_mb']:,.0f} MB"
    table = []
    for names, values, shown in (("", found["plain"], ("", "", "")), ("names", found["named"], costs)):
        figures = ("/".join(f"{values[f'{name}@{k}']:.1f}" for k in KS) for name in ("P", "PSP"))
        bands = (f"{values[name]:.1f}" if name in values else "–" for name, _ in BANDS)
        table.append((title, system, names, weight, *figures, *bands, *shown))
    return table


def notes(part: str) -> list[str]:
    """What a reader must know to judge the table."""
    return [
        f"measured on {part}; LabelTree with its defaults, one thread; {machine()}",
        f"encoder: mean of the token vectors of {PACKAGE}, 256 dimensions",
        "names: those of all labels of the vocabulary count, where there are vectors by their meaning, too",
        "without names: the model inside the same tagger, in its own order",
        "weight: of vectors beside words, chosen on samples held out from train; vectors alone are at weight 100",
        "bands: recall at 5 by number of training samples of the label",
        "fit CPU: of all fits, those that choose the weight included; train CPU: that, calibration and names",
        "texts were encoded before",
    ]


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser("python -m benchmarks.vectors", description=str(__doc__).partition("\n")[0])
    options.add_argument("--dev", action="store_true", help="measure on rows of train set aside or dev, not on test")
    options.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    options.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    options.add_argument("--folder", type=Path, default=CACHE / "vectors", help="of all that is kept (%(default)s)")
    options.add_argument("--markdown", action="store_true", help="print the table for docs")
    options.add_argument("--run", type=json.loads, help=argparse.SUPPRESS)
    return options


def main(*arguments: str) -> None:
    """Print the table."""
    chosen = parser().parse_args(arguments)
    if chosen.run is not None:
        print(json.dumps(run(chosen.run)))
        return
    if "TACIT_DATA" not in os.environ:
        print("set TACIT_DATA to the folder with the public benchmark sets to run this benchmark")
        return
    folder = chosen.folder.absolute()
    shared = {"source": os.environ["TACIT_DATA"], "dev": chosen.dev}
    shared["encoder"] = str(written(folder / digest([PACKAGE]), fetch_encoder))
    table = [HEADINGS]
    for name in chosen.sets:
        for system in chosen.systems:
            found = measured({**shared, "set": name, "system": system}, folder)
            table += rows_of(SETS[name][0], system, found)
    print("\n".join(notes("dev" if chosen.dev else "test")), end="\n\n")
    print((as_markdown if chosen.markdown else as_text)(table))


if __name__ == "__main__":
    main(*sys.argv[1:])
