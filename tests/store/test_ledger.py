from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ModelFileError
from tacit.store import ledger as module
from tacit.store.acts import Act
from tacit.store.ledger import START, Contents, Ledger, LedgerError, is_ledger

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None


def retired(label: str) -> Act:
    return Act("retire", {"label": label})


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "acts.jsonl")


def add(ledger: Ledger, *labels: str) -> Contents:
    """Record acts, after what is there."""
    with ledger.locked() as writing:
        found = writing.read()
        writing.append([retired(label) for label in labels], found.origin or "the base", found.mark)
    return ledger.read()


def labels_in(found: Contents) -> list[str]:
    return [act.content["label"] for act in found.acts]


def test_acts_are_read_back_in_order_with_all_that_they_say(ledger):
    acts = [
        Act("judge", {"judgements": [{"text": "ü\n\u2028", "label": "x", "accepted": True}]}),
        Act("add", {"name": "half a pair \ud800", "cooccurs": {"a": 3}}),
    ]
    with ledger.locked() as writing:
        writing.append(acts, "the base", START)
    found = ledger.read()
    assert [act.to_json() for act in found.acts] == [act.to_json() for act in acts]
    assert found.origin == "the base"
    assert is_ledger(ledger.path)
    assert len(ledger.path.read_bytes().splitlines()) == 3


def test_what_is_new_is_read_without_the_rest(ledger):
    first = add(ledger, "a", "b")
    assert ledger.read(first.mark).acts == []
    add(ledger, "c")
    news = ledger.read(first.mark)
    assert (labels_in(news), news.is_whole) == (["c"], False)
    ledger.path.unlink()
    assert ledger.read(news.mark).acts == ()
    add(ledger, "z")
    anew = ledger.read(news.mark)  # another file under the same name
    assert (labels_in(anew), anew.is_whole) == (["z"], True)


@given(st.lists(st.text(min_size=1, max_size=20).filter(str.strip), min_size=1, max_size=4), st.data())
def test_a_torn_line_is_cut_off_wherever_it_tore(tmp_path_factory, labels, data):
    ledger = Ledger(tmp_path_factory.mktemp("torn") / "acts.jsonl")
    add(ledger, *labels)
    whole = ledger.path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    ledger.path.write_bytes(whole[:cut])
    n_whole = max(whole[:cut].count(b"\n") - 1, 0)
    assert labels_in(ledger.read()) == labels[:n_whole]
    assert labels_in(add(ledger, "after")) == [*labels[:n_whole], "after"]
    if cut > whole.index(b"\n"):
        assert ledger.path.read_bytes().startswith(whole[:cut][: whole[:cut].rindex(b"\n") + 1])


@given(st.integers(0, 10**6), st.integers(1, 255))
def test_a_changed_byte_is_noticed(tmp_path_factory, place, change):
    ledger = Ledger(tmp_path_factory.mktemp("damaged") / "acts.jsonl")
    add(ledger, "first", "second", "third")
    content = bytearray(ledger.path.read_bytes())
    start_of_last = content.rindex(b'{"sum"')
    place %= len(content)
    content[place] ^= change
    ledger.path.write_bytes(content)
    if place >= start_of_last:  # as if it had been torn
        assert labels_in(ledger.read()) == ["first", "second"]
        return
    with pytest.raises(ModelFileError, match=r"acts.jsonl:\d: damaged .its checksum does not match.; copy the model"):
        ledger.read()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": "1", "kind": "split"}, "an act is one of add, rename, .*; got 'split': it may need a newer tacit"),
        ({"id": "1", "kind": "retire"}, "the field 'label' of an act of the kind 'retire' must be a text"),
        ({"id": "\ud800", "kind": "retire", "label": "x"}, "the fields 'id' and 'time' of an act must be"),
        ({"kind": "retire", "label": "x"}, "an act must be a JSON object with the fields 'id' and 'kind'"),
    ],
)
def test_a_record_that_is_no_act_is_an_error(ledger, record, message):
    add(ledger, "a")
    with ledger.path.open("ab") as file:
        file.write(module._line(record))
    with pytest.raises(ModelFileError, match=f"acts.jsonl:3: {message}"):
        ledger.read()


def test_an_older_copy_put_in_its_place_is_noticed(ledger):
    add(ledger, "a")
    older = ledger.path.read_bytes()
    mark = add(ledger, "b", "c").mark
    ledger.path.write_bytes(older)
    again = ledger.read(mark)
    assert (labels_in(again), again.is_whole) == (["a"], True)
    with ledger.locked() as writing, pytest.raises(LedgerError, match="was replaced by a shorter file"):
        writing.append([retired("d")], "the base", mark)
    assert labels_in(add(ledger, "d" * 500)) == ["a", "d" * 500]  # longer than it was, but not the same
    assert ledger.read(mark).is_whole


def test_another_format_is_not_read(ledger):
    ledger.path.write_bytes(module._line({"format": 3, "id": "x"}))
    with pytest.raises(ModelFileError, match=r"a ledger of another format \(3\); upgrade tacit"):
        ledger.read()


def test_other_files_are_left_alone(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text('{"text": "a note that is no act"}\n' * 10)
    before = path.read_bytes()
    assert not is_ledger(path)
    assert not is_ledger(tmp_path / "absent")
    with pytest.raises(ModelFileError, match="damaged"):
        add(Ledger(path), "x")
    assert path.read_bytes() == before
    path.write_text("my only copy of these notes\n")
    with pytest.raises(ModelFileError, match="notes.jsonl:1: damaged"):
        add(Ledger(path), "x")
    assert path.read_text() == "my only copy of these notes\n"
    with pytest.raises(LedgerError, match="cannot be written"):
        add(Ledger(path / "inside"), "x")


def test_a_writer_does_not_wait_for_ever(ledger, monkeypatch):
    monkeypatch.setattr(module, "_LOCK_TIMEOUT", 0.05)
    with ledger.locked(), pytest.raises(LedgerError, match="another process has been writing"):
        add(ledger, "x")
