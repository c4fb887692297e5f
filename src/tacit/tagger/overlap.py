"""Which samples a tagger was trained on, by hashes of them and of their labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from tacit.arrays import UInts64
from tacit.core.checks import as_features
from tacit.data.repeats import row_hashes, sums_of_rows, text_hashes

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger

NOTABLE = 0.05  # fraction of training samples in other data; some texts recur by chance


def hashes_of(samples: Any, Y: sparse.csr_matrix, names: Iterable[Any]) -> UInts64:
    """For each sample, its hash and that of the sample with its positive labels."""
    labels = text_hashes(map(str, names))
    alone = row_hashes(samples)
    return np.column_stack([alone, alone + sums_of_rows(Y, np.where(Y.data > 0, labels[Y.indices], np.uint64(0)))])


def are_known(tagger: Tagger, hashes: UInts64) -> Any:
    """Whether each sample was in training, unless it is blank, and whether it had the same labels there."""
    known = tagger.known_samples_
    if known is None:
        return np.zeros(hashes.shape, np.bool_)
    found = np.column_stack([np.isin(*columns) for columns in zip(hashes.T, known.T, strict=False)])
    found[:, 0] &= hashes[:, 0] != 0
    return found


def share_in_training(tagger: Tagger, samples: Any) -> float:
    """Fraction of samples that the tagger was trained on; 0 if it does not know."""
    hashes = row_hashes(samples if tagger.takes_texts else as_features(samples))
    return float(are_known(tagger, hashes[:, None]).mean()) if len(hashes) else 0.0


def note_on_overlap(share: float, data: str, model: str = "the model") -> str | None:
    """What a reader of metrics must know if many samples of `data` were in the training data."""
    if share < NOTABLE:
        return None
    return (
        f"{share:.0%} of the samples of {data} were in the training data of {model}: its metrics on new samples "
        "will be worse than these; evaluate on others (tacit split holds some out)"
    )
