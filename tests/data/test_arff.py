"""Mulan ARFF files."""

from __future__ import annotations

import numpy as np
import pytest

from data.samples import assert_sound, numeric_dataset, write_files
from tacit.data.load import load_data
from tacit.data.save import save_data
from tacit.errors import FileError, ParameterError

XML = (
    '<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">'
    '<label name="red"><label name="dark red"/></label></labels>\n'
)
HEADER = """% a comment
@RELATION 'some: thing'

@attribute red {0,1}
@attribute 'it\\'s wide' numeric
@Attribute "dark red" {'0', '1'}
@attribute size {small, large} % another
@attribute grade {0,5,7}
"""
DENSE = "1,2.5,0,large,0\n0, 0 ,1,small,7\n"
SPARSE = "{0 1,1 2.5,3 large}\n{2 1, 4 7}\n"


def load(tmp_path, header=HEADER, rows=DENSE, xml=XML, **options):
    write_files(tmp_path, {"colours.xml": xml})
    return load_data(write_files(tmp_path, {"colours-train.arff": f"{header}@data\n{rows}"}), **options)


@pytest.mark.parametrize("rows", [DENSE, SPARSE, "% note\n\n" + SPARSE.replace("\n", "\r\n"), DENSE.rstrip("\n")])
def test_rows_dense_and_sparse(tmp_path, rows):
    data = load(tmp_path, rows=rows)
    assert_sound(data)
    assert data.label_names == ["red", "dark red"]
    assert data.feature_names == ["it's wide", "size", "grade"]
    np.testing.assert_array_equal(data.X.toarray(), [[2.5, 1, 0], [0, 0, 7]])
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0], [0, 1]])


def test_labels_from_a_list_in_its_order(tmp_path):
    names = write_files(tmp_path, {"names.txt": "dark red\nred\n"})
    data = load(tmp_path, labels_path=names)
    assert data.label_names == ["dark red", "red"]
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 1], [1, 0]])


def test_it_is_not_written(tmp_path):
    with pytest.raises(ParameterError, match="arff can be read, but not written"):
        save_data(numeric_dataset(), tmp_path / "a.arff")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ("1,2,0,large\n", 10),
        ("1,2,0,large,0,1\n", 10),
        ("\n{0 1,9 1}\n", 11),
        ("{1 2,0 1}\n", 10),
        ("{1 1,1 1}\n", 10),
        ("{1}\n", 10),
        ("{-1 1}\n", 10),
        ("{1 1,}\n", 10),
        ("{1 1} 2\n", 10),
        ("{0 1,1 2\n", 10),
        ("1,wide,0,large,0\n", 10),
        ("1,nan,0,large,0\n", 10),
        ("1,1e39,0,large,0\n", 10),
        ("1,?,0,large,0\n", 10),
        ("1,2,0,huge,0\n", 10),
        ("1,2,0,'large,0\n", 10),
        ("2,2,0,large,0\n", None),
        ("", None),
    ],
)
def test_bad_rows(tmp_path, rows, line):
    with pytest.raises(FileError) as caught:
        load(tmp_path, rows=rows)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"header": HEADER.replace("red {0,1}", "red {a,b}"), "rows": "a,1,0,large,0\n"}, r"label 'red' must have"),
        ({"header": HEADER.replace("numeric", "string")}, r"arff:5: must be"),
        ({"header": HEADER + "@attribute red {0,1}\n"}, r"arff:9: attribute 'red'.*is declared twice"),
        ({"header": HEADER + "junk\n"}, r"arff:9: must be @relation, .*; got 'junk'"),
        ({"xml": XML.replace('"red"', '"redd"')}, r"xml: label 'redd' is not an attribute .*did you mean 'red'"),
        ({"xml": "<labels/>"}, r"xml: must hold elements"),
        ({"xml": '<l><label name="red"/><label name="red"/></l>'}, r"xml: must hold elements"),
        (
            {"header": "@attribute red {0,1}\n@attribute 'dark red' {0,1}\n", "rows": "0,1\n"},
            r"all attributes are labels",
        ),
    ],
)
def test_bad_files(tmp_path, change, message):
    with pytest.raises(FileError, match=message):
        load(tmp_path, **change)


def test_the_xml_is_asked_for(tmp_path):
    path = write_files(tmp_path, {"a-train.arff": HEADER + "@data\n" + DENSE})
    with pytest.raises(FileError, match=r"named in a-train\.xml or a\.xml beside it; give the XML"):
        load_data(path)


def test_a_file_without_data_line(tmp_path):
    with pytest.raises(FileError, match=r"has no @data line; the file may be cut off"):
        load_data(write_files(tmp_path, {"a.arff": HEADER}))
