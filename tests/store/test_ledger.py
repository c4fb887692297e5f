from __future__ import annotations

import errno
import io
import os
import shutil
import threading
import time
from collections import Counter
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


def test_nothing_is_there_before_the_first_act(ledger):
    assert ledger.read().acts == ()
    with ledger.locked() as writing:
        assert writing.read().mark == START
    assert not ledger.path.exists()


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


def test_many_damaged_lines_are_refused_in_linear_time(ledger):
    add(ledger, "a")
    with ledger.path.open("ab") as file:
        file.write(b"x\n" * 1_000_000 + module._line(retired("b").to_json()))
    began = time.process_time()
    with pytest.raises(ModelFileError, match="acts.jsonl:3: damaged"):
        ledger.read()
    assert time.process_time() - began < 10


def test_acts_set_aside_get_a_name_that_a_file_can_have(ledger):
    ledger.path.write_bytes(
        module._line({"format": module.FORMAT, "id": "../\ud800"}) + module._line(retired("a").to_json())
    )
    with ledger.locked() as writing:
        writing.append([retired("b")], "another base", START)
    assert labels_in(ledger.read()) == ["b"]
    assert labels_in(Ledger(next(ledger.path.parent.glob("*.left-out-*"))).read()) == ["a"]


def test_a_damaged_line_is_counted_from_the_first(ledger):
    mark = add(ledger, "a", "b", "c").mark
    with ledger.path.open("ab") as file:
        file.write(b"rubbish\n" + module._line(retired("d").to_json()))
    for after in (START, mark):
        with pytest.raises(ModelFileError, match="acts.jsonl:5: damaged"):
            ledger.read(after)


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


def test_zeros_before_whole_lines_are_damage(ledger):
    add(ledger, "a", "b", "c")
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    ledger.path.write_bytes(lines[0] + b"\0" * len(lines[1]) + b"".join(lines[2:]))
    with pytest.raises(ModelFileError, match="acts.jsonl:2: damaged"):
        ledger.read()


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


def test_a_write_that_fails_leaves_nothing(ledger, monkeypatch):
    before = add(ledger, "a")
    content = ledger.path.read_bytes()

    def fail(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(LedgerError, match="cannot be written .No space left"):
            add(ledger, "b")
    assert ledger.path.read_bytes() == content
    assert labels_in(add(ledger, "c")) == ["a", "c"]
    assert labels_in(ledger.read(before.mark)) == ["c"]


@pytest.mark.skipif(os.name == "nt", reason="locks are others there")
@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("reason", [errno.EIO, errno.ENOSPC, errno.EINVAL])
@pytest.mark.parametrize("fails", ["fsync 1", "fsync 2", "unlock 1", "close", "fsync 1, truncate"])
def test_what_is_refused_is_not_recorded_or_is_said_to_be(ledger, monkeypatch, is_new, reason, fails):
    recorded = [] if is_new else labels_in(add(ledger, "a"))
    calls: Counter[str] = Counter()

    def failing(name: str, call):
        def attempt(*arguments):
            calls[name] += 1
            if name in fails.split(", ") or f"{name} {calls[name]}" in fails.split(", "):
                raise OSError(reason, os.strerror(reason))
            return call(*arguments)

        return attempt

    class File(io.FileIO):
        truncated = 0

        def truncate(self, size=None):
            self.truncated += 1
            return (failing("truncate", super().truncate) if self.truncated > 1 else super().truncate)(size)

        def close(self):
            super().close()
            failing("close", lambda: None)()

    flock = fcntl.flock
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", failing("fsync", os.fsync))
        unlock = failing("unlock", flock)
        patch.setattr("fcntl.flock", lambda fd, how: (unlock if how == fcntl.LOCK_UN else flock)(fd, how))
        opened = Path.open
        patch.setattr(Path, "open", lambda path, mode, **how: File(path, mode) if "a" in mode else opened(path, mode))
        error = None
        try:
            add(ledger, "b")
        except LedgerError as found:
            error = str(found)
    if error is None:
        recorded.append("b")
    elif "truncate" in fails:
        assert "may have been recorded" in error
        recorded.append("b")
    assert labels_in(ledger.read()) == recorded
    monkeypatch.setattr(module, "_LOCK_TIMEOUT", 1)
    assert labels_in(add(ledger, "c")) == [*recorded, "c"]


def test_writers_take_turns(ledger):
    def write(name: str) -> None:
        for number in range(20):
            add(ledger, f"{name}{number}")

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = labels_in(ledger.read())
    assert sorted(found) == sorted(f"{name}{number}" for name in "abc" for number in range(20))
    assert [each for each in found if each.startswith("a")] == [f"a{number}" for number in range(20)]


def test_a_writer_does_not_wait_for_ever(ledger, monkeypatch):
    monkeypatch.setattr(module, "_LOCK_TIMEOUT", 0.05)
    with ledger.locked(), pytest.raises(LedgerError, match="another process has been writing"):
        add(ledger, "x")


def test_a_copy_made_while_somebody_writes_is_a_ledger(ledger, tmp_path):
    """Every copy holds at least what was acknowledged before it was begun, and nothing else."""
    acknowledged, is_over = [0], threading.Event()

    def write() -> None:
        while not is_over.is_set():
            add(ledger, f"label {acknowledged[0]} with some text to make the line longer than a few bytes")
            acknowledged[0] += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(300):
            promised = acknowledged[0]
            if not ledger.path.exists():
                continue
            copied = Path(shutil.copyfile(ledger.path, tmp_path / "copy.jsonl"))
            found = labels_in(Ledger(copied).read())
            assert len(found) >= promised
            assert [int(each.split()[1]) for each in found] == list(range(len(found)))
    finally:
        is_over.set()
        writer.join()


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be made read-only there")
def test_a_ledger_on_a_read_only_disk_can_be_read(ledger, as_nobody):
    add(ledger, "a", "b")
    (ledger.path.parent / "acts.jsonl.lock").unlink()
    code = (
        "from tacit.store.ledger import Ledger, LedgerError\n"
        "become_nobody()\nledger = Ledger(path)\nprint(len(ledger.read().acts))\n"
        "try:\n    with ledger.locked(): print('written')\n"
        "except LedgerError as error: print(error)\n"
    )
    read, refused = as_nobody(code, ledger.path).splitlines()
    assert read == "2"
    assert "acts.jsonl: cannot be written (Permission denied)" in refused
