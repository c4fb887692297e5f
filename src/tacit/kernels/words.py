"""Words of texts: counts of the distinct words of each text, from UTF-8."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Bytes = npt.NDArray[np.uint8]
Letters = npt.NDArray[np.uint32]
Ids = npt.NDArray[np.int32]
Counts = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

SEPARATOR = 10  # stands behind each text and each distinct word; part of no word

_MULTIPLIER = -7046029254386353131  # odd, with bits all over
_BITS = 64  # of a chunk
_LOW_HALF = 0xFFFFFFFF


@njit(nogil=True, cache=True)
def _read_letter(text: Bytes, at: int, lower: Letters) -> tuple[int, int, int]:
    """The UTF-8 of the lower case of a character, 0 if it is in no word; its bits; the place behind the character."""
    code: int = np.int64(text[np.uintp(at)])  # type: ignore[assignment]
    behind = at + (1 if code < 0x80 else 2 if code < 0xE0 else 3 if code < 0xF0 else 4)
    if code >= 0x80:
        code &= 0x1F if code < 0xE0 else 0x0F if code < 0xF0 else 0x07
        for place in range(at + 1, behind):
            code = code << 6 | int(text[np.uintp(place)]) & 0x3F
    letter: int = np.int64(lower[np.uintp(code)])  # type: ignore[assignment]
    return letter, 8 if letter < 0x80 else 16 if letter < 0x10000 else 24 if letter < 0x1000000 else 32, behind


@njit(nogil=True, cache=True)
def _mixed(hashed: int, chunk: int) -> int:
    hashed = (hashed ^ chunk) * _MULTIPLIER
    return hashed ^ hashed >> 32


@njit(nogil=True, cache=True)
def _is_same(chunks: Places, one: int, end: int, other: int) -> bool:
    """Whether the chunks from `one` to `end` are those from `other` on."""
    while one < end and chunks[one] == chunks[other]:
        one += 1
        other += 1
    return one == end


@njit(nogil=True, cache=True)
def _doubled(slots: Places) -> Places:
    """A hash table of twice the size."""
    larger = np.full(2 * len(slots), -1, np.int64)
    for entry in slots:
        if entry >= 0:
            slot = (entry >> 32) & (len(larger) - 1)
            while larger[slot] >= 0:
                slot = (slot + 1) & (len(larger) - 1)
            larger[slot] = entry
    return larger


@njit(nogil=True, cache=True)
def count_in_texts(
    text: Bytes,
    text_ends: Places,
    lower: Letters,
    seed: int,
    chunks: Places,
    starts: Places,
    ids: Ids,
    counts: Counts,
    row_starts: Places,
) -> tuple[int, int]:
    """Count the distinct words of each text: runs of two or more letters, digits and underscores, in lower case.

    A word is a head, which is for use in here, and chunks of 8 bytes: the UTF-8 of its characters and a separator, with
    zeros before them in each chunk. All outputs are long enough.

    Parameters
    ----------
    text, text_ends
        Texts in UTF-8, each with a `SEPARATOR` behind it, and the places of these.
    lower
        For each character the UTF-8 of its lower case as a number, 0 for those in no word.
    seed
        Of the hash function.
    chunks, starts
        Output: the distinct words in the order of their first occurrence, and where each starts.
    ids, counts, row_starts
        Output: the number of a word and its count, for each distinct word of a text; where those of a text start.

    Returns
    -------
    The number of distinct words, the number of counts.
    """
    slots = np.full(1024, -1, np.int64)  # a hash table: 31 bits of the hash of a word, and where the word starts
    n_words, n_counts, at, free = 0, 0, 0, 0
    row_starts[0] = 0
    for row in range(len(text_ends)):
        end, first = text_ends[row], n_counts
        while at < end:
            used, room = free + 1, _BITS
            hashed, chunk, n_characters = seed, 0, 0
            while True:  # a separator ends the last word
                letter, width, at = _read_letter(text, at, lower)
                if letter == 0:
                    break
                if room < width:
                    chunks[used] = chunk
                    used += 1
                    hashed, chunk, room = _mixed(hashed, chunk), 0, _BITS
                chunk = chunk << width | letter
                room -= width
                n_characters += 1
            if n_characters < 2:
                continue
            if room == 0:
                chunks[used] = chunk
                used += 1
                hashed, chunk = _mixed(hashed, chunk), 0
            chunks[used] = chunk << 8 | SEPARATOR
            used += 1
            tag = _mixed(_mixed(hashed, chunk), seed) & 0x7FFFFFFF
            slot, word = tag & (len(slots) - 1), free
            while slots[slot] >= 0:
                known = slots[slot] & _LOW_HALF
                if slots[slot] >> 32 == tag and _is_same(chunks, free + 1, used, known + 1):
                    word = known
                    break
                slot = (slot + 1) & (len(slots) - 1)
            if word == free:
                slots[slot] = tag << 32 | word
                chunks[word] = -1 << 32 | n_words  # the head: the latest count of the word, and its number
                starts[n_words] = word
                n_words += 1
                free = used
                if 4 * n_words > 3 * len(slots):
                    slots = _doubled(slots)
            latest, number = chunks[word] >> 32, chunks[word] & _LOW_HALF
            if latest < first:
                latest = n_counts
                chunks[word] = latest << 32 | number
                ids[latest], counts[latest] = number, 0
                n_counts += 1
            counts[latest] += 1
        at = end + 1
        row_starts[row + 1] = n_counts
    starts[n_words] = free
    return n_words, n_counts
