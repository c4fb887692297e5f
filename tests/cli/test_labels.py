from __future__ import annotations

import json
from pathlib import Path

import pytest

import tacit as library
from planted import planted
from tagger.articles import articles


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tagged texts, and models trained on them."""
    place = tmp_path_factory.mktemp("labels")
    texts, tags = articles()
    records = [{"text": text, "labels": names} for text, names in zip(texts, tags, strict=True)]
    (place / "train.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    library.Tagger(model="OneVsAll").fit(texts, tags).save(place / "plain")
    library.Tagger(model="OneVsAll", keep_texts=True).fit(texts, tags).save(place / "kept")
    X, Y = planted()
    library.Tagger(model="OneVsAll").fit(X, Y).save(place / "features")
    library.save_data(library.Dataset(X, Y, [str(column) for column in range(Y.shape[1])]), place / "numbers.txt")
    return place


@pytest.fixture
def model(folder: Path, tmp_path: Path) -> Path:
    path = tmp_path / "model"
    library.load_model(folder / "plain").save(path)
    return path


def contents_of(model: Path) -> dict[str, bytes]:
    """The files of a model, but for the lock."""
    return {file.name: file.read_bytes() for file in model.iterdir() if file.suffix != ".lock"}


def labels_of(model: Path, text: str) -> list[str]:
    return [found.label for found in library.Tagger.load(model).suggest([text], k=9)[0]]


def test_examples_from_a_file_and_a_vocabulary(tacit, model, tmp_path):
    (tmp_path / "pumps.txt").write_text("apple pear\npear apple\n")
    assert "2 examples" in tacit("add-label", model, "pome", "--examples", tmp_path / "pumps.txt").out
    (tmp_path / "v.tsv").write_text("id\tname\talternatives\tparents\n1\tmusic\n2\tensemble\tchoir\t1\n")
    added = tacit("add-label", model, "ensemble", "--vocabulary", tmp_path / "v.tsv")
    assert added.out.startswith("added 'ensemble' from a description, its parent 'music'; saved to ")
    assert library.Tagger.load(model).vocabulary_.name_of("choir") == "ensemble"


def test_learning_and_forgetting(tacit, model, tmp_path):
    feedback = tmp_path / "feedback.jsonl"
    feedback.write_text('{"text": "filler1", "label": "music", "accepted": true}\n' * 5)
    before = labels_of(model, "filler1")
    learned = tacit("learn", model, feedback)
    assert learned.out.startswith("judged 5 suggestions, 5 accepted, of 'music'")
    assert labels_of(model, "filler1")[0] == "music"
    assert tacit("labels", model, "undo").out.startswith("took back: judged 5 suggestions, 5 accepted")
    assert labels_of(model, "filler1") == before
    table = tmp_path / "feedback.csv"
    table.write_text("text,label,accepted\na song,music,no\n")
    assert tacit("learn", model, table).out == f"rejected 'music' for 'a song'; saved to {model}\n"


def test_a_file_of_judgements_is_learned_once(tacit, model, tmp_path):
    feedback = tmp_path / "feedback.jsonl"
    lines = [json.dumps({"text": f"text {n}", "label": "music", "accepted": n > 1}) + "\n" for n in range(3)]
    feedback.write_text("".join(lines))
    assert tacit("learn", model, feedback).code == 0
    assert [each["accepted"] for each in library.Tagger.load(model).acts_[0].content["judgements"]] == [
        False,
        False,
        True,
    ]
    once = contents_of(model)
    again = tacit("learn", model, feedback)
    assert again.out == f"nothing new in {feedback}; 3 of 3 judgements were learned before; {model} is unchanged\n"
    assert contents_of(model) == once
    tacit("labels", model, "rename", "music", "songs")
    feedback.write_text("".join([*lines, lines[0]]))
    more = tacit("learn", model, feedback)
    assert more.out == f"rejected 'songs' for 'text 0'; 3 of 4 judgements were learned before; saved to {model}\n"


def test_judgements_of_labels_that_are_gone_are_skipped_and_said(tacit, folder, model, tmp_path):
    tacit("labels", model, "retire", "weather")
    feedback = tmp_path / "feedback.jsonl"
    judged = [{"text": "filler1", "label": label, "accepted": True} for label in ("cars", "weather", "carz", "music")]
    feedback.write_text("".join(json.dumps(each) + "\n" for each in judged))
    learned = tacit("learn", model, feedback)
    assert learned.code == 0, learned.err
    assert f"skipped judgements of labels that the model does not suggest: 2 ({feedback}:2: " in learned.out
    assert [each["label"] for each in library.Tagger.load(model).acts_[-1].content["judgements"]] == ["cars", "music"]
    (tmp_path / "acts.jsonl").write_text(
        json.dumps({"id": "a" * 32, "kind": "judge", "judgements": judged}) + "\n"
        + json.dumps({"id": "b" * 32, "kind": "judge", "judgements": judged[1:2]}) + "\n"
    )  # fmt: skip
    learned = tacit("learn", model, tmp_path / "acts.jsonl")
    assert "learned 1 new acts" in learned.out
    assert "skipped 1 that do not apply" in learned.out
    assert tacit("learn", model, tmp_path / "acts.jsonl").out.startswith("learned 0 new acts")


def test_update_says_what_it_did(tacit, folder, tmp_path):
    library.load_model(folder / "kept").save(tmp_path / "m")
    (tmp_path / "new.jsonl").write_text('{"text": "zither song", "labels": ["strings"]}\n' * 4)
    done = tacit("update", tmp_path / "m", tmp_path / "new.jsonl")
    assert done.code == 0, done.err
    assert "\ntrained OneVsAll again on 164 samples, 160 kept and 4 new; 1 label is new" in done.out
    assert labels_of(tmp_path / "m", "a zither")[0] == "strings"
    before = {path: path.read_bytes() for path in (tmp_path / "m").iterdir()}
    again = tacit("update", tmp_path / "m", tmp_path / "new.jsonl")
    assert again.code == 0, again.err
    assert again.out.endswith("is unchanged\n")
    assert {path: path.read_bytes() for path in (tmp_path / "m").iterdir()} == before


# -- the history ------------------------------------------------------------------------------------------


def taught(tacit, model, tmp_path) -> None:
    """Teach a model something of every kind."""
    feedback = tmp_path / "judged.jsonl"
    feedback.write_text('{"text": "filler1", "label": "cars", "accepted": true}\n' * 5)
    for arguments in (
        ("labels", model, "rename", "cars", "vehicles"),
        ("add-label", model, "pome", "--example", "apple pear", "--cooccurs", "fruit=20"),
        ("learn", model, feedback),
        ("labels", model, "retire", "weather"),
        ("labels", model, "undo"),
        ("labels", model, "merge", "music", "weather", "--into", "sounds"),
    ):
        outcome = tacit(*arguments)
        assert outcome.code == 0, outcome.err


def all_suggestions(model: Path) -> list[list[tuple[str, float]]]:
    return library.Tagger.load(model).suggest(["apple pear", "song", "wheel", "rain", "filler1"], k=9)


def test_the_history_shows_all_acts_with_their_ids(tacit, model, tmp_path):
    assert tacit("labels", model, "history").out == ""
    taught(tacit, model, tmp_path)
    acts = library.Tagger.load(model).acts_
    shown = tacit("labels", model, "history")
    assert shown.code == 0
    words = [
        "renamed 'cars' to 'vehicles'",
        "added 'pome' from 1 co-occurring label, 1 example",
        "judged 5 suggestions, 5 accepted, of 'vehicles' for 'filler1'",
        "retired 'weather'  (taken back)",
        "took back: retired 'weather'",
        "merged 'music', 'weather' into 'sounds'",
    ]
    assert shown.out.splitlines() == [
        f"{act.id[:12]}  {act.time}  {said}" for act, said in zip(acts, words, strict=True)
    ]
    assert tacit("labels", model).out.splitlines() == [
        *(f"{acts[n].id[:12]}  {words[n]}" for n in (0, 1, 2, 5)),
        "4 labels, 4 acts since training",
    ]
    lines = tacit("labels", model, "history", "--json").out.splitlines()
    assert [json.loads(line) for line in lines] == [act.to_json() for act in acts]


def test_an_exported_history_makes_another_copy_the_same(tacit, folder, model, tmp_path):
    taught(tacit, model, tmp_path)
    export, other = tmp_path / "history.jsonl", tmp_path / "other"
    export.write_text(tacit("labels", model, "history", "--json").out)
    library.load_model(folder / "plain").save(other)
    assert all_suggestions(other) != all_suggestions(model)
    learned = tacit("learn", other, export)
    assert learned.code == 0, learned.err
    assert learned.out == f"learned 6 new acts from {export}; saved to {other}\n"
    assert all_suggestions(other) == all_suggestions(model)
    assert tacit("labels", other, "history").out == tacit("labels", model, "history").out
    before = contents_of(other)
    assert tacit("learn", other, export).out.startswith("learned 0 new acts")
    assert tacit("learn", other, model / "acts.jsonl").out.startswith("learned 0 new acts")  # the ledger itself
    assert contents_of(other) == before
    tacit("labels", other, "undo")
    assert tacit("learn", model, other / "acts.jsonl").out.startswith("learned 1 new act")
    assert all_suggestions(other) == all_suggestions(model)


def test_acts_that_do_not_fit_are_left_out_and_told(tacit, folder, model, tmp_path):
    taught(tacit, model, tmp_path)
    export, other = tmp_path / "history.jsonl", tmp_path / "other"
    export.write_text(tacit("labels", model, "history", "--json").out)
    library.load_model(folder / "plain").save(other)
    tacit("labels", other, "retire", "fruit")
    learned = tacit("learn", other, export)
    assert learned.code == 0
    assert "1 that do not apply to the model (added 'pome' from 1 co-occurring label, 1 example: " in learned.out
    assert "the label 'fruit' was retired" in learned.out
    assert "pome" not in labels_of(other, "apple")
    (tmp_path / "bad.jsonl").write_text(export.read_text() + '{"id": "x", "kind": "rename", "label": "cars"}\n')
    before = contents_of(other)
    refused = tacit("learn", other, tmp_path / "bad.jsonl")
    assert refused.code == 2
    assert "bad.jsonl:7: the field 'name' of an act of the kind 'rename' must be" in refused.err
    assert contents_of(other) == before


def test_any_act_is_undone_by_its_id_or_the_start_of_it(tacit, model, tmp_path):
    taught(tacit, model, tmp_path)
    acts = {act.kind: act for act in library.Tagger.load(model).acts_}
    assert tacit("labels", model, "undo", acts["add"].id).out == f"took back: {acts['add']}; saved to {model}\n"
    assert "pome" not in labels_of(model, "apple")
    start = tacit("labels", model, "history").out.splitlines()[0].split()[0]
    assert tacit("labels", model, "undo", start).out.startswith("took back: renamed 'cars' to 'vehicles'; ")
    assert "cars" in labels_of(model, "wheel")
    assert "(taken back)" in tacit("labels", model, "history").out.splitlines()[0]
    assert tacit("labels", model, "undo").out.startswith("took back: merged 'music', 'weather' into 'sounds'")
    before = contents_of(model)
    for again in (acts["add"].id, start):
        outcome = tacit("labels", model, "undo", again)
        assert outcome.code == 2
        assert "there is nothing to take back: it was taken back already: " in outcome.err
    outcome = tacit("labels", model, "undo", "no-such-id")
    assert outcome.code == 2
    assert "no act has the id 'no-such-id'" in outcome.err
    assert contents_of(model) == before


# -- training again ---------------------------------------------------------------------------------------


def test_a_taught_model_is_not_trained_over_by_mistake(tacit, folder, model, tmp_path, monkeypatch):
    def train(*_: object, **__: object) -> None:
        raise AssertionError("must not train")

    taught(tacit, model, tmp_path)
    before = contents_of(model)
    monkeypatch.setattr("tacit.tagger.tagger.Tagger.fit", train)
    monkeypatch.setattr("tacit.cli.train.read_labelled", train)
    refused = tacit("train", folder / "train.jsonl", "--model", "OneVsAll", "--out", model)
    assert refused.code == 2
    assert "the model there has 6 acts" in refused.err
    assert "--keep-acts" in refused.err
    assert "--discard-acts" in refused.err
    assert refused.err.strip().count("\n") == 0
    assert contents_of(model) == before


def test_acts_are_replayed_on_a_new_model(tacit, folder, model, tmp_path):
    taught(tacit, model, tmp_path)
    history = tacit("labels", model, "history").out
    done = tacit(
        "train", folder / "train.jsonl", "--model", "OneVsAll", "--param", "C=0.5", "--out", model, "--keep-acts"
    )
    assert done.code == 0, done.err
    assert library.Tagger.load(model).model_.C == 0.5
    assert tacit("labels", model, "history").out == history
    tacit("train", folder / "train.jsonl", "--model", "OneVsAll", "--param", "C=0.5", "--out", tmp_path / "fresh")
    export = tmp_path / "history.jsonl"
    export.write_text(tacit("labels", model, "history", "--json").out)
    tacit("learn", tmp_path / "fresh", export)
    assert all_suggestions(model) == all_suggestions(tmp_path / "fresh")
    assert tacit("labels", model, "undo").out.startswith("took back: merged")


# -- what must not happen ---------------------------------------------------------------------------------


def test_an_interrupted_command_leaves_the_model(tacit, folder, model, tmp_path, monkeypatch):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def interrupted(where: str, *arguments: object) -> None:
        before = contents_of(model)
        with monkeypatch.context() as patch:
            patch.setattr(where, stop)
            assert tacit(*arguments).code == 130
        assert contents_of(model) == before

    feedback = tmp_path / "feedback.jsonl"
    feedback.write_text('{"text": "filler1", "label": "music", "accepted": true}\n')
    for where in ("tacit.store.ledger.Ledger.append", "tacit.tagger.tagger.Tagger._do"):
        interrupted(where, "labels", model, "rename", "cars", "vehicles")
        interrupted(where, "add-label", model, "pome", "--example", "apple")
        interrupted(where, "learn", model, feedback)
    assert library.Tagger.load(model).history() == []
    assert tacit("labels", model, "rename", "cars", "vehicles").code == 0
    for where in ("tacit.store.ledger.Ledger.append", "tacit.tagger.tagger.Tagger._do"):
        interrupted(where, "labels", model, "undo")
    for where in ("tacit.store.folder.write_arrays", "tacit.store.folder.replacing"):
        train = ("train", folder / "train.jsonl", "--model", "Popularity", "--out", model)
        interrupted(where, *train, "--keep-acts")
        interrupted(where, *train, "--discard-acts")
    assert library.Tagger.load(model).history() == ["renamed 'cars' to 'vehicles'"]
    assert "vehicles" in labels_of(model, "wheel")


BAD_CALLS = {
    "unknown label 'carz' (did you mean 'cars'": ("labels", "MODEL", "rename", "carz", "x"),
    "there is a label 'music' already": ("labels", "MODEL", "rename", "cars", "music"),
    "at least two labels are needed": ("labels", "MODEL", "merge", "cars", "--into", "cars"),
    "Missing option '--into'": ("labels", "MODEL", "merge", "cars", "music"),
    "No such command 'renam'": ("labels", "MODEL", "renam", "a", "b"),
    "there is nothing to undo": ("labels", "MODEL", "undo"),
    "no act has the id '5f0c'": ("labels", "MODEL", "undo", "5f0c"),
    "must have a field 'accepted'": ("learn", "MODEL", "unjudged.jsonl"),
    "must be valid Unicode": ("add-label", "MODEL", "\udcff"),
    "blank": ("labels", "MODEL", "rename", "fruit", "  "),
    "bad.jsonl:1: unknown label 'carz'": ("learn", "MODEL", "bad.jsonl"),
    "vague.jsonl:1: must have a field 'accepted' with true or false; got 'perhaps'": ("learn", "MODEL", "vague.jsonl"),
    "textless.jsonl:1: must have the fields 'text'": ("learn", "MODEL", "textless.jsonl"),
    "feedback.txt:1: the first line fits no known format": ("learn", "MODEL", "feedback.txt"),
    "--cooccurs must be LABEL=COUNT; got 'music'": ("add-label", "MODEL", "x", "--cooccurs", "music"),
    "'2026' cannot be scored": ("add-label", "MODEL", "2026"),
    "no such file": ("add-label", "MODEL", "x", "--examples", "absent.txt"),
    "keep_texts=True (--keep-texts)": ("update", "MODEL", "new.jsonl"),
    "no such model folder": ("update", "absent", "new.jsonl"),
}


@pytest.mark.parametrize("message", BAD_CALLS)
def test_bad_calls_are_one_line_and_change_nothing(tacit, model, tmp_path, monkeypatch, message):
    work = tmp_path / "work"
    work.mkdir()
    good = '{"text": "a", "label": "cars", "accepted": true}\n'
    (work / "bad.jsonl").write_text(good.replace("cars", "carz"))
    (work / "vague.jsonl").write_text(good.replace("true", '"perhaps"'))
    (work / "textless.jsonl").write_text('{"label": "cars", "accepted": true}\n')
    (work / "unjudged.jsonl").write_text('{"text": "a song", "label": "music"}\n')
    (work / "feedback.txt").write_text("???\n")
    (work / "new.jsonl").write_text('{"text": "a", "labels": ["cars"]}\n')
    monkeypatch.chdir(work)
    before = {file.name: file.read_bytes() for file in model.iterdir()}
    outcome = tacit(*(model if argument == "MODEL" else argument for argument in BAD_CALLS[message]))
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.strip().count("\n") == 0
    assert {file.name: file.read_bytes() for file in model.iterdir()} == before


@pytest.mark.parametrize("line", ['{"text": "a", "labels": ["\\ud800"]}', '{"text": "\\ud800", "labels": ["a"]}'])
def test_half_a_character_is_told_before_training(tacit, tmp_path, line):
    (tmp_path / "a.jsonl").write_text(f'{{"text": "b", "labels": ["c"]}}\n{line}\n')
    found = tacit("train", tmp_path / "a.jsonl", "--out", tmp_path / "out")
    assert (found.code, found.err.count("\n"), "a.jsonl:2: " in found.err) == (2, 1, True)
    assert "half a character" in found.err
    assert not (tmp_path / "out").exists()


def test_acts_of_others_reach_the_terminal_as_plain_text(tacit, model, tmp_path):
    strange = r"\ud800\u001b[2J"
    acts = [
        f'{{"id": "1", "kind": "retire", "label": "{strange}", "who": "\\u001b[2J"}}',
        '{"id": "2", "kind": "rename", "label": "fruit", "name": "\\u001b[2J", "who": "\\u001b[2J"}',
    ]
    (tmp_path / "acts.jsonl").write_text("\n".join(acts))
    assert "skipped 1" in tacit("learn", model, tmp_path / "acts.jsonl").out
    for words in ([], ["history"], ["history", "--json"]):
        found = tacit("labels", model, *words)
        assert found.code == 0, found.err
        assert found.out.replace("\n", "").isprintable()


def test_a_new_label_is_found_by_its_name(tacit, tmp_path):
    (tmp_path / "names.tsv").write_text("id\tname\n1\triver\n2\tchoir\n")
    model = tmp_path / "model"
    assert tacit("start", tmp_path / "names.tsv", "--language", "en", "--out", model).code == 0
    assert tacit("add-label", model, "zebra fish").out == f"added 'zebra fish' from its name; saved to {model}\n"
    assert tacit("labels", model, "rename", "river", "stream").code == 0
    assert {"zebra fish", "1"} == set(labels_of(model, "zebra fishes in streams")[:2])
    assert labels_of(model, "two rivers")[0] == "1"
    assert library.Tagger.load(model).readable("1") == "stream"
