"""Parsing numbers and sparse rows from bytes.

All scanners assume that a block of bytes ends with a line feed. Every loop stops at an unexpected byte, so none needs
to check for the end of the block. A value is at most one unit in the last place from the nearest float32.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tacit.arrays import Bytes, Floats32, Ints32, Ints64

OK, BAD_LABEL, BAD_FEATURE, BAD_VALUE, NO_ROOM = range(5)  # outcomes of a block; an id out of range is a bad one

_TAB, _LINE_FEED, _RETURN, _SPACE, _HASH = 9, 10, 13, 32, 35
_PLUS, _COMMA, _MINUS, _DOT, _ZERO, _NINE, _COLON = 43, 44, 45, 46, 48, 57, 58
_UPPER_E, _LOWER_E = 69, 101
_LAST_POWER = 64  # beyond it, numbers of up to 18 digits are 0 or infinite as float32
_POWERS_OF_TEN = np.array([float(f"1e{power}") for power in range(-_LAST_POWER, _LAST_POWER + 1)])
_ALL_DIGITS_KEPT_BELOW = 10**17
_ID_LIMIT = 2**31


class RowFormat(NamedTuple):
    """Ids run from `first_…` up to, not including, `n_…`.

    `loose` rows may end in ``# comments``, and empty lines are no rows; otherwise each line is one row.
    """

    first_feature: int
    n_features: int
    first_label: int
    n_labels: int
    with_labels: bool
    loose: bool


class RowArrays(NamedTuple):
    """What rows are parsed into."""

    feature_ids: Ints32
    values: Floats32
    feature_ends: Ints64
    label_ids: Ints32
    label_ends: Ints64


@njit(nogil=True, cache=True)
def count_marks(block: Bytes) -> tuple[int, int, int]:
    """Line feeds, colons and commas in a block: upper bounds for rows, features and labels."""
    lines, colons, commas = 0, 0, 0
    for byte in block:
        lines += byte == _LINE_FEED
        colons += byte == _COLON
        commas += byte == _COMMA
    return lines, colons, commas


@njit(nogil=True, cache=True)
def _byte(block: Bytes, at: int) -> int:
    """The byte at a place, as a signed number; an unsigned index saves Numba's test for negative ones."""
    byte: int = np.int64(block[np.uintp(at)])  # type: ignore[assignment]
    return byte


@njit(nogil=True, cache=True)
def _is_digit(byte: int) -> bool:
    return _ZERO <= byte <= _NINE


@njit(nogil=True, cache=True)
def _is_blank(byte: int) -> bool:
    return byte == _SPACE or byte == _TAB


@njit(nogil=True, cache=True)
def _line_end(block: Bytes, at: int) -> int:
    """Length of the line end at this place (1 or, with a carriage return, 2), or 0."""
    if _byte(block, at) == _LINE_FEED:
        return 1
    return 2 if _byte(block, at) == _RETURN and _byte(block, at + 1) == _LINE_FEED else 0


@njit(nogil=True, cache=True)
def _skip_line(block: Bytes, at: int) -> int:
    while _byte(block, at) != _LINE_FEED:
        at += 1
    return at + 1


@njit(nogil=True, cache=True)
def _read_id(block: Bytes, at: int) -> tuple[int, int]:
    """A whole number and the place behind it; -1 where no digit stands, at least 2³¹ for all too large."""
    if not _is_digit(_byte(block, at)):
        return -1, at
    number = 0
    while _is_digit(_byte(block, at)):
        if number < _ID_LIMIT:
            number = number * 10 + (_byte(block, at) - _ZERO)
        at += 1
    return number, at


