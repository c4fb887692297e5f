"""Models from elsewhere: whatever a model folder holds, with checksums that match, loading it is safe.

Set ``TACIT_ATTACK=10000`` for as many damaged models; a failure names its seeds.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np
import pytest
from safetensors.numpy import save
from scipy import sparse

import tacit
from attack import model_mutator
from tacit.core.parameters import Kind, kind_of
from tacit.data.vocabulary import Vocabulary
from tacit.errors import ModelFileError
from tacit.linear.label_forest import LabelForest
from tacit.names.similar import Meaning, SampleIndex
from tacit.registry import MODELS, TAGGER
from tacit.store.declared import Array, Csr, kinds_of
from tacit.tagger.naming import start_tagger

N_SHORT = 200  # cases in every run of the tests
N_CASES = int(os.environ.get("TACIT_ATTACK", str(N_SHORT)))
FIRST = int(os.environ.get("TACIT_ATTACK_SEED", "0"))

#: Small, and with all that a model can hold: several levels, cells and learners.
PARAMETERS: dict[str, dict[str, Any]] = {
    "LabelTree": {"n_trees": 2, "arity": 3, "max_leaf": 3, "beam": 2},
    "FastXML": {"n_trees": 3, "C": 50.0, "idf": True},
    "PfastXML": {"n_trees": 2},
    "PfastreXML": {"n_trees": 2},
    "Blend": {"models": ["OneVsAll", ("FastXML", {"n_trees": 2}), "LFM"]},
}
FACTORS = {"n_factors": 6, "n_sweeps": 3, "calibration_folds": 1}
CELLS = {"max_cluster": 60, "n_learners": 2, "dimension": 8, "n_neighbors": 5}


def samples() -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Few samples of many features, so that the nodes of trees have many weights."""
    rng = np.random.default_rng(0)
    Y = sparse.random(150, 24, density=0.1, format="lil", rng=rng, dtype=np.float32)
    Y[np.arange(150), np.arange(150) % 24] = 1
    Y = (Y.tocsr() > 0).astype(np.float32)
    noise = sparse.random(150, 176, density=0.4, format="csr", rng=rng, dtype=np.float32)
    return sparse.hstack([Y, noise], format="csr").astype(np.float32), Y


