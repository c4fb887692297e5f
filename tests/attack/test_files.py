"""Hostile data files: whatever stands in them, one line, two seconds and 250 MB at most.

``TACIT_ATTACK_ROUNDS`` sets how many mutants of each format are tried, ``TACIT_ATTACK_SEED`` where they start.
"""

from __future__ import annotations

import gzip
import http.server
import io
import json
import os
import re
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from attack.reading import Outcome
from data.samples import formats, numeric_dataset, text_dataset
from data.test_fuzz import mutated
from tacit.data.formats import FORMATS
from tacit.data.load import load_data
from tacit.data.rdf import SYNTAXES
from tacit.data.save import save_data
from tacit.data.vocabulary import load_vocabulary
from tacit.errors import ParameterError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the reader measures as Linux does")

MOST_SECONDS = 2.0
MOST_MEGABYTES = 250.0
ROUNDS = int(os.environ.get("TACIT_ATTACK_ROUNDS", "25"))
SEED = int(os.environ.get("TACIT_ATTACK_SEED", "0"))

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
SKOS = "http://www.w3.org/2004/02/skos/core#"


def assert_cheap(outcome: Outcome, what: object = "") -> None:
    """Read or refused in one line that a terminal can show, in little time and memory."""
    assert outcome.kind in ("ok", "refused"), (what, outcome)
    assert outcome.message.isprintable(), (what, outcome)
    assert len(outcome.message) < 3000, what
    assert outcome.seconds < MOST_SECONDS, (what, outcome)
    assert outcome.megabytes < MOST_MEGABYTES, (what, outcome)


# -- a few bytes that ask for much --------------------------------------------------------------------------


def zeros(n_megabytes: int, opening: bytes = b"", byte: bytes = b"0") -> bytes:
    """A gzip file that unpacks to a long run of one byte."""
    return gzip.compress(opening, mtime=0) + gzip.compress(byte * (10 << 20), 9, mtime=0) * (n_megabytes // 10)


def diluted(n_megabytes: int) -> bytes:
    """The same, with enough noise that it expands less than 500 times, and no line feed."""
    noise = np.random.default_rng(0).integers(32, 127, size=(n_megabytes, 4096), dtype=np.uint8)
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1, mtime=0) as file:
        for row in noise:
            file.write(row.tobytes() + b"0" * ((1 << 20) - 4096))
    return packed.getvalue()


def npz(**parts: object) -> bytes:
    content = io.BytesIO()
    np.savez_compressed(content, **parts)
    return content.getvalue()


def csr_parts(shape: tuple[int, int], layout: str = "csr") -> dict[str, object]:
    """An empty sparse matrix, whatever its shape, in a few hundred bytes."""
    n_major = shape[0] if layout == "csr" else shape[1]
    indptr = np.zeros(n_major + 1, dtype=np.int32)
    empty = np.zeros(0, dtype=np.int32)
    return {"data": empty, "indices": empty, "indptr": indptr, "shape": np.array(shape), "format": layout.encode()}


def declared(shape: tuple[int, ...]) -> bytes:
    """An NPZ file whose only array announces more numbers than it has."""
    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(array, {"descr": "<f8", "fortran_order": False, "shape": shape})
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("arr_0.npy", array.getvalue() + bytes(64))
    return content.getvalue()


def other_packing(method: int) -> bytes:
    """An NPZ file packed in a way that unpacks a hundred thousand times its size at once."""
    array = io.BytesIO()
    np.save(array, np.zeros((1000, 30_000), dtype=np.uint8))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        archive.writestr("arr_0.npy", array.getbuffer())
    return content.getvalue()


SMALL_X = npz(**csr_parts((1, 3)))
Files = Callable[[], dict[str, bytes]]