@njit(nogil=True, cache=True)
def _read_number(block: Bytes, at: int) -> tuple[np.float32, int]:
    """Value of ``[+-]digits[.digits][e[+-]digits]`` and the place behind it; NaN for anything else."""
    negative = _byte(block, at) == _MINUS
    if negative or _byte(block, at) == _PLUS:
        at += 1
    mantissa, exponent, n_digits, n_dots = 0, 0, 0, 0
    while True:
        byte = _byte(block, at)
        if _is_digit(byte):
            n_digits += 1
            if mantissa < _ALL_DIGITS_KEPT_BELOW:
                mantissa = mantissa * 10 + (byte - _ZERO)
                exponent -= n_dots
            else:
                exponent += 1 - n_dots
        elif byte == _DOT and n_dots == 0:
            n_dots = 1
        else:
            break
        at += 1
    if byte == _LOWER_E or byte == _UPPER_E:
        minus = _byte(block, at + 1) == _MINUS
        power, at = _read_id(block, at + (2 if minus or _byte(block, at + 1) == _PLUS else 1))
        exponent += -power if minus else power
        n_digits = n_digits if power >= 0 else 0
    if n_digits == 0:
        return np.float32(np.nan), at
    value = np.float32(mantissa * _POWERS_OF_TEN[_LAST_POWER + min(max(exponent, -_LAST_POWER), _LAST_POWER)])
    return (-value if negative else value), at


@njit(nogil=True, cache=True)
def _read_labels(block: Bytes, at: int, form: RowFormat, found: RowArrays, used: int) -> tuple[int, int, int]:
    """The labels that open a row: outcome, place (of the error, or behind), label ids used."""
    start, first = at, used
    while True:
        label, behind = _read_id(block, at)
        if _byte(block, behind) == _COLON and used == first:
            return OK, start, first  # the row opens with a feature: it has no labels
        last = _is_blank(_byte(block, behind)) or _line_end(block, behind) > 0
        if not (form.first_label <= label < form.n_labels and (last or _byte(block, behind) == _COMMA)):
            return BAD_LABEL, at, used
        if used >= len(found.label_ids):
            return NO_ROOM, at, used
        found.label_ids[used] = label
        used += 1
        if last:
            return OK, behind, used
        at = behind + 1


@njit(nogil=True, cache=True)
def _read_features(block: Bytes, at: int, form: RowFormat, found: RowArrays, used: int) -> tuple[int, int, int]:
    """Features up to the end of the line: outcome, place, features used."""
    while True:
        while _is_blank(_byte(block, at)):
            at += 1
        ending = _line_end(block, at)
        if ending or (form.loose and _byte(block, at) == _HASH):
            return OK, at + ending if ending else _skip_line(block, at), used
        feature, behind = _read_id(block, at)
        if not (form.first_feature <= feature < form.n_features and _byte(block, behind) == _COLON):
            return BAD_FEATURE, at, used
        value, end = _read_number(block, behind + 1)
        closed = _is_blank(_byte(block, end)) or _line_end(block, end) or (form.loose and _byte(block, end) == _HASH)
        if not (closed and np.isfinite(value)):
            return BAD_VALUE, at, used
        if used >= len(found.values):
            return NO_ROOM, at, used
        found.feature_ids[used], found.values[used] = feature, value
        used += 1
        at = end


@njit(nogil=True, cache=True)
def parse_rows(block: Bytes, form: RowFormat, found: RowArrays) -> tuple[int, int, int, int, int]:
    """Rows ``l,l f:v f:v`` (or ``f:v f:v`` without labels) into the arrays given, which are long enough.

    Returns the outcome, the place of the token at fault, and how many rows, features and labels there are.
    """
    outcome, at, rows, n_used, n_tagged = OK, 0, 0, 0, 0
    while outcome == OK and at < len(block):
        if form.loose and (_line_end(block, at) or _byte(block, at) == _HASH):
            at = _skip_line(block, at)
            continue
        if rows >= len(found.feature_ends):
            return NO_ROOM, at, rows, n_used, n_tagged
        if form.with_labels and not (_is_blank(_byte(block, at)) or _line_end(block, at)):
            outcome, at, n_tagged = _read_labels(block, at, form, found, n_tagged)
        if outcome == OK:
            outcome, at, n_used = _read_features(block, at, form, found, n_used)
        if outcome == OK:
            found.feature_ends[rows], found.label_ends[rows] = n_used, n_tagged
            rows += 1
    return outcome, at, rows, n_used, n_tagged
