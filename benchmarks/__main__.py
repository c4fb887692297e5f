"""``python -m benchmarks [NAME…] [OPTION…]``: run all short measurements, or the named ones with options."""

from __future__ import annotations

import importlib
import sys

BENCHMARKS = (
    "first_use",
    "parse",
    "vectorizer",
    "one_vs_all",
    "blend",
    "trees",
    "embedding",
    "joint",
    "latent",
    "tagger",
    "annif",
    "calibration",
    "find_missing",
    "living",
    "service",
    "serve_workers",
    "cluster",
)
#: Take hours on an idle machine, or need files: they run if they are named.
LONG = ("peers", "growth", "dense", "scale", "auto", "idf", "ngrams")


def main() -> None:
    """Run the benchmarks named on the command line, or all."""
    given = sys.argv[1:]
    n_names = next((number for number, word in enumerate(given) if word.startswith("-")), len(given))
    wanted, options = given[:n_names] or BENCHMARKS, given[n_names:]
    unknown = set(wanted) - {*BENCHMARKS, *LONG}
    if unknown:
        sys.exit(f"unknown benchmark {', '.join(sorted(unknown))} (there are: {', '.join((*BENCHMARKS, *LONG))})")
    for name in wanted:
        print(f"== {name} ==", flush=True)
        importlib.import_module(f"benchmarks.{name}").main(*options)


if __name__ == "__main__":
    main()
