"""Damage saved models with fresh checksums, load them and rank with them; a script, as some damage used to kill Python.

``python model_mutator.py MODELS JOURNAL FIRST LAST`` tries the seeds from FIRST to LAST on the folders in MODELS, in
turn. A line in JOURNAL says what became of each; the seed of a crash is in the last line, without an outcome.
"""

from __future__ import annotations

import faulthandler
import json
import math
import random
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save
from scipy import sparse

import tacit
from tacit.store import atomic, folder

SECONDS = 10.0  # of CPU for a case, before it counts as a hang
WALL_SECONDS = 120.0  # on a machine that has other things to do
TEXTS = ["a red apple and a pear", "the fast car on the road", "", "words never seen"]
_NUMBERS: list[Any] = [
    0, 1, -1, 2, 7, 255, 65_535, 65_536, 10**8, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 10**40, -(10**40),
    0.5, 1e-300, 1e308, -1e308, math.inf, -math.inf, math.nan, True, None, "x", "", [], {}, {"list": []},
]  # fmt: skip

Arrays = dict[str, Any]


def write(target: Path, manifest: dict[str, Any], data: bytes) -> None:
    """A model folder in which every checksum is right."""
    target.mkdir(exist_ok=True)
    file = target / manifest["file"]["name"]
    file.write_bytes(data)
    manifest["file"] = {"name": file.name, "size": len(data), "sha256": atomic.sha256(file)}
    manifest["sha256"] = folder._checksum(manifest)
    (target / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def read(source: Path) -> tuple[dict[str, Any], Arrays]:
    """The manifest of a model, and copies of its arrays."""
    manifest = folder.read_manifest(source)
    arrays = atomic.read_arrays(source / manifest["file"]["name"])
    return manifest, {name: array.copy() for name, array in arrays.items()}


# -- damage -----------------------------------------------------------------------------------------------


def _extremes(array: Any, rng: random.Random) -> Any:
    """A value that an entry of an array hardly ever has."""
    if array.dtype.kind == "f":
        return rng.choice([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e30, np.finfo(array.dtype).max])
    if array.dtype.kind == "b":
        return rng.random() < 0.5
    ends = np.iinfo(array.dtype)
    near = [0, 1, array.size, array.size + 1, len(array) - 1, len(array), int(array.max(initial=0)) + 1, 10**6]
    return min(max(rng.choice([ends.min, ends.max, -1, -2, *near]), ends.min), ends.max)


def flip_bits(array: Any, rng: random.Random) -> Any:
    flat = array.view(np.uint8).reshape(-1) if array.size else array
    for _ in range(rng.choice([1, 1, 2, 8]) if array.size else 0):
        flat[rng.randrange(len(flat))] ^= 1 << rng.randrange(8)
    return array


def overwrite(array: Any, rng: random.Random) -> Any:
    for _ in range(rng.choice([1, 1, 2, 8]) if array.size else 0):
        array.reshape(-1)[rng.randrange(array.size)] = _extremes(array, rng)
    return array


def resize(array: Any, rng: random.Random) -> Any:
    axis = rng.randrange(array.ndim) if array.ndim else 0
    kept = rng.choice([0, 1, array.shape[axis] // 2, max(array.shape[axis] - 1, 0)])
    shorter = np.take(array, range(min(kept, array.shape[axis])), axis=axis)
    return rng.choice([shorter, np.concatenate([array, array], axis=axis)])


def retype(array: Any, rng: random.Random) -> Any:
    kinds = ["<u1", "<i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f2", "<f4", "<f8", "?"]
    if rng.random() < 0.5:
        same = [kind for kind in kinds if np.dtype(kind).itemsize == array.dtype.itemsize]
        return array.view(rng.choice(same))
    with np.errstate(all="ignore"):
        return array.astype(rng.choice(kinds))


_OF_ARRAYS: list[Callable[[Any, random.Random], Any]] = [flip_bits, overwrite, overwrite]
_OF_FORMS: list[Callable[[Any, random.Random], Any]] = [resize, retype]


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All (container, key) in a tree of JSON."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(items):
        yield tree, key
        yield from _places(value)


def damage_manifest(manifest: dict[str, Any], rng: random.Random) -> str:
    places = [place for name in ("state", "parameters") for place in _places(manifest[name])]
    numbers = [(at, key) for at, key in places if isinstance(at[key], int | float)]
    container, key = rng.choice(numbers if numbers and rng.random() < 0.6 else places)
    before = container[key]
    how = rng.randrange(10)
    if how == 0:
        del container[key]
        return f"removed {key}"
    if how == 1:
        other, its_key = rng.choice(places)
        container[key] = json.loads(json.dumps(other[its_key]))
        return f"{key} from {its_key}"
    if isinstance(before, list) and before and how < 6:
        before.append(before[0]) if how < 4 else before.pop()
        return f"{key}: another number of items"
    if isinstance(before, int | float) and not isinstance(before, bool) and how < 6:
        container[key] = before + rng.choice([-1, 1, 1e-3, 1000])
    else:
        container[key] = rng.choice(_NUMBERS)
    return f"{key}: {before!r:.40} to {container[key]!r:.40}"


def damaged(source: Path, target: Path, seed: int) -> str:
    """Write a damaged copy of a model; says what was done."""
    rng = random.Random(seed)
    manifest, arrays = read(source)
    done = []
    kind = rng.random()
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if kind < 0.65 and arrays:
            name = rng.choice(sorted(arrays))
            how = rng.choice(_OF_FORMS if kind < 0.15 else _OF_ARRAYS)
            arrays[name] = how(arrays[name], rng)
            done.append(f"{how.__name__} {name}")
        elif manifest["state"] is not None:
            done.append(damage_manifest(manifest, rng))
    write(target, manifest, save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
    return ", ".join(done)


# -- use --------------------------------------------------------------------------------------------------


def use(model: Any) -> None:
    """All that one does with a model: rank, ask why, change its labels, teach it."""
    if isinstance(model, tacit.Tagger):
        use_tagger(model)
        return
    X = some_rows(model.n_features_in_)
    if X is None:
        return
    n_dense = getattr(model, "n_dense_in_", 0)
    if 0 < n_dense < X.shape[1]:
        X = tacit.Features(X[:, :-n_dense], X[:, -n_dense:].toarray(), model.dense_weight_)
    rank(model, X)
    if hasattr(model, "neighbors"):
        model.neighbors(X, k=3)
    if hasattr(model, "uncertain"):
        attempt(model.uncertain, X)
    if hasattr(model, "add_labels"):
        attempt(model.add_labels, np.ones((len(model.seen_names_), 2)), names=["new", "newer"])
        attempt(model.remove_labels, [0])
        rank(model, X)
    if hasattr(model, "partial_fit"):
        Y = sparse.csr_matrix(np.eye(X.shape[0], len(model.seen_names_), dtype=np.float32))
        attempt(model.partial_fit, X, Y)
        rank(model, X)
    if sparse.issparse(X):
        use_tagger(tacit.Tagger.around(model))


def some_rows(n_features: int) -> Any:
    """A few samples; None where nobody has such: everything that a row of them could reach has as many rows."""
    if n_features > 10**6:
        return None
    rng = np.random.default_rng(0)
    return sparse.random(5, n_features, density=min(1.0, 20 / n_features), format="csr", rng=rng, dtype=np.float32)


def rank(model: Any, X: Any) -> None:
    model.rank(X, k=3)
    model.rank(X[:1], k=len(model.classes_))
    model.rank(X, k=2, exclude=[0])
    model.predict(X)


class Lengths:
    """An encoder."""

    def encode(self, texts: list[str]) -> Any:
        """Vectors of three dimensions."""
        return [[1.0, len(text), text.count("e")] for text in texts]


def use_tagger(tagger: tacit.Tagger) -> None:
    if tagger.encoding_ is not None:
        tagger.set_params(encoder=Lengths())
    samples = TEXTS if tagger.takes_texts else some_rows(tagger.n_features_in_)
    if samples is None:
        return
    tagger.suggest(samples, k=3)
    tagger.suggest(samples[:1], threshold="auto")
    tagger.predict(samples)
    labels = [str(label) for label in tagger.classes_]
    attempt(tagger.evaluate, samples, [labels[:1]] * 4 + ([] if tagger.takes_texts else [labels[:1]]))
    for label in labels[:2]:
        attempt(tagger.explain, samples[0], label)
    attempt(tagger.find_missing, samples, [[]] * (4 if tagger.takes_texts else 5))
    attempt(tagger.add_label, "new", examples=samples[:2], cooccurs={labels[0]: 3.0})
    attempt(tagger.add_label, "apple", description="a red apple")
    attempt(tagger.learn, [(samples[0], labels[-1], True), (samples[1], labels[0], False)])
    attempt(tagger.rename_label, labels[0], "renamed")
    attempt(tagger.suggest, samples, k=3, damp_head=0.5)
    attempt(tagger.update, samples, [labels[-1:]] * (4 if tagger.takes_texts else 5))
    attempt(tagger.suggest, samples, k=3)


def attempt(function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Do something with a model that ranks; that it is no use for this may be said in one line."""
    try:
        function(*arguments, **options)
    except tacit.TacitError as error:
        if "\n" in str(error):
            raise AssertionError(f"several lines: {error}") from error


def try_one(source: Path, target: Path, seed: int) -> str:
    """What becomes of one damaged model: ranked, refused, or a traceback."""
    what = damaged(source, target, seed)
    faulthandler.dump_traceback_later(WALL_SECONDS, exit=True)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # ends the process, whatever it is doing
    try:
        use(tacit.load_model(target, verify=seed % 2 == 0))
        return f"ranked\t{what}"
    except tacit.TacitError as error:
        text = str(error)
        return f"refused\t{what}\t{text!r}" if "\n" not in text else f"several lines\t{what}\t{text!r}"
    except BaseException:  # noqa: BLE001 - the outcome is what we are here for
        return f"traceback\t{what}\t{traceback.format_exc()!r}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        shutil.rmtree(target)


def main(models: Path, journal: Path, first: int, last: int) -> None:
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)
    warnings.simplefilter("ignore")
    sources = sorted(path.parent for path in models.glob("*/manifest.json"))
    for source in sources:  # whatever must be compiled is compiled before anybody looks at the clock
        use(tacit.load_model(source))
    with tempfile.TemporaryDirectory() as scratch, journal.open("a", buffering=1, encoding="utf-8") as lines:
        for seed in range(first, last):
            source = sources[seed % len(sources)]
            lines.write(f"{seed}\t{source.name}\t")
            lines.flush()  # a crash writes nothing
            lines.write(try_one(source, Path(scratch) / "model", seed) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