#: Files by the reason they must be refused for; the first of each is read.
COSTLY: dict[str, tuple[str, Files]] = {
    "svmlight label": ("raise max_labels", lambda: {"a.svm": b"99999998 1:1\n"}),
    "xmc labels": ("raise max_labels", lambda: {"a.txt": b"1 1 100000000\n0 0:1\n"}),
    "xmc features": ("raise max_features", lambda: {"a.txt": b"1 2147483647 10\n0 0:1\n"}),
    "npz rows": (
        "raise max_expansion",
        lambda: {
            "X.npz": npz(**csr_parts((2**31 - 1, 3), "csc")),
            "Y.npz": npz(**csr_parts((2**31 - 1, 3), "csc")),
        },
    ),
    "npz dense": (
        "raise max_expansion",
        lambda: {"X.npz": npz(X=np.zeros((1000, 100_000), dtype=np.uint8)), "Y.npz": SMALL_X},
    ),
    "npz announced": ("save it again", lambda: {"X.npz": declared((10**6, 10**6)), "Y.npz": SMALL_X}),
    "npz bzip2": ("save it again", lambda: {"X.npz": other_packing(zipfile.ZIP_BZIP2), "Y.npz": SMALL_X}),
    "gzip, xmc": ("raise max_expansion", lambda: {"a.txt.gz": zeros(500, b"1 1 1\n")}),
    "gzip, jsonl": ("raise max_expansion", lambda: {"a.jsonl.gz": zeros(500)}),
    "gzip, csv cell": ("raise max_expansion", lambda: {"a.csv.gz": zeros(500, b'text,labels\n"')}),
    "long line, svmlight": ("raise max_line", lambda: {"a.svm.gz": diluted(60)}),
    "long cell": ("raise max_line", lambda: {"a.csv": b'text,labels\n"' + (b"a" * 99 + b"\n") * (400 << 10)}),
    "digits": ("must be a JSON list", lambda: {"a.csv": b"text,labels\na,[" + b"1" * 5000 + b"]\n"}),
    "surrogate label": ("half a character", lambda: {"a.jsonl": b'{"text": "a", "labels": ["\\ud800"]}\n'}),
    "control characters": (
        r"\\x1b\]0;owned",
        lambda: {"a.jsonl": b'{"\\u001b]0;owned\\u0007": 1}\n'},
    ),
}


@pytest.mark.parametrize("name", COSTLY)
def test_costly_files(tmp_path, reader, name):
    reason, files = COSTLY[name]
    written = {tmp_path / file: content for file, content in files().items()}
    for path, content in written.items():
        path.write_bytes(content)
    options = {"labels_path": str(tmp_path / "names.txt")} if (tmp_path / "names.txt").exists() else {}
    outcome = reader.read(next(iter(written)), **options)
    assert outcome.kind == "refused", outcome
    assert re.search(reason, outcome.message), outcome.message
    assert_cheap(outcome)


def test_labels_that_do_not_occur_cost_nothing(tmp_path, reader):
    path = tmp_path / "a.txt"
    path.write_text("1 1 9999999\n3 0:1\n")
    outcome = reader.read(path)
    assert outcome.kind == "ok"
    assert outcome.megabytes < 20
    names = load_data(path).label_names
    assert (len(names), names[3], names[-1], names[:2]) == (9_999_999, "3", "9999998", ["0", "1"])
    assert names != ["0"]


def test_limits_can_be_raised(tmp_path, reader):
    path = tmp_path / "a.txt"
    path.write_text("1 200000000 100000000\n0 0:1\n")
    outcome = reader.read(path, max_labels=100_000_000, max_features=200_000_000)
    assert outcome.kind == "ok", outcome
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"text": "' + b"a" * (7 << 20) + b'", "labels": "b"}'))
    assert "max_expansion" in reader.read(packed).message
    assert reader.read(packed, max_expansion=2000).kind == "ok"
    assert "max_line" in reader.read(packed, max_expansion=2000, max_line=1000).message
    assert "max_line" in reader.read(packed, "stream_samples", max_expansion=2000, max_line=1000).message
    with pytest.raises(ParameterError, match="max_labels must be a whole number"):
        load_data(path, max_labels=0)


# -- RDF ----------------------------------------------------------------------------------------------------


def rdf_xml(declarations: str, name: str) -> str:
    head = f'<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [{declarations}]>\n' if declarations else ""
    concept = f'<s:Concept rdf:about="http://a/1"><s:prefLabel>{name}</s:prefLabel></s:Concept>'
    return f'{head}<rdf:RDF xmlns:rdf="{RDF}" xmlns:s="{SKOS}">{concept}</rdf:RDF>'


def laughs(depth: int) -> str:
    return '<!ENTITY a0 "ha">' + "".join(
        f'<!ENTITY a{level} "{f"&a{level - 1};" * 10}">' for level in range(1, depth + 1)
    )


XML_BOMBS = {
    "entities of entities": rdf_xml(laughs(8), "&a8;"),
    "a long entity": rdf_xml(f'<!ENTITY a "{"b" * 30_000}">', "&a;" * 30_000),
    "another file": rdf_xml('<!ENTITY a SYSTEM "file:///etc/hostname">', "&a;"),
}


