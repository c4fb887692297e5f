"""The checks of a release, without making one."""

from __future__ import annotations

import re
import sys
from zipfile import ZipFile

import pytest

from tacit.errors import DISTRIBUTION, MissingExtraError
from tools import release
from tools.release import ROOT, ReleaseError, check_description, check_version


def test_the_chosen_tests_exist():
    paths = [test.split("::") for test in (*release.QUICK, *release.OF_EXTRAS)]
    assert all((release.ROOT / path).exists() for path, *_ in paths)
    contract = (release.ROOT / "tests" / "test_contract.py").read_text(encoding="utf-8")
    assert all(f"def {name}(" in contract for _, *names in paths for name in names)


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
