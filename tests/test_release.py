"""The checks of a release, without making one."""

from __future__ import annotations

import sys

import pytest

from tools import release
from tools.release import Environment, ReleaseError, check_version, find_python, try_everywhere


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A folder of the path, and pyenv's."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    return tmp_path / "path", tmp_path / "pyenv" / "versions"


def test_pythons_are_found_on_the_path_and_among_those_of_pyenv(places):
    path, versions = places
    found = program(path / "python3.11", "echo Python 3.11.9")
    program(path / "python3.12", "echo 'pyenv: python3.12: command not found' >&2; exit 127")
    behind_shim = program(versions / "3.12.1" / "bin" / "python", "echo Python 3.12.1")
    program(versions / "3.1.5" / "bin" / "python", "echo Python 3.1.5")
    program(path / "python3.13", "echo Python 3.1.3")
    assert find_python("3.11") == found
    assert find_python("3.12") == behind_shim
    assert find_python("3.13") is None
    assert find_python("3.10") is None


def test_a_python_that_is_missing_is_named(places, tmp_path, capsys):
    assert try_everywhere(tmp_path / "a.whl", tmp_path, ["3.10", "3.13"], []) == []
    assert capsys.readouterr().out == "not on this machine, and not tried: Python 3.10, 3.13\n"


def test_one_failure_does_not_hide_others(places, tmp_path, monkeypatch, capsys):
    path, _ = places
    for version in ("3.10", "3.11"):
        program(path / f"python{version}", f"echo Python {version}.0")
    tried, loaded = [], []

    def attempt(environment, *_):
        tried.append(str(environment))
        if environment.version == "3.10" and environment.has_extras:
            raise ReleaseError("the demo ended with 1")

    monkeypatch.setattr(release, "attempt", attempt)
    monkeypatch.setattr(
        release, "check_models", lambda environment, folders: loaded.append((environment, len(folders)))
    )
    failures = try_everywhere(tmp_path / "a.whl", tmp_path, ["3.10", "3.11"], [])
    assert failures == ["Python 3.10 with all extras failed"]
    assert "Python 3.10 with all extras: failed: the demo ended with 1" in capsys.readouterr().out
    assert len(tried) == 4
    assert [n_folders for _, n_folders in loaded] == [3, 3, 3]


def test_a_failing_step_shows_its_last_lines(tmp_path):
    with pytest.raises(ReleaseError, match="line 49$"):
        release.run(sys.executable, "-c", "print(*[f'line {n}' for n in range(50)], sep='\\n'); exit(3)")
    bare = Environment("3.12", tmp_path, tmp_path / "env", has_extras=False)
    assert str(bare) == "Python 3.12 without extras"
    assert "tests/data" in bare.tests([])
    assert bare.tests(["tests/store"])[-1] == "tests/store"


def test_the_version_is_the_same_everywhere(tmp_path, monkeypatch):
    version = check_version()
    for name in ("CHANGELOG.md", "CITATION.cff", "src/tacit/_version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((release.ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    assert check_version() == version
    (tmp_path / "src/tacit/_version.py").write_text('__version__ = "9.9.9"\n')
    with pytest.raises(ReleaseError, match="CHANGELOG.md has no line '## 9.9.9'"):
        check_version()