@pytest.mark.parametrize("name", XML_BOMBS)
def test_entities_are_not_expanded(tmp_path, reader, name):
    for encoding in ("utf-8", "utf-16"):
        path = tmp_path / "a.rdf"
        path.write_text(XML_BOMBS[name], encoding=encoding)
        outcome = reader.read(path, "load_vocabulary")
        assert outcome.kind == "refused", outcome
        assert "must not declare" in outcome.message
        assert_cheap(outcome)


def test_namespaces_may_be_abbreviated(tmp_path):
    path = tmp_path / "a.owl"
    path.write_text(
        f'<!DOCTYPE rdf:RDF [<!ENTITY skos "{SKOS}"> <!ENTITY lt "&#38;#60;">]>\n'
        f'<rdf:RDF xmlns:rdf="{RDF}"><rdf:Description rdf:about="http://a/1"><rdf:type rdf:resource="&skos;Concept"/>'
        '<prefLabel xmlns="&skos;">a &lt; b</prefLabel></rdf:Description></rdf:RDF>'
    )
    assert load_vocabulary(path).names == ["a < b"]


@pytest.fixture
def counting_server() -> Iterator[tuple[str, list[str]]]:
    """An address, and the paths that were asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "application/ld+json")
            self.end_headers()
            self.wfile.write(json.dumps({"@context": {"name": SKOS + "prefLabel"}}).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/context.jsonld", asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_contexts_are_not_fetched(tmp_path, reader, counting_server):
    address, asked = counting_server
    local = tmp_path / "context.jsonld"
    local.write_text(json.dumps({"@context": {"name": SKOS + "prefLabel"}}))
    concept = {"@id": "http://a/1", "@type": SKOS + "Concept", "name": "a"}
    path = tmp_path / "a.jsonld"
    for target in (address, local.as_uri(), str(local), "context.jsonld"):
        for context in (
            target,
            [{}, target],
            {"@version": 1.1, "@import": target},
            {"name": {"@id": SKOS + "prefLabel", "@context": target}},
        ):
            path.write_text(json.dumps({"@context": context, **concept}))
            outcome = reader.read(path, "load_vocabulary")
            assert outcome.kind == "refused", (context, outcome)
            assert_cheap(outcome)
            path.write_text(json.dumps({"@graph": [{"@context": context, **concept}]}))
            assert reader.read(path, "load_vocabulary").kind == "refused"
    path.write_text(json.dumps({"@context": {"name": SKOS + "prefLabel"}, **concept}))
    assert load_vocabulary(path).names == ["a"]
    assert asked == []


def test_imports_are_not_followed(tmp_path, reader, counting_server):
    address, asked = counting_server
    concept = f'<http://a/1> a <{SKOS}Concept> ; <{SKOS}prefLabel> "a" .'
    files = {
        "a.ttl": f"<http://a> <http://www.w3.org/2002/07/owl#imports> <{address}> . {concept}",
        "a.rdf": rdf_xml("", "a").replace("<rdf:RDF ", f'<?xml-stylesheet href="{address}"?><rdf:RDF '),
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
        assert reader.read(tmp_path / name, "load_vocabulary").kind == "ok", name
    assert asked == []


HOSTILE_VOCABULARIES = {
    "json surrogate": ("a.json", b'{"1": {"name": "\\ud800"}}', "half a character"),
    "triples surrogate": ("a.nt", f'<http://a> <{SKOS}prefLabel> "\\uD800" .\n<http://a> <{RDF}type> <{SKOS}Concept> .',
                          "surrogate"),
    "json digits": ("a.json", b'{"1": ' + b"1" * 5000 + b"}", "must be JSON"),
    "json depth": ("a.json", b"[" * 100_000, "must be JSON"),
    "turtle depth": ("a.ttl", b"<http://a> <http://b> " + b"[" * 100_000, "is not valid Turtle"),
    "gzip": ("a.json.gz", None, "raise max_expansion"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_VOCABULARIES)
def test_hostile_vocabularies(tmp_path, reader, name):
    file, content, reason = HOSTILE_VOCABULARIES[name]
    path = tmp_path / file
    path.write_bytes(zeros(500) if content is None else content if isinstance(content, bytes) else content.encode())
    outcome = reader.read(path, "load_vocabulary")
    assert outcome.kind == "refused", outcome
    assert re.search(reason, outcome.message), outcome.message
    assert_cheap(outcome)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_rdf_xml_in_the_encoding_that_it_declares(tmp_path, encoding):
    path = tmp_path / "a.rdf"
    declared_as = encoding.removesuffix("-sig")
    path.write_bytes(f'<?xml version="1.0" encoding="{declared_as}"?>{rdf_xml("", "käse")}'.encode(encoding))
    assert load_vocabulary(path).names == ["käse"]


# -- what is not a file -------------------------------------------------------------------------------------


def test_pipes_and_devices_are_named_as_such(tmp_path, reader):
    pipe = tmp_path / "a.jsonl"
    os.mkfifo(pipe)
    for function in ("load_data", "load_vocabulary", "stream_samples"):
        outcome = reader.read(pipe, function)
        assert "but is a pipe, device or socket" in outcome.message, outcome
        assert "but is a pipe, device or socket" in reader.read(Path("/dev/zero"), function).message
    data = tmp_path / "b.jsonl"
    data.write_text('{"text": "a", "labels": ["b"]}\n')
    assert "but is a pipe, device or socket" in reader.read(data, labels_path=str(pipe)).message


# -- mutants ------------------------------------------------------------------------------------------------

NUMBERS = [b"99999999", b"2147483646", b"2147483647", b"4294967296", b"18446744073709551616", b"-1", b"0", b"1e400",
           b"9" * 5000, b"0" * 5000]  # fmt: skip
STRANGE = [b"\x1b[2J", b"\x1b]0;x\x07", b"\\ud800", "\u202e".encode(), b"\x00", b"\r", b"%00", b"&#27;", b"[" * 3000,
           b"{" * 3000, b'"', b"'", b"<!DOCTYPE a [", b"\xed\xa0\x80"]  # fmt: skip


def hostile(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with a number made huge, a part repeated, line ends removed or something strange put in."""
    kind = rng.integers(0, 6)
    numbers = list(re.finditer(rb"\d+", content))
    if kind <= 1 and numbers:
        found = numbers[rng.integers(0, len(numbers))]
        return content[: found.start()] + NUMBERS[rng.integers(0, len(NUMBERS))] + content[found.end() :]
    at = int(rng.integers(0, len(content) + 1))
    if kind == 2:
        part = content[at : at + int(rng.integers(1, 30))]
        return content[:at] + part * int(rng.integers(100, 20_000)) + content[at:]
    if kind == 3:
        return content.replace(b"\n", b"")
    if kind == 4:
        return content[:at] + STRANGE[rng.integers(0, len(STRANGE))] + content[at:]
    return mutated(content, rng)


