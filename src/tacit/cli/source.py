"""Reading data files given on the command line."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tacit.data.dataset import Dataset, features_of, texts_of
from tacit.data.load import load_data, stream_samples
from tacit.data.vocabulary import Vocabulary, load_vocabulary
from tacit.tagger.tagger import Tagger

SAMPLES_PER_BLOCK = 1024


def read_vocabulary(path: Path, options: Mapping[str, Any], language: str = "en") -> Vocabulary:
    """A vocabulary, with the limits among the input options."""
    limits = {name: value for name, value in options.items() if name.startswith("max_")}
    return load_vocabulary(path, language, **limits)


def inputs_of(tagger: Tagger, dataset: Dataset) -> Any:
    """The texts of a data set, or its features, whichever `tagger` takes."""
    return texts_of(dataset) if tagger.takes_texts else as_wide_as(tagger.n_features_in_, features_of(dataset))


class SampleBlock(NamedTuple):
    """Some samples of a file, and the fields of each; formats without named fields have none."""

    samples: Any
    fields: list[Mapping[str, Any]]

    def after(self, n_samples: int) -> SampleBlock:
        """The block without its first samples."""
        return SampleBlock(self.samples[n_samples:], self.fields[n_samples:])


def stream_unlabelled(path: Path, tagger: Tagger, **options: Any) -> Iterator[SampleBlock]:
    """Blocks of texts or features, whichever `tagger` takes, from a file (``-`` is stdin); its labels are ignored.

    Texts are read lazily, so that a file may be larger than memory.
    """
    if tagger.takes_texts:
        about_labels = ("labels", "labels_path")
        samples = stream_samples(path, **{key: value for key, value in options.items() if key not in about_labels})
        while block := list(itertools.islice(samples, SAMPLES_PER_BLOCK)):
            yield SampleBlock([text for text, _ in block], [fields for _, fields in block])
        return
    features = inputs_of(tagger, load_data(path, **options))
    for first in range(0, features.shape[0], SAMPLES_PER_BLOCK):
        part = features[first : first + SAMPLES_PER_BLOCK]
        yield SampleBlock(part, [{}] * part.shape[0])


def as_wide_as(n_features: int, X: Any) -> Any:
    """X padded to the columns of the training data: a file without header ends at its last non-zero feature."""
    if X.shape[1] < n_features:
        X = X.copy()
        X.resize(X.shape[0], n_features)
    return X
