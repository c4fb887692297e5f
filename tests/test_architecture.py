"""The shape of the package: imports point one way, start-up is light, exported names are the promised ones."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tacit
from tacit.registry import MODELS

ROOT = Path(tacit.__file__).parent

#: A module may import from its own layer and the ones below it.
LAYERS = [
    {"cli", "server", "report", "__main__"},
    {"tagger", "estimate", "probe", "tune", "compare"},
    {"registry"},
    {"linear", "trees", "embedding", "latent", "blend"},
    {"base"},
    {
        "bands",
        "growth",
        "metrics",
        "losses",
        "data",
        "tasks",
        "propensity",
        "labels",
        "checks",
        "store",
        "ranking",
        "parameters",
        "weighting",
        "vectorizer",
    },
    {"kernels"},
    {"progress", "errors", "_version", "phases", "sizes", "memory"},
]


def layer_of(module: str) -> int:
    part = module.split(".")[1] if "." in module else "__init__"
    return next(level for level, names in enumerate(LAYERS) if part in names)


def imports_of(path: Path) -> set[str]:
    """Modules of tacit that a file imports when it is loaded (not inside functions)."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tacit"):
            found.add(node.module)
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.startswith("tacit"))
    return found


MODULES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    name = "tacit." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for imported in imports_of(path):
        if imported != "tacit":
            assert layer_of(imported) >= layer_of(name), f"{name} must not import {imported}"


def test_exported_names_are_exactly_all():
    assert sorted(tacit._LIVES_IN) == sorted(set(tacit.__all__) - {"__version__"})
    assert set(MODELS) < set(tacit.__all__)
    for name in tacit.__all__:
        assert getattr(tacit, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'OneVsNone'"):
        tacit.OneVsNone  # noqa: B018


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["--version"]])
def test_help_starts_fast(arguments):
    code = (
        "import sys\nsys.argv = ['tacit', *sys.argv[1:]]\nfrom tacit.cli.main import main\n"
        "try: main()\nexcept SystemExit as stop: assert not stop.code, stop.code\n"
        "heavy = {'numpy', 'scipy', 'numba', 'sklearn', 'joblib', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, timeout=60)