@pytest.mark.parametrize("name", formats())
def test_hostile_mutants(tmp_path, reader, name):
    entry = FORMATS[name]
    source = text_dataset() if entry.is_text else numeric_dataset()
    written = save_data(source, tmp_path / "a_X_Xf", format=name)
    originals = {file: file.read_bytes() for file in written}
    for round_ in range(ROUNDS):
        seed = [SEED, round_, *name.encode()]
        rng = np.random.default_rng(seed)
        victim = written[rng.integers(0, len(written))]
        content = originals[victim]
        for _ in range(rng.integers(1, 3)):
            content = hostile(content, rng)
        victim.write_bytes(content)
        assert_cheap(reader.read(written[0], format=name), f"seed {seed}, {victim.name}: {content[:500]!r}")
        victim.write_bytes(originals[victim])


def vocabulary_files() -> dict[str, bytes]:
    """The same two concepts in each syntax."""
    import pyoxigraph as ox

    quads = [
        ox.Quad(ox.NamedNode(f"http://a/{key}"), ox.NamedNode(name), value)
        for key in ("1", "2")
        for name, value in (
            (f"{RDF}type", ox.NamedNode(f"{SKOS}Concept")),
            (f"{SKOS}prefLabel", ox.Literal(f"name {key}", language="en")),
            (f"{SKOS}notation", ox.Literal(int(key))),
        )
    ]
    files = {f"a{suffix}": ox.serialize(quads, format=getattr(ox.RdfFormat, name)) for suffix, name in SYNTAXES.items()}
    files["b.rdf"] = rdf_xml('<!ENTITY a "b">', "&a;").encode()
    files["a.json"] = b'{"1": {"name": "one", "alternatives": ["a"], "parents": [2]}, "2": "two"}'
    files["a.tsv"] = b"id\tname\taltLabels\n1\tone\ta|b\n2\ttwo\t\n"
    return files


def test_hostile_vocabulary_mutants(tmp_path, reader):
    for name, original in vocabulary_files().items():
        path = tmp_path / name
        path.write_bytes(original)
        assert reader.read(path, "load_vocabulary").kind == "ok", name
        for round_ in range(ROUNDS):
            seed = [SEED, round_, *name.encode()]
            rng = np.random.default_rng(seed)
            content = hostile(original, rng)
            path.write_bytes(content)
            what = f"seed {seed}, {name}: {content[:500]!r}"
            assert_cheap(reader.read(path, "load_vocabulary"), what)
