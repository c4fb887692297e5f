"""Words of texts: counts of the distinct words of each text, from UTF-8.

A word is stored in chunks of 8 bytes: its UTF-8, first byte lowest, then zeros, and a `SEPARATOR` as the highest byte
of the last chunk. Words are stored one after another; `starts` has where each of them starts, and where the last one
ends. A hash table has two numbers in each slot: the first chunk of a word, 0 in free slots, and an entry, whose low
half is the number of the word.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tacit.arrays import Bytes, Floats32, Ints32, Ints64, UInts32

SEPARATOR = 10  # stands behind each text and each stored word; part of no word

_CHUNK = 8  # bytes
_END = SEPARATOR << 56
_LOW_HALF = 0xFFFFFFFF
_LOW_BITS = 0x0101010101010101
_HIGH_BITS = -0x7F7F7F7F7F7F7F80  # 0x80 in each byte
_TWO_HIGH_BITS = -0x3F3F3F3F3F3F3F40  # 0xC0 in each byte
# A number in the code has a type of its own, for which functions would be compiled once more.
_ZERO: int = np.int64(0)  # type: ignore[assignment]
_LEAST_SLOTS: int = np.int64(1024)  # type: ignore[assignment]


@njit(nogil=True, cache=True)
def _fold_ascii(text: Bytes, start: int, end: int, folded: Bytes) -> bool:
    """Write the letters, digits and underscores of a text in lower case, and 0 for the rest; whether all is ASCII.

    Only types of 8 bits, so that 32 bytes are folded at once.
    """
    seen = np.uint8(0)
    for place in range(end - start):
        code = text[np.uintp(start + place)]
        seen |= code
        lower = code | np.uint8(0x20)
        is_letter = np.uint8(lower - np.uint8(97)) < np.uint8(26)
        is_other = (np.uint8(code - np.uint8(48)) < np.uint8(10)) | (code == np.uint8(95))
        folded[np.uintp(place)] = lower if is_letter else code if is_other else np.uint8(0)
    return bool(seen < 0x80)


@njit(nogil=True, cache=True)
def _fold_all(text: Bytes, at: int, end: int, lower: UInts32, folded: Bytes) -> int:
    """The same for any text; its length is returned, as the lower case of a character may have more bytes."""
    length = 0
    while at < end:
        code: int = np.int64(text[np.uintp(at)])  # type: ignore[assignment]
        if code < 0x80:
            folded[np.uintp(length)] = lower[np.uintp(code)]
            length += 1
            at += 1
            continue
        behind = at + (2 if code < 0xE0 else 3 if code < 0xF0 else 4)
        code &= 0x1F if code < 0xE0 else 0x0F if code < 0xF0 else 0x07
        for place in range(at + 1, behind):
            code = code << 6 | int(text[np.uintp(place)]) & 0x3F
        at = behind
        letter: int = np.int64(lower[np.uintp(code)])  # type: ignore[assignment]
        n_bytes = 1 if letter < 0x100 else 2 if letter < 0x10000 else 3 if letter < 0x1000000 else 4
        for place in range(n_bytes - 1, -1, -1):
            folded[np.uintp(length)] = letter >> 8 * place & 0xFF
            length += 1
    return length


@njit(nogil=True, cache=True)
def _fold(text: Bytes, start: int, end: int, lower: UInts32, folded: Bytes) -> int:
    """The same with a chunk of zeros behind it."""
    length = end - start
    if not _fold_ascii(text, start, end, folded):
        length = _fold_all(text, start, end, lower, folded)
    for place in range(length, length + _CHUNK):
        folded[np.uintp(place)] = 0
    return length


@njit(nogil=True, cache=True)
def _chunk_at(folded: Bytes, at: int) -> int:
    """8 bytes, which the compiler reads at once."""
    chunk = 0
    for place in range(_CHUNK):
        chunk |= int(folded[np.uintp(at + place)]) << 8 * place
    return chunk


@njit(nogil=True, cache=True)
def _mixed(hashed: int, chunk: int, multiplier: int) -> int:
    """Multiply-shift hashing, of which the highest bits are used; the others go into those of the next chunk."""
    hashed = (hashed ^ chunk) * multiplier
    return hashed ^ hashed >> 32 & _LOW_HALF


@njit(nogil=True, cache=True)
def _store_word(folded: Bytes, at: int, chunks: Ints64, free: int, multiplier: int) -> tuple[int, int, int]:
    """Store the word at a place; where its chunks end, its hash, and the place behind it and the zero that ends it.

    Of a single character, which is no word, nothing is stored.
    """
    used, hashed = free, _ZERO
    while True:
        chunk = _chunk_at(folded, at)
        zeros = chunk - _LOW_BITS & ~chunk & _HIGH_BITS  # its lowest bit is the highest of the first byte that is zero
        if zeros != 0:
            break
        chunks[np.uintp(used)] = chunk
        used += 1
        hashed = _mixed(hashed, chunk, multiplier)
        at += _CHUNK
    inside = (zeros & -zeros) - 1 >> 7  # all bits of the bytes before that
    at += ((inside & _LOW_BITS) * _LOW_BITS >> 56) + 1
    chunk &= inside
    if used == free and chunk >> 8 & _TWO_HIGH_BITS == inside >> 8 & _HIGH_BITS:  # all bytes continue the first one
        return free, 0, at
    chunk |= _END
    chunks[np.uintp(used)] = chunk
    return used + 1, _mixed(hashed, chunk, multiplier), at


@njit(nogil=True, cache=True)
def _slot_of(slots: Ints64, shift: int, chunks: Ints64, starts: Ints64, first: int, last: int, hashed: int) -> int:
    """Where in the hash table the word is whose chunks are from `first` to `last`, or the free slot for it."""
    slot = hashed >> shift & len(slots) // 2 - 1
    while True:
        key = slots[np.uintp(2 * slot)]
        if key == 0:
            return 2 * slot
        if key == chunks[np.uintp(first)]:
            one, other = first + 1, starts[np.uintp(slots[np.uintp(2 * slot + 1)] & _LOW_HALF)] + 1
            while one < last and chunks[np.uintp(one)] == chunks[np.uintp(other)]:
                one += 1
                other += 1
            if one == last:
                return 2 * slot
        slot = slot + 1 & len(slots) // 2 - 1


@njit(nogil=True, cache=True)
def _enlarged(slots: Ints64, n_slots: int, chunks: Ints64, starts: Ints64, multiplier: int) -> tuple[Ints64, int]:
    """A hash table with the same words in `n_slots` slots, a power of 2, and the shift that gives a slot of it."""
    larger, shift = np.zeros(2 * n_slots, np.int64), 64
    while n_slots >> 64 - shift > 1:
        shift -= 1
    for at in range(0, len(slots), 2):
        if slots[at] != 0:
            word, hashed = slots[at + 1] & _LOW_HALF, _ZERO
            for place in range(starts[word], starts[word + 1]):
                hashed = _mixed(hashed, chunks[place], multiplier)
            slot = hashed >> shift & n_slots - 1
            while larger[2 * slot] != 0:
                slot = slot + 1 & n_slots - 1
            larger[2 * slot], larger[2 * slot + 1] = slots[at], slots[at + 1]
    return larger, shift


@njit(nogil=True, cache=True)
def count_in_texts(
    text: Bytes,
    text_ends: Ints64,
    lower: UInts32,
    multiplier: int,
    folded: Bytes,
    chunks: Ints64,
    starts: Ints64,
    ids: Ints32,
    counts: Floats32,
    row_starts: Ints64,
) -> tuple[int, int]:
    """Count the distinct words of each text: runs of two or more letters, digits and underscores, in lower case.

    Texts are UTF-8 with a `SEPARATOR` behind each, whose places are `text_ends`. `lower` has for each character the
    UTF-8 of its lower case as a number, 0 for those in no word. The `multiplier` of the hash function is odd, and best
    unknown to those who write texts. `folded` is scratch for the lower case of a text, and 8 bytes.

    Filled, and long enough, are `chunks` and `starts` with the distinct words in the order of their first occurrence,
    and `ids`, `counts` and `row_starts` with the counts of each text. Returned are the numbers of words and of counts.
    """
    # An entry of the hash table is the place of the latest count of a word, and its number.
    slots, shift = _enlarged(np.zeros(0, np.int64), _LEAST_SLOTS, chunks, starts, multiplier)
    n_words, n_counts, begin, free = _ZERO, _ZERO, _ZERO, _ZERO
    starts[0] = row_starts[0] = 0
    for row in range(len(text_ends)):
        length, at, first = _fold(text, begin, text_ends[row], lower, folded), _ZERO, n_counts
        begin = text_ends[row] + 1
        while True:
            if folded[np.uintp(at)] == 0:
                if at >= length:
                    break
                at += 1
                continue
            used, hashed, at = _store_word(folded, at, chunks, free, multiplier)
            if used == free:
                continue
            slot = _slot_of(slots, shift, chunks, starts, free, used, hashed)
            entry = slots[np.uintp(slot + 1)]
            if slots[np.uintp(slot)] == 0:
                entry = -1 << 32 | n_words
                slots[np.uintp(slot)] = chunks[np.uintp(free)]
                n_words += 1
                starts[n_words] = free = used
            latest = entry >> 32
            is_new = latest < first
            latest = n_counts if is_new else latest
            count = counts[np.uintp(latest)]  # read in either case: a branch that is hard to predict would take longer
            count = np.float32(0) if is_new else count
            ids[np.uintp(latest)], counts[np.uintp(latest)] = entry & _LOW_HALF, count + np.float32(1)
            slots[np.uintp(slot + 1)] = latest << 32 | entry & _LOW_HALF
            n_counts += is_new
            if 4 * n_words > len(slots):
                slots, shift = _enlarged(slots, len(slots), chunks, starts, multiplier)
        row_starts[row + 1] = n_counts
    return n_words, n_counts