def texts() -> tuple[list[str], list[list[str]]]:
    words = {"fruit": "apple pear plum fig", "car": "car road wheel fast", "music": "song chord tune drum"}
    rng = np.random.default_rng(0)
    tags = [list(rng.choice(list(words), size=rng.integers(1, 3), replace=False)) for _ in range(80)]
    return [" ".join(rng.choice(words[tag].split()) for tag in row for _ in range(3)) for row in tags], tags


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small model of each kind."""
    folder = tmp_path_factory.mktemp("models")
    X, Y = samples()
    for name, entry in MODELS.items():
        known = {item.name for item in fields(entry.load())}
        usual = {key: value for key, value in (FACTORS | CELLS).items() if key in known}
        usual |= {"calibration_folds": 0} if name == "LFM" else {}
        entry.load()(**usual | PARAMETERS.get(name, {})).fit(X, Y).save(folder / name)
    mixed = tacit.Features(X[:, :180], X[:, 180:].toarray(), 0.5)
    for name in ("OneVsAll", "LabelTree", "MLLCS", "MomentMatching"):
        usual = FACTORS if name == "MLLCS" else PARAMETERS.get(name, {})
        MODELS[name].load()(**usual).fit(mixed, Y).save(folder / f"{name}Mixed")
    tacit.MLLCS(**FACTORS).partial_fit(X, Y).save(folder / "MLLCSOnline")
    vocabulary = Vocabulary(["1", "2"], ["fruit", "car"], [["food"], []], [[], ["1"]])
    said, tags = texts()
    options: dict[str, Any] = {"keep_texts": True, "features": "words+characters", "vocabulary": vocabulary}
    tacit.Tagger("OneVsAll", **options).fit(said, tags).save(folder / "Tagger")
    tacit.Tagger("LabelTree").fit(said, tags).save(folder / "TaggerOfTrees")
    started = start_tagger(vocabulary, "en")
    similar = SampleIndex.of(started.vectorizer_.transform(["fruit", "car"]), sparse.eye(2, format="csr"))
    started.names_ = replace(started.names_, samples=similar)
    started.save(folder / "TaggerOfNames")
    by_vectors = tacit.Tagger("LabelTree", encoder=model_mutator.Lengths(), vector_weight=0.5).fit(said, tags)
    by_vectors.save(folder / "TaggerOfVectors")
    meaning = Meaning(by_vectors.encoding_.unit(by_vectors.encoding_.fingerprint)[:2])
    started.encoding_ = replace(by_vectors.encoding_, weight=0)
    started.names_ = replace(started.names_, meaning=meaning)
    started.set_params(encoder=model_mutator.Lengths()).save(folder / "TaggerOfMeanings")
    return folder


# -- what is declared -------------------------------------------------------------------------------------


def undeclared(kind: Kind, where: str) -> Iterator[str]:
    """Fields, also those inside, that hold arrays of which nothing is said."""
    plain = kind.type
    if kind.find(Array, Csr) is not None:
        return
    if plain is sparse.csr_matrix or (get_origin(plain) or plain) is np.ndarray:
        yield where
    elif is_dataclass(plain) and not hasattr(plain, "stored_parameters"):
        for name, inner in kinds_of(plain).items():
            yield from undeclared(inner, f"{where}.{name}")
    else:
        for argument in get_args(plain):
            yield from undeclared(kind_of(argument), f"{where}[]")


@pytest.mark.parametrize("entry", [*MODELS.values(), TAGGER], ids=lambda entry: entry.name)
def test_every_array_of_a_model_is_declared(entry):
    assert [each for name, kind in kinds_of(entry.load()).items() for each in undeclared(kind, name)] == []


# -- random damage ----------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_damaged_model_is_refused_or_ranks(models, tmp_path):
    """No signal, no hang, no traceback."""
    journal, last = tmp_path / "journal", FIRST + N_CASES
    crashes: list[str] = []
    seed = FIRST
    while seed < last:
        script = [sys.executable, model_mutator.__file__, str(models), str(journal), str(seed), str(last)]
        done = subprocess.run(script, check=False, capture_output=True, text=True)
        lines = journal.read_text(encoding="utf-8").splitlines()
        if done.returncode == 0:
            break
        assert lines, done.stderr
        assert len(lines[-1].split("\t")) == 3, done.stderr  # the last one has no outcome
        crashes.append(f"{lines[-1]} exit {done.returncode}: {done.stderr[-1500:]}")
        seed = int(lines[-1].split("\t")[0]) + 1
        with journal.open("a", encoding="utf-8") as file:
            file.write("crashed\n")
    outcomes = [line.split("\t") for line in journal.read_text(encoding="utf-8").splitlines()]
    counted = Counter(outcome[2] for outcome in outcomes)
    sys.stdout.write(f"{counted}\n")
    bad = ["\n".join(outcome) for outcome in outcomes if outcome[2] not in ("ranked", "refused")]
    assert not crashes, f"{len(crashes)} crashes, {counted}:\n" + "\n".join(crashes[:10])
    assert not bad, f"{counted}:\n" + "\n\n".join(bad[:10])
    assert len(outcomes) == N_CASES
    assert min(counted["ranked"], counted["refused"]) > N_CASES // 20


# -- damage by hand ---------------------------------------------------------------------------------------


def refused(source: Path, target: Path, match: str, change: Callable[[Any, Any], None]) -> None:
    """A model that is changed, with fresh checksums, is refused, also without a look at the checksum."""
    manifest, arrays = model_mutator.read(source)
    change(manifest["state"]["map"], arrays)
    model_mutator.write(target, manifest, save({name: np.ascontiguousarray(each) for name, each in arrays.items()}))
    for verify in (True, False):
        with pytest.raises(ModelFileError, match=match) as error:
            tacit.load_model(target, verify=verify)
        assert "\n" not in str(error.value)


def entry(name: str, at: Any, value: Any) -> Callable[[Any, Any], None]:
    def change(_: Any, arrays: Any) -> None:
        arrays[f"state.{name}"][at] = value

    return change


def cycle(_: Any, arrays: Any) -> None:
    children = arrays["state.forest_.children"]
    children[np.argwhere(children >= 0)[0][0]] = 0


BY_HAND = {
    "leaf labels beyond the labels": (
        "FastXML", entry("forest_.leaf_labels", 3, 24), r"forest_.leaf_labels must hold numbers below 24 .*; got 24"),
    "leaves beyond the leaves": (
        "FastXML", entry("forest_.children", (0, 0), -(10**6)), r"forest_.children must hold numbers from -\d+ up"),
    "a cycle of children": ("FastXML", cycle, r"forest_.children must hold numbers larger than that of their row"),
    "leaf starts that fall": ("FastXML", entry("forest_.leaf_starts", 2, 10**9), r"leaf_starts must never fall"),
    "large nodes beyond": ("FastXML", entry("forest_.large_nodes", 0, 60_000), r"large_nodes must hold numbers below"),
    "children of a label tree": (
        "LabelTree", entry("forest_.children", 0, 10**6), r"forest_.children must hold numbers from 1 to"),
    "entry children of a label tree": (
        "LabelTree", entry("forest_.entry_children", 0, 255), r"entry_children must hold numbers below"),
    "features of a label tree": (
        "LabelTree", entry("forest_.chunk_features", 0, 10**8), r"chunk_features must hold numbers below 200"),
    "levels of a label tree": ("LabelTree", entry("forest_.level_starts.0", 0, -5), r"level_starts.0 must rise from 0"),
    "samples of SLEEC": (
        "SLEEC", entry("learners_.0.cells.0.samples", 0, 150), r"samples must hold numbers below 150 .*; got 150"),
    "indices of a sparse matrix": (
        "OneVsAll", entry("weights_.indices", 0, 24), r"weights_.indices must hold numbers below 24"),
    "labels that are the same": ("OneVsAll", entry("classes_", 1, 0), r"classes_ must differ from each other"),
    "factors that are no numbers": ("MLLCSOnline", entry("label_factors_", 0, np.nan), r"must hold finite numbers of"),
    "names of no label": ("TaggerOfNames", entry("names_.index.labels", 0, 99), r"index.labels must hold numbers"),
    "evidence that there is not": ("TaggerOfNames", entry("names_.trees.features", 0, 29), r"must be below 29; got 29"),
    "curves of a tagger": ("Tagger", entry("calibration_.curve_of_label", 0, 9), r"curve_of_label must hold numbers"),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_an_entry_out_of_range_is_refused(models, tmp_path, name):
    model, change, match = BY_HAND[name]
    refused(models / model, tmp_path / "model", match, change)


MIXED = {
    "fewer weights": ("OneVsAllMixed", 20, r"dense_weights_ must have 20 .n_dense. entries along axis 0; got 19"),
    "fewer features": ("OneVsAllMixed", 19, r"dense_weights_ must have 19 .n_dense. entries along axis 0; got 20"),
    "features of a tree": ("LabelTreeMixed", 19, r"forest_.dense_values must be weights of 19 features for \d+ child"),
}


@pytest.mark.parametrize("name", MIXED)
def test_other_dense_features_are_refused(models, tmp_path, name):
    model, n_dense, match = MIXED[name]

    def change(state: Any, arrays: Any) -> None:
        state["n_dense_in_"] = n_dense
        for cut in ("state.dense_weights_", "state.forest_.dense_values"):
            if n_dense == 20 and cut in arrays:
                arrays[cut] = arrays[cut][1:]

    refused(models / model, tmp_path / "model", match, change)


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("container_", "tuple", "container_ must be one of 'lists', 'sparse', 'dense'; got 'tuple'"),
        ("n_samples_", 0, "n_samples_ must be >= 1; got 0"),
        ("n_samples_", 10**30, "numbers must fit into 64 bits"),
        ("n_features_in_", True, "n_features_in_ must be a whole number; got true or false"),
        ("threshold_", "high", "threshold_ must be a number; got a text"),
        ("shares_", None, "shares_ must be an array; got nothing"),
        ("classes_", {"strings": ["a", 1]}, "names must hold texts"),
        ("classes_", {"strings": ["\ud800"] * 24}, "valid Unicode"),
    ],
)
def test_a_number_or_text_out_of_range_is_refused(models, tmp_path, name, value, match):
    refused(models / "Popularity", tmp_path / "model", match, lambda state, _: state.update({name: value}))


@pytest.mark.parametrize(("size", "is_refused"), [(300_000, True), (1_000, False)])
def test_a_beam_of_wide_leaves(models, tmp_path, size, is_refused):
    """One leaf of many labels makes room for as many in each leaf of the beam."""
    model = tacit.load_model(models / "LabelTree")
    starts = np.array([0, *range(size, 2 * size), 3 * size - 1])
    children = np.concatenate([np.arange(1, size + 1), np.zeros(2 * size - 1)]).astype(np.int32)
    nothing, levels = np.zeros(size + 2, np.int64), [np.array([0, 1, size + 1])]
    entries = (nothing, np.zeros(0, np.int32), nothing[:1], np.zeros(0, np.uint8), np.zeros(0, np.float32))
    model.forest_ = LabelForest(levels, starts, children, np.zeros(len(children), np.float32), *entries)
    model.beam = 10**9
    model.save(tmp_path / "model")
    if is_refused:
        with pytest.raises(ModelFileError, match=r"forest_.slot_starts .*; got 300000 leaves of up to 300000"):
            tacit.load_model(tmp_path / "model")
    else:
        assert tacit.load_model(tmp_path / "model").rank(samples()[0][:5], k=1).labels.max() == 0


def test_members_of_a_blend_are_checked(models, tmp_path):
    change = entry("members_.1.forest_.leaf_labels", 0, 24)
    refused(models / "Blend", tmp_path / "model", r"members_.1.forest_.leaf_labels must hold numbers below 24", change)


def test_labels_have_vectors_of_the_dimensions_of_texts(models, tmp_path):
    def narrow(_: Any, arrays: Any) -> None:
        arrays["state.names_.meaning.labels"] = arrays["state.names_.meaning.labels"][:, :2]

    def drop(state: Any, _: Any) -> None:
        state["encoding_"] = None

    must = r"names_.meaning.labels must have {} dimensions, as texts have; got {}"
    refused(models / "TaggerOfMeanings", tmp_path / "narrow", must.format(3, 2), narrow)
    refused(models / "TaggerOfMeanings", tmp_path / "dropped", must.format(0, 3), drop)
