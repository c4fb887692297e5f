"""The row parser against Python's own split and float."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reference import parse as reference
from tacit.kernels import parse


def run_rows(text: str | bytes, *, n_features: int = 1000, n_labels: int = 1000, loose: bool = False):
    """Outcome, offset, and rows as the reference gives them."""
    block = np.frombuffer(text.encode() if isinstance(text, str) else text, dtype=np.uint8)
    lines, colons, commas = parse.count_marks(block)
    ids, values = np.empty(colons, np.int32), np.empty(colons, np.float32)
    ends, tags = np.zeros((2, lines), np.int64), np.empty(commas + lines, np.int32)
    form, found = parse.RowFormat(0, n_features, 0, n_labels, True, loose), (ids, values, ends[0], tags, ends[1])
    outcome, offset, n_rows, _, _ = parse.parse_rows(block, form, parse.RowArrays(*found))
    rows, feature, label = [], 0, 0
    for row in range(n_rows):
        pairs = list(zip(ids[feature : ends[0, row]].tolist(), values[feature : ends[0, row]], strict=True))
        rows.append((tags[label : ends[1, row]].tolist(), pairs))
        feature, label = ends[0, row], ends[1, row]
    return outcome, offset, rows


def parsed_value(text: str) -> np.float32:
    outcome, _, rows = run_rows(f"0 0:{text}\n")
    assert outcome == parse.OK
    return rows[0][1][0][1]


def same_bits(left: np.float32, right: np.float32) -> bool:
    return left.tobytes() == right.tobytes()


def is_next_to(left: np.float32, right: np.float32) -> bool:
    bits = [abs(value).view(np.int32) for value in (left, right)]
    return bool(np.signbit(left) == np.signbit(right)) and abs(bits[0] - bits[1]) <= 1


digits = st.text("0123456789", min_size=1, max_size=25)
decimals = st.builds(
    lambda sign, whole, fraction, exponent: f"{sign}{whole}{fraction}{exponent}",
    st.sampled_from(["", "-", "+"]),
    digits,
    st.one_of(st.just(""), digits.map(lambda text: "." + text)),
    st.one_of(st.just(""), st.integers(-60, 12).map(lambda power: f"e{power}")),
).filter(lambda text: np.isfinite(reference.parse_number(text)))


@settings(max_examples=500)
@given(decimals)
@example("-0")
@example("0.1")
@example("1e-45")
@example("1e-46")
@example("7e-46")
@example("1.1754943508222875e-38")
@example("3.4028234e38")
@example("3.4028235677973365e38")
@example("9007199254740993")
@example("0." + "0" * 50 + "1")
@example("1" + "0" * 30)
def test_values_are_the_nearest_or_next_to_it(text):
    assert is_next_to(parsed_value(text), reference.parse_number(text))


@settings(max_examples=300)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_shortest_texts_of_floats_read_back(value):
    assert same_bits(parsed_value(repr(value)), np.float32(value))
    assert same_bits(parsed_value(str(np.float32(value))), np.float32(value))


blank = st.sampled_from([" ", "  ", "\t", " \t "])
ids = st.integers(0, 999)
rows_of_text = st.lists(
    st.builds(
        lambda labels, features, gap, end: ",".join(map(str, labels)) + "".join(gap + f for f in features) + end,
        st.lists(ids, max_size=4),
        st.lists(st.builds(lambda i, v: f"{i}:{v}", ids, decimals), max_size=5),
        blank,
        st.sampled_from(["\n", "\r\n", " \n", "\t\r\n"]),
    ),
    min_size=1,
    max_size=6,
).map("".join)


@given(rows_of_text)
def test_rows_equal_the_reference(text):
    outcome, _, rows = run_rows(text)
    expected = reference.parse_rows(text)
    assert outcome == parse.OK
    assert [tags for tags, _ in rows] == [tags for tags, _ in expected]
    for (_, found), (_, right) in zip(rows, expected, strict=True):
        assert [column for column, _ in found] == [column for column, _ in right]
        assert all(is_next_to(a, b) for (_, a), (_, b) in zip(found, right, strict=True))


def test_a_row_that_opens_with_a_feature_has_no_labels():
    assert run_rows("3:1 4:2\n")[2] == [([], [(3, 1.0), (4, 2.0)])]


def test_loose_rows_skip_blank_lines_and_comments():
    text = "# head\n\n1 2:3 # tail\n\r\n \n2 3:4# close\n"
    assert run_rows(text, loose=True)[2] == [([1], [(2, 3.0)]), ([], []), ([2], [(3, 4.0)])]


@pytest.mark.parametrize(
    ("text", "status", "offset"),
    [
        ("1 2:3 x\n", parse.BAD_FEATURE, 6),
        ("1 -2:3\n", parse.BAD_FEATURE, 2),
        ("1 2:3\r4:5\n", parse.BAD_VALUE, 2),
        ("1 1000:3\n", parse.BAD_FEATURE, 2),
        ("1 99999999999999999999999:3\n", parse.BAD_FEATURE, 2),
        ("1,x 2:3\n", parse.BAD_LABEL, 2),
        ("1,,2 2:3\n", parse.BAD_LABEL, 2),
        ("-1 2:3\n", parse.BAD_LABEL, 0),
        ("1000 2:3\n", parse.BAD_LABEL, 0),
        ("1 2:\n", parse.BAD_VALUE, 2),
        ("1 2:x\n", parse.BAD_VALUE, 2),
        ("1 2:nan\n", parse.BAD_VALUE, 2),
        ("1 2:1_000\n", parse.BAD_VALUE, 2),
        ("1 2:.\n", parse.BAD_VALUE, 2),
        ("1 2:1e\n", parse.BAD_VALUE, 2),
        ("1 2:3:4\n", parse.BAD_VALUE, 2),
        ("1 2:3 # no comments here\n", parse.BAD_FEATURE, 6),
        ("1 2:1e39\n", parse.BAD_VALUE, 2),
        ("0 1:1\n0 2:x\n", parse.BAD_VALUE, 8),
    ],
)
def test_errors_point_at_the_token(text, status, offset):
    assert run_rows(text)[:2] == (status, offset)


def test_arrays_that_are_too_short_are_never_overrun():
    block = np.frombuffer(b"1,2 3:4 5:6\n1 2:3\n", dtype=np.uint8)
    for n_ids, n_rows, n_tags in ((1, 9, 9), (9, 1, 9), (9, 9, 1)):
        ids, values = np.empty(n_ids, np.int32), np.empty(n_ids, np.float32)
        ends, tags = np.empty((2, n_rows), np.int64), np.empty(n_tags, np.int32)
        form, found = parse.RowFormat(0, 100, 0, 100, True, False), (ids, values, ends[0], tags, ends[1])
        status, *_ = parse.parse_rows(block, form, parse.RowArrays(*found))
        assert status == parse.NO_ROOM
