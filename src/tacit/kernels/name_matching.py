"""Names in texts: all names whose words are in a text, and where; and boosted trees over what is known of them."""

from __future__ import annotations

import numpy as np
from numba import njit

from tacit.arrays import Floats32, Ids, Ints32
from tacit.kernels.ragged import Lists, list_at

N_COLUMNS = 7  # of what `match_names` tells of a match: row, name, first, gap, occurrences, containing, is_phrase


@njit(nogil=True, cache=True)
def match_names(texts: Lists, listed: Lists, names: Lists) -> Ints32:
    """Matches of names in texts, of shape (n_matches, `N_COLUMNS`).

    A name matches where all its stems are in the text, in any order. `texts` are stems, -1 for those in no name.
    `listed` are, by stem, the names that are looked at where it occurs: those of which it is the rarest. `names` are
    the stems of each name, in order.
    """
    n_stems = len(listed.starts) - 1
    first = np.full(n_stems, -1, np.int32)
    count = np.zeros(n_stems, np.int32)
    longer = np.zeros(n_stems, np.int32)
    last = np.full(n_stems, -1, np.int32)
    room = np.empty((256, N_COLUMNS), np.int32)
    size = 0
    for text in range(len(texts.starts) - 1):
        words = list_at(texts, text)
        following = np.full(len(words), -1, np.int32)  # the next place of the same stem
        for place in range(len(words)):
            stem = words[place]
            if stem >= 0:
                if first[stem] < 0:
                    first[stem] = place
                else:
                    following[last[stem]] = place
                last[stem] = place
                count[stem] += 1
        begin = size
        for place in range(len(words)):
            stem = words[place]
            if stem < 0 or first[stem] != place:
                continue
            for name in list_at(listed, stem):
                stems = list_at(names, name)
                low, high, occurrences = 2**30, -1, 2**30
                for one in stems:
                    if first[one] < 0:
                        occurrences = 0
                        break
                    low, high = min(low, int(first[one])), max(high, int(first[one]))
                    occurrences = min(occurrences, int(count[one]))
                if occurrences == 0:
                    continue
                if size == len(room):
                    grown = np.empty((2 * size, N_COLUMNS), np.int32)
                    grown[:size] = room
                    room = grown
                room[size, 0], room[size, 1], room[size, 2] = text, name, low
                room[size, 3] = max(0, high - low + 1 - len(stems))
                room[size, 4], room[size, 5] = occurrences, 0
                room[size, 6] = _is_phrase(words, stems, first[stems[0]], following)
                size += 1
        for stem in words:
            if stem >= 0:
                first[stem], last[stem], count[stem] = -1, -1, 0
        _count_containing(room[begin:size], names, longer, last)
    return room[:size].copy()


@njit(nogil=True, cache=True)
def _is_phrase(words: Ints32, stems: Ints32, start: int, following: Ints32) -> bool:
    """Whether the stems stand in the text side by side and in order; `start` is the first place of the first one."""
    while 0 <= start <= len(words) - len(stems):
        place = 1
        while place < len(stems) and words[start + place] == stems[place]:
            place += 1
        if place == len(stems):
            return True
        start = following[start]
    return False


@njit(nogil=True, cache=True)
def _count_containing(matches: Ints32, names: Lists, longer: Ints32, last: Ints32) -> None:
    """Count, for each match of a text, the longer ones that have all its stems.

    `longer` is all zero and `last` all -1, before and after.
    """
    n_stems = 0
    for name in matches[:, 1]:
        n_stems += len(list_at(names, name))
    # Matches of two stems or more, in a chain for each of their stems that begins at its `last` link.
    match_of, before = np.empty(n_stems, np.int32), np.empty(n_stems, np.int32)
    n_links = 0
    for i in range(len(matches)):
        stems = list_at(names, matches[i, 1])
        if len(stems) > 1:
            for stem in stems:
                if last[stem] < 0 or match_of[last[stem]] != i:  # a name may have a stem twice
                    longer[stem] += 1
                    match_of[n_links], before[n_links] = i, last[stem]
                    last[stem] = n_links
                    n_links += 1
    for i in range(len(matches)):
        stems = list_at(names, matches[i, 1])
        if len(stems) == 1:
            matches[i, 5] = longer[stems[0]]
            continue
        rarest = stems[0]
        for stem in stems:
            if longer[stem] < longer[rarest]:
                rarest = stem
        link = last[rarest]
        while link >= 0:
            others = list_at(names, matches[match_of[link], 1])
            matches[i, 5] += len(others) > len(stems) and _has_all(others, stems)
            link = before[link]
    for name in matches[:, 1]:
        for stem in list_at(names, name):
            longer[stem], last[stem] = 0, -1


