"""Files as people have them: separators, encodings, Excel, rows without labels, columns that are mixed up."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest

from data.samples import needs_openpyxl, write_files
from tacit.data.columns import label_line
from tacit.data.dataset import label_lists, with_labels
from tacit.data.load import load_data, stream_samples
from tacit.data.save import save_data
from tacit.errors import DataError, FileError, ParameterError


def table(folder, rows, name="a.csv", *, delimiter=",", encoding="utf-8", before=""):
    content = io.StringIO()
    csv.writer(content, delimiter=delimiter).writerows(rows)
    return write_files(folder, {name: (before + content.getvalue()).encode(encoding)})


@pytest.mark.parametrize(
    ("cells", "separator", "expected"),
    [
        (["a,b", "b,c|d"] + ["a,b"] * 20, ",", ["b", "c|d"]),  # a rare bar belongs to a name
        (["a|b", "Paris, F"] + ["a|c"] * 3 + ["Rome, I"] * 7, "|", ["Paris, F"]),
        (["a; b", "Smith, J; Doe, J"] + ["Smith, J"] * 5, ";", ["Doe, J", "Smith, J"]),
        (["a", "x\ny, z"], "\n", ["x", "y, z"]),
    ],
)
def test_the_separator_is_that_of_the_whole_column(tmp_path, cells, separator, expected):
    data = load_data(table(tmp_path, [["text", "tags"], *([f"t{row}", cell] for row, cell in enumerate(cells))]))
    assert data.columns.separator == separator
    assert label_lists(data)[1] == expected


@pytest.mark.parametrize(("mark", "cell"), [(";", "a,b;c"), ("\\n", "a,b\nc"), (" / ", "a,b / c"), (" ", "a,b c")])
def test_a_separator_that_is_named(tmp_path, mark, cell):
    path = table(tmp_path, [["text", "tags"], ["t", cell], ["u", "d,e"]])
    assert label_lists(load_data(path, label_separator=mark)) == [["a,b", "c"], ["d,e"]]
    with pytest.raises(ParameterError, match="label_separator"):
        load_data(path, label_separator="")


def test_labels_in_several_columns(tmp_path):
    rows = [["text", "tag1", "tag2", "tag3"], ["t", "a, b", "", "c"], ["u", "c", "d", ""], ["v", "", "", ""]]
    path = table(tmp_path, rows)
    data = load_data(path, labels="tag1,tag2,tag3", keep_columns=True)
    assert label_lists(data) == [["a, b", "c"], ["c", "d"], []]
    assert label_lists(load_data(path, labels=["tag1", "tag2"], label_separator=",")) == [["a", "b"], ["c", "d"], []]
    more = with_labels(data, [(1, "e"), (1, "f|g"), (2, "c")])
    save_data(more, tmp_path / "b.csv")
    assert label_lists(load_data(tmp_path / "b.csv", labels="tag1,tag2,tag3")) == [
        ["a, b", "c"], ["c", "d", "e", "f|g"], ["c"]
    ]  # fmt: skip
    assert next(csv.DictReader((tmp_path / "b.csv").read_text().splitlines()))["tag1"] == "a, b"
    save_data(more, tmp_path / "b.jsonl")
    assert label_lists(load_data(tmp_path / "b.jsonl", labels="tag1")) == label_lists(more)


def test_rows_without_labels(tmp_path):
    path = table(tmp_path, [["Text", "Tags"], ["t", "x,y"], ["u", ""], ["u", "x"], ["-", " "]])
    data = load_data(path)
    assert len(data) == len(load_data(path, untagged="negative")) == 4
    assert load_data(path, untagged="skip").texts == ["t", "u"]
    assert label_line(data, "left out") == (
        "labels: column Tags, separated by ',' (2 labels, 1.5 per row); 2 rows without labels, left out; "
        "1 with a blank text; 1 repeated"
    )
    with pytest.raises(ParameterError, match="untagged must be one of skip, negative"):
        load_data(path, untagged="drop")
    names = write_files(tmp_path, {"names.txt": "x\ny\n"})
    with pytest.raises(DataError, match="no row has a label"):
        load_data(table(tmp_path, [["text", "tags"], ["t", ""]]), names, untagged="skip")


CP1252 = "text,tags\nGrüße – „Straße“,Öl\n"


def test_the_remedy_for_another_encoding(tmp_path):
    path = write_files(tmp_path, {"a.csv": CP1252.encode("cp1252")})
    with pytest.raises(FileError, match=r"a\.csv:2: must be text in utf-8.*encoding= .*cp1252"):
        load_data(path)
    data = load_data(path, encoding="cp1252")
    assert (data.texts, data.label_names) == (["Grüße – „Straße“"], ["Öl"])
    assert [text for text, _ in stream_samples(path, encoding="cp1252")] == data.texts
    for wrong in ("cp1253x", "base64", "a\0"):
        with pytest.raises(ParameterError, match="encoding must be"):
            load_data(path, encoding=wrong)
    with pytest.raises(FileError, match=r"a\.csv:2: must be text in ascii"):
        load_data(path, encoding="ascii")


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16(tmp_path, name, encoding):
    import gzip

    content = '{"text": "Grüße", "tags": ["Öl"]}\n' if "jsonl" in name else 'text,tags\r\n"Grü\nße",Öl\r\n'
    raw = f"{'' if encoding == 'utf-16' else chr(0xFEFF)}{content}".encode(encoding)
    path = write_files(tmp_path, {name: gzip.compress(raw) if name.endswith("gz") else raw})
    assert load_data(path).label_names == ["Öl"]
    assert load_data(path, encoding="cp1252").label_names == ["Öl"]  # the mark knows better
    odd = write_files(tmp_path, {name: gzip.compress(raw[:-1]) if name.endswith("gz") else raw[:-1]})
    with pytest.raises(FileError, match="must be text in utf-16"):
        load_data(odd)


def test_semicolons_of_excel(tmp_path):
    rows = [["text", "tags", ""], ["a|b|c", "x,y", ""], ["u", "x", ""]]
    path = table(tmp_path, rows, delimiter=";", before="\ufeff")
    data = load_data(path, keep_columns=True)
    assert (data.texts, label_lists(data)) == (["a|b|c", "u"], [["x", "y"], ["x"]])
    save_data(data, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes().startswith('\ufeff"text";"tags"\n'.encode())
    with pytest.raises(FileError, match="a.csv:3: must have 2 cells"):
        load_data(table(tmp_path, [*rows[:2], ["u", "x", "?"]], delimiter=";"))


def workbook(path, rows):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


@needs_openpyxl
def test_excel(tmp_path):
    import datetime as dt

    rows = [[], ["ID", "Text", "When", "Tags"], [1, "Grüße", dt.datetime(2024, 5, 1), "a; b"], [], [2.0, None, None, 7],
            [2.5, "=1+1", True, "b"], [None, None]]  # fmt: skip
    path = workbook(tmp_path / "a.xlsx", rows)
    data = load_data(path, text="ID,Text,When", keep_columns=True)
    assert data.texts == ["1\nGrüße\n2024-05-01", "2\n\n", "2.5\n\nTrue"]
    assert label_lists(data) == [["a", "b"], ["7"], ["b"]]
    save_data(with_labels(data, [(1, "=c")]), tmp_path / "b.xlsx")
    assert label_lists(load_data(tmp_path / "b.xlsx")) == [["a", "b"], ["7", "=c"], ["b"]]
    with pytest.raises(FileError, match="write .csv"):
        save_data(with_labels(data, [(1, "\x01")]), tmp_path / "c.xlsx")


@needs_openpyxl
@pytest.mark.parametrize(
    "sheet", ["<row r='99999999999'><c r='A1'><v>1</v></c></row>", "<row><c r='ZZZ1'><v>1</v></c></row>" * 4000]
)
def test_excel_files_with_gaps_are_refused(tmp_path, sheet):
    path = workbook(tmp_path / "a.xlsx", [["text", "tags"], ["t", "x"]])
    _replace(path, "xl/worksheets/sheet1.xml", lambda xml: xml.replace("</sheetData>", f"{sheet}</sheetData>"))
    with pytest.raises(FileError, match="unpack|rows"):
        load_data(path)


@needs_openpyxl
def test_excel_files_that_expand_are_refused_unread(tmp_path):
    path = workbook(tmp_path / "a.xlsx", [["text", "tags"], ["t", "x"]])
    _replace(path, "xl/styles.xml", lambda xml: xml + " " * (1 << 25))
    with pytest.raises(FileError, match="max_expansion"):
        load_data(path)
    assert load_data(path, max_expansion=100_000).texts == ["t"]
    path.write_bytes(path.read_bytes()[:-99])
    with pytest.raises(FileError, match="is not a whole Excel file"):
        load_data(path)


def _replace(path, member, change):
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    contents[member] = change(contents[member].decode()).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
