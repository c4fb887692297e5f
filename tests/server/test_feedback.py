from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import FileError
from tacit.server.feedback import FeedbackLog, Record, described, is_log, read_log


def judged(text: str, accepted: bool = True) -> dict:
    return {"act": "judge", "judgements": [{"text": text, "label": "fruit", "accepted": accepted}]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "logs" / "m.feedback.jsonl"


@pytest.fixture
def log(path):
    log = FeedbackLog(path)
    yield log
    log.close()


def texts_of(path) -> list[str]:
    return [record.content["judgements"][0]["text"] for record in read_log(path).in_force()]


def test_acts_are_numbered_and_read_back(log, path):
    assert log.append([judged("a"), judged("ü\n\u2028")]) == [1, 2]
    assert log.append([{"act": "add", "name": "pome"}, {"act": "undo", "of": 1}]) == [3, 4]
    found = read_log(path)
    assert [(record.number, record.act) for record in found.records] == [
        (1, "judge"),
        (2, "judge"),
        (3, "add"),
        (4, "undo"),
    ]
    assert [record.number for record in found.in_force()] == [2, 3]
    assert [record.number for record in found.in_force(after=2)] == [3]
    assert found.records[1].content["judgements"][0]["text"] == "ü\n\u2028"
    assert is_log(path)
    assert all(json.loads(line)["record"]["number"] == n for n, line in enumerate(path.read_bytes().splitlines()))


def test_a_log_goes_on_where_it_stopped(log, path):
    log.append([judged("a")])
    log.close()
    again = FeedbackLog(path)
    assert again.log == log.log
    assert again.append([judged("b")]) == [2]
    again.close()
    assert texts_of(path) == ["a", "b"]


@given(st.lists(st.text(max_size=20), min_size=1, max_size=4), st.data())
def test_a_torn_line_is_cut_off_wherever_it_tore(tmp_path_factory, texts, data):
    path = tmp_path_factory.mktemp("torn") / "log.jsonl"
    log = FeedbackLog(path)
    log.append([judged(text) for text in texts])
    log.close()
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    n_whole = max(whole[:cut].count(b"\n") - 1, 0)
    again = FeedbackLog(path)
    assert texts_of(path) == texts[:n_whole]
    assert again.append([judged("after")]) == [n_whole + 1]
    again.close()
    assert texts_of(path) == [*texts[:n_whole], "after"]
    if cut > whole.index(b"\n"):
        assert path.read_bytes().startswith(whole[:cut][: whole[:cut].rindex(b"\n") + 1])


@given(st.integers(0, 10**6), st.integers(1, 255))
def test_a_changed_byte_is_noticed(tmp_path_factory, place, change):
    path = tmp_path_factory.mktemp("damaged") / "log.jsonl"
    log = FeedbackLog(path)
    log.append([judged("first"), judged("second"), judged("third")])
    log.close()
    content = bytearray(path.read_bytes())
    start_of_last = content.rindex(b'{"sum"')
    place %= len(content)
    content[place] ^= change
    path.write_bytes(content)
    line = bytes(content[:place]).count(b"\n")
    if place >= start_of_last:  # as if it had been torn
        assert texts_of(path) == ["first", "second"]
        return
    with pytest.raises(FileError, match=f"log.jsonl:{line + 1}: is damaged"):
        read_log(path)


def test_lines_that_are_missing_are_noticed(log, path):
    log.append([judged("first"), judged("second"), judged("third")])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[3]]))
    with pytest.raises(FileError, match="jsonl:3: is damaged, or lines are missing"):
        read_log(path)


def test_other_files_are_left_alone(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text('{"text": "a note that is not a log"}\n' * 10)
    before = path.read_bytes()
    assert not is_log(path)
    assert not is_log(tmp_path / "absent")
    with pytest.raises(FileError, match="is not a feedback log"):
        FeedbackLog(path)
    assert path.read_bytes() == before
    with pytest.raises(FileError, match="cannot be written: .*; name another folder"):
        FeedbackLog(path / "inside")
    with pytest.raises(FileError, match="cannot be read: No such file"):
        read_log(tmp_path / "absent")


def test_a_write_that_fails_leaves_nothing(log, path, monkeypatch):
    log.append([judged("a")])
    before = path.read_bytes()

    def fail(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(FileError, match="cannot be written: No space left"):
            log.append([judged("b")])
    assert path.read_bytes() == before
    assert log.append([judged("c")]) == [2]
    assert texts_of(path) == ["a", "c"]


def test_acts_in_words():
    assert described(Record(1, "add", {"name": "pome"})) == "added 'pome'"
    verdicts = [{"label": label, "accepted": label != "b"} for label in "abcde"]
    assert (
        described(Record(1, "judge", {"judgements": verdicts})) == "accepted 'a', rejected 'b', accepted 'c' and 2 more"
    )
