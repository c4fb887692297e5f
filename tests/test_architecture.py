"""The shape of the package: imports point one way, start-up is light, exported names are the promised ones."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit
from tacit.registry import MODELS

ROOT = Path(tacit.__file__).parent

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
#: Rows of the page's table: imports stay in a row or go down; `FAMILIES` import none of each other.
LAYERS = [
    set(re.findall(r"`(\w+)/?`", row)) for row in re.findall(r"^\| (`.*?) \|", PAGE.read_text("utf-8"), re.MULTILINE)
]
FAMILIES = {"linear", "trees", "embedding", "latent"}
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}


def imported_modules(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and module of every import of tacit that is executed, also inside functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tacit"):
            names = [f"tacit.{alias.name}" for alias in node.names] if node.module == "tacit" else [node.module]
            yield from ((node.lineno, name) for name in names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.startswith("tacit."))
        yield from imported_modules(node)


def wrong_imports(path: Path) -> Iterator[str]:
    room = path.relative_to(ROOT).with_suffix("").parts[0]
    for line, module in imported_modules(ast.parse(path.read_text(encoding="utf-8"))):
        imported = module.split(".")[1]
        where = f"{path.relative_to(ROOT)}:{line} imports {module}"
        if LEVELS[imported] < LEVELS[room]:
            yield f"{where}, which is a layer above '{room}'"
        if {room, imported} <= FAMILIES and room != imported:
            yield f"{where}, another family: what both need belongs to numerics/"


def test_the_page_names_what_there_is():
    rooms = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert sorted(name for layer in LAYERS for name in layer) == sorted(rooms - {"__init__"})
    modules = set(re.findall(r"`(\w+/\w+)`", PAGE.read_text("utf-8")))
    assert all((ROOT / f"{module}.py").exists() for module in modules), modules


def test_imports_point_one_way():
    paths = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]
    wrong = [problem for path in paths for problem in wrong_imports(path)]
    assert not wrong, "\n".join(wrong)


def test_a_class_name_means_one_thing():
    places = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(ROOT)))
    twice = [f"{name}: {', '.join(found)}" for name, found in places.items() if len(found) > 1]
    assert not twice, "\n".join(twice)


def test_files_are_short():
    """Kernels that must share a file aside."""
    sizes = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.rglob("*.py")}
    long = [f"{path}: {size} lines" for path, size in sizes.items() if size > 500 and path.parts[0] != "kernels"]
    assert not long, "\n".join(long)


def test_few_modules_are_outside_of_rooms():
    assert len(list(ROOT.glob("*.py"))) <= 15


def test_a_module_name_means_one_thing():
    places = defaultdict(list)
    for path in ROOT.rglob("*.py"):
        if path.name not in ("__init__.py", "__main__.py"):
            places[path.name].append(str(path.relative_to(ROOT)))
    twice = [f"{name}: {', '.join(found)}" for name, found in places.items() if len(found) > 1]
    assert not twice, "\n".join(twice)


def test_type_checkers_see_all_exported_names():
    block = next(node for node in ast.parse(Path(tacit.__file__).read_text()).body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    assert seen == tacit._LIVES_IN
    assert set(MODELS) < set(tacit.__all__) == {*seen, "__version__"}
    for name in tacit.__all__:
        assert getattr(tacit, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'OneVsNone'"):
        tacit.OneVsNone  # noqa: B018


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--version"]])
def test_help_starts_fast(arguments):
    code = (
        "import sys\nsys.argv = ['tacit', *sys.argv[1:]]\nfrom tacit.cli.main import main\n"
        "try: main()\nexcept SystemExit as stop: assert not stop.code, stop.code\n"
        "heavy = {'numpy', 'scipy', 'numba', 'sklearn', 'joblib', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, timeout=60)
