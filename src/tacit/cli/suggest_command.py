"""``tacit suggest``: labels for new samples."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from tacit.cli.interrupt import keeps
from tacit.cli.options import PATH, cluster_option, data_argument, input_options, model_argument, vector_options
from tacit.cli.output import KINDS, open_output
from tacit.cli.say import say
from tacit.cli.source import SampleBlock, check_columns, columns_of, load_tagger, names_of, stream_unlabelled
from tacit.cli.startup import quick_start
from tacit.core.checks import is_blank
from tacit.data.files import check_unread, existing_file, text_lines
from tacit.data.load import output_style
from tacit.errors import ModelFileError
from tacit.progress import stop_if_asked
from tacit.runtime.cluster import check_workers
from tacit.runtime.tasks import stream_tasks
from tacit.store.folder import base_of, read_manifest
from tacit.tagger.suggest import Suggestion
from tacit.tagger.tagger import Tagger
from tacit.text.encoders import Encoded

_SHOWN = 10  # rows that a message names


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
@click.option("--id", "key", metavar="COLUMN", help="Column of DATA that identifies a sample; written after its row.")
@click.option("--keep", metavar="COLUMN,…", help="Columns of DATA to write beside the suggestions.")
@click.option("--out", type=PATH, help="Write here, .jsonl or .csv.  [default: -, stdout]")
@click.option("--to", "to_format", type=click.Choice(list(KINDS)), help="Format to write.  [default: by OUT, or jsonl]")
@vector_options
@cluster_option
@input_options
def suggest(
    model: Path, data: Path, k: int | None, threshold: str | None, include: str | None, exclude: str | None,
    damp_head: float, language: str | None, key: str | None, keep: str | None, out: Path | None,
    to_format: str | None, encoder: str | None, vectors: Path | None, **source: Any,
) -> None:  # fmt: skip
    """Suggest labels for the samples of DATA (- reads one text per line), as JSON lines on stdout.

    Each sample is written with its row in DATA, counted from 1, and the columns named by --id and --keep; documents of
    a folder with the name of their file. A text without a word that the model knows gets no suggestions.

    Samples are read, labelled and written a block at a time, in order: DATA may be larger than memory. With --out, the
    file appears when it is complete.

    \b
    Examples:
      tacit suggest model new.csv -k 3
      tacit suggest model new.jsonl --threshold precision=0.8 --out suggestions.csv
      tacit suggest model new.csv --id article_id --keep title,date --out suggestions.csv
      echo "a text to tag" | tacit suggest model -
    """
    with quick_start():
        tagger = load_tagger(model, encoder)
    wish: dict[str, Any] = {
        "k": k, "threshold": threshold, "include": label_list(include), "exclude": label_list(exclude),
        "damp_head": damp_head,
    }  # fmt: skip
    check_workers(model.resolve())
    nothing: Any = [] if tagger.takes_texts else np.empty((0, tagger.n_features_in_), np.float32)
    tagger.suggest(nothing, language=language, **wish)  # raises for invalid options before any data are read
    out = None if out == Path("-") else out
    if out is not None:
        check_unread(out, data)
    columns = columns_of(data, key, keep)
    readable = names_of(tagger, language)
    blank: list[int] = []
    unknown: list[int] = []
    style = output_style(data, source["format"], source["encoding"])
    if out is None:
        keeps("only the printed output is kept; run the same command to start again")
    with open_output(out, readable, columns, to_format, style) as output:
        blocks = _with_columns(stream_unlabelled(data, tagger, vectors, **source), columns, data)
        for block, rows in _suggested(blocks, _Loaded(model, tagger), wish):
            if tagger.takes_texts:
                without = [place for place, found in enumerate(rows) if not found]
                known = tagger.knows(_rows(block.samples, without)) if without else ()
                for place, is_known in zip(without, known, strict=True):
                    if not is_known:
                        kind = blank if is_blank(block.samples[place]) else unknown
                        kind.append(output.n_done + place + 1)
            output.write(zip(block.fields, rows, strict=True))
            stop_if_asked()
    for what, places in (("blank texts", blank), ("texts without a word that the model knows", unknown)):
        if places:
            more = f" and {len(places) - _SHOWN:,} more" if len(places) > _SHOWN else ""
            where = "row" if len(places) == 1 else "rows"
            say(f"no suggestions for {what}: {where} {', '.join(map(str, places[:_SHOWN]))}{more}", err=True)


def _rows(texts: Sequence[str], rows: Sequence[int]) -> Sequence[str]:
    return texts.rows(rows) if isinstance(texts, Encoded) else [texts[row] for row in rows]


def _with_columns(blocks: Iterator[SampleBlock], columns: Sequence[str], data: Path) -> Iterator[SampleBlock]:
    """The same blocks, checked to have the columns: some sample of the first block must have each."""
    for number, block in enumerate(blocks):
        if not number:
            check_columns(data, columns, block.fields)
        yield block


class _Loaded:
    """A tagger that was loaded from a folder, as it is loaded by the workers of a cluster, too."""

    def __init__(self, folder: Path, tagger: Tagger) -> None:
        self.tagger = tagger
        self.identity = _identity(folder, tagger)

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (self.identity, self.tagger.encoder)


def _load(identity: list[str], encoder: str | None) -> _Loaded:
    folder = Path(identity[0])
    tagger = Tagger.load(folder, verify=False)  # verified by the command
    loaded = _Loaded(folder, tagger.set_params(encoder=encoder))
    if loaded.identity != identity:
        raise ModelFileError(f"{folder}: was changed during the run, or workers have another copy; run it again")
    return loaded


def _suggested(
    blocks: Iterator[SampleBlock], loaded: _Loaded, wish: dict[str, Any]
) -> Iterator[tuple[SampleBlock, list[list[Suggestion]]]]:
    """Each block with its suggestions, in order; only its samples are sent to a cluster, if there is one."""
    started: deque[SampleBlock] = deque()

    def tasks() -> Iterator[dict[str, Any]]:
        for block in blocks:
            started.append(block)
            yield {"samples": block.samples}

    for rows in stream_tasks(_suggest, tasks(), n_jobs=1, loaded=loaded, wish=wish):
        yield started.popleft(), rows


def _suggest(loaded: _Loaded, samples: Any, wish: dict[str, Any]) -> list[list[Suggestion]]:
    return loaded.tagger.suggest(samples, **wish)


def _identity(model: Path, tagger: Tagger) -> list[str]:
    """Folder, base and acts of a model."""
    acts = "\n".join(act.id for act in tagger.acts_)
    return [str(model.resolve()), base_of(read_manifest(model)), hashlib.sha256(acts.encode()).hexdigest()[:16]]


def label_list(text: str | None) -> list[str] | None:
    """Labels separated by commas, or one per line in the file that follows an @."""
    if text is None:
        return None
    if text.startswith("@"):
        return [line.strip() for _, line in text_lines(existing_file(text[1:])) if line.strip()]
    return [name.strip() for name in text.split(",") if name.strip()]
