"""Reading data files given on the command line."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt

from tacit.cli.say import is_quiet, say
from tacit.data.columns import UNTAGGED, label_line, without_untagged
from tacit.data.dataset import Dataset, inputs_of, texts_of
from tacit.data.files import UTF8, existing_data, existing_file
from tacit.data.formats import Source
from tacit.data.load import detect_format, format_of, load_data, stream_samples
from tacit.data.records import RECORDS
from tacit.errors import FileError, ParameterError, did_you_mean
from tacit.tagger.tagger import Tagger
from tacit.text.encoders import Encoded

SAMPLES_PER_BLOCK = 1024
_VERDICTS = {"true": True, "yes": True, "y": True, "1": True, "false": False, "no": False, "n": False, "0": False}


def load_tagger(model: Path, encoder: str | None) -> Tagger:
    """A saved tagger; its encoder is the one of this name, if there is one."""
    tagger = Tagger.load(model)
    if encoder is not None:
        if tagger.encoding_ is None:
            raise ParameterError(f"{model}: was trained without vectors and takes no encoder")
        tagger.set_params(encoder=encoder)
    return tagger


def read_vectors(path: Path) -> npt.NDArray[Any]:
    """The matrix in a .npy file, memory-mapped."""
    try:
        vectors = np.load(existing_file(path), mmap_mode="r", allow_pickle=False)
        if vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
            raise ValueError(f"got {vectors.dtype} of shape {vectors.shape}")
    except (ValueError, OSError, EOFError, AttributeError) as error:
        reason = "it is no .npy file of numbers" if "pickle" in str(error) else error
        raise FileError(path, f"must be a matrix of numbers as numpy.save writes it ({reason})") from None
    return vectors  # type: ignore[no-any-return]


def with_vectors(dataset: Dataset, path: Path | None) -> Dataset:
    """The data set with vectors for its texts, if a file of them is given."""
    return dataset if path is None else replace(dataset, texts=Encoded(texts_of(dataset), read_vectors(path)))


def names_of(tagger: Tagger, language: str | None = None) -> Callable[[str], str]:
    """What labels are called in the vocabulary; `str` if each has its label for a name."""
    readable = partial(tagger.readable, language=language)
    has_names = tagger.vocabulary_ is not None and any(readable(label) != label for label in map(str, tagger.classes_))
    return readable if has_names else str


def columns_of(data: Path, key: str | None, keep: str | None) -> list[str]:
    """The columns of the input to write: the id first; for documents of a folder the name of their file."""
    named = [key or "", *(keep or "").split(","), *(["file"] if data.is_dir() else [])]
    return list(dict.fromkeys(name.strip() for name in named if name.strip()))


def check_columns(data: Path, columns: Sequence[str], samples: Iterable[Mapping[str, Any]]) -> None:
    """Raise unless each column is in some of the samples."""
    known: Mapping[str, Any] = {name: None for fields in samples for name in fields}
    for name in columns:
        if name not in known:
            others = f"it has {', '.join(list(known)[:10])}" if known else "it has no named columns"
            raise click.UsageError(f"{data}: no column '{name}'{did_you_mean(name, known)}; {others}")


def read_labelled(
    path: Path, options: Mapping[str, Any], tagger: Tagger | None = None, vectors: Path | None = None, *,
    err: bool = False, **reading: Any,
) -> Dataset:  # fmt: skip
    """The data in a file, without its rows without labels if these are to be skipped; says what its labels are.

    Texts are in the columns that `tagger` was trained on, unless the options name others.
    """
    source, untagged = split_options(path, options)
    dataset = load_data(path, **source, **reading, default_text=text_columns(tagger))
    say_labels(dataset, UNTAGGED.get(untagged or "", ""), err=err)
    return without_untagged(with_vectors(dataset, vectors), untagged)


def say_labels(dataset: Dataset, fate: str = "", *, err: bool = False) -> None:
    """Say which labels were read, and what becomes of rows without any."""
    if not is_quiet():
        say(label_line(dataset, fate), err=err)


def split_options(path: Path, options: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The options of `load_data`, and what becomes of rows without labels; None if a command keeps them as they are."""
    source = dict(options)
    if "untagged" not in source:
        return source, None
    given = source.pop("untagged")
    return source, given or ("skip" if format_of(existing_data(path), source.get("format")).is_text else "negative")


def text_columns(tagger: Tagger | None) -> tuple[str, ...]:
    """The columns with the texts that a tagger was trained on, if it knows them."""
    return () if tagger is None else tuple(map(str, tagger.card_.get("text_columns") or ()))


def remember_columns(tagger: Tagger, dataset: Dataset) -> None:
    """Note the columns with the texts in a tagger that was trained on them."""
    if dataset.columns is not None:
        tagger.card_["text_columns"] = list(dataset.columns.text)


class SampleBlock(NamedTuple):
    """Some samples of a file, and the fields of each; formats without named fields have none."""

    samples: Any
    fields: list[Mapping[str, Any]]


def stream_unlabelled(
    path: Path, tagger: Tagger, vectors_path: Path | None = None, **options: Any
) -> Iterator[SampleBlock]:
    """Blocks of texts or features, whichever `tagger` takes, from a file (``-`` is stdin); its labels are ignored.

    Texts are read lazily, so that a file may be larger than memory. They may come with a file of vectors.
    """
    if vectors_path is not None:
        yield from _with_vectors(stream_unlabelled(path, tagger, **options), vectors_path, path)
        return
    if tagger.takes_texts:
        about_labels = ("labels", "labels_path", "label_separator")
        about_texts = {key: value for key, value in options.items() if key not in about_labels}
        samples = stream_samples(path, default_text=text_columns(tagger), **about_texts)
        while block := list(itertools.islice(samples, SAMPLES_PER_BLOCK)):
            yield SampleBlock([text for text, _ in block], [fields for _, fields in block])
        return
    features = inputs_of(tagger, load_data(path, **options))
    for first in range(0, features.shape[0], SAMPLES_PER_BLOCK):
        part = features[first : first + SAMPLES_PER_BLOCK]
        yield SampleBlock(part, [{}] * part.shape[0])


def _with_vectors(blocks: Iterator[SampleBlock], path: Path, data: Path) -> Iterator[SampleBlock]:
    vectors, first = read_vectors(path), 0
    for block in blocks:
        last = first + len(block.samples)
        if last <= len(vectors):
            yield block._replace(samples=Encoded(block.samples, vectors[first:last]))
        first = last
    if first != len(vectors):
        raise FileError(path, f"must have a row for each of the {first:,} samples of {data}; got {len(vectors):,}")


def read_records(path: Path, encoding: str | None = None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Line numbers and records of a file; the file name extension tells its format."""
    path = existing_file(path)
    name = detect_format(path).name
    if name not in RECORDS:
        raise FileError(path, f"must be .jsonl, .csv, .tsv or .xlsx with named fields; got {name}; convert it")
    return RECORDS[name](Source(path, encoding=encoding or UTF8))


def verdict(path: Path, line: int, record: Mapping[str, Any], *, default: bool | None = None) -> bool:
    """Whether the field ``accepted`` of a record says yes; `default` where there is no such field."""
    value = record.get("accepted")
    found = default if value is None else _VERDICTS.get(str(value).strip().lower())
    if found is None:
        raise FileError(path, f"must have a field 'accepted' with true or false; got {value!r}", line=line)
    return found
