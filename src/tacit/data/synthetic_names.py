"""Names for made-up labels and features: readable, all different, and a function of their number alone."""

from __future__ import annotations

from collections.abc import Iterable

FIELDS = (  # noqa: SIM905 - a list literal takes a line per word
    "archaeology astronomy ballet beekeeping botany canals ceramics chess climatology coins composting costume "
    "cycling dairying dialects earthquakes embroidery falconry ferries fisheries folklore forestry fossils "
    "gardens geology glaciers glassmaking harbours heraldry horses insects irrigation kites lighthouses "
    "lichens linguistics locks maps masonry meteorology mills mosaics navigation opera orchards ornithology "
    "painting papermaking pilgrimage poetry pottery printing railways rivers sailing sculpture shipbuilding "
    "tapestry theatre tides typography viticulture volcanoes weaving whales"
).split()
QUALITIES = (  # noqa: SIM905
    "abandoned alpine amateur ancient applied arctic autumn baltic baroque celtic civic coastal colonial "
    "communal comparative contemporary courtly domestic eastern endangered everyday experimental extinct "
    "festive forgotten gothic hidden illustrated imperial indoor industrial inland island itinerant "
    "maritime medieval miniature modern monastic montane municipal mythical nocturnal nomadic nordic ornamental "
    "pastoral portable prehistoric provincial public rare regional religious renaissance restored royal rural "
    "sacred seasonal secular small southern subterranean sustainable symbolic theoretical traditional tropical "
    "underwater unfinished urban vernacular victorian vintage western wild winter wooden young"
).split()
SYLLABLES = [consonant + vowel for consonant in "bdfghjklmnprstvz" for vowel in "aeiou"]


def label_name(topic: int, position: int, topic_size: int) -> str:
    """Qualities and a field, such as ``coastal maps``; labels of one topic share the field."""
    round_, field = divmod(topic, len(FIELDS))
    return " ".join([*_spell(round_ * topic_size + position, QUALITIES), FIELDS[field]])


def feature_names(ids: Iterable[int]) -> list[str]:
    """Words that can be spoken, such as ``bakelo``, of three syllables or more."""
    shortest = len(SYLLABLES) + len(SYLLABLES) ** 2  # the number of words that have one or two syllables
    return ["".join(_spell(shortest + _scattered(number), SYLLABLES)) for number in ids]


def _scattered(number: int) -> int:
    """Another number, one to one, such that neighbours do not spell alike."""
    group = len(SYLLABLES) ** 3
    return number - number % group + number % group * 104_729 % group  # a prime, so no two collide


def _spell(number: int, parts: list[str]) -> list[str]:
    """The digits of `number` in the base of `parts`, counted from 1, so that no two numbers spell alike."""
    digits = []
    number += 1
    while number:
        number, digit = divmod(number - 1, len(parts))
        digits.append(parts[digit])
    return digits[::-1]
