"""The shape of the package: imports point one way, start-up is light, exported names are the promised ones."""

from __future__ import annotations

import ast
import io
import re
import statistics
import subprocess
import sys
import tokenize
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
MOST_LINES, MOST_CODE_LINES = 28_600, 20_250
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


def test_files_and_functions_are_short():
    """Kernels that must share a file aside."""
    long, lengths = [], []
    for path in ROOT.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if source.count("\n") > 400 and path.parent.name != "kernels":
            long.append(str(path.relative_to(ROOT)))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lengths.append((node.end_lineno or 0) - node.lineno + 1)
                if lengths[-1] > 60:
                    long.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert not long, "\n".join(long)
    assert statistics.median(lengths) <= 7


def test_the_package_grows_no_larger():
    """These bounds only go down."""
    sources = [path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")]
    assert sum(source.count("\n") for source in sources) <= MOST_LINES
    assert sum(map(n_code_lines, sources)) <= MOST_CODE_LINES


def n_code_lines(source: str) -> int:
    """Lines with a token that is neither comment nor docstring."""
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = (token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type not in blank)
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
            lines -= set(range(first.lineno, (first.end_lineno or 0) + 1)) if first is not None else set()
    return len(lines)


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