@njit(nogil=True, cache=True)
def _has_all(others: Ints32, stems: Ints32) -> bool:
    """Whether all stems are among others."""
    for one in stems:
        is_found = False
        for another in others:
            if one == another:
                is_found = True
                break
        if not is_found:
            return False
    return True


@njit(nogil=True, cache=True)
def name_cover(
    rows: Ids,
    labels: Ids,
    texts: Lists,
    stem_of_word: Ints32,
    n_forms: int,
    names_of_label: Lists,
    names: Lists,
    weights: Floats32,
) -> Floats32:
    """How well texts cover the names of labels; see `tacit.names.index.NameIndex.cover`.

    `texts` are the distinct words of each text: forms below `n_forms`, stems from there on; `names` are forms.
    """
    found = np.zeros((len(rows), 5), np.float32)
    seen = np.full(len(stem_of_word), -1, np.int64)  # the last text that has a word; stems from `n_forms` on
    row, total = -1, 0.0
    for pair in range(len(rows)):
        if rows[pair] != row:
            row, total = rows[pair], 0.0
            for word in list_at(texts, row):
                stem = stem_of_word[word]
                if seen[n_forms + stem] != row:
                    total += weights[stem]
                seen[word] = seen[n_forms + stem] = row
        label = labels[pair]
        if label + 1 >= len(names_of_label.starts):
            continue
        for name in list_at(names_of_label, label):
            forms = list_at(names, name)
            whole, inside, n_exact, low, high = 0.0, 0.0, 0, np.inf, 0.0
            for form in forms:
                weight = weights[stem_of_word[form]]
                whole += weight
                low, high = min(low, weight), max(high, weight)
                n_exact += seen[form] == row
                if seen[n_forms + stem_of_word[form]] == row:
                    inside += weight
            if found[pair, 3] == 0.0 or inside / whole > found[pair, 0]:
                found[pair, 0], found[pair, 1] = inside / whole, inside / max(total, 1e-6)
                found[pair, 2], found[pair, 3], found[pair, 4] = low, high, n_exact / len(forms)
    return found


@njit(nogil=True, cache=True)
def partly_named(
    texts: Lists, stem_of_word: Ints32, listed: Lists, names: Lists, weights: Floats32, least_share: float, most: int
) -> Ints32:
    """Names of which texts have the rarest stem and others, but not all; see `NameIndex.partly_named`.

    A row of the result is the text, the name, how many of its words the text has, and how many names have the same
    rarest stem.
    """
    n_texts = len(texts.starts) - 1
    seen, looked_up = np.full(len(weights), -1, np.int64), np.full(len(weights), -1, np.int64)
    room, gains = np.empty((256, 4), np.int32), np.empty(256, np.float32)
    found, size = np.empty((max(n_texts, 1) * most, 4), np.int32), 0
    for text in range(n_texts):
        own = stem_of_word[list_at(texts, text)]
        for stem in own:
            seen[stem] = text
        n_here = 0
        for rarest in own:
            if looked_up[rarest] == text:  # a text may have several words of a stem
                continue
            looked_up[rarest] = text
            same = list_at(listed, rarest)
            for name in same:
                whole, inside, n_inside = 0.0, 0.0, 0
                stems = list_at(names, name)
                for stem in stems:
                    whole += weights[stem]
                    if seen[stem] == text:
                        inside += weights[stem]
                        n_inside += 1
                if n_inside == len(stems) or inside < least_share * whole:
                    continue
                if n_here == len(room):
                    more, more_gains = np.empty((2 * n_here, 4), np.int32), np.empty(2 * n_here, np.float32)
                    more[:n_here], more_gains[:n_here] = room, gains
                    room, gains = more, more_gains
                room[n_here, 0], room[n_here, 1] = text, name
                room[n_here, 2], room[n_here, 3] = n_inside, len(same)
                gains[n_here] = inside * inside / whole
                n_here += 1
        for best in np.argsort(-gains[:n_here], kind="mergesort")[:most]:
            found[size] = room[best]
            size += 1
    return found[:size].copy()


@njit(nogil=True, cache=True)
def boosted_log_odds(
    X: Floats32, roots: Ints32, features: Ints32, thresholds: Floats32, children: Ints32, values: Floats32, start: float
) -> Floats32:
    """The sum over trees of the leaf that each row of X comes to; `children` of a leaf are below zero."""
    found = np.empty(len(X), np.float32)
    for row in range(len(X)):
        total = start
        for root in roots:
            node = root
            while children[node, 0] >= 0:
                node = children[node, 0] if X[row, features[node]] <= thresholds[node] else children[node, 1]
            total += values[node]
        found[row] = total
    return found
