"""Files of up to a megabyte that would cost a parser seconds or gigabytes, end it, or leave it with a traceback."""

from __future__ import annotations

import io
import json
import struct
import sys
import zipfile
from collections.abc import Callable

import numpy as np
import pytest

from attack.test_files import RDF, SKOS, SMALL_X, assert_cheap, csr_parts, npz, rdf_xml

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the reader measures as Linux does")

#: A Turtle file with a concept and then …
NAMED = f'<http://a> a <{SKOS}Concept>; <{SKOS}prefLabel> "a". <http://a> <http://b> '.encode()
LINKED = b"<http://a> <http://b> "
IN_JSON = b'{"@id": "http://a", "http://b": '


def in_rdf(inside: str, attributes: str = "") -> bytes:
    return f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:s="{SKOS}" {attributes}>{inside}</rdf:RDF>'.encode()


def times(n: int, pattern: str) -> str:
    """A pattern with the numbers from 0 to n."""
    return "".join(pattern.replace("~", str(number)) for number in range(n))


#: Up to a megabyte that costs an RDF parser seconds or gigabytes, or ends it; read, or refused for the reason.
HEAVY_VOCABULARIES: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "one IRI": ("a.nt", lambda: b"<http://a/" + b"b" * (4 << 20), "is not valid"),
    "escapes": ("a.ttl", lambda: NAMED + rb'"' + rb"\u0041" * 80_000 + rb"\\" * 200_000 + b'".', ""),
    "text of lines": ("a.ttl", lambda: LINKED + b'"""' + b"a\n" * 400_000, "is not valid"),
    "objects": ("a.ttl", lambda: NAMED + b"<http://c>" + b",<c>" * 200_000 + b".", ""),
    "flat list": ("a.ttl", lambda: NAMED + b"(" + b"1 " * 400_000 + b").", "stand for"),
    "deep list": ("a.ttl", lambda: NAMED + b"(" * 500_000, "stand for"),
    "deep nodes": ("a.ttl", lambda: LINKED + b"[<http://b> " * 80_000, "is not valid"),
    "prefixes": ("a.ttl", lambda: times(30_000, "@prefix n~: <http://n/~> .\n").encode(), "no concept"),
    "long prefix": (
        "a.ttl",
        lambda: b"@prefix n: <http://" + b"a" * 100_000 + b"> . n:a n:b n:c" + b",n:d" * 99_999,
        "stand for",
    ),
    "formulas": ("a.n3", lambda: LINKED + (b"{" + LINKED) * 40_000, "is not valid"),
    "namespaces": ("a.rdf", lambda: in_rdf("", times(100_000, ' xmlns:n~="http://n/~"')), "inside each other"),
    "attributes": ("a.rdf", lambda: in_rdf("<s:A" + times(80_000, ' s:a~="1"') + "/>"), "inside each other"),
    "deep XML": ("a.rdf", lambda: in_rdf("<s:Concept><s:broader>" * 40_000), "inside each other"),
    "collection": (
        "a.rdf",
        lambda: in_rdf('<s:A><s:b rdf:parseType="Collection">' + "<s:C/>" * 150_000 + "</s:b></s:A>"),
        "stand for",
    ),
    "entities": ("a.rdf", lambda: rdf_xml(f'<!ENTITY a "{"b" * 250}">', "&a;" * 300_000).encode(), "stand for"),
    "UTF-7": ("a.rdf", lambda: b'<?xml version="1.0" encoding="utf-7"?>' + in_rdf(""), "encoding"),
    "deep JSON": ("a.jsonld", lambda: IN_JSON * 500 + b"1" + b"}" * 500, "levels deep"),
    "values": ("a.jsonld", lambda: IN_JSON + b"[1" + b",1" * 500_000 + b"]}", "no concept"),
    "chained terms": (
        "a.jsonld",
        lambda: json.dumps({"@context": {f"t{i}": f"t{i + 1}:a" for i in range(20_000)}}).encode(),
        "terms",
    ),
    "languages": (
        "a.ttl",
        lambda: times(9_999, f"<http://~> a <{SKOS}Concept>; <{SKOS}prefLabel> 'a'@en, 'a'@x-~.").encode(),
        "languages",
    ),
}


