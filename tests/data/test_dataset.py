"""Files that keep their columns when they are written again."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.samples import csr, needs_pyarrow, write_files
from tacit.data.dataset import Dataset, label_lists, with_labels
from tacit.data.load import load_data
from tacit.data.save import save_data
from tacit.data.split import hide_positives

CSV = 'id,title,body,tags\n1,Red,"apple, ripe",fruit;red\n2,Fast,car,"Smith, J"\n3,None,,\n'


def kept(folder, name, content, **options):
    return load_data(write_files(folder, {name: content}), keep_columns=True, **options)


def test_a_table_goes_out_as_it_came(tmp_path):
    save_data(kept(tmp_path, "a.csv", CSV), tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == (
        '"id","title","body","tags"\n"1","Red","apple, ripe","fruit;red"\n'
        '"2","Fast","car","Smith, J"\n"3","None","",""\n'
    )


def test_a_part_whose_cells_would_be_read_differently_has_lists(tmp_path):
    """The semicolon that tells that commas belong to names is in the other part."""
    part = kept(tmp_path, "a.csv", CSV).rows(np.array([1, 2]))
    save_data(part, tmp_path / "b.csv")
    assert '"[""Smith, J""]"' in (tmp_path / "b.csv").read_text()
    assert label_lists(load_data(tmp_path / "b.csv")) == [["Smith, J"], []]


def test_labels_that_change(tmp_path):
    data = kept(tmp_path, "a.csv", CSV)
    save_data(with_labels(data, [(2, "new"), (0, "new")]), tmp_path / "b.csv")
    rows = (tmp_path / "b.csv").read_text().splitlines()
    assert rows[1:] == ['"1","Red","apple, ripe","fruit;red;new"', '"2","Fast","car","Smith, J"', '"3","None","","new"']
    save_data(replace(data, Y=hide_positives(data.Y, 1.0)), tmp_path / "c.csv", tmp_path / "names.txt")
    hidden = load_data(tmp_path / "c.csv", tmp_path / "names.txt", text="title,body", labels="tags")
    assert hidden.Y.nnz == 0
    assert hidden.texts == data.texts


def test_lists_and_objects_of_json(tmp_path):
    subjects = [{"uri": "http://x/1", "label": "river"}, {"label": "sea"}]
    records = [{"doc": 7, "text": "a", "subjects": subjects}, {"text": "b", "extra": {"n": None}}]
    content = "".join(json.dumps(record) + "\n" for record in records)
    data = kept(tmp_path, "a.jsonl", content)
    save_data(data, tmp_path / "b.jsonl")
    assert (tmp_path / "b.jsonl").read_text() == content
    save_data(with_labels(data, [(1, "sea")]), tmp_path / "c.jsonl")
    assert [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()] == [
        records[0], {"text": "b", "extra": {"n": None}, "subjects": ["sea"]}
    ]  # fmt: skip
    save_data(data, tmp_path / "d.csv")
    assert label_lists(load_data(tmp_path / "d.csv")) == label_lists(data)
    assert load_data(tmp_path / "d.csv", text="doc", labels="subjects").texts[0] == "7"


def test_ids_of_a_vocabulary_stay_ids(tmp_path):
    write_files(tmp_path, {"names.tsv": "<http://x/1>\triver\n<http://x/2>\tsea\n"})
    data = kept(tmp_path, "a.csv", "text,labels\nt,http://x/1 http://x/2\nu,http://x/2\n",
                labels_path=tmp_path / "names.tsv")  # fmt: skip
    assert data.label_names == ["river", "sea"]
    save_data(data, tmp_path / "b.csv")
    assert '"http://x/1 http://x/2"' in (tmp_path / "b.csv").read_text()


@needs_pyarrow
def test_parquet_keeps_types_and_cells(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"n": [1, 2], "text": ["a", "b"], "tags": ["x;y", "y"], "more": [[1.5], None]}
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    data = load_data(tmp_path / "a.parquet", keep_columns=True)
    assert label_lists(data) == [["x", "y"], ["y"]]
    save_data(with_labels(data, [(1, "x")]), tmp_path / "b.parquet")
    assert parquet.read_table(tmp_path / "b.parquet").to_pydict() == {**columns, "tags": ["x;y", "x;y"]}
    lists = pa.table({"text": ["a", "b", "c"], "labels": [["x", "y|z"], [], None]})
    parquet.write_table(lists, tmp_path / "c.parquet")
    assert label_lists(load_data(tmp_path / "c.parquet")) == [["x", "y|z"], [], []]


characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0" if sys.version_info < (3, 11) else "")
names = st.text(characters, min_size=1, max_size=8)
columns = st.text(characters, max_size=6)


@pytest.mark.parametrize("name", ["b.jsonl", "b.csv", "b.tsv"])
@given(st.lists(st.tuples(columns, columns, st.sets(names, max_size=3)), min_size=2, max_size=5), st.data())
def test_any_part_is_read_as_the_same(tmp_path_factory, name, samples, draw):
    """Whatever the names: no part of a file may be read with other labels than the file itself."""
    if not any(labels for *_, labels in samples):
        samples[0][2].add("x")
    folder = tmp_path_factory.mktemp("part")
    known = sorted({label for *_, labels in samples for label in labels})
    Y = csr([[float(label in labels) for label in known] for *_, labels in samples])
    save_data(Dataset(None, Y, known, texts=[text for text, *_ in samples]), folder / "a.csv")
    data = load_data(folder / "a.csv", keep_columns=True)
    rows = np.array(draw.draw(st.lists(st.sampled_from(range(len(samples))), min_size=1, unique=True)))
    part = data.rows(rows)
    if part.Y.nnz:
        save_data(part, folder / name)
        assert label_lists(load_data(folder / name)) == label_lists(part)
        assert load_data(folder / name).texts == part.texts
