"""Reading hostile files where they can do no harm: each in a process of its own, whose time and memory are measured.

Run as a script, a `Reader` answers requests, lines of JSON on standard input. It has imported and compiled all it
needs before, so that what is measured is the file's own cost.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 20.0  # seconds of wall time after which a file counts as hanging
ADDRESS_SPACE = 3 << 30  # bytes that a file may ask for before it counts as out of memory


class Outcome(NamedTuple):
    """What became of a file: ``ok``, ``refused``, ``escaped`` (any other exception), ``killed`` or ``hung``."""

    kind: str
    message: str
    seconds: float
    megabytes: float


class Reader:
    """The process that reads files for the tests."""

    def __init__(self, folder: Path) -> None:
        # A file for stderr: a pipe that nobody empties would stop the process.
        with (folder / "stderr").open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert self._answer() == "ready", (folder / "stderr").read_text()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline() or '"the reader has ended"')

    def read(self, path: Path, function: str = "load_data", **options: Any) -> Outcome:
        """What `load_data` or `load_vocabulary` makes of a file."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([function, str(path), options]) + "\n")
        self._process.stdin.flush()
        return Outcome(*self._answer())

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=PATIENCE)


def _functions() -> dict[str, Any]:
    from tacit.data.load import load_data, stream_samples
    from tacit.data.vocabulary import load_vocabulary

    def texts(path: str, **options: Any) -> int:
        return sum(1 for _ in stream_samples(path, **options))

    return {"load_data": load_data, "load_vocabulary": load_vocabulary, "stream_samples": texts}


def _warm_up(folder: Path, functions: dict[str, Any]) -> None:
    """Load what reading needs: kernels, pyoxigraph."""
    concept = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://www.w3.org/2004/02/skos/core#">'
        '<Concept rdf:about="http://a"><prefLabel>a</prefLabel></Concept></rdf:RDF>'
    )
    for name, content in {"a.txt": "1 2 3\n0 0:0.1\n", "a.svm": "0 0:1\n", "a.rdf": concept}.items():
        (folder / name).write_text(content)
        functions["load_vocabulary" if name == "a.rdf" else "load_data"](folder / name)


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 10 if sys.platform == "linux" else 1 << 20)


def _child(function: Any, path: str, options: dict[str, Any], answers: int) -> None:
    """Read one file and write what became of it."""
    from tacit.errors import TacitError

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (int(PATIENCE), int(PATIENCE)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    before, start = _memory(), time.process_time()
    kind, message = "ok", ""
    try:
        function(path, **options)
    except TacitError as error:
        kind, message = "refused", str(error)
    except BaseException:  # noqa: BLE001
        kind, message = "escaped", traceback.format_exc(limit=-3)
    seconds = time.process_time() - start
    with os.fdopen(answers, "w") as file:
        json.dump([kind, message, seconds, _memory() - before], file)


def _contained(function: Any, path: str, options: dict[str, Any]) -> list[Any]:
    out, answers = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        try:
            _child(function, path, options, answers)
        finally:
            os._exit(0)
    os.close(answers)
    with os.fdopen(out) as file:
        if not select.select([file], [], [], PATIENCE)[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return ["hung", "", PATIENCE, 0.0]
        answer = file.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(answer) if answer else ["killed", f"by signal {status & 127}", 0.0, 0.0]


def main() -> None:
    """Answer requests until there are no more."""
    functions = _functions()
    _warm_up(Path(sys.argv[1]), functions)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        function, path, options = json.loads(line)
        print(json.dumps(_contained(functions[function], path, options)), flush=True)


if __name__ == "__main__":
    main()
