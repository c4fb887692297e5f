"""Search in the labels of a tagger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.tagger.tagger import Tagger


def find_labels(tagger: Tagger, search: str, offset: int, limit: int) -> tuple[int, list[dict[str, Any]]]:
    """The number of labels with `search` in their name, and a page of them: prefix matches first, then by frequency."""
    wanted = search.casefold().strip()
    state = tagger._state
    n_learned = len(state.ground.classes)
    counts = tagger.counts_for(len(state)).tolist()
    found = []
    for column, label in enumerate(map(str, state.names.tolist())):
        name = tagger.readable(label)
        spelled = name.casefold()
        if (wanted in spelled or wanted in label.casefold()) and state.is_suggested[column]:
            found.append((not spelled.startswith(wanted), -counts[column], column, label, name))
    found.sort()
    page = [
        {"label": label, "name": name, "count": -count, "added": column >= n_learned}
        for _, count, column, label, name in found[offset : offset + limit]
    ]
    return len(found), page
