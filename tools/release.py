"""``make release``: build sdist and wheel, and try the wheel in clean environments of each Python that is here.

Each environment is made twice, with nothing but the wheel and with all extras. There the demo and the quick tests run,
and models are saved that all other environments must load with the same rankings. A Python that is not here is named.
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
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
MODELS = ROOT / "tools" / "release_models.py"
QUICK = "not slow and not real_data"
#: Tests that need no extra.
WITHOUT_EXTRAS = ("tests/test_contract.py", "tests/data", "tests/store", "tests/tagger", "tests/cli/test_commands.py")
#: These look at the repository rather than at what is installed, or need a browser.
_LEFT_OUT = ("tests/test_docs_site.py", "tests/test_architecture.py", "tests/server", "tests/test_recipes.py")


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

    def install(self, what: str) -> None:
        """Install a package."""
        run(self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what)

    def tests(self, chosen: Sequence[str]) -> list[str | Path]:
        """The command of the quick tests."""
        left_out = [f"--ignore={path}" for path in _LEFT_OUT]
        paths = [*chosen] or ([] if self.has_extras else [*WITHOUT_EXTRAS])
        return [self.python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-m", QUICK, *left_out, *paths]


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
    return next(out.glob("*.whl"))


def check_version() -> str:
    """The version, which CHANGELOG and CITATION must name, too."""
    version = (ROOT / "src" / "tacit" / "_version.py").read_text(encoding="utf-8").split('"')[1]
    for name, line in (("CHANGELOG.md", f"## {version}"), ("CITATION.cff", f"version: {version}")):
        if not re.search(f"^{re.escape(line)}\\b", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE):
            raise ReleaseError(f"{name} has no line '{line}'")
    return version


def attempt(environment: Environment, wheel: Path, work: Path, chosen: Sequence[str]) -> None:
    """Install, run the demo and the tests, and save models."""
    steps = (
        ("install", lambda: environment.make(wheel)),
        ("demo", lambda: run(environment.scripts / "tacit", "demo", cwd=environment.home)),
        ("models", lambda: run(environment.python, MODELS, "save", _models_of(environment, work), cwd=work)),
        ("what tests need", lambda: environment.install(f"{wheel}[dev]")),
        ("tests", lambda: run(*environment.tests(chosen)).splitlines()[-1]),
    )
    for name, step in steps:
        began = time.monotonic()
        said = step()
        result = said if name == "tests" else "done"
        print(f"{environment}: {name}: {result} ({time.monotonic() - began:.0f} s)", flush=True)


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
        failures = try_everywhere(wheel, Path(scratch), chosen.pythons, chosen.tests)
    if failures:
        sys.exit("\n".join(failures))
    print(f"{wheel.name} is ready to be published")


def try_everywhere(wheel: Path, work: Path, versions: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """What fails in any environment; a failure in one does not keep others from being tried."""
    found = {version: find_python(version) for version in versions}
    if absent := [version for version, python in found.items() if python is None]:
        print(f"not on this machine, and not tried: Python {', '.join(absent)}")
    homes = [
        Environment(version, python, work / f"env-{version}{'-extras' * has_extras}", has_extras)
        for version, python in found.items()
        if python is not None
        for has_extras in (False, True)
    ]
    failures = {home: _failure(home, partial(attempt, home, wheel, work, chosen)) for home in homes}
    made = [home for home, failure in failures.items() if failure is None]
    folders = [_models_of(home, work) for home in made]
    exchanged = [_failure(home, partial(check_models, home, folders)) for home in made]
    return [failure for failure in (*failures.values(), *exchanged) if failure is not None]


def check_models(environment: Environment, folders: Sequence[Path]) -> None:
    """Load the models of all environments in one of them."""
    print(
        f"{environment}: {run(environment.python, MODELS, 'check', *folders, cwd=environment.home).strip()}", flush=True
    )


def _models_of(environment: Environment, work: Path) -> Path:
    return work / f"models-{environment.home.name}"


def _failure(environment: Environment, step: Callable[[], None]) -> str | None:
    try:
        step()
    except ReleaseError as error:
        print(f"{environment}: failed: {error}", flush=True)
        return f"{environment} failed"
    return None


if __name__ == "__main__":
    main()
