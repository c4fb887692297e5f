from __future__ import annotations

import json
from pathlib import Path

import numpy as np
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


def labels_of(model: Path, text: str) -> list[str]:
    return [found.label for found in library.Tagger.load(model).suggest([text], k=9)[0]]


def test_a_label_is_added_previewed_and_undone(tacit, folder, model):
    shown = tacit("add-label", model, "pome", "--example", "apple pear", "--preview", folder / "train.jsonl", "-n", 4)
    assert shown.code == 0, shown.err
    assert shown.out.count("apple") + shown.out.count("pear") >= 4
    assert "pome" not in labels_of(model, "apple")
    added = tacit("add-label", model, "pome", "--example", "apple pear", "--cooccurs", "fruit=20")
    assert added.out == f"added 'pome' from 1 co-occurring label, 1 example; saved to {model}\n"
    assert "pome" in labels_of(model, "apple")
    assert tacit("labels", model, "undo").out.startswith("took back: added 'pome'")
    assert "pome" not in labels_of(model, "apple")


def test_examples_from_a_file_and_a_vocabulary(tacit, model, tmp_path):
    (tmp_path / "pumps.txt").write_text("apple pear\npear apple\n")
    assert "2 examples" in tacit("add-label", model, "pome", "--examples", tmp_path / "pumps.txt").out
    (tmp_path / "v.tsv").write_text("id\tname\talternatives\tparents\n1\tmusic\n2\tensemble\tchoir\t1\n")
    added = tacit("add-label", model, "ensemble", "--vocabulary", tmp_path / "v.tsv")
    assert "its name or description, its parent 'music'" in added.out
    assert library.Tagger.load(model).vocabulary_.name_of("choir") == "ensemble"


def test_labels_are_renamed_merged_retired_and_listed(tacit, model):
    assert tacit("labels", model, "rename", "cars", "vehicles").code == 0
    assert tacit("labels", model, "merge", "music", "weather", "--into", "sounds").code == 0
    assert tacit("labels", model, "retire", "fruit").code == 0
    assert sorted(labels_of(model, "song")) == ["sounds", "vehicles"]
    listed = tacit("labels", model).out.splitlines()
    assert listed[0] == "1. renamed 'cars' to 'vehicles'"
    assert listed[-1] == "4 labels, 3 acts since training"


def test_learning_and_forgetting(tacit, model, tmp_path):
    feedback = tmp_path / "feedback.jsonl"
    feedback.write_text('{"text": "filler1", "label": "music", "accepted": true}\n' * 5)
    before = labels_of(model, "filler1")
    learned = tacit("learn", model, feedback)
    assert learned.out == f"learned from 5 judgements, 5 accepted, of 'music'; saved to {model}\n"
    assert labels_of(model, "filler1")[0] == "music"
    assert tacit("learn", model, "--undo").out.startswith("took back: learned from 5 judgements")
    assert labels_of(model, "filler1") == before
    table = tmp_path / "feedback.csv"
    table.write_text("text,label,accepted\na song,music,no\n")
    assert "1 judgement, 0 accepted" in tacit("learn", model, table).out


def test_learning_about_features_by_row(tacit, folder, tmp_path):
    library.load_model(folder / "features").save(tmp_path / "m")
    feedback = tmp_path / "feedback.jsonl"
    feedback.write_text('{"row": 3, "label": "1", "accepted": false}\n')
    assert tacit("learn", tmp_path / "m", feedback, "--data", folder / "numbers.txt").code == 0
    assert "'row', with --data" in tacit("learn", tmp_path / "m", feedback).err


def test_update_says_what_it_did(tacit, folder, tmp_path):
    library.load_model(folder / "kept").save(tmp_path / "m")
    (tmp_path / "new.jsonl").write_text('{"text": "zither song", "labels": ["strings"]}\n' * 4)
    done = tacit("update", tmp_path / "m", tmp_path / "new.jsonl")
    assert done.code == 0, done.err
    assert done.out.startswith("trained OneVsAll again on 164 samples, 160 kept and 4 new; 1 label is new")
    assert labels_of(tmp_path / "m", "a zither")[0] == "strings"


