"""Files that name columns."""

from __future__ import annotations

import pytest

from data.samples import write_files
from tacit.data.files import Staging
from tacit.data.label_names import read_names, write_names
from tacit.errors import DataError, FileError


def read(tmp_path, text):
    return read_names(write_files(tmp_path, {"names.txt": text}))


def test_one_name_per_line(tmp_path):
    names = read(tmp_path, "b c\r\n a\n\n")
    assert names.names == list(names.columns) == ["b c", " a"]


def test_ids_and_names(tmp_path):
    names = read(tmp_path, "<http://x/1>\tapple\n<http://x/2>\tpear\n")
    assert names.columns == {"http://x/1": 0, "apple": 0, "http://x/2": 1, "pear": 1}


def test_the_vocabulary_of_annif_may_have_notations_and_deprecated_concepts(tmp_path):
    lines = ["<http://x/0>", "<http://x/1>\tapple\tA1", "<http://x/2>\tpear", "<http://x/3>", "<http://x/4>\tplum\tA2"]
    names = read(tmp_path, "\n".join(lines))
    assert names.names == ["apple", "pear", "plum"]
    assert [names.columns[key] for key in ("http://x/1", "A1", "http://x/4", "A2")] == [0, 0, 2, 2]


def test_equal_names_are_told_apart_by_their_ids(tmp_path):
    assert read(tmp_path, "1\tbank\n2\triver\n3\tbank\n").names == ["bank (1)", "river", "bank (3)"]


def test_an_id_goes_before_a_name_spelled_like_it(tmp_path):
    assert read(tmp_path, "1\t2\n2\t1\n").columns == {"1": 0, "2": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n\nb\n", r":2: a name must not be empty"),
        ("a\nb\na\n", r":3: 'a' stands in line 1 already"),
        ("1\ta\n2\n", r":2: must have 2 fields separated by tabs, as line 1; got 1"),
        ("\n\n", r": the file is empty"),
    ],
)
def test_bad_files(tmp_path, text, message):
    with pytest.raises(FileError, match=rf"names\.txt{message}"):
        read(tmp_path, text)


def test_other_names_are_not_overwritten(tmp_path):
    path = write_files(tmp_path, {"labels.txt": "a\nb\n"})
    with Staging() as staging:
        write_names(staging, path, ["a", "b"])
    with pytest.raises(FileError, match=r"labels\.txt: lists other names already; delete it"), Staging() as staging:
        write_names(staging, path, ["b", "a"])
    assert read_names(path).names == ["a", "b"]


@pytest.mark.parametrize("name", ["", "a\tb", "a\nb"])
def test_names_that_do_not_fit_a_line_are_refused(tmp_path, name):
    with pytest.raises(DataError, match="cannot hold the name"), Staging() as staging:
        write_names(staging, tmp_path / "labels.txt", [name])
