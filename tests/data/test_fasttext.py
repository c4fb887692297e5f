"""fastText files."""

from __future__ import annotations

import pytest

from data.samples import assert_sound, csr, write_files
from tacit.data.dataset import Dataset, label_lists
from tacit.data.load import load_data
from tacit.data.save import save_data
from tacit.errors import DataError, FileError


def test_labels_are_words_with_the_prefix(tmp_path):
    text = "__label__b __label__a  some  text\n\nno labels\n__label__a\nlast __label__c word\n"
    data = load_data(write_files(tmp_path, {"a.txt": text}))
    assert_sound(data)
    assert data.texts == ["some text", "no labels", "", "last word"]
    assert label_lists(data) == [["a", "b"], [], ["a"], ["c"]]


def test_blanks_in_labels_and_texts(tmp_path):
    data = Dataset(None, csr([[1, 1]]), ["50% off", "machine learning"], texts=["two\nlines\tof text"])
    (path,) = save_data(data, tmp_path / "a.ft.gz")
    back = load_data(path)
    assert back.texts == ["two lines of text"]
    assert back.label_names == data.label_names


@pytest.mark.parametrize(
    ("text", "message"),
    [("__label__a x\n__label__ x\n", r":2: '__label__' must be followed by a label"), ("\n \n", "has no rows")],
)
def test_bad_files(tmp_path, text, message):
    with pytest.raises(FileError, match=message):
        load_data(write_files(tmp_path, {"a.ft": text}))


@pytest.mark.parametrize(
    ("text", "message"), [("a __label__b", "starts with '__label__'"), (" ", "neither labels nor text")]
)
def test_what_the_format_cannot_hold_is_refused(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        save_data(Dataset(None, csr([[0]]), ["x"], texts=[text]), tmp_path / "a.ft")
    assert list(tmp_path.iterdir()) == []
