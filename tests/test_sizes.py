from __future__ import annotations

import pytest

from tacit.errors import ParameterError
from tacit.sizes import format_seconds, format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("8G", 8 << 30), ("500M", 500 << 20), ("1.5GiB", 3 << 29), ("64 kb", 64 << 10), ("123", 123), (99, 99)],
)
def test_sizes_are_read(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "8 gigs", "-1G", "0", "nan"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ParameterError, match=f"such as 8G or 500M; got '{text}'"):
        parse_size(text)


def test_sizes_and_times_are_shown_as_people_say_them():
    assert [format_size(size) for size in (0, 900, 1536, 12 << 20, 1.4 * 2**30, 5 << 40)] == [
        "0 bytes", "900 bytes", "1.5 KB", "12 MB", "1.4 GB", "5.0 TB",
    ]  # fmt: skip
    assert [format_seconds(s) for s in (0.26, 35.2, 300, 7800)] == ["0.3 s", "35 s", "5 min", "2 h 10 min"]
