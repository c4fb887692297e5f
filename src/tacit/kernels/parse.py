"""Parsing numbers and sparse rows from bytes.

All scanners assume that a block of bytes ends with a line feed. Every loop stops at an unexpected byte, so
none needs to check for the end of the block.

A number is parsed to a float32 that is at most one unit in the last place from the nearest one. What NumPy writes for
a float32 is read back exactly.
"""

from __future__ import annotations

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
BAD_ORDER = 7
TOO_FEW_VALUES = 8
TOO_MANY_VALUES = 9
BAD_ROW = 10
NO_ROOM = 11

# How the values of an ARFF attribute are written.
NUMERIC, BINARY, NAMED = 0, 1, 2

_FINITE, _INFINITE, _NO_NUMBER = 0, 1, 2
_TAB, _LINE_FEED, _RETURN, _SPACE, _DOUBLE_QUOTE, _HASH, _PERCENT, _QUOTE = 9, 10, 13, 32, 34, 35, 37, 39
_PLUS, _COMMA, _MINUS, _DOT, _ZERO, _NINE, _COLON = 43, 44, 45, 46, 48, 57, 58
_UPPER_E, _BACKSLASH, _LOWER_E, _OPEN, _CLOSE = 69, 92, 101, 123, 125

_LAST_POWER = 290
_POWERS_OF_TEN = np.array([float(f"1e{power}") for power in range(-_LAST_POWER, _LAST_POWER + 1)])
_ALL_DIGITS_KEPT_BELOW = 10**17
_LARGEST_EXACT = 2**53
_TOO_LARGE = 2.0**128 - 2.0**103  # halfway between the largest float32 and what would follow
_ID_LIMIT = 2**31


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
def _read_labels(
    block: Bytes, at: int, first_label: int, n_labels: int, label_ids: Ints32, used: int
) -> tuple[int, int, int, bool]:
    """The labels that open a row: status, place (of the error, or behind), label ids used, order kept."""
    start, first, previous, ordered = at, used, -1, True
    while True:
        label, behind = _read_id(block, at)
        if _byte(block, behind) == _COLON and used == first:
            return OK, start, first, True  # the row opens with a feature: it has no labels
        last = _is_blank(_byte(block, behind)) or _line_end(block, behind) > 0
        if label < 0 or not (last or _byte(block, behind) == _COMMA):
            return BAD_LABEL, at, used, ordered
        if not first_label <= label < n_labels:
            return LABEL_RANGE, at, used, ordered
        if used >= len(label_ids):
            return NO_ROOM, at, used, ordered
        label_ids[used] = label
        used += 1
        ordered &= label > previous
        previous = label
        if last:
            return OK, behind, used, ordered
        at = behind + 1


@njit(nogil=True, cache=True)
def _note(redo: Ints64, place: int, slot: int, start: int, end: int) -> None:
    redo[place, 0], redo[place, 1], redo[place, 2] = slot, start, end


@njit(nogil=True, cache=True)
def _read_features(
    block: Bytes,
    at: int,
    comments: bool,
    first_feature: int,
    n_features: int,
    feature_ids: Ints32,
    values: Floats32,
    used: int,
) -> tuple[int, int, int, bool]:
    """Features up to the end of the line: status, place, features used, order kept."""
    previous, ordered = -1, True
    while True:
        at = _skip_blanks(block, at)
        ending = _line_end(block, at)
        if ending or (comments and _byte(block, at) == _HASH):
            return OK, at + ending if ending else _skip_line(block, at), used, ordered
        feature, behind = _read_id(block, at)
        if feature < 0 or _byte(block, behind) != _COLON:
            return BAD_FEATURE, at, used, ordered
        if not first_feature <= feature < n_features:
            return FEATURE_RANGE, at, used, ordered
        value, end, outcome = _read_number(block, behind + 1)
        closed = _is_blank(_byte(block, end)) or _line_end(block, end) or (comments and _byte(block, end) == _HASH)
        if outcome == _NO_NUMBER or not closed:
            return BAD_VALUE, at, used, ordered
        if outcome == _INFINITE:
            return INFINITE_VALUE, at, used, ordered
        if used >= len(values):
            return NO_ROOM, at, used, ordered
        feature_ids[used] = feature
        values[used] = value
        used += 1
        ordered &= feature > previous
        previous = feature
        at = end


@njit(nogil=True, cache=True)
def parse_rows(
    block: Bytes,
    with_labels: bool,
    loose: bool,
    first_feature: int,
    n_features: int,
    first_label: int,
    n_labels: int,
    feature_ids: Ints32,
    values: Floats32,
    feature_ends: Ints64,
    label_ids: Ints32,
    label_ends: Ints64,
) -> tuple[int, int, int, int, int, bool, bool]:
    """Rows ``l,l f:v f:v`` (or ``f:v f:v`` without labels) into the arrays given, which are long enough.

    Ids run from `first_…` up to, not including, `n_…`. `loose` rows may end in ``# comments``, and empty lines
    are no rows; otherwise each line is one row.

    Returns status, offset of the error, rows, features, labels, and whether the ids of features and of labels rise
    within every row.
    """
    at, rows, n_used, n_tagged = 0, 0, 0, 0
    status, features_rise, labels_rise = OK, True, True
    while at < len(block):
        if loose and (_line_end(block, at) or _byte(block, at) == _HASH):
            at = _skip_line(block, at)
            continue
        if rows >= len(feature_ends):
            status = NO_ROOM
            break
        if with_labels and not (_is_blank(_byte(block, at)) or _line_end(block, at)):
            status, at, n_tagged, ordered = _read_labels(block, at, first_label, n_labels, label_ids, n_tagged)
            if status != OK:
                break
            labels_rise &= ordered
        status, at, n_used, ordered = _read_features(
            block, at, loose, first_feature, n_features, feature_ids, values, n_used
        )
        if status != OK:
            break
        features_rise &= ordered
        feature_ends[rows] = n_used
        label_ends[rows] = n_tagged
        rows += 1
    return status, at, rows, n_used, n_tagged, features_rise, labels_rise


