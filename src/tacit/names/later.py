"""Names that labels get after the training, beside those of an index: no name is analysed twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tacit.names.evidence import NameCounts, NameEvidence
from tacit.names.index import Ids, Name, NameIndex


def with_later_names(evidence: NameEvidence, names: Sequence[Name], n_labels: int) -> NameEvidence:
    """Evidence for `n_labels` labels, of which the last have no samples, and for further names of any of them."""
    index, counts = extended(evidence.index, names), evidence.counts
    n_new = n_labels - evidence.n_labels
    by_label = (np.pad(each, (0, n_new)) for each in (counts.samples, counts.matched, counts.right))
    texts = np.pad(counts.texts, (0, len(index.stems) - len(counts.texts)))
    meaning = evidence.meaning
    if meaning is not None:
        meaning = meaning.with_later((), np.empty((0, meaning.labels.shape[1]), np.float32), n_labels)
    counts = NameCounts(counts.n_texts, texts, *by_label)
    return replace(evidence, n_labels=n_labels, index=index, counts=counts, meaning=meaning)


def extended(index: NameIndex, names: Sequence[Name]) -> NameIndex:
    """The index of all its names and of further ones; the preferred name of a label is its last."""
    new = NameIndex.of(names, index.language, by_root=index.by_root)
    stems, of_new = _joined(index.stems, new.stems)
    forms, form_of_new = _joined(index.forms, new.forms)
    form_stems = np.concatenate([index.form_stems, np.zeros(len(forms) - len(index.forms), np.int32)])
    form_stems[form_of_new] = of_new[new.form_stems]
    name_starts = np.concatenate([index.name_starts, index.name_starts[-1] + new.name_starts[1:]])
    labels = np.concatenate([index.labels, new.labels])
    rarest = np.concatenate([index.rarest, of_new[new.rarest]])
    listed = np.argsort(rarest, kind="stable").astype(np.int32)
    is_preferred = index.is_preferred & ~np.isin(index.labels, new.labels[new.is_preferred])
    whole = replace(
        index,
        stems=stems,
        forms=forms,
        form_stems=form_stems,
        name_starts=name_starts,
        name_forms=np.concatenate([index.name_forms, form_of_new[new.name_forms]]),
        labels=labels,
        is_preferred=np.concatenate([is_preferred, new.is_preferred]),
        is_qualified=np.concatenate([index.is_qualified, new.is_qualified]),
        n_alike=np.concatenate([index.n_alike, new.n_alike]),
        listed_starts=np.searchsorted(rarest[listed], np.arange(len(stems) + 1)).astype(np.int64),
        listed=listed,
    )
    for name in range(len(index.labels), len(labels)):
        alike = _alike(whole, name)
        whole.n_alike[alike] = len(set(labels[alike].tolist()))
    return whole


def _joined(known: Sequence[str], new: Sequence[str]) -> tuple[list[str], Ids]:
    """Known and new words, and where the new ones are among them."""
    place = {word: number for number, word in enumerate(known)}
    places = np.array([place.setdefault(word, len(place)) for word in new], np.int32)
    return list(place), places


def _alike(index: NameIndex, name: int) -> list[int]:
    """The names that have the same stems as a name."""
    stems = _sorted_stems(index, name)
    lists = (index.listed[index.listed_starts[stem] : index.listed_starts[stem + 1]] for stem in set(stems))
    return [other for listed in lists for other in listed.tolist() if _sorted_stems(index, other) == stems]


def _sorted_stems(index: NameIndex, name: int) -> list[int]:
    return sorted(index.name_stems[index.name_starts[name] : index.name_starts[name + 1]].tolist())
