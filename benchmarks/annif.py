"""Annif and tacit on the same rows of yso-finna-en: accuracy, rare and unseen labels, time, size.

Usage: ``TACIT_DATA=… python -m benchmarks.annif [--dev] [--all] [--rows N…] [--systems NAME…] [--markdown]``

Annif is installed into an environment of its own. Both systems read the same files: corpora and a vocabulary of
English preferred names as Annif has them. Every step of a system runs alone in a process of its own; what it measured
is kept in the folder by its settings, so that a long run resumes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import tacit
from benchmarks.peers.environments import ADAPTERS, CACHE, SOURCES, digest, interpreter, machine, run_step, texts_of
from benchmarks.peers.kept import kept, written
from benchmarks.peers.tables import as_markdown, as_text
from tacit.core.labels import label_counts
from tacit.core.ranking import NO_LABEL, NO_SCORE
from tacit.evaluation.bands import BANDS, evaluate_by_band

K = 5
N_ROWS = (20_000, 100_000)
N_ALL = 590_669  # rows of train
N_TEST_ALL = 65_889  # rows of test
N_TEST = 5_000  # of them that are used
DEV = slice(500_000, 505_000)  # of the permuted rows of train
REQUIREMENTS = (
    "annif[omikuji]==1.4.3",
    "omikuji==0.5.2",
    "scikit-learn==1.7.2",
    "nltk==3.9.4",
    "numpy==2.2.6",
    "scipy==1.15.3",
)
#: As the wiki of Annif has them. Of its settings of omikuji, Bonsai beats Parabel on --dev with 20,000 rows.
PROJECTS = """\
[omikuji]
name=Omikuji Bonsai English
language=en
backend=omikuji
analyzer=snowball(english)
vocab=yso
cluster_balanced=False
cluster_k=100
max_depth=3

[mllm]
name=MLLM English
language=en
backend=mllm
analyzer=snowball(english)
vocab=yso

[ensemble]
name=Ensemble English
language=en
backend=ensemble
sources=mllm,omikuji
limit=100
vocab=yso
"""

Result = dict[str, Any]
Runner = Callable[[str, str, Path, Result], Result]


@dataclass(frozen=True)
class System:
    """What is compared.

    Attributes
    ----------
    title : str
        As the table has it.
    adapter : str
        Name of the script that runs it.
    trained : tuple of str
        What is trained for it.
    """

    title: str
    adapter: str
    trained: tuple[str, ...]


SYSTEMS = {
    "omikuji": System("Annif omikuji", "annif", ("omikuji",)),
    "mllm": System("Annif mllm", "annif", ("mllm",)),
    "ensemble": System("Annif ensemble", "annif", ("mllm", "omikuji")),
    "tacit": System("tacit", "tagger", ("tacit",)),
}


@dataclass(frozen=True)
class Corpus:
    """A file of rows: a text, a tab, the URIs of its labels."""

    path: Path

    @cached_property
    def labels(self) -> list[list[str]]:
        """The URIs of each row."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return [[uri.strip("<>") for uri in line.split("\t")[1].split()] for line in lines]


# -- rows -------------------------------------------------------------------------------------------------


def train_rows(n: int, is_dev: bool) -> np.ndarray:
    """The first `n` of the permuted rows of train; rows of the development part are left out where it is used."""
    order = np.random.default_rng(0).permutation(N_ALL)
    return (np.delete(order, DEV) if is_dev else order)[:n]


def tested_rows(is_dev: bool) -> np.ndarray:
    """Rows of the development part, which is in train, or of test."""
    if is_dev:
        return np.random.default_rng(0).permutation(N_ALL)[DEV]
    return np.random.default_rng(1).permutation(N_TEST_ALL)[:N_TEST]


def write_vocabulary(source: Path, path: Path) -> None:
    """Write URIs and English names as Annif's TSV."""
    lines = [line.split("\t") for line in (source / "labels.tsv").read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(f"<{uri}>\t{name}\n" for _, uri, name, *_ in lines), encoding="utf-8")


