"""The table of formats and how a file shows which it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from data.samples import numeric_dataset, text_dataset, write_files
from tacit.data.formats import FORMATS, detect_format, format_to_write, named_format
from tacit.data.load import load_data
from tacit.data.save import save_data
from tacit.errors import FileError, ParameterError


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


def test_names_of_formats():
    assert named_format("XMC_pair").name == "xmc-pair"
    with pytest.raises(ParameterError, match=r"format must be one of .*; got 'svmligth' .did you mean 'svmlight'"):
        named_format("svmligth")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.txt", "xmc"), ("a.txt.gz", "xmc"), ("t_X_Xf.txt", "xmc-pair"), ("a.tsv", "tsv"), ("a.libsvm", "libsvm")],
)
def test_the_format_to_write_follows_from_the_name(tmp_path, name, expected):
    assert format_to_write(tmp_path / name).name == expected


def test_a_name_without_suffix_does_not_say_what_to_write(tmp_path):
    with pytest.raises(ParameterError, match=r"'data' does not say which format to write; name it, one of"):
        save_data(numeric_dataset(), tmp_path / "data")


@pytest.mark.parametrize("entry", FORMATS.values(), ids=lambda entry: entry.name)
def test_each_format_writes_what_it_reads(tmp_path, entry):
    data = text_dataset() if entry.is_text else numeric_dataset()
    path, *_ = save_data(data, tmp_path / "a_X_Xf.gz", format=entry.name)
    back = load_data(path, format=entry.name)
    assert (back.X is None) == entry.is_text
    assert back.Y.shape == data.Y.shape


def test_the_table_imports_no_heavy_package():
    script = "import sys, tacit.data.formats; print({'scipy', 'numba', 'sklearn'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "set()"
