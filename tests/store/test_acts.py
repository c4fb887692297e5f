from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import FileError, ParameterError
from tacit.store.acts import Act, in_force, parse_lines

EVERY_KIND = [
    Act("add", {"name": "pome", "examples": ["apple", {"features": {"3": 1.0}}], "parent": "fruit"}),
    Act("rename", {"label": "cars", "name": "vehicles"}),
    Act("merge", {"labels": ["a", "b"], "into": "c"}),
    Act("retire", {"label": "telex"}),
    Act("judge", {"judgements": [{"text": "a pear", "label": "fruit", "accepted": False}]}),
    Act("undo", {"of": "5f0c"}),
]


@pytest.mark.parametrize("act", EVERY_KIND, ids=lambda act: act.kind)
def test_json_and_back(act):
    back = Act.from_json(json.loads(json.dumps(act.to_json())))
    assert back.to_json() == act.to_json()
    assert (back.id, back.time) == (act.id, act.time)


@pytest.mark.parametrize(
    ("kind", "content", "field"),
    [
        ("add", {}, "name"),
        ("add", {"name": " "}, "name"),
        ("add", {"name": "x", "examples": []}, "examples"),
        ("add", {"name": "x", "examples": [3]}, "examples"),
        ("add", {"name": "x", "examples": [{"features": {"3": "much"}}]}, "examples"),
        ("add", {"name": "x", "cooccurs": {"a": -1}}, "cooccurs"),
        ("add", {"name": "x", "cooccurs": {"a": float("nan")}}, "cooccurs"),
        ("add", {"name": "x", "description": 3}, "description"),
        ("rename", {"label": "x"}, "name"),
        ("merge", {"labels": "ab", "into": "c"}, "labels"),
        ("judge", {"judgements": []}, "judgements"),
        ("judge", {"judgements": [{"text": "a", "label": "b", "accepted": "yes"}]}, "judgements"),
        ("judge", {"judgements": [{"label": "b", "accepted": True}]}, "judgements"),
        ("undo", {"of": 3}, "of"),
    ],
)
def test_what_acts_must_say(kind, content, field):
    with pytest.raises(ParameterError, match=f"the field '{field}' of an act of the kind '{kind}' must be"):
        Act(kind, content)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda each: st.lists(each) | st.dictionaries(
    st.sampled_from(["id", "kind", "label", "name", "judgements", "text", "of", "time"]) | st.text(max_size=3), each),
    max_leaves=8))  # fmt: skip
def test_anything_else_is_refused(value):
    with suppress(ParameterError):
        assert Act.from_json(value).kind in {each.kind for each in EVERY_KIND}


def test_an_undo_can_be_taken_back():
    first, second = Act("retire", {"label": "a"}), Act("retire", {"label": "b"})
    undo = Act("undo", {"of": first.id})
    redo = Act("undo", {"of": undo.id})
    assert in_force([first, second]) == [first, second]
    assert in_force([first, second, undo]) == [second]
    assert in_force([first, second, undo, redo]) == [first, second]
    assert in_force([first, undo, Act("undo", {"of": "nobody"})]) == []


def test_acts_in_words():
    assert [str(act) for act in EVERY_KIND] == [
        "added 'pome' from 2 examples, its parent 'fruit'",
        "renamed 'cars' to 'vehicles'",
        "merged 'a', 'b' into 'c'",
        "retired 'telex'",
        "rejected 'fruit'",
        "took back 5f0c",
    ]
    judged = [{"text": "x", "label": label, "accepted": label != "b"} for label in "abcde"]
    assert str(Act("judge", {"judgements": judged})) == "judged 5 suggestions, 4 accepted, of 'a', 'b', 'c', …"
    assert str(Act("add", {"name": "choir"})) == "added 'choir' from its name"


def test_a_long_text_is_named_by_its_start():
    act = Act("judge", {"judgements": [{"text": "a \n pear " * 10**6, "label": "x", "accepted": True}]})
    assert act.described() == "accepted 'x' for 'a pear a pear a pear a pear a pear a pea…'"
    judged = [{"features": {"3": 1}, "label": "x", "accepted": True}]
    assert Act("judge", {"judgements": judged}).described() == "accepted 'x'"
    two = [{"text": text, "label": "x", "accepted": text == "a"} for text in "ab"]
    assert Act("judge", {"judgements": two}).described() == "accepted 'x', rejected 'x'; the first for 'a'"
    assert "'a'" not in str(Act("judge", {"judgements": two}))  # which errors and logs show


@pytest.mark.parametrize("field", ["id", "time"])
def test_half_characters_are_refused(field):
    with pytest.raises(ParameterError, match="'id' and 'time'"):
        Act("retire", {"label": "a"}, **{field: "\ud800"})


def test_an_export_is_read_line_by_line():
    lines = [(n, json.dumps(act.to_json())) for n, act in enumerate(EVERY_KIND, 1)]
    assert [act.id for act in parse_lines([*lines, (9, " ")], AssertionError)] == [act.id for act in EVERY_KIND]
    with pytest.raises(FileError, match="x.jsonl:2: an act must be a JSON object"):
        parse_lines([lines[0], (2, "[]")], lambda line, why: FileError("x.jsonl", why, line=line))