@pytest.mark.parametrize("name", HEAVY_VOCABULARIES)
def test_heavy_vocabularies(tmp_path, reader, name):
    file, content, reason = HEAVY_VOCABULARIES[name]
    (tmp_path / file).write_bytes(content())
    outcome = reader.read(tmp_path / file, "load_vocabulary")
    assert_cheap(outcome, name)
    assert (outcome.kind == "refused") == bool(reason), outcome
    assert reason in outcome.message


# -- Parquet ------------------------------------------------------------------------------------------------


def parquet(**columns: object) -> bytes:
    arrow, content = pytest.importorskip("pyarrow"), io.BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), content, compression="zstd")
    return content.getvalue()


def nulls(n: int) -> bytes:
    arrow = pytest.importorskip("pyarrow")
    return parquet(text=arrow.nulls(n, arrow.string()), labels=arrow.nulls(n, arrow.string()))


def dictionary(n: int, value: str, *, nested: bool = False) -> bytes:
    """One value that stands in many rows, as a column of pandas' categories."""
    arrow = pytest.importorskip("pyarrow")
    values = arrow.DictionaryArray.from_arrays(arrow.array(np.zeros(n, dtype=np.int32)), arrow.array([value]))
    if nested:
        values = arrow.ListArray.from_arrays(arrow.array(range(n + 1), arrow.int32()), values)
    return parquet(text=["a"] * n, labels=values)


HEAVY_TABLES: dict[str, tuple[Callable[[], bytes], str]] = {
    "nulls": (lambda: nulls(20_000_000), "raise max_expansion"),
    "zeros": (lambda: parquet(text=np.zeros(9_000_000), labels=np.zeros(9_000_000, dtype=np.int8)), "raise max_exp"),
    "empty texts": (lambda: parquet(text=[""] * 1_000_000, labels=[""] * 1_000_000), "raise max_expansion"),
    "repeats": (lambda: parquet(text=["a" * 100_000] * 2_000, labels=["a"] * 2_000), "raise max_expansion"),
    "dictionary": (lambda: dictionary(2_000, "a" * 100_000), "raise max_expansion"),
    "dictionary in lists": (lambda: dictionary(2_000, "a" * 100_000, nested=True), "plain strings"),
}


@pytest.mark.parametrize("function", ["load_data", "stream_samples"])
@pytest.mark.parametrize("name", HEAVY_TABLES)
def test_heavy_tables(tmp_path, reader, name, function):
    content, reason = HEAVY_TABLES[name]
    (tmp_path / "a.parquet").write_bytes(content())
    outcome = reader.read(tmp_path / "a.parquet", function)
    assert_cheap(outcome, name)
    assert outcome.kind == "refused", outcome
    assert reason in outcome.message


# -- NPZ ----------------------------------------------------------------------------------------------------


def zipped(content: bytes, name: str = "arr_0.npy") -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return archive.getvalue()


def headed(header: str) -> bytes:
    """An NPZ file with an array of this header."""
    return zipped(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())


def shaped(shape: str, kind: str = "'<f8'") -> bytes:
    return headed(f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}}}\n")


WRONG_MATRICES: dict[str, Callable[[], bytes]] = {
    "deep header": lambda: headed("{'descr':" + "(" * 9000),
    "deep type": lambda: shaped("(1, 1)", "[" * 150 + "]" * 150),
    "huge shape": lambda: shaped(f"({10**400},)"),
    "values of no bytes": lambda: shaped(f"({2**40}, 5)", "'|V0'"),
    "a zip inside": lambda: zipped(SMALL_X),
    "a pickle inside": lambda: zipped(b"\x80\x04N."),
    "shape of 64 bits": lambda: npz(**{**csr_parts((1, 3)), "shape": np.array([1, 2**64 - 1], dtype=np.uint64)}),
}


@pytest.mark.parametrize("victim", ["X.npz", "Y.npz"])
@pytest.mark.parametrize("name", WRONG_MATRICES)
def test_wrong_matrices(tmp_path, reader, name, victim):
    for file in ("X.npz", "Y.npz"):
        (tmp_path / file).write_bytes(WRONG_MATRICES[name]() if file == victim else SMALL_X)
    outcome = reader.read(tmp_path / "X.npz")
    assert_cheap(outcome, name)
    assert outcome.kind == "refused", outcome
    assert victim in outcome.message
