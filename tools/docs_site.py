"""The site of the documentation, ``make docs``: pages of ``docs/``, README and its neighbours, and the reference.

MkDocs calls the functions named ``on_…``. README becomes the first page; the reference of the command line is what
``--help`` prints, and that of Python comes out of docstrings. Without a docstring for each public name the build fails.
"""

from __future__ import annotations

import inspect
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tacit.cli.commands import COMMANDS, cli
from tacit.core.base import Estimator
from tacit.registry import MODELS
from tacit.store.packing import Stored

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
#: Pages outside ``docs/``, and where they are on the site.
NEIGHBOURS = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
_REMOTE_SHIM = "https://unpkg.com/iframe-worker/shim"  # which Material loads for search in pages opened from disk
_LOCAL_SHIM = "assets/file-worker.js"
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)\s#]+)([^)]*\))")
_FORMULA = re.compile(
    r"(?P<code>^```.*?^```$|`[^`\n]+`)|\$\$(?P<block>.+?)\$\$|\$(?=\S)(?P<inline>[^$\n]+?)(?<=\S)\$(?!\d)",
    re.MULTILINE | re.DOTALL,
)
_FENCE = re.compile(r"^\s*```")
_NOT_SHOWN = re.compile(r"_|set_\w+_request$|problem$")  # what scikit-learn and model folders call
_ITEM = re.compile(r"^([-*]|\d+\.) ")


class Reference(NamedTuple):
    """A page of the reference of Python: what it is about, and the names it documents."""

    title: str
    about: str
    names: tuple[str, ...]


REFERENCES = {
    "python/tagger.md": Reference(
        "Tagger", "Texts in, suggestions out.", ("tacit.Tagger", "tacit.tagger.suggest.Suggestion")
    ),
    "python/models.md": Reference(
        "Models",
        "All models have the methods of `Estimator`. The first parameters of a model are the most important.",
        ("tacit.core.base.Estimator", *(f"tacit.{name}" for name in MODELS), "tacit.load_model"),
    ),
    "python/data.md": Reference(
        "Data",
        "Files and data frames in, data sets out.",
        (
            *(f"tacit.{name}" for name in ("load_data", "save_data", "Dataset", "train_test_split", "load_vocabulary")),
            *(f"tacit.{name}" for name in ("Features", "Encoded")),
            *(f"tacit.{name}" for name in ("cooccurrence", "load_cooccurrence")),
            *(f"tacit.data.split.{name}" for name in ("hide_positives", "hold_out_labels")),
            "tacit.data.synthetic.make_dataset",
        ),
    ),
    "python/evaluation.md": Reference(
        "Evaluation",
        "How good a model is, which of two is better, and which parameters are.",
        (
            *(f"tacit.{name}" for name in ("evaluate", "Ranking", "propensities", "compare", "tune", "write_report")),
            *(f"tacit.evaluation.metrics.{name}" for name in ("bootstrap_intervals",)),
        ),
    ),
    "python/running.md": Reference(
        "Running",
        "Progress, interruption, clusters and errors.",
        tuple(f"tacit.{name}" for name in ("show_progress", "checkpoint", "on_cluster", "TacitError")),
    ),
}


# -- what MkDocs calls -------------------------------------------------------------------------------------


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in ``docs/``, and the files that pages link to."""
    from mkdocs.exceptions import PluginError
    from mkdocs.structure.files import File

    if missing := undocumented():
        raise PluginError(f"without a docstring: {', '.join(missing)}")
    for place, text in made_pages().items():
        files.append(File.generated(config, place, content=text))
    for place in sorted(linked_files()):
        files.append(File.generated(config, place, content=(ROOT / place).read_bytes()))
    files.append(File.generated(config, _LOCAL_SHIM, content=Path(__file__).with_name("file_worker.js").read_bytes()))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Turn Markdown as GitHub reads it into Markdown as MkDocs reads it."""
    place = page.file.src_uri
    sources = {there: here for here, there in NEIGHBOURS.items()}
    return with_formulas(spaced(relinked(markdown, sources.get(place, f"docs/{place}"), place)))


