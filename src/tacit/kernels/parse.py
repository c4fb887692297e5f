"""Parsing numbers and sparse rows from bytes.

All scanners assume that a block of bytes ends with a line feed. Every loop stops at an unexpected byte, so
none needs to check for the end of the block.

A number is parsed to a float32 that is at most one unit in the last place from the nearest one. What NumPy writes for
a float32 is read back exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tacit.arrays import Bytes, Floats32, Ints32, Ints64

# What became of a block. The offset that comes with an error points at the token at fault.
OK = 0
BAD_FEATURE = 1
FEATURE_RANGE = 2
BAD_LABEL = 3
LABEL_RANGE = 4
BAD_VALUE = 5
INFINITE_VALUE = 6
NO_ROOM = 7

_FINITE, _INFINITE, _NO_NUMBER = 0, 1, 2
_TAB, _LINE_FEED, _RETURN, _SPACE, _HASH = 9, 10, 13, 32, 35
_PLUS, _COMMA, _MINUS, _DOT, _ZERO, _NINE, _COLON = 43, 44, 45, 46, 48, 57, 58
_UPPER_E, _LOWER_E = 69, 101

_LAST_POWER = 290
_POWERS_OF_TEN = np.array([float(f"1e{power}") for power in range(-_LAST_POWER, _LAST_POWER + 1)])
_ALL_DIGITS_KEPT_BELOW = 10**17
_LARGEST_EXACT = 2**53
_TOO_LARGE = 2.0**128 - 2.0**103  # halfway between the largest float32 and what would follow
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
def _skip_blanks(block: Bytes, at: int) -> int:
    while _is_blank(_byte(block, at)):
        at += 1
    return at


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
def _round_decimal(mantissa: int, exponent: int) -> tuple[np.float32, int]:
    """``mantissa · 10^exponent`` as float32; the digits beyond the 18th may be cut off."""
    if mantissa == 0 or exponent < -_LAST_POWER:
        return np.float32(0.0), _FINITE
    if exponent > _LAST_POWER:
        return np.float32(0.0), _INFINITE
    # Clinger's fast path: both operands are exact in double precision, so one rounding is the right one.
    if mantissa <= _LARGEST_EXACT and -22 <= exponent < 0:
        value = mantissa / _POWERS_OF_TEN[_LAST_POWER - exponent]
    else:
        value = mantissa * _POWERS_OF_TEN[_LAST_POWER + exponent]
    return np.float32(value), _FINITE if value < _TOO_LARGE else _INFINITE


@njit(nogil=True, cache=True)
def _read_number(block: Bytes, at: int) -> tuple[np.float32, int, int]:
    """Value, place behind it and outcome of ``[+-]digits[.digits][e[+-]digits]``."""
    negative = _byte(block, at) == _MINUS
    if negative or _byte(block, at) == _PLUS:
        at += 1
    mantissa, exponent, digits = 0, 0, 0
    while _is_digit(_byte(block, at)):
        if mantissa < _ALL_DIGITS_KEPT_BELOW:
            mantissa = mantissa * 10 + (_byte(block, at) - _ZERO)
        else:
            exponent += 1
        digits += 1
        at += 1
    if _byte(block, at) == _DOT:
        at += 1
        while _is_digit(_byte(block, at)):
            if mantissa < _ALL_DIGITS_KEPT_BELOW:
                mantissa = mantissa * 10 + (_byte(block, at) - _ZERO)
                exponent -= 1
            digits += 1
            at += 1
    if digits == 0:
        return np.float32(0.0), at, _NO_NUMBER
    if _byte(block, at) == _LOWER_E or _byte(block, at) == _UPPER_E:
        at += 1
        minus = _byte(block, at) == _MINUS
        if minus or _byte(block, at) == _PLUS:
            at += 1
        power, at = _read_id(block, at)
        if power < 0:
            return np.float32(0.0), at, _NO_NUMBER
        exponent += -power if minus else power
    value, outcome = _round_decimal(mantissa, exponent)
    return (-value if negative else value), at, outcome


@njit(nogil=True, cache=True)
def _read_labels(block: Bytes, at: int, form: RowFormat, found: RowArrays, used: int) -> tuple[int, int, int, bool]:
    """The labels that open a row: status, place (of the error, or behind), label ids used, order kept."""
    start, first, previous, ordered = at, used, -1, True
    while True:
        label, behind = _read_id(block, at)
        if _byte(block, behind) == _COLON and used == first:
            return OK, start, first, True  # the row opens with a feature: it has no labels
        last = _is_blank(_byte(block, behind)) or _line_end(block, behind) > 0
        if label < 0 or not (last or _byte(block, behind) == _COMMA):
            return BAD_LABEL, at, used, ordered
        if not form.first_label <= label < form.n_labels:
            return LABEL_RANGE, at, used, ordered
        if used >= len(found.label_ids):
            return NO_ROOM, at, used, ordered
        found.label_ids[used] = label
        used += 1
        ordered &= label > previous
        previous = label
        if last:
            return OK, behind, used, ordered
        at = behind + 1


@njit(nogil=True, cache=True)
def _read_features(block: Bytes, at: int, form: RowFormat, found: RowArrays, used: int) -> tuple[int, int, int, bool]:
    """Features up to the end of the line: status, place, features used, order kept."""
    previous, ordered = -1, True
    while True:
        at = _skip_blanks(block, at)
        ending = _line_end(block, at)
        if ending or (form.loose and _byte(block, at) == _HASH):
            return OK, at + ending if ending else _skip_line(block, at), used, ordered
        feature, behind = _read_id(block, at)
        if feature < 0 or _byte(block, behind) != _COLON:
            return BAD_FEATURE, at, used, ordered
        if not form.first_feature <= feature < form.n_features:
            return FEATURE_RANGE, at, used, ordered
        value, end, outcome = _read_number(block, behind + 1)
        closed = _is_blank(_byte(block, end)) or _line_end(block, end) or (form.loose and _byte(block, end) == _HASH)
        if outcome == _NO_NUMBER or not closed:
            return BAD_VALUE, at, used, ordered
        if outcome == _INFINITE:
            return INFINITE_VALUE, at, used, ordered
        if used >= len(found.values):
            return NO_ROOM, at, used, ordered
        found.feature_ids[used] = feature
        found.values[used] = value
        used += 1
        ordered &= feature > previous
        previous = feature
        at = end


@njit(nogil=True, cache=True)
def parse_rows(block: Bytes, form: RowFormat, found: RowArrays) -> tuple[int, int, int, int, int, bool, bool]:
    """Rows ``l,l f:v f:v`` (or ``f:v f:v`` without labels) into the arrays given, which are long enough.

    Returns status, offset of the error, rows, features, labels, and whether the ids of features and of labels rise
    within every row.
    """
    at, rows, n_used, n_tagged = 0, 0, 0, 0
    status, features_rise, labels_rise = OK, True, True
    while at < len(block):
        if form.loose and (_line_end(block, at) or _byte(block, at) == _HASH):
            at = _skip_line(block, at)
            continue
        if rows >= len(found.feature_ends):
            status = NO_ROOM
            break
        if form.with_labels and not (_is_blank(_byte(block, at)) or _line_end(block, at)):
            status, at, n_tagged, ordered = _read_labels(block, at, form, found, n_tagged)
            if status != OK:
                break
            labels_rise &= ordered
        status, at, n_used, ordered = _read_features(block, at, form, found, n_used)
        if status != OK:
            break
        features_rise &= ordered
        found.feature_ends[rows] = n_used
        found.label_ends[rows] = n_tagged
        rows += 1
    return status, at, rows, n_used, n_tagged, features_rise, labels_rise
