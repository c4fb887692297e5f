"""The checks of a release, without making one."""

from __future__ import annotations

import re
import sys
from zipfile import ZipFile

import pytest

from tacit.errors import DISTRIBUTION, MissingExtraError
from tools import release
from tools.release import ROOT, ReleaseError, check_description, check_version, find_python, try_everywhere


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

    def run(*command, **_):
        tried.append(list(map(str, command)))
        if "env-3.10-extras" in tried[-1][0] and "demo" in tried[-1]:
            raise ReleaseError("the demo ended with 1")
        if "env-3.11/" in tried[-1][0] and "pytest" in tried[-1]:
            raise ReleaseError("1 failed, 2 passed")
        if "check" in tried[-1]:
            loaded.append(len(tried[-1]) - tried[-1].index("check") - 1)
        return "3 passed, 1 skipped in 2.5s"

    monkeypatch.setattr(release, "find_python", lambda version: path / f"python{version}")
    monkeypatch.setattr(release, "run", run)
    monkeypatch.setattr(release, "build", lambda out: tmp_path / "a.whl")
    with pytest.raises(SystemExit, match="failed: Python 3.10 with all extras, Python 3.11 without extras"):
        release.main(["--out", str(tmp_path), "--pythons", "3.10", "3.11"])
    said = capsys.readouterr().out
    assert "Python 3.10 with all extras: demo failed: the demo ended with 1" in said
    assert [line.split()[2:] for line in said.splitlines()[-4:]] == [
        ["without", "extras", *["0", "s"] * 5, "3", "passed,", "1", "skipped"],
        ["with", "all", "extras", "0", "s", "failed", "–", "–", "–"],
        ["without", "extras", *["0", "s"] * 3, "failed", "0", "s"],
        ["with", "all", "extras", *["0", "s"] * 5, "3", "passed,", "1", "skipped"],
    ]
    assert loaded == [3, 3, 3]
    tested = [command for command in tried if "pytest" in command and "-m" in command and "-q" in command]
    assert ["tests/server/test_service.py" in command for command in tested].count(True) == 1


def test_the_chosen_tests_exist():
    paths = [test.split("::") for test in (*release.QUICK, *release.OF_EXTRAS)]
    assert all((release.ROOT / path).exists() for path, *_ in paths)
    contract = (release.ROOT / "tests" / "test_contract.py").read_text(encoding="utf-8")
    assert all(f"def {name}(" in contract for _, *names in paths for name in names)


def test_a_failing_step_shows_its_last_lines():
    with pytest.raises(ReleaseError, match="line 49$"):
        release.run(sys.executable, "-c", "print(*[f'line {n}' for n in range(50)], sep='\\n'); exit(3)")


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


TOLD = [
    *(path for room in ("src", "docs", "deploy", "examples", "tools", "benchmarks", "reproduce", "tests")
      for path in sorted((release.ROOT / room).rglob("*"))
      if path.suffix in {".py", ".md", ".ipynb", ".html", ".js", ".service", ".toml", ""} and path.is_file()),
    *(path for path in sorted(release.ROOT.iterdir()) if path.suffix in {".md", ".cff", ".toml", ".yml"}),
    release.ROOT / "Makefile",
]  # fmt: skip
#: A package or an extra of the project that has the name `tacit` on PyPI; `.[all]` and paths are of this folder.
OF_OTHERS = re.compile(r"""(?x)
    (?<![\w./-]) tacit\[ [a-z{]
    | (?:pip3?|pipx|uv\ (?:pip|tool)) \s+ install\b [^\n`]*? (?<=[\s'"]) tacit (?: [\s'"`=<>~!] | $ )
    | (?:uv\ add|uvx|pipx\ run) [^\n`]*? (?<=[\s'"]) tacit (?: [\s'"`=<>~!] | $ )
    | metadata\.(?:version|distribution|metadata)\(["']tacit["']""")


@pytest.mark.parametrize(
    "line",
    ["pip install tacit", "pip install -U tacit==0.2", "pip install 'tacit[serve]'", "see `tacit[all]`", "uvx tacit"],
)
def test_instructions_for_a_package_of_others_are_recognised(line):
    assert OF_OTHERS.search(line)
    assert not OF_OTHERS.search(line.replace("tacit", DISTRIBUTION))


def test_nobody_is_told_to_install_a_package_of_others():
    texts = {path: path.read_text(encoding="utf-8") for path in TOLD if path.name != "test_release.py"}
    found = {path: match[0] for path, text in texts.items() if (match := OF_OTHERS.search(text))}
    assert len(texts) > 500
    assert not found


def test_extras_are_of_this_distribution():
    project = (release.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^name = "([^"]+)"', project, re.MULTILINE)[1] == DISTRIBUTION
    extras = project.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    named = set(re.findall(r"^([a-z0-9-]+) = ", extras, re.MULTILINE))
    of_all = set(re.search(rf'^all = \["{DISTRIBUTION}\[([^\]]+)\]"\]', extras, re.MULTILINE)[1].split(","))
    assert named - of_all == {"all", "dev", "docs", "release", "sentence-transformers"}
    assert f"pip install '{DISTRIBUTION}[skos]'" in str(MissingExtraError("reading SKOS", "skos"))


def wheel_with(description, path):
    with ZipFile(path, "w") as archive:
        archive.writestr("a-1.dist-info/METADATA", f"Name: a\n\n{description}")
    return path


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs tomllib")
def test_the_description_on_pypi_has_no_relative_links(tmp_path):
    import tomllib

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    with pytest.raises(ReleaseError, match=r"docs/tutorial\.md"):
        check_description(wheel_with(readme, tmp_path / "a.whl"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "readme" not in project["project"]
    for each in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        readme = re.sub(each["pattern"], each["replacement"], readme)
    check_description(wheel_with(readme, tmp_path / "a.whl"))
    assert "[Annif](https://annif.org)" in readme
