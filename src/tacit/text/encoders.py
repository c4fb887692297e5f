"""Texts to dense vectors, by a library, by an object of the user's, or made elsewhere.

A name is ``LIBRARY:MODEL``, such as ``model2vec:minishlab/potion-base-8M``; MODEL is a folder, or the name of a model
in the local cache of the Hugging Face hub. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from tacit.arrays import Floats32, Integers
from tacit.core.checks import as_dense
from tacit.errors import DataError, ParameterError, did_you_mean, import_extra
from tacit.progress import stage

_TEXTS_PER_BATCH = 256
#: Encoders are told apart by the vectors of these texts; they differ in length, language and script.
_PROBES = (
    *("agreement", "Fisheries in the northern sea, 1987", "kunnallinen itsehallinto", "机器学习 и право"),
    "law of the sea " * 400 + "music and painting " * 400,  # encoders may read a part of a long text
)
_SAME = 1e-2  # difference between two vectors of unit length up to which they are the same: machines round differently


class Encoded(Sequence[str]):
    """Texts with vectors that were made elsewhere, a row for each text; accepted wherever a tagger takes texts."""

    def __init__(self, texts: Sequence[str], vectors: Any) -> None:
        self.texts = texts
        self.vectors = as_vectors(vectors, len(texts))

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, key: Any) -> Any:
        return Encoded(self.texts[key], self.vectors[key]) if isinstance(key, slice) else self.texts[key]

    def rows(self, rows: Sequence[int] | Integers) -> Encoded:
        """Some of the texts."""
        return Encoded([self.texts[row] for row in rows], self.vectors[rows])


def as_vectors(found: Any, n_texts: int, what: str = "vectors") -> Floats32:
    """Vectors as float32, checked to be finite and one for each text."""
    vectors = as_dense(found, what).astype(np.float32, copy=False)
    if len(vectors) != n_texts or not vectors.shape[1]:
        raise DataError(f"{what} must have a row for each of {n_texts:,} texts; got shape {vectors.shape}")
    return vectors


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """An encoder with its name, if it can be loaded by one."""

    encoder: Any  # with a method `encode`, from a list of texts to an array with a row for each
    name: str | None = None

    @staticmethod
    def of(encoder: Any) -> TextEncoder:
        """The encoder of a name, or an object with a method `encode`."""
        if isinstance(encoder, TextEncoder):
            return encoder
        if isinstance(encoder, str):
            return load_encoder(encoder)
        if not callable(getattr(encoder, "encode", None)):
            raise ParameterError(
                f"an encoder must be a name, such as 'model2vec:NAME', or an object with a method 'encode'; "
                f"got a {type(encoder).__name__}"
            )
        return TextEncoder(encoder)

    @cached_property
    def fingerprint(self) -> Floats32:
        """The vectors of a few fixed texts."""
        return self._encode(_PROBES)

    def is_like(self, fingerprint: Floats32) -> bool:
        """Whether another encoder with this fingerprint gives the same vectors, up to rounding."""
        own = self.fingerprint
        return own.shape == fingerprint.shape and bool(np.abs(_unit(own) - _unit(fingerprint)).max() < _SAME)

    def encode(self, texts: Sequence[str]) -> Floats32:
        """The vectors of texts, in batches; zero for those without letters and digits."""
        vectors = np.zeros((len(texts), self.fingerprint.shape[1]), np.float32)
        rows = [row for row, text in enumerate(texts) if any(map(str.isalnum, text))]
        with stage("texts to encode", len(rows)) as advance:
            for start in range(0, len(rows), _TEXTS_PER_BATCH):
                batch = rows[start : start + _TEXTS_PER_BATCH]
                vectors[batch] = self._encode([texts[row] for row in batch])
                advance(len(batch))
        return vectors

    def _encode(self, texts: Sequence[str]) -> Floats32:
        try:
            found = self.encoder.encode(list(texts))
        except Exception as error:
            raise DataError(f"the encoder failed ({_in_one_line(error)})") from error
        vectors = as_vectors(found, len(texts), "what the encoder returns")
        if "fingerprint" in vars(self) and vectors.shape[1] != (n := self.fingerprint.shape[1]):
            raise DataError(f"what the encoder returns must always have {n} dimensions; got {vectors.shape[1]}")
        return vectors


def unit_vectors(vectors: Floats32, center: Floats32) -> Floats32:
    """Vectors relative to a centre, scaled to unit length; those of blank texts, which are zero, stay zero."""
    moved = vectors - center
    moved[~vectors.any(axis=1)] = 0
    return _unit(moved)


def _unit(vectors: Floats32) -> Floats32:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


@lru_cache(maxsize=2)
def load_encoder(name: str) -> TextEncoder:
    """The encoder of a name, from a folder or from the local cache of the hub."""
    library, _, model = name.partition(":")
    if library not in LIBRARIES or not model:
        known = f"LIBRARY:MODEL, where LIBRARY is one of {', '.join(LIBRARIES)}"
        raise ParameterError(f"an encoder is named {known}; got '{name}'{did_you_mean(library, LIBRARIES)}")
    import_extra(library.replace("-", "_"), f"the encoder '{name}'", library)
    folder = _folder_of(model, name)
    try:
        return TextEncoder(LIBRARIES[library](str(folder)), name)
    except Exception as error:
        raise ParameterError(f"encoder '{name}': {folder} is no model of {library} ({_in_one_line(error)})") from error


def _in_one_line(error: Exception) -> str:
    """An error with its class."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _folder_of(model: str, name: str) -> Path:
    """The folder of a model: itself, or where the hub keeps it on this machine."""
    if Path(model).is_dir():
        return Path(model)
    from huggingface_hub import snapshot_download  # comes with both libraries

    try:
        return Path(snapshot_download(model, local_files_only=True))
    except (OSError, ValueError):  # of which the errors of the hub are subclasses
        raise ParameterError(
            f"encoder '{name}': there is no folder '{model}', and the hub's cache has no such model; "
            f"get it with: hf download {model}"
        ) from None


def _model2vec(folder: str) -> Any:
    from model2vec import StaticModel

    return StaticModel.from_pretrained(folder)


def _sentence_transformers(folder: str) -> Any:
    from sentence_transformers import SentenceTransformer

    # Weights as safetensors only: other formats can run code.
    model = SentenceTransformer(folder, local_files_only=True, model_kwargs={"use_safetensors": True})
    return SimpleNamespace(encode=partial(model.encode, show_progress_bar=False, convert_to_numpy=True))


LIBRARIES = {"model2vec": _model2vec, "sentence-transformers": _sentence_transformers}
