"""A process that fits a model on parts of the data and says what each fit took.

`tacit.estimate` starts it, because the peak memory of a fit can only be told in a process that does nothing else.
It reads a number of samples per line and answers each with a `Measurement` as a line of JSON.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import math
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from tacit.errors import TacitError
from tacit.registry import find_model
from tacit.store.files import read_arrays, write_arrays
from tacit.store.state import Arrays, Unpacker, pack, pack_model

if TYPE_CHECKING:
    from scipy import sparse

    from tacit.base import Estimator

_STATUS = Path("/proc/self/status")
_IN_SAMPLES = ("max_cluster", "max_samples")  # parameters that count samples
_ARRAYS, _TREE = "part.safetensors", "part.json"


@dataclass(frozen=True)
class Measurement:
    """What one fit took: wall and processor time, the memory it added to the process, and the size of the model."""

    n_samples: int
    seconds: float
    cpu_seconds: float
    memory_bytes: int
    model_bytes: int


def write_task(folder: Path, model: Estimator, X: sparse.csr_matrix, Y: sparse.csr_matrix, n_samples: int) -> None:
    """Write what a probe works on to `folder`: the model, and a part of the `n_samples` that it is meant for."""
    arrays: Arrays = {}
    parameters = pack(model.stored_parameters(), arrays, "parameters")
    data = pack([X, Y], arrays, "data")
    tree = {"model": type(model).__name__, "n_jobs": model.n_jobs, "parameters": parameters, "data": data}
    tree["n_samples"] = n_samples
    write_arrays(folder / _ARRAYS, arrays)
    (folder / _TREE).write_text(json.dumps(tree), encoding="utf-8")


def _read_task(folder: Path) -> tuple[Estimator, sparse.csr_matrix, sparse.csr_matrix, int]:
    tree = json.loads((folder / _TREE).read_text(encoding="utf-8"))
    unpacker = Unpacker(read_arrays(folder / _ARRAYS), find_model)
    parameters = unpacker.value(tree["parameters"], dict[str, Any])
    X, Y = unpacker.value(tree["data"])
    return find_model(tree["model"])(n_jobs=tree["n_jobs"], **parameters), X.copy(), Y.copy(), tree["n_samples"]


def _scaled(model: Estimator, share: float) -> Estimator:
    """A copy for a share of the samples, with as many clusters as all of them would give."""
    copy: Estimator = clone(model)
    for name in _IN_SAMPLES:
        if hasattr(copy, name):
            copy.set_params(**{name: max(math.ceil(share * getattr(copy, name)), 2)})
    return copy


def resident_bytes() -> int:
    """Memory this process holds now; 0 where the system does not tell."""
    return _status("VmRSS")


def data_bytes() -> int:
    """Memory this process has asked for and may write to; 0 where the system does not tell."""
    return _status("VmData")


def _peak_bytes() -> int:
    """The most memory this process has held; 0 where the system does not tell."""
    if _STATUS.exists():
        return _status("VmHWM")  # getrusage would count what the parent held before it became this process
    if importlib.util.find_spec("resource") is None:  # Windows
        return 0
    import resource

    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _status(field: str) -> int:
    try:
        lines = _STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(field)), 0)


def _forget_peak() -> None:
    """Give freed memory back and let the peak begin anew, where the system can (Linux)."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
        try:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        except OSError:
            return


def _measure(model: Estimator, X: sparse.csr_matrix, Y: sparse.csr_matrix, held_bytes: int) -> Measurement:
    """Fit a model in a process that held so much memory before the first fit."""
    _forget_peak()
    start, cpu_start = time.perf_counter(), time.process_time()
    fitted = model.fit(X, Y)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    memory = max(_peak_bytes() - held_bytes, 0)
    arrays: Arrays = {}
    size = len(json.dumps(pack_model(fitted, arrays))) + sum(array.nbytes for array in arrays.values())
    return Measurement(X.shape[0], seconds, cpu_seconds, memory, size)


def main() -> None:
    """Answer each line of stdin, a number of samples, with a line of JSON."""
    model, X, Y, n_total = _read_task(Path(sys.argv[1]))
    held_bytes = 0
    for place, line in enumerate(sys.stdin):
        n_samples = int(line)
        if place == 1:  # the first fit compiles kernels or loads them, and they stay
            held_bytes = resident_bytes() or _peak_bytes()
        try:
            part = _scaled(model, n_samples / n_total)
            answer: dict[str, Any] = asdict(_measure(part, X[:n_samples], Y[:n_samples], held_bytes))
        except (TacitError, MemoryError) as error:
            answer = {"error": str(error) or "out of memory"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
