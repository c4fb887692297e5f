"""Words of texts: counted, as stems, in their language."""

from __future__ import annotations

import io
import re
import secrets
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import Stemmer
from scipy import sparse

from tacit.arrays import Ints32, Ints64, UInts32
from tacit.errors import ParameterError, did_you_mean
from tacit.kernels.word_counts import SEPARATOR, count_in_texts

#: Snowball's stemmers by language code.
LANGUAGES = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
_WORD = re.compile(r"\w+")
_SEPARATOR = bytes([SEPARATOR])
_MULTIPLIER = secrets.randbits(63) | 1  # of hash tables, so that nobody can choose texts whose words collide
_stemmers = threading.local()  # a stemmer must not be used by two threads at once


def check_language(code: str | None) -> str | None:
    """A language code that there is a stemmer for; None leaves words as they are."""
    if code is None or code in LANGUAGES:
        return code
    raise ParameterError(
        f"language must be one of {', '.join(LANGUAGES)}, or none for words as they are; got '{code}'"
        f"{did_you_mean(code, LANGUAGES)}"
    )


def words_of(text: str) -> list[str]:
    """The words of a text, in order and in lower case."""
    return _WORD.findall(text.lower())


@dataclass(eq=False)
class Words:
    """Distinct words, as `tacit.kernels.word_counts` stores them; only few of them become strings."""

    chunks: Ints64
    starts: Ints64

    def __len__(self) -> int:
        return len(self.starts) - 1

    def names(self) -> list[str]:
        """The words as strings."""
        return self.chunks.astype("<i8").tobytes().translate(None, b"\0").decode().split()


class Lexicon:
    """The distinct words of several blocks of texts, numbered by their first occurrence."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, words: Words) -> Ints32:
        """The number of each word of a block."""
        return np.array([self._numbers.setdefault(word, len(self._numbers)) for word in words.names()], np.int32)

    def names(self) -> list[str]:
        """The words, by their numbers."""
        return list(self._numbers)


def count_words(texts: Sequence[str]) -> tuple[sparse.csr_matrix, Words]:
    r"""Counts of each distinct word in each text: ``\b\w\w+\b`` in its lower case; words by their first occurrence."""
    buffer = io.BytesIO()
    sizes = [buffer.write(_alone(text).encode("utf-8", "surrogatepass") + _SEPARATOR) for text in texts]
    joined = np.frombuffer(buffer.getbuffer(), np.uint8)
    most = len(joined) // 3 + 2  # words, each with a separator; what is not used takes no memory
    folded = np.empty(2 * max(sizes, default=0) + 8, np.uint8)  # lower case may have half as many bytes more
    chunks, starts = np.empty(len(joined), np.int64), np.empty(most, np.int64)
    ids, counts, row_starts = np.empty(most, np.int32), np.empty(most, np.float32), np.empty(len(texts) + 1, np.int64)
    lower = _lower_case(0x10000 if joined.max(initial=0) < 0xF0 else 0x110000)
    ends = np.cumsum(sizes, dtype=np.int64) - 1
    arrays = folded, chunks, starts, ids, counts, row_starts
    n_words, n_counts = count_in_texts(joined, ends, lower, _MULTIPLIER, *arrays)
    words = Words(chunks[: starts[n_words]].copy(), starts[: n_words + 1].copy())
    entries = counts[:n_counts].copy(), ids[:n_counts].copy(), row_starts
    return sparse.csr_matrix(entries, shape=(len(texts), n_words)), words


def _alone(text: str) -> str:
    """A text in which the lower case of each character is one character and does not depend on its neighbours."""
    return text.lower() if "Σ" in text or "İ" in text else text


@lru_cache(maxsize=2)
def _lower_case(n_characters: int) -> UInts32:
    """The UTF-8 of the lower case of each character as a number, 0 for those in no word."""
    table = np.zeros(n_characters, np.uint32)
    characters = np.arange(n_characters, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for run in _WORD.finditer(characters):
        table[slice(*run.span())] = [int.from_bytes(letter.lower().encode(), "big") for letter in run[0]]
    return table


def stemmed(words: list[str], language: str | None) -> list[str]:
    """The stem of each word; without a language, the words themselves."""
    return words if language is None else list(_stemmer(language).stemWords(words))


#: What makes one root of English stems that differ in spelling or ending: least letters, pattern, replacement.
_ENGLISH_ROOTS = [
    (least, re.compile(pattern), replacement)
    for least, pattern, replacement in (
        (5, "(?<=..)our", "or"), (5, "[ao]e", "e"), (4, "tr$", "ter"), (5, "(?<=...)is$", "iz"),
        (5, "programm", "program"), (5, "ll$", "l"), (6, "(ic|i|e|o|al|er|or|ist|ism)$", ""),
    )
]  # fmt: skip


def roots(stems: Iterable[str], language: str | None) -> list[str]:
    """The root of each stem, which more words share: colour and color, economy and economics. In English only."""
    return [_english_root(stem) for stem in stems] if language == "en" else list(stems)


@lru_cache(maxsize=2**16)
def _english_root(stem: str) -> str:
    for least, pattern, replacement in _ENGLISH_ROOTS:
        if len(stem) >= least:
            stem = pattern.sub(replacement, stem)
    return stem


def _stemmer(language: str) -> Stemmer.Stemmer:
    known = _stemmers.__dict__
    if language not in known:
        known[language] = Stemmer.Stemmer(LANGUAGES[language])
    return known[language]


#: Words that are frequent in a language and rare in others.
_FREQUENT = {
    "en": "the of and to in for with on from by is that", "de": "der die und das von den mit für auf des ein nicht",
    "fr": "le la les des et du une dans pour sur est au", "es": "el los las del una por con para como su y en",
    "it": "il di che della per gli nel alla con sono dei è", "pt": "o os da do das dos uma em para com não ao",
    "nl": "het een van de voor met op zijn aan niet te en", "sv": "och att det som på är för av med den till ett",
    "da": "og af til på det som er den med for ikke et", "no": "og av til på det som er den med for ikke et i",
    "fi": "ja on ei että se oli sekä joka ovat kun mukaan tai", "et": "ja on ei et see oli ning kui mis ka või aga",
    "hu": "a az és hogy nem egy is volt meg van csak", "ro": "și de la în cu pe din care pentru este nu mai",
    "ru": "и в на не с по что для из как это от", "tr": "ve bir bu için ile da olarak çok olan de gibi",
    "lt": "ir yra kad su iš apie bei nuo kaip taip į", "ca": "el els les i amb per una dels que és als del",
}  # fmt: skip
DETECTED = tuple(_FREQUENT)  # languages that can be detected
_LEAST_FRACTION = 0.02  # of the words of texts in a language that are among its frequent ones


def language_scores(texts: Sequence[str], languages: Iterable[str] = DETECTED) -> dict[str | None, float]:
    """How strongly texts point to each language, and to none of them (None); the scores add up to 1."""
    words = [word for text in texts for word in words_of(text)]
    frequent = {code: frozenset(_FREQUENT[code].split()) for code in languages}
    scores: dict[str | None, float] = {
        code: sum(word in listed for word in words) / (len(words) + 1) for code, listed in frequent.items()
    }
    scores[None] = _LEAST_FRACTION
    total = sum(scores.values())
    return {code: score / total for code, score in scores.items()}


def detect_language(texts: Sequence[str]) -> str | None:
    """The language that texts are written in; None if too few of their words are frequent ones of any language."""
    scores = language_scores(texts)
    return max(scores, key=scores.__getitem__)
