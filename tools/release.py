"""``make release``: build sdist and wheel, and try the wheel in clean environments of each Python that is here.

Each Python gets two environments, one with nothing but the wheel and one with all extras. There the demo and a choice
of quick tests run, and models are saved that all other environments must load with the same rankings. Environments are
tried side by side, one per core. A Python that is not here is named.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from zipfile import ZipFile

from tacit.errors import DISTRIBUTION
from tools.docs_site import LINK

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
MODELS = ROOT / "tools" / "release_models.py"
MARKED = "not slow and not real_data"
#: Tests that need no extra: every model, files, saved models, the tagger, the command line.
QUICK = (
    "tests/test_contract.py::test_finds_the_planted_labels",
    "tests/test_contract.py::test_the_number_of_jobs_never_changes_the_model",
    "tests/test_contract.py::test_a_loaded_model_ranks_alike_and_saves_alike",
    "tests/data",
    "tests/store",
    "tests/tagger/test_tagger.py",
    "tests/cli/test_commands.py",
    "tests/text/test_vectorizer.py",
)
#: Tests of what extras add: service, clusters, encoders, Gibbs sampling, frames, tuning, plots.
OF_EXTRAS = (
    "tests/server/test_service.py",
    "tests/server/test_annif.py",
    "tests/cli/test_serve.py",
    "tests/runtime/test_cluster.py",
    "tests/text/test_encoders.py",
    "tests/latent/test_gibbs.py",
    "tests/tagger/test_frames.py",
    "tests/test_tuning.py",
    "tests/test_examples.py",
    "tests/walks",
)
STEPS = ("install", "demo", "save", "tests", "exchange")
_IS_OURS = "import importlib.metadata as m, tacit; assert m.version('{}') == tacit.__version__"
TOOLS = ("pytest", "hypothesis")
TOOLS_OF_EXTRAS = ("annif-client", "httpx", "pandas", "polars", "websockets")


class ReleaseError(Exception):
    """A step failed."""


@dataclass(frozen=True)
class Environment:
    """A clean environment: a Python, and whether all extras are installed."""

    version: str
    base: Path
    home: Path
    has_extras: bool

    def __str__(self) -> str:
        return f"Python {self.version} {'with all extras' if self.has_extras else 'without extras'}"

    @property
    def scripts(self) -> Path:
        """Where its programs are."""
        return self.home / ("Scripts" if os.name == "nt" else "bin")

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.scripts / "python"

    def make(self, wheel: Path) -> None:
        """Install the wheel."""
        run(self.base, "-m", "venv", self.home)
        self.install(f"{wheel}[all]" if self.has_extras else str(wheel))
        run(self.python, "-c", _IS_OURS.format(DISTRIBUTION))

    def install(self, *what: str) -> None:
        """Install packages; modules are compiled when they are imported, since most never are."""
        run(self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", *what)

    def test(self, chosen: Sequence[str]) -> str:
        """Run the quick tests, or those that were chosen, and return their last line."""
        self.install(*TOOLS, *(TOOLS_OF_EXTRAS if self.has_extras else ()))
        paths = chosen or (*QUICK, *(OF_EXTRAS if self.has_extras else ()))
        said = run(self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", MARKED, *paths)
        return said.splitlines()[-1].partition(" in ")[0]


@dataclass
class Outcome:
    """What became of an environment: the seconds of the steps that were done, the one that failed, what tests said."""

    environment: Environment
    seconds: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    tests: str = ""

    def step(self, name: str, work: Callable[[], str | None]) -> bool:
        """Do a step, and return whether it was done."""
        began = time.monotonic()
        try:
            said = work()
        except ReleaseError as error:
            self.failures.append(name)
            print(f"{self.environment}: {name} failed: {error}", flush=True)
            return False
        self.seconds[name] = time.monotonic() - began
        print(f"{self.environment}: {name}: {said or 'done'} ({self.seconds[name]:.0f} s)", flush=True)
        self.tests = said or "" if name == "tests" else self.tests
        return True

    def row(self) -> str:
        """Its line in the table."""
        cells = [
            f"{self.seconds[name]:.0f} s" if name in self.seconds else "failed" if name in self.failures else "–"
            for name in STEPS
        ]
        return f"{self.environment!s:29}" + "".join(f"{cell:>10}" for cell in cells) + f"   {self.tests}"


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command and return what it printed; its last lines are in the error if it fails."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    words = list(map(str, command))
    done = subprocess.run(
        words, cwd=cwd, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise ReleaseError(f"{' '.join(words)}\n" + "\n".join(done.stdout.splitlines()[-40:]))
    return done.stdout


def find_python(version: str) -> Path | None:
    """The interpreter of a version, on the path or among pyenv's; shims that lead nowhere do not count."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = [Path(found) for found in [shutil.which(f"python{version}")] if found]
    candidates = (*on_path, *sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True))
    return next((candidate for candidate in candidates if _is_python(candidate, version)), None)


