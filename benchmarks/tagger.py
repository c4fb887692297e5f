"""The product on real data, through its command line: accuracy, meaning of scores, time, memory, size, start-up.

Usage: ``TACIT_DATA=… python -m benchmarks.tagger [PART…]``, where PART is one of

eurlex    EURLEX57K from raw text with ``--model auto``, calibrated on dev, measured on test
yso       yso-finna-en (590,669 titles, 25,400 labels) with ``--max-memory 8G``: what was expected, and what it took
start     cold start of ``tacit suggest`` and ``tacit --help``
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tacit
from tacit.evaluation.curves import calibration_error
from tacit.evaluation.metrics import judge

EURLEX_FIELDS = ("--text", "title,header,recitals,main_body", "--labels", "concepts")
KEPT = Path(tempfile.gettempdir()) / "tacit-benchmark-models"


def data(name: str) -> Path:
    """A data set in TACIT_DATA."""
    return Path(os.environ["TACIT_DATA"]) / name


def command(*arguments: object) -> str:
    """Run ``tacit`` and print its time and peak memory; what it wrote to stdout and stderr."""
    timed = [sys.executable, "-c", _TIMED, "-m", "tacit", *map(str, arguments)]
    done = subprocess.run(timed, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


_TIMED = """
import os, resource, subprocess, sys, time
began = time.perf_counter()
code = subprocess.call([sys.executable, *sys.argv[1:]])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
wall, cpu = time.perf_counter() - began, used.ru_utime + used.ru_stime
print(f"took: wall {wall:.0f} s, CPU {cpu:.0f} s, peak {used.ru_maxrss / 2**20:.2f} GB", file=sys.stderr)
sys.exit(code)
"""


def size(folder: Path) -> float:
    """Megabytes of a model folder."""
    return sum(file.stat().st_size for file in folder.iterdir()) / 2**20


def eurlex() -> None:
    """Trained on train, calibrated on dev, measured on test."""
    model = KEPT / "eurlex57k"
    folder = data("eurlex57k")
    valid = ("--valid", folder / "dev.jsonl.gz", "--vocabulary", folder / "eurovoc_en.json")
    print(command("train", folder / "train.jsonl.gz", *EURLEX_FIELDS, *valid, "--out", model), flush=True)
    print(f"  model folder: {size(model):.0f} MB")
    test = tacit.load_data(folder / "test.jsonl.gz", text=EURLEX_FIELDS[1], labels=EURLEX_FIELDS[3])
    tagger = tacit.Tagger.load(model)
    ranking = tagger.rank(test.texts, 5)
    truth = tacit.core.labels.aligned(test.Y, test.label_names, tagger.classes_)
    metrics = tacit.evaluate(ranking, truth, propensities=tagger.propensities_for(truth.shape[1]))
    for name in ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5"):
        print(f"  test {name} {metrics[name]:.4f}")
    hits = judge(ranking, truth, None, (5,)).hits
    print(f"  test calibration error of the first five: {calibration_error(ranking.scores.ravel(), hits.ravel()):.4f}")
    raw = tagger.model_.rank(tagger.vectorizer_.transform(test.texts), 5)
    plain = tacit.evaluate(raw, truth, propensities=tagger.propensities_for(truth.shape[1]))
    print("  in the model's own order: " + ", ".join(f"{name} {plain[name]:.4f}" for name in ("P@1", "P@5", "PSP@1")))


def yso() -> None:
    """The command within a memory limit, its time and peak."""
    model = KEPT / "yso-finna-en"
    limits = ("--max-memory", "8G", "--jobs", 2)
    print(command("train", data("yso-finna-en") / "train.jsonl.gz", *limits, "--out", model), flush=True)
    print(f"  model folder: {size(model):.0f} MB")


def start() -> None:
    """The least of five starts, kernels cached."""
    model = KEPT / "eurlex57k"
    text = KEPT / "text.txt"
    text.write_text("agreement on fisheries between the Community and Morocco\n")
    for arguments in (["suggest", str(model), str(text)], ["--help"]):
        times = []
        for _ in range(5):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-m", "tacit", *arguments], check=True, capture_output=True)
            times.append(time.perf_counter() - began)
        print(f"  tacit {arguments[0]}: {min(times):.2f} s")


PARTS = {"eurlex": eurlex, "yso": yso, "start": start}


def main() -> None:
    """Run the parts named on the command line, or all."""
    wanted = [name for name in sys.argv[1:] if name in PARTS] or list(PARTS)
    KEPT.mkdir(exist_ok=True)
    for name in wanted:
        print(f"{name}:", flush=True)
        PARTS[name]()


if __name__ == "__main__":
    main()
