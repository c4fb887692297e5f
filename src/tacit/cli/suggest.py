"""``tacit suggest``: labels for new samples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tacit.cli.options import data_argument, input_options, model_argument


@click.command(short_help="Suggest labels for new samples.")
@model_argument
@data_argument
@click.option("-k", type=click.IntRange(min=1), help="Labels per sample.  [default: 5; no limit with --threshold]")
@click.option(
    "--threshold",
    metavar="SCORE|TARGET",
    help="Leave out labels that score lower: a number, 'auto' (stored in the model), 'precision=0.8', 'labels=3', …",
)
@click.option("--include", metavar="LABEL,…", help="Suggest only these labels; @FILE reads them from a file.")
@click.option("--exclude", metavar="LABEL,…", help="Suggest none of these labels; @FILE reads them from a file.")
@click.option(
    "--damp-head", metavar="SHARE", type=click.FloatRange(0, 1), default=0.0, help="Discount frequent labels."
)
@click.option("--out", type=click.Path(path_type=Path), help="Write here, .jsonl or .csv; continues where it stopped.")
@input_options
def suggest(
    model: Path, data: Path, k: int | None, threshold: str | None, include: str | None, exclude: str | None,
    damp_head: float, out: Path | None, **source: Any,
) -> None:  # fmt: skip
    """Suggest labels for the samples of DATA (- reads one text per line), as JSON lines on stdout.

    Samples are read, labelled and written a block at a time, in order: DATA may be larger than memory. With --out an
    interrupted run leaves OUT.partial, and the same command again goes on from there.

    \b
    Examples:
      tacit suggest model new.csv -k 3
      tacit suggest model new.jsonl --threshold precision=0.8 --out suggestions.csv
      echo "a text to tag" | tacit suggest model -
    """
    from tacit.cli.startup import quick_start

    with quick_start():
        from tacit.cli.output import open_output
        from tacit.cli.source import stream_unlabelled
        from tacit.tagger.tagger import Tagger

        tagger = Tagger.load(model)
    tagger.threshold_for(threshold)  # one that cannot be met is told before anything is read
    wish: dict[str, Any] = {
        "k": k, "threshold": threshold, "include": label_list(include), "exclude": label_list(exclude),
        "damp_head": damp_head,
    }  # fmt: skip
    with open_output(out, tagger.readable) as output:
        for block in _skipped(stream_unlabelled(data, tagger, **source), output.n_done):
            output.write(tagger.suggest(block, **wish))


def _skipped(blocks: Iterator[Any], n_done: int) -> Iterator[Any]:
    """Blocks without the first `n_done` samples."""
    for block in blocks:
        size = block.shape[0] if hasattr(block, "shape") else len(block)
        if n_done < size:
            yield block[n_done:]
        n_done = max(0, n_done - size)


def label_list(text: str | None) -> list[str] | None:
    """Labels separated by commas, or one per line in the file that follows an @."""
    if text is None:
        return None
    if text.startswith("@"):
        from tacit.data.files import existing_file, text_lines

        return [line.strip() for _, line in text_lines(existing_file(text[1:])) if line.strip()]
    return [name.strip() for name in text.split(",") if name.strip()]