@njit(nogil=True, cache=True)
def _skip_token(block: Bytes, at: int) -> int:
    """The place behind an ARFF value, quoted or not; a quote that is not closed ends with its line."""
    quote = _byte(block, at)
    if quote == _QUOTE or quote == _DOUBLE_QUOTE:
        at += 1
        while _byte(block, at) != quote and _byte(block, at) != _LINE_FEED:
            at += 2 if _byte(block, at) == _BACKSLASH and _byte(block, at + 1) != _LINE_FEED else 1
        return at + 1 if _byte(block, at) == quote else at
    while _byte(block, at) != _COMMA and _byte(block, at) != _CLOSE and _byte(block, at) != _LINE_FEED:
        at += 1
    return at


@njit(nogil=True, cache=True)
def _read_attribute(block: Bytes, at: int, attribute: int, n_attributes: int) -> tuple[int, int, int]:
    """The attribute number that opens an entry in braces: status, place, number."""
    number, behind = _read_id(block, at)
    if number < 0 or not _is_blank(_byte(block, behind)):
        return BAD_FEATURE, at, number
    if number >= n_attributes:
        return FEATURE_RANGE, at, number
    if number <= attribute:
        return BAD_ORDER, at, number
    return OK, _skip_blanks(block, behind), number


@njit(nogil=True, cache=True)
def _read_arff_row(
    block: Bytes, at: int, kinds: Bytes, ids: Ints32, values: Floats32, used: int, redo: Ints64, n_redo: int
) -> tuple[int, int, int, int]:
    """One row of an ARFF file, dense or in braces: status, place, values used, values to redo."""
    in_braces = _byte(block, at) == _OPEN
    at = _skip_blanks(block, at + 1 if in_braces else at)
    attribute = -1
    more = not (in_braces and _byte(block, at) == _CLOSE)
    while more:
        if in_braces:
            status, at, attribute = _read_attribute(block, at, attribute, len(kinds))
            if status != OK:
                return status, at, used, n_redo
        else:
            attribute += 1
            if attribute >= len(kinds):
                return TOO_MANY_VALUES, at, used, n_redo
        value, behind, outcome = _read_number(block, at)
        after = _byte(block, _skip_blanks(block, behind))
        plain = after == _COMMA or after == _CLOSE or after == _RETURN or after == _LINE_FEED
        if used >= len(values) or n_redo >= len(redo):
            return NO_ROOM, at, used, n_redo
        if kinds[attribute] == NAMED or outcome != _FINITE or not plain:
            value = np.float32(1.0)
            behind = _skip_token(block, at)
            _note(redo, n_redo, used, at, behind)
            n_redo += 1
        elif kinds[attribute] == BINARY and value != 0.0 and value != 1.0:
            return BAD_VALUE, at, used, n_redo
        if value != 0.0:
            ids[used] = attribute
            values[used] = value
            used += 1
        at = _skip_blanks(block, behind)
        more = _byte(block, at) == _COMMA
        if more:
            at = _skip_blanks(block, at + 1)
    if in_braces:
        if _byte(block, at) != _CLOSE:
            return BAD_ROW, at, used, n_redo
        at = _skip_blanks(block, at + 1)
    elif attribute + 1 < len(kinds):
        return TOO_FEW_VALUES, at, used, n_redo
    ending = _line_end(block, at)
    return (OK if ending else BAD_ROW), at + ending, used, n_redo


@njit(nogil=True, cache=True)
def parse_arff_rows(
    block: Bytes, kinds: Bytes, ids: Ints32, values: Floats32, ends: Ints64, redo: Ints64
) -> tuple[int, int, int, int, int]:
    """ARFF data rows, ``1,0,2.5`` or ``{0 1,2 2.5}``, into the arrays given; zeros are left out.

    `kinds` says of each attribute how its values are written. Values of NAMED attributes, and all that are not
    plain numbers, are stored as 1; `redo` gets their index into `values`, and start and end of their text.

    Returns status, offset of the error, rows, values, values to redo.
    """
    at, rows, used, n_redo = 0, 0, 0, 0
    while at < len(block):
        at = _skip_blanks(block, at)
        if _line_end(block, at) or _byte(block, at) == _PERCENT:
            at = _skip_line(block, at)
            continue
        if rows >= len(ends):
            return NO_ROOM, at, rows, used, n_redo
        status, at, used, n_redo = _read_arff_row(block, at, kinds, ids, values, used, redo, n_redo)
        if status != OK:
            return status, at, rows, used, n_redo
        ends[rows] = used
        rows += 1
    return OK, at, rows, used, n_redo
