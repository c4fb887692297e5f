"""Which samples a tagger was trained on, by a sketch: the smallest hashes of its training samples.

Of any other samples, those with as small hashes tell the share that was in training (k minimum values, Bar-Yossef et
al. 2002). Of up to `_KEPT` training samples all hashes are kept, and the share is exact.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.checks import as_features

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger

Hashes = npt.NDArray[np.uint64]
_KEPT = 1024
NOTABLE = 0.05  # share of training samples in other data; some texts recur by chance
_ROWS_AT_ONCE = 1 << 14


def sketch(samples: Sequence[str] | sparse.csr_matrix, before: str = "") -> str:
    """The smallest hashes of samples and of an earlier sketch, as text."""
    smallest = np.union1d(_hashes(samples), _read(before))[:_KEPT]
    return base64.b64encode(smallest.astype("<u8").tobytes()).decode()


def share_in_training(tagger: Tagger, samples: Any) -> float:
    """Share of samples that the tagger was trained on, estimated by its sketch; 0 if it has none."""
    known = _read(tagger.card_.get("sketch", ""))
    mine = _hashes(samples if tagger.takes_texts else as_features(samples))
    if len(known) >= _KEPT:
        mine = mine[mine <= known.max()]
    return float(np.isin(mine, known).mean()) if len(mine) else 0.0


def note_on_overlap(share: float, data: str) -> str | None:
    """What a reader of metrics must know if many samples of `data` were in the training data."""
    if share < NOTABLE:
        return None
    return (
        f"{share:.0%} of the samples of {data} were in the training data of the model: its metrics on new samples "
        "will be worse than these; evaluate on others (tacit split holds some out)"
    )


def _read(text: Any) -> Hashes:
    """The hashes of a sketch; none if it is damaged."""
    try:
        return np.frombuffer(base64.b64decode(str(text), validate=True), "<u8").astype(np.uint64)
    except (binascii.Error, ValueError):
        return np.empty(0, np.uint64)


def _hashes(samples: Any) -> Hashes:
    """A hash of each sample: of its words, or of its features and their values."""
    if not sparse.issparse(samples):
        words = (" ".join(text.split()).encode(errors="replace") for text in samples)
        digests = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in words)
        return np.frombuffer(digests, "<u8").astype(np.uint64)
    found = [np.empty(0, np.uint64)]
    for first in range(0, samples.shape[0], _ROWS_AT_ONCE):
        part = samples[first : first + _ROWS_AT_ONCE]
        values = part.data.astype(np.float32).view(np.uint32).astype(np.uint64)
        keys = _mixed(part.indices.astype(np.uint64) | values << np.uint64(32))
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(keys, dtype=np.uint64)])
        found.append(_mixed(sums[part.indptr[1:]] - sums[part.indptr[:-1]]))
    return np.concatenate(found)


def _mixed(keys: Hashes) -> Hashes:
    """Each number scattered over 64 bits (the finaliser of splitmix64)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