def _is_python(candidate: Path, version: str) -> bool:
    try:
        return run(candidate, "--version").startswith(f"Python {version}.")
    except (ReleaseError, OSError):
        return False


def build(out: Path) -> Path:
    """Make sdist and wheel, check that README renders on PyPI and that links lead somewhere, and return the wheel."""
    run(sys.executable, "-m", "pytest", "-q", "tests/test_docs_site.py", "-k", "links")
    shutil.rmtree(out, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", out)
    run(sys.executable, "-m", "twine", "check", "--strict", *out.iterdir())
    wheel = next(out.glob("*.whl"))
    check_description(wheel)
    return wheel


def check_description(wheel: Path) -> None:
    """Check that no link or picture of the description is relative, since on PyPI there is nothing beside it."""
    with ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        if relative := [match[2] for match in LINK.finditer(archive.read(name).decode())]:
            raise ReleaseError(f"links of README that lead nowhere on PyPI: {', '.join(relative)}")


def check_version() -> str:
    """The version, which CHANGELOG and CITATION must name, too."""
    version = (ROOT / "src" / "tacit" / "_version.py").read_text(encoding="utf-8").split('"')[1]
    for name, line in (("CHANGELOG.md", f"## {version}"), ("CITATION.cff", f"version: {version}")):
        if not re.search(f"^{re.escape(line)}\\b", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE):
            raise ReleaseError(f"{name} has no line '{line}'")
    return version


def attempt(environment: Environment, wheel: Path, work: Path, chosen: Sequence[str]) -> Outcome:
    """Install, run the demo, save models and run the tests, until one of them fails."""
    outcome = Outcome(environment)
    python, home, models = environment.python, environment.home, _models_of(environment, work)
    steps: Sequence[Callable[[], str | None]] = (
        lambda: environment.make(wheel),
        lambda: run(environment.scripts / "tacit", "demo", cwd=home) and None,
        lambda: run(python, MODELS, "save", models, cwd=home) and None,
        lambda: environment.test(chosen),
    )
    all(outcome.step(name, step) for name, step in zip(STEPS, steps, strict=False))  # the models of others come last
    return outcome


def main(arguments: Sequence[str] | None = None) -> None:
    """Make a release, or say what fails."""
    options = argparse.ArgumentParser("python -m tools.release", description=str(__doc__).partition("\n")[0])
    options.add_argument("--out", type=Path, default=ROOT / "dist", help="for sdist and wheel (%(default)s)")
    options.add_argument("--pythons", nargs="+", default=PYTHONS, metavar="VERSION", help="(%(default)s)")
    options.add_argument("--tests", nargs="+", default=(), metavar="PATH", help="instead of all quick tests")
    chosen = options.parse_args(arguments)
    try:
        print(f"tacit {check_version()}")
        wheel = build(chosen.out)
    except ReleaseError as error:
        sys.exit(str(error))
    print("\n".join(f"{path.name}: {path.stat().st_size / 1000:,.0f} kB" for path in sorted(chosen.out.iterdir())))
    with tempfile.TemporaryDirectory() as scratch:
        outcomes = try_everywhere(wheel, Path(scratch), chosen.pythons, chosen.tests)
    print(f"\n{'':29}" + "".join(f"{name:>10}" for name in STEPS))
    print("\n".join(outcome.row() for outcome in outcomes))
    if failed := [str(outcome.environment) for outcome in outcomes if outcome.failures]:
        sys.exit(f"failed: {', '.join(failed)}")
    print(f"{wheel.name} is ready to be published")


def try_everywhere(wheel: Path, work: Path, versions: Sequence[str], chosen: Sequence[str]) -> list[Outcome]:
    """What becomes of each environment; a failure in one does not keep others from being tried."""
    found = {version: find_python(version) for version in versions}
    if absent := [version for version, python in found.items() if python is None]:
        print(f"not on this machine, and not tried: Python {', '.join(absent)}")
    homes = [
        Environment(version, python, work / f"env-{version}{'-extras' * has_extras}", has_extras)
        for version, python in found.items()
        if python is not None
        for has_extras in (False, True)
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda home: attempt(home, wheel, work, chosen), homes))
        savers = [outcome for outcome in outcomes if "save" in outcome.seconds]
        folders = [_models_of(outcome.environment, work) for outcome in savers]
        list(pool.map(lambda saver: saver.step("exchange", partial(check_models, saver.environment, folders)), savers))
    return outcomes


def check_models(environment: Environment, folders: Sequence[Path]) -> str:
    """Load the models of all environments in one of them."""
    return run(environment.python, MODELS, "check", *folders, cwd=environment.home).strip()


def _models_of(environment: Environment, work: Path) -> Path:
    return work / f"models-{environment.home.name}"


if __name__ == "__main__":
    main()
