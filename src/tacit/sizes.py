"""Sizes and times as people write and read them."""

from __future__ import annotations

import math
import re

from tacit.errors import ParameterError


def parse_size(text: str | int) -> int:
    """Bytes of a size such as ``"8G"``, ``"500M"`` or ``"1.5GiB"``; units are powers of 1024."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", str(text), re.IGNORECASE)
    size = float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " ") if match else 0
    if not 0.5 < size < 2**62:
        raise ParameterError(f"a size is a number with K, M, G or T, such as 8G or 500M; got '{text}'")
    return round(size)


def format_size(size: float) -> str:
    """A number of bytes for people, such as ``"1.4 GB"``; units are powers of 1024."""
    power = min(int(math.log(size, 1024)), 4) if size >= 1 else 0
    value = size / 1024**power
    return f"{value:.{0 if power == 0 or value >= 10 else 1}f} {('bytes', 'KB', 'MB', 'GB', 'TB')[power]}"


def parse_seconds(text: str) -> float:
    """Seconds of a time such as ``"90s"``, ``"10m"`` or ``"2h"``."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smh]?)\s*", text, re.IGNORECASE)
    seconds = float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2].lower()] if match else 0.0
    if seconds <= 0:
        raise ParameterError(f"a time is a number with s, m or h, such as 90s, 10m or 2h; got '{text}'")
    return seconds


def format_seconds(seconds: float) -> str:
    """A time for people, such as ``"35 s"`` or ``"2 h 10 min"``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