def test_an_interrupted_command_leaves_the_model(tacit, model, monkeypatch):
    before = {file.name: file.read_bytes() for file in model.iterdir()}

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for where in ("tacit.store.folder.replacing", "tacit.tagger.living.LivingVocabulary._record"):
        with monkeypatch.context() as patch:
            patch.setattr(where, stop)
            assert tacit("labels", model, "rename", "cars", "vehicles").code == 130
        assert "cars" in labels_of(model, "wheel")
    kept = {file.name: file.read_bytes() for file in model.iterdir() if file.name in before}
    assert kept == before


BAD_CALLS = {
    "unknown label 'carz' (did you mean 'cars'": ("labels", "MODEL", "rename", "carz", "x"),
    "there is a label 'music' already": ("labels", "MODEL", "rename", "cars", "music"),
    "at least two labels are needed": ("labels", "MODEL", "merge", "cars", "--into", "cars"),
    "Missing option '--into'": ("labels", "MODEL", "merge", "cars", "music"),
    "No such command 'renam'": ("labels", "MODEL", "renam", "a", "b"),
    "there is nothing to undo": ("labels", "MODEL", "undo"),
    "there is no feedback to undo (no acts)": ("learn", "MODEL", "--undo"),
    "name the file of feedback, or --undo": ("learn", "MODEL"),
    "bad.jsonl:2: unknown label 'carz'": ("learn", "MODEL", "bad.jsonl"),
    "vague.jsonl:1: the field 'accepted' must be true or false; got 'perhaps'": ("learn", "MODEL", "vague.jsonl"),
    "textless.jsonl:1: must name its sample by a field 'text'": ("learn", "MODEL", "textless.jsonl"),
    "feedback.txt:1: the first line fits no known format": ("learn", "MODEL", "feedback.txt"),
    "--cooccurs is given as LABEL=COUNT; got 'music'": ("add-label", "MODEL", "x", "--cooccurs", "music"),
    "nothing is known of 'xyzzy'": ("add-label", "MODEL", "xyzzy"),
    "no such file": ("add-label", "MODEL", "x", "--examples", "absent.txt"),
    "keep_texts=True (--keep-texts)": ("update", "MODEL", "new.jsonl"),
    "no such model folder": ("update", "absent", "new.jsonl"),
}


@pytest.mark.parametrize("message", BAD_CALLS)
def test_bad_calls_are_one_line_and_change_nothing(tacit, model, tmp_path, monkeypatch, message):
    work = tmp_path / "work"
    work.mkdir()
    good = '{"text": "a", "label": "cars", "accepted": true}\n'
    (work / "bad.jsonl").write_text(good + good.replace("cars", "carz"))
    (work / "vague.jsonl").write_text(good.replace("true", '"perhaps"'))
    (work / "textless.jsonl").write_text('{"label": "cars", "accepted": true}\n')
    (work / "feedback.txt").write_text("???\n")
    (work / "new.jsonl").write_text('{"text": "a", "labels": ["cars"]}\n')
    monkeypatch.chdir(work)
    before = {file.name: file.read_bytes() for file in model.iterdir()}
    outcome = tacit(*(model if argument == "MODEL" else argument for argument in BAD_CALLS[message]))
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.strip().count("\n") == 0
    assert {file.name: file.read_bytes() for file in model.iterdir()} == before


def test_features_have_no_names_to_go_by(tacit, folder):
    outcome = tacit("add-label", folder / "features", "thirteen")
    assert outcome.code == 2
    assert "nothing is known of 'thirteen'" in outcome.err
    added = tacit("add-label", folder / "features", "new", "--examples", folder / "numbers.txt", "--preview",
                  folder / "numbers.txt", "-n", 2)  # fmt: skip
    assert added.code == 0
    assert np.count_nonzero([line.strip()[:1].isdigit() for line in added.out.splitlines()]) == 2
