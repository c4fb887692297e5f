"""``tacit suggest``: labels for new samples."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from tacit._version import __version__
from tacit.cli.interrupt import keeps
from tacit.cli.options import PATH, cluster_option, data_argument, input_options, model_argument
from tacit.cli.output import open_output
from tacit.cli.source import stream_unlabelled
from tacit.cli.startup import quick_start
from tacit.cluster import check_workers
from tacit.data.files import STDIN, existing_data, existing_file, text_lines
from tacit.errors import ModelFileError
from tacit.progress import stop_if_asked
from tacit.store.folder import base_of, read_manifest
from tacit.tagger.suggest import Suggestion
from tacit.tagger.tagger import Tagger
from tacit.tasks import stream_tasks


@click.command()
@model_argument
@data_argument
@click.option("-k", type=click.IntRange(min=1), help="Labels per sample.  [default: 5; no limit with --threshold]")
@click.option(
    "--threshold",
    metavar="SCORE|TARGET",
    help="Lowest score to suggest: a number, 'auto' (stored in the model), or a target: 'precision=0.8', 'labels=3', …",
)
@click.option("--include", metavar="LABEL,…", help="Suggest only these labels; @FILE reads them from a file.")
@click.option("--exclude", metavar="LABEL,…", help="Suggest none of these labels; @FILE reads them from a file.")
@click.option(
    "--damp-head", metavar="SHARE", type=click.FloatRange(0, 1), default=0.0, help="Rank frequent labels lower."
)
@click.option("--language", metavar="TAG", help="Language of the labels' names, if the vocabulary has several.")
@click.option("--out", type=PATH, help="Write here, .jsonl or .csv; resumes an interrupted run.")
@cluster_option
@input_options
def suggest(
    model: Path, data: Path, k: int | None, threshold: str | None, include: str | None, exclude: str | None,
    damp_head: float, language: str | None, out: Path | None, **source: Any,
) -> None:  # fmt: skip
    """Suggest labels for the samples of DATA (- reads one text per line), as JSON lines on stdout.

    Samples are read, labelled and written a block at a time, in order: DATA may be larger than memory. With --out, an
    interrupted run leaves OUT.partial, and the same command resumes from there.

    \b
    Examples:
      tacit suggest model new.csv -k 3
      tacit suggest model new.jsonl --threshold precision=0.8 --out suggestions.csv
      echo "a text to tag" | tacit suggest model -
    """
    with quick_start():
        tagger = Tagger.load(model)
    wish: dict[str, Any] = {
        "k": k, "threshold": threshold, "include": label_list(include), "exclude": label_list(exclude),
        "damp_head": damp_head,
    }  # fmt: skip
    check_workers(model.resolve())
    nothing: Any = [] if tagger.takes_texts else np.empty((0, tagger.n_features_in_), np.float32)
    tagger.suggest(nothing, language=language, **wish)  # raises for invalid options before any data are read
    goes_on = data != STDIN  # standard input cannot be checked to be the same again
    run = {} if out is None else _run(model, tagger, data, wish | {"language": language}, source)
    readable = partial(tagger.readable, language=language)
    with open_output(out, run, readable, goes_on=goes_on) as output:
        n_before = output.n_done
        if n_before:
            click.echo(f"resuming after {n_before:,} samples in {out}.partial", err=True)
        if goes_on or out is None:
            keeps(lambda: _kept(out, output.n_done))
        blocks = ({"block": block} for block in _skipped(stream_unlabelled(data, tagger, **source), n_before))
        for rows in stream_tasks(_suggest, blocks, n_jobs=1, tagger=_Loaded(model, tagger), wish=wish):
            output.write(rows)
            stop_if_asked()


class _Loaded:
    """A tagger that was loaded from a folder, as it is loaded by the workers of a cluster, too."""

    def __init__(self, folder: Path, tagger: Tagger) -> None:
        self.tagger = tagger
        self.identity = _identity(folder, tagger)

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (self.identity,)


def _load(identity: list[str]) -> _Loaded:
    folder = Path(identity[0])
    loaded = _Loaded(folder, Tagger.load(folder, verify=False))  # verified by the command
    if loaded.identity != identity:
        raise ModelFileError(f"{folder}: was changed during the run, or workers have another copy; run it again")
    return loaded


def _suggest(tagger: _Loaded, block: Any, wish: dict[str, Any]) -> list[list[Suggestion]]:
    return tagger.tagger.suggest(block, **wish)


def _kept(out: Path | None, n_done: int) -> str:
    if out is None:
        return "only the printed output is kept; with --out FILE an interrupted run can be resumed"
    if not n_done:
        return "nothing was finished; run the same command to start again"
    return f"{n_done:,} samples are kept in {out}.partial; run the same command to resume"


def _run(model: Path, tagger: Tagger, data: Path, wish: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """What identifies this run: model, input and options."""
    found = existing_data(data)
    return {
        "tacit": __version__,
        "model": _identity(model, tagger),
        "input": "-" if found == STDIN else [str(found.resolve()), found.stat().st_size, found.stat().st_mtime_ns],
        "options": {name: value if value is None else repr(value) for name, value in (wish | source).items()},
    }


def _identity(model: Path, tagger: Tagger) -> list[str]:
    """Folder, base and acts of a model."""
    acts = "\n".join(act.id for act in tagger.acts_)
    return [str(model.resolve()), base_of(read_manifest(model)), hashlib.sha256(acts.encode()).hexdigest()[:16]]


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
        return [line.strip() for _, line in text_lines(existing_file(text[1:])) if line.strip()]
    return [name.strip() for name in text.split(",") if name.strip()]
