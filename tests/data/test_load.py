"""How the loader tells formats apart."""

from __future__ import annotations

import pytest

from data.samples import write_files
from tacit.data.load import detect_format, load_data
from tacit.errors import FileError


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", "2 3 4\n", "xmc"),
        ("a.dat", "2\t3\t4\r\n", "xmc"),
        ("a", "\ufeff2 3 4\n", "xmc"),
        ("a.txt", "2 3\n", "xmc-pair"),
        ("a.txt", "0,1 2:3\n", "svmlight"),
        ("a.txt", " 2:3\n", "svmlight"),
        ("a.txt", "2:3 4:5\n", "svmlight"),
        ("a.txt", "1 # comment\n", "svmlight"),
        ("a.txt", "__label__a text\n", "fasttext"),
        ("a.txt", '{"text": 1}\n', "jsonl"),
        ("a.txt", "@RELATION x\n", "arff"),
        ("a.txt", "% comment\n", "arff"),
        ("a.txt", "text\t<http://a>\n", "annif"),
        ("a.tsv", "text\t<http://a> <b>\n", "annif"),
        ("a.tsv", "text\tlabels\n", "tsv"),
        ("a.CSV", "1 2 3\n", "csv"),
        ("a.jsonl", "junk\n", "jsonl"),
        ("a.arff", "junk\n", "arff"),
        ("a.svm", "2 3 4\n", "svmlight"),
        ("a.npz", "PK", "npz"),
    ],
)
def test_detection(tmp_path, name, content, expected):
    assert detect_format(write_files(tmp_path, {name: content})).name == expected


@pytest.mark.parametrize("content", ["hello world\n", "a,b\n", b"\x00\x01\xff\n", "-1 2 3\n"])
def test_unknown_content_asks_for_the_format(tmp_path, content):
    with pytest.raises(FileError, match=r"a\.txt:1: the first line fits no known format; name the format, one of xmc"):
        load_data(write_files(tmp_path, {"a.txt": content}))
