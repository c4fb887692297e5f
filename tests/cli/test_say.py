"""What commands say: examples in their help, errors, silence, completion."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import click
import pytest

from tacit.cli.commands import COMMANDS, cli
from tacit.cli.tables import LEGEND
from tacit.errors import TacitError
from tacit.evaluation.metrics import COVERAGE, METRICS


def command_of(name: str) -> click.Command:
    return cli.get_command(click.Context(cli), name)


def all_commands() -> dict[str, click.Command]:
    return {name: command_of(name) for name in COMMANDS if name != "reproduce"}  # has the help of reproduce/


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


def test_an_error_of_the_library_is_one_line(tacit, monkeypatch):
    def fail(*_: object) -> None:
        raise TacitError("max_line is\ntoo small")

    monkeypatch.setattr("tacit.cli.convert.convert_file", lambda *_, **__: fail())
    assert tacit("convert", "a", "b") == (2, "", "tacit: error: max_line is too small\n")
