"""What commands say: examples in their help, errors in terms of options, silence, completion."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys

import click
import pytest

from tacit.cli.commands import COMMANDS, cli
from tacit.cli.say import in_options
from tacit.cli.tables import LEGEND
from tacit.errors import TacitError
from tacit.evaluation.metrics import COVERAGE, METRICS


def command_of(name: str) -> click.Command:
    return cli.get_command(click.Context(cli), name)


def all_commands() -> dict[str, click.Command]:
    found = {
        name: command_of(name) for name in COMMANDS if name != "reproduce"
    }  # has the help of `python -m reproduce`
    labels = found["labels"]
    return found | {f"labels {name}": labels.commands[name] for name in labels.commands}


def examples_of(command: click.Command) -> list[str]:
    text = (command.help or "").partition("Example")[2]
    lines = re.findall(r"(?:^|[ :])((?:TACIT_TOKEN=\S+ \S+ )?tacit .*)", text, flags=re.MULTILINE)
    return [line.strip() for line in lines]


@pytest.mark.parametrize("name", list(all_commands()))
def test_each_help_has_examples_that_the_command_accepts(name):
    examples = examples_of(all_commands()[name])
    assert examples, f"tacit {name} --help has no example"
    for example in examples:
        words = shlex.split(re.sub(r"^TACIT_TOKEN=\S+ \S+ ", "", example).partition(" > ")[0])
        assert words[0] == "tacit"
        command, arguments = command_of(words[1]), words[2:]
        with command.make_context(words[1], arguments) as context:
            if isinstance(command, click.Group) and context._protected_args:
                sub, *rest = context._protected_args + context.args
                command.commands[sub].make_context(sub, rest)


def test_the_example_of_serve_names_models():
    """`--name NAME=MODEL` is the way to name one; NAME=MODEL alone is a folder of that name."""
    serve = importlib.import_module("tacit.cli.serve")
    for example in examples_of(command_of("serve")):
        words = shlex.split(re.sub(r"^TACIT_TOKEN=\S+ \S+ ", "", example))[2:]
        with command_of("serve").make_context("serve", words) as context:
            models = serve._by_name(context.params["folders"], context.params["named"])
            assert all("=" not in str(path) for path in models.values())


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("a.csv:1: no field for text; name it with text=", "a.csv:1: no field for text; name it with --text"),
        ("text= and labels= name fields", "--text and --labels name fields"),
        ("close its quotes, or raise max_line", "close its quotes, or raise --max-line"),
        ("damp_head must be between 0 and 1", "--damp-head must be between 0 and 1"),
        ("format must be one of xmc, csv; got 'x'", "--format must be one of xmc, csv; got 'x'"),
        ("include: unknown label 'x'", "--include: unknown label 'x'"),
        ("threshold 'labels=3' is what 'text=a' is", "threshold 'labels=3' is what 'text=a' is"),
        ("/data/max_line/labels_path.csv: no such file", "/data/max_line/labels_path.csv: no such file"),
    ],
)
def test_parameters_are_named_as_options(message, said):
    assert in_options(message, command_of("suggest")) == said


def test_errors_name_options(tacit, tmp_path):
    (tmp_path / "a.csv").write_text("headline,topics\nred,fruit\n")
    train = ("train", tmp_path / "a.csv", "--out", tmp_path / "m")
    assert tacit(*train).err.endswith("among headline, topics; name it with --text\n")
    assert tacit(*train, "--text", "headline").err.endswith("name that of the labels with --labels\n")
    (tmp_path / "a.svm").write_text("0 1:1\n")
    refused = tacit("train", tmp_path / "a.svm", "--text", "a", "--out", tmp_path / "m")
    assert "error: --text and --labels name fields of text files" in refused.err


def test_quiet_commands_print_results_only(tacit, articles, tmp_path):
    model, new = tmp_path / "model", tmp_path / "new.csv"
    fields = ("--text", "title,body", "--labels", "tags")
    assert tacit("train", articles, *fields, "--out", model, "--quiet") == (0, "", "")
    new.write_text("title\na song\n \n")
    suggested = tacit("suggest", model, new, "-q")
    assert (suggested.out.count("\n"), suggested.err) == (2, "")
    assert tacit("split", articles, *fields, "--out", tmp_path / "parts", "-q") == (0, "", "")
    evaluated = tacit("evaluate", model, articles, *fields, "-q", "--report", tmp_path / "r.html")
    assert "PSnDCG" in evaluated.out
    assert "report:" not in evaluated.out
    assert LEGEND not in evaluated.out
    assert tacit("labels", "-q", model, "rename", "cars", "vehicles") == (0, "", "")
    failed = tacit("suggest", model, tmp_path / "absent.csv", "-q")
    assert (failed.code, failed.err.count("\n")) == (2, 1)


def test_tables_of_metrics_have_a_legend(tacit, articles, tmp_path):
    fields = ("--text", "title,body", "--labels", "tags")
    trained = tacit("train", articles, *fields, "--out", tmp_path / "model")
    assert LEGEND in trained.out
    for name in (*METRICS, COVERAGE):
        assert re.search(rf"\b{name}\b", LEGEND)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    """The line of the README gives a script; the script asks tacit, which imports no command to answer."""

    def run(code: str, **variables: str) -> str:
        script = f"import sys\nsys.argv = ['tacit']\n{code}"
        environment = os.environ | variables
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert not done.stderr
        return done.stdout

    main = "from tacit.cli.main import main\nmain()"
    assert "_TACIT_COMPLETE" in run(main, _TACIT_COMPLETE=f"{shell}_source")
    asked = {"_TACIT_COMPLETE": f"{shell}_complete", "COMP_WORDS": "tacit su"}
    code = "try:\n    from tacit.cli.main import main\n    main()\nfinally:\n    assert 'numpy' not in sys.modules"
    found = run(code, **asked, COMP_CWORD="su" if shell == "fish" else "1")
    assert "suggest" in found
    assert "split" not in found


def test_the_help_tells_how_to_complete(tacit):
    shown = tacit("--help").out
    assert 'eval "$(_TACIT_COMPLETE=bash_source tacit)"' in shown


def test_an_error_of_the_library_is_one_line(tacit, monkeypatch):
    def fail(*_: object) -> None:
        raise TacitError("max_line is too small")

    monkeypatch.setattr("tacit.cli.convert.convert_file", lambda *_, **__: fail())
    assert tacit("convert", "a", "b") == (2, "", "tacit: error: --max-line is too small\n")


def test_names_of_files_and_values_are_no_options(tacit, articles, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fields = ("--text", "title,body", "--labels", "tags")
    assert tacit("train", articles, *fields, "--out", "model", "-q").code == 0
    assert tacit("labels", "model", "rename", "cars", "vehicles").code == 0
    assert "error: model: the model there has 1 acts" in tacit("train", articles, *fields, "--out", "model").err
    assert "got 'labels=-1'" in tacit("suggest", "model", articles, "--threshold", "labels=-1").err
    (tmp_path / "v.tsv").write_text("<http://v/1>\tcars\n<http://v/2>\tboats\n")
    assert tacit("start", "v.tsv", "--out", "model").err.rstrip().endswith("; choose another folder")
