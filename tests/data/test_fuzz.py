"""Damaged files: thousands of small mutations, never a crash, a hang or a wrong success."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from data.samples import assert_sound, formats, numeric_dataset, text_dataset
from tacit.data.dataset import Dataset
from tacit.data.formats import FORMATS
from tacit.data.load import load_data
from tacit.data.save import save_data
from tacit.errors import DataError

ROUNDS = 700
#: Bytes that mean something to one of the parsers, so that insertions hit more than the first check.
TELLING = b"0123456789:,.;|-+eE \t\r\n#%{}[]'\"\\<>@?/_\x00\xff\xef\xbb\xbfnaif"


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with one to three bytes flipped, deleted, inserted, repeated or cut off."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(0, len(data) + 1))
        kind = rng.integers(0, 6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            del data[at : at + int(rng.integers(1, 5))]
        elif kind == 2:
            data.insert(at, TELLING[rng.integers(0, len(TELLING))])
        elif kind == 3 and at < len(data):
            data[at] = TELLING[rng.integers(0, len(TELLING))]
        elif kind == 4:
            data[at:at] = data[at : at + int(rng.integers(1, 30))]
        elif rng.random() < 0.3:
            del data[at:]
    return bytes(data)


def replace_content(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)  # far faster than cutting off a file that exists
    path.write_bytes(content)


def load_or_refuse(path: Path, **options: str) -> Dataset | DataError:
    """What loading gives, if it is one of the two things it may give."""
    try:
        return load_data(path, **options)
    except DataError as error:
        return error


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", formats())
def test_mutated_files(tmp_path, name, packed):
    """15 formats · 700 mutations, and a third as many of the packed bytes: 14,000 in all."""
    entry = FORMATS[name]
    rng = np.random.default_rng(list(name.encode()))
    source = text_dataset() if entry.is_text else numeric_dataset()
    written = save_data(source, tmp_path / f"a_X_Xf{'.gz' if packed else ''}", format=name)
    path = written[0]
    own = [file for file in written if file.name not in ("labels.txt", "features.txt", "labels.tsv")]
    originals = {file: file.read_bytes() for file in own}
    n_refused = 0
    for _ in range(ROUNDS // 3 if packed else ROUNDS):
        victim = own[rng.integers(0, len(own))]
        content = mutated(originals[victim], rng)
        replace_content(victim, content)
        result = load_or_refuse(path, format=name)
        if isinstance(result, DataError):
            n_refused += 1
            assert str(result).isprintable()
        else:
            assert_sound(result)

        if len(own) > 1:  # otherwise the next round overwrites it
            replace_content(victim, originals[victim])
    assert n_refused > 0
    replace_content(victim, originals[victim])
    load_data(path, format=name)  # the original still reads