def write_corpus(source: Path, part: str, rows: np.ndarray, path: Path) -> None:
    """Write rows of a part of the set as Annif's TSV; white space in texts becomes single spaces."""
    uris = dict(line.split("\t")[:2] for line in (source / "labels.tsv").read_text(encoding="utf-8").splitlines())
    with gzip.open(source / f"{part}.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = file.readlines()
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            sample = json.loads(lines[row])
            labels = " ".join(f"<{uris[label]}>" for label in sample["labels"])
            file.write(f"{' '.join(sample['text'].split())}\t{labels}\n")


# -- runs -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """The runs of all systems on rows of one set.

    Attributes
    ----------
    source, folder : path
        The set, and the place of what is written.
    is_dev : bool
        Whether the development part is used instead of test.
    jobs : int
        Parallel tasks of training.
    runner : callable
        ``(adapter, step, folder, options)`` runs a step and returns what it measured.
    """

    source: Path
    folder: Path
    is_dev: bool
    jobs: int
    runner: Runner

    @property
    def part(self) -> str:
        """Name of the rows that are suggested for."""
        return "dev" if self.is_dev else "test"

    def vocabulary(self) -> Path:
        """The vocabulary that all systems read."""
        return written(self.folder / "rows" / "yso-en.tsv", partial(write_vocabulary, self.source))

    def trained_on(self, n: int) -> Corpus:
        """Training rows."""
        write = partial(write_corpus, self.source, "train", train_rows(n, self.is_dev))
        return Corpus(written(self.folder / "rows" / f"train-{self._rows_name(n)}.tsv", write))

    def tested_on(self) -> Corpus:
        """Rows that are suggested for."""
        write = partial(write_corpus, self.source, "train" if self.is_dev else "test", tested_rows(self.is_dev))
        return Corpus(written(self.folder / "rows" / f"{self.part}.tsv", write))

    def measure(self, name: str, n: int) -> Result:
        """What training took and what was suggested; kept results are not measured again."""
        system = SYSTEMS[name]
        key = f"{self._rows_name(n)}-{fingerprint(system.adapter, self.jobs)}"
        home = self.folder / "models" / f"{system.adapter}-{key}"
        trained = [self._train(system, project, home, n) for project in system.trained]
        result = self.folder / "results" / f"{name}-{self.part}-{key}.json"
        options = {"project": name, "trained": system.trained, "texts": str(self.tested_on().path)}
        found = kept(result, lambda: self._run(system.adapter, "suggest", home, options))
        return {
            **found,
            "train_cpu": sum(each["train_cpu"] for each in trained),
            "loads": [*(each["load"] for each in trained), found["load"]],
        }

    def score(self, found: Result, n: int) -> dict[str, float]:
        """Metrics of what was suggested after training on `n` rows."""
        return score(found["suggested"], self.tested_on(), self.trained_on(n))

    def _train(self, system: System, project: str, home: Path, n: int) -> Result:
        options = {"project": project, "jobs": self.jobs, "train": str(self.trained_on(n).path)}
        return kept(home / f"{project}.json", lambda: self._run(system.adapter, "train", home, options))

    def _run(self, adapter: str, step: str, home: Path, options: Result) -> Result:
        load = os.getloadavg()[0]
        home.mkdir(parents=True, exist_ok=True)
        (home / "projects.cfg").write_text(PROJECTS)
        found = self.runner(adapter, step, home, {**options, "vocabulary": str(self.vocabulary())})
        return {**found, "load": load}

    def _rows_name(self, n: int) -> str:
        """Below the development part, the rows are the same whether it is used or not."""
        return str(n) if n <= DEV.start else f"{n}-{self.part}"


def fingerprint(adapter: str, jobs: int) -> str:
    """A digest of all that a result depends on: for tacit its source, for Annif versions and configuration."""
    parts = [str(jobs)]
    if adapter == "annif":
        parts += [*REQUIREMENTS, PROJECTS]
    else:
        parts += texts_of(SOURCES)
    return digest(parts)


def run_adapter(environment: Path) -> Runner:
    """A runner whose Annif is in an environment."""

    def run(adapter: str, step: str, home: Path, options: Result) -> Result:
        python = annif_python(environment) if adapter == "annif" else Path(sys.executable)
        print(f"{adapter}: {step} {options['project']}, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
        return run_step(python, ADAPTERS / f"run_{adapter}.py", step, home, options)

    return run


def annif_python(home: Path) -> Path:
    """The interpreter of Annif's environment; a failed download of sentence data is told by the results."""

    def download(python: Path) -> None:
        code = f"import nltk; nltk.download('punkt_tab', {str(home / 'nltk_data')!r})"
        subprocess.run([python, "-c", code], check=False, capture_output=True)

    return interpreter(home, (REQUIREMENTS,), download)


# -- results ----------------------------------------------------------------------------------------------


def score(suggested: Sequence[Sequence[str]], tested: Corpus, trained: Corpus) -> dict[str, float]:
    """P@1, P@3, P@5, R@5 and recall by band of training rows, in percent; a band without labels is left out.

    Recall pools all pairs of a row and a label of it, so that R@5 is the mean of the bands by their pairs.
    """
    uris = sorted({uri for corpus in (tested, trained) for row in corpus.labels for uri in row})
    column = {uri: number for number, uri in enumerate([*uris, *_others(suggested, uris)])}
    labels = np.full((len(suggested), K), NO_LABEL)
    for row, best in enumerate(suggested):
        labels[row, : len(best[:K])] = [column[uri] for uri in best[:K]]
    places = np.broadcast_to(-np.arange(K), labels.shape)
    ranking = tacit.Ranking(labels, np.where(labels == NO_LABEL, NO_SCORE, places))
    truth, counts = indicator(tested.labels, column), label_counts(indicator(trained.labels, column))
    metrics = tacit.evaluate(ranking, truth)
    found = {f"P@{k}": metrics[f"P@{k}"] for k in (1, 3, 5)}
    found["R@5"] = metrics["P@5"] * K * len(suggested) / truth.nnz
    bands = evaluate_by_band(ranking, truth, counts, ks=(K,), n_bootstrap=1)
    found |= {band.name: band.values[f"R@{K}"] for band in bands if band.n_positives}
    return {name: 100 * value for name, value in found.items()}


def indicator(labels: Iterable[Sequence[str]], column: dict[str, int]) -> sparse.csr_matrix:
    """The labels of rows as a matrix of ones."""
    columns = [[column[uri] for uri in row] for row in labels]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in columns])])
    indices = np.array([number for row in columns for number in row], dtype=np.int32)
    return sparse.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), (len(columns), len(column)))