def on_post_page(output: str, *, page: Page, **_: Any) -> str:
    """Replace the one script that would come from the network."""
    return output.replace(_REMOTE_SHIM, posixpath.relpath(_LOCAL_SHIM, posixpath.dirname(page.url) or "."))


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for the page of errors, which has no search from disk."""
    return output_content.replace(f'<script src="{_REMOTE_SHIM}"></script>', "")


# -- pages -------------------------------------------------------------------------------------------------


def made_pages() -> dict[str, str]:
    """The pages that are not in ``docs/``, by their place on the site."""
    neighbours = {there: (ROOT / here).read_text(encoding="utf-8") for here, there in NEIGHBOURS.items()}
    return neighbours | {"commands.md": _commands()} | {place: _python(of) for place, of in REFERENCES.items()}


def _commands() -> str:
    parts = ["# Commands", "What `tacit COMMAND --help` prints."]
    context = click.Context(cli, info_name="tacit", max_content_width=100, terminal_width=100)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        parts += [f"## {name}", f"```text\n{command.get_help(_below(command, name, context))}\n```"]
    return "\n\n".join(parts) + "\n"


def _below(command: click.Command, name: str, context: click.Context) -> click.Context:
    return click.Context(command, context, info_name=name, max_content_width=100, terminal_width=100)


def _python(page: Reference) -> str:
    return "\n\n".join([f"# {page.title}", page.about, *map(_directive, page.names)]) + "\n"


def _directive(name: str) -> str:
    """What mkdocstrings replaces by a docstring; of a model only the methods that not all models have."""
    value = _value(name)
    if not inspect.isclass(value):
        return f"::: {name}"
    known = dict(_methods(Estimator)) if issubclass(value, Estimator) and value is not Estimator else {}
    shown = [key for key in dict(_methods(value)) if key not in known]
    return f"::: {name}\n    options:\n      members: {shown}\n      inherited_members: {shown}"


def undocumented() -> list[str]:
    """Names of the reference, and their public methods, that have no docstring."""
    found = []
    for page in REFERENCES.values():
        for name in page.names:
            value = _value(name)
            methods = _methods(value) if inspect.isclass(value) else ()
            found += [name] if not value.__doc__ else []
            found += [f"{name}.{key}" for key, method in methods if not inspect.getdoc(method)]
    return found


def _value(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(__import__(module, fromlist=[attribute]), attribute)


def _methods(cls: type[Any]) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that our own classes define, without those that only model folders call."""
    names = dict.fromkeys(key for base in cls.__mro__ if base.__module__.startswith("tacit.") for key in vars(base))
    for key in names:
        value = getattr(cls, key, None)
        is_shown = not _NOT_SHOWN.match(key) and not hasattr(Stored, key)
        if is_shown and (inspect.isroutine(value) or isinstance(value, property)):
            yield key, value


# -- links and lists ---------------------------------------------------------------------------------------


def linked_files() -> set[str]:
    """Files outside ``docs/`` that pages link to and that are no pages, such as templates of deployment."""
    pages = [*(f"docs/{path.relative_to(ROOT / 'docs').as_posix()}" for path in (ROOT / "docs").rglob("*.md"))]
    found = {
        _target(page, match[2])
        for page in (*pages, *NEIGHBOURS)
        for match in LINK.finditer((ROOT / page).read_text(encoding="utf-8"))
    }
    return {name for name in found - NEIGHBOURS.keys() if not name.startswith("docs/") and (ROOT / name).is_file()}


def relinked(text: str, source: str, place: str) -> str:
    """Links of the page `source` of this repository, as the page at `place` of the site has them."""

    def link(match: re.Match[str]) -> str:
        target = _target(source, match[2])
        there = NEIGHBOURS.get(target, target.removeprefix("docs/"))
        return f"{match[1]}{posixpath.relpath(there, posixpath.dirname(place) or '.')}{match[3]}"

    return LINK.sub(link, text)


def _target(source: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def spaced(text: str) -> str:
    """With a blank line around tables and before lists, without which MkDocs takes them for paragraphs."""
    lines, is_code, before = [], False, ""
    for line in text.split("\n"):
        if _FENCE.match(line):
            is_code = not is_code
        elif not is_code and before.strip() and line.strip() and _starts(before, line):
            lines.append("")
        lines.append(line)
        before = line
    return "\n".join(lines)


def with_formulas(text: str) -> str:
    """Formulas between dollar signs as MathML, which browsers show without a script; code stays as it is."""
    from latex2mathml.converter import convert

    def formula(match: re.Match[str]) -> str:
        if match["code"] is not None:
            return match[0]
        if match["block"] is not None:
            return str(convert(match["block"], display="block"))
        return f"<span>{convert(match['inline'])}</span>"  # a line that began with <math> would be a block

    return _FORMULA.sub(formula, text)


def _starts(before: str, line: str) -> bool:
    """Whether a table begins or ends here, or a list begins."""
    is_row, was_row = line.startswith("|"), before.startswith("|")
    begins_list = bool(_ITEM.match(line)) and not _ITEM.match(before) and not before.startswith(" ")
    return is_row != was_row or begins_list
