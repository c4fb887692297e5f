"""``python -m benchmarks [NAME…]``: run all measurements or the named ones."""

from __future__ import annotations

import importlib
import sys

BENCHMARKS = (
    "parse",
    "vectorizer",
    "one_vs_all",
    "label_tree",
    "blend",
    "trees",
    "embedding",
    "joint",
    "latent",
    "tagger",
    "annif",
    "find_missing",
    "living",
    "service",
    "estimates",
    "cluster",
)


def main() -> None:
    """Run the benchmarks named on the command line, or all."""
    wanted = sys.argv[1:] or BENCHMARKS
    unknown = set(wanted) - set(BENCHMARKS)
    if unknown:
        sys.exit(f"unknown benchmark {', '.join(sorted(unknown))} (there are: {', '.join(BENCHMARKS)})")
    for name in wanted:
        print(f"== {name} ==", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