def _others(suggested: Iterable[Sequence[str]], known: Iterable[str]) -> list[str]:
    return sorted({uri for found in suggested for uri in found} - set(known))


HEADINGS = (
    *("trained on", "system", "P@1/3/5", "R@5"),
    *(name for name, _ in BANDS),
    *("train CPU", "model", "request p50", "its CPU"),
)


def table_row(n: int, title: str, found: Result, scores: dict[str, float]) -> tuple[str, ...]:
    """A row of the table."""
    return (
        f"{n:,}",
        title,
        "/".join(f"{scores[f'P@{k}']:.1f}" for k in (1, 3, 5)),
        f"{scores['R@5']:.1f}",
        *(f"{scores[name]:.1f}" if name in scores else "–" for name, _ in BANDS),
        f"{found['train_cpu']:,.0f} s",
        f"{found['model_mb']:,.0f} MB",
        f"{found['request_ms']:.1f} ms",
        f"{found['request_cpu_ms']:.1f} ms",
    )


def notes(results: Sequence[tuple[int, str, Result]], part: str) -> list[str]:
    """What a reader must know to judge the table."""
    versions = {name: version for *_, found in results for name, version in found["versions"].items()}
    splitters = sorted({found["sentences"] for *_, found in results if "sentences" in found})
    loads = [f"{title} {n:,}: {', '.join(f'{load:.1f}' for load in found['loads'])}" for n, title, found in results]
    rows = "train that no system has seen (--dev)" if part == "dev" else "test"
    return [
        f"yso-finna-en, {N_TEST:,} rows of {rows}",
        "R@5 pools all pairs of a row and a label; then the same by number of training rows of the label",
        f"versions: {', '.join(f'{name} {version}' for name, version in versions.items())}; {machine()}",
        *(f"Annif's sentences are split by {splitter}" for splitter in splitters),
        "Annif: omikuji as Bonsai, mllm with its defaults, snowball(english); the ensemble weighs them equally",
        "tacit: defaults and the vocabulary",
        "train CPU: reading the corpus, training and saving; that of the ensemble is the sum of its sources",
        "model: files that suggesting needs, the vocabulary included",
        "request: text in, five URIs out, one text at a time in a warm process, no HTTP; wall and CPU, median of 200",
        f"load average before each training and before suggesting: {'; '.join(loads)}",
    ]


def compare(bench: Bench, names: Sequence[str], sizes: Sequence[int], with_all: bool) -> list[tuple[int, str, Result]]:
    """The results of the systems in turns, tacit alone on all rows."""
    n_all = len(train_rows(N_ALL, bench.is_dev))
    runs = [(n, name) for n in sizes for name in names] + ([(n_all, "tacit")] if with_all else [])
    return [(n, SYSTEMS[name].title, bench.measure(name, n)) for n, name in runs]


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser("python -m benchmarks.annif", description=str(__doc__).partition("\n")[0])
    options.add_argument("--dev", action="store_true", help="suggest for rows of train set aside, not for test")
    options.add_argument("--rows", type=int, nargs="+", default=N_ROWS, help="training rows (%(default)s)")
    options.add_argument("--all", action="store_true", help="tacit on all rows, too")
    options.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    options.add_argument("--jobs", type=int, default=1, help="parallel tasks of training (%(default)s)")
    options.add_argument("--folder", type=Path, default=CACHE / "annif", help="of all that is kept (%(default)s)")
    options.add_argument("--markdown", action="store_true", help="print the table for docs")
    return options


def main(*arguments: str) -> None:
    """Print the table."""
    if "TACIT_DATA" not in os.environ:
        print("set TACIT_DATA to the folder with the public benchmark sets to run this benchmark")
        return
    chosen = parser().parse_args(arguments)
    folder = chosen.folder.absolute()
    runner = run_adapter(folder / f"environment-{digest(REQUIREMENTS)}")
    bench = Bench(Path(os.environ["TACIT_DATA"]) / "yso-finna-en", folder, chosen.dev, chosen.jobs, runner)
    results = compare(bench, chosen.systems, chosen.rows, chosen.all)
    rows = [table_row(n, title, found, bench.score(found, n)) for n, title, found in results]
    print("\n".join(notes(results, bench.part)), end="\n\n")
    print((as_markdown if chosen.markdown else as_text)([HEADINGS, *rows]))


if __name__ == "__main__":
    main(*sys.argv[1:])
