"""The table of formats."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from data.samples import formats, numeric_dataset, text_dataset
from tacit.cli.convert import convert
from tacit.data.formats import FORMATS, NAMES, named_format
from tacit.data.load import load_data
from tacit.data.save import save_data
from tacit.errors import ParameterError


def test_names_of_formats():
    assert named_format("XMC_pair").name == "xmc-pair"
    with pytest.raises(ParameterError, match=r"format must be one of .*; got 'svmligth' .did you mean 'svmlight'"):
        named_format("svmligth")


@pytest.mark.parametrize("name", formats())
def test_each_format_writes_what_it_reads(tmp_path, name):
    entry = FORMATS[name]
    data = text_dataset() if entry.is_text else numeric_dataset()
    path, *_ = save_data(data, tmp_path / "a_X_Xf.gz", format=entry.name)
    back = load_data(path, format=entry.name)
    assert (back.X is None) == entry.is_text
    assert back.Y.shape == data.Y.shape


@pytest.mark.parametrize("entry", FORMATS.values(), ids=lambda entry: entry.name)
def test_the_docs_page_names_each_format_and_its_layout(entry):
    page = (Path(__file__).parents[2] / "docs" / "data-formats.md").read_text(encoding="utf-8")
    assert f"| `{entry.name}` | {entry.layout} |" in page


def test_the_command_line_names_each_format():
    shown = CliRunner().invoke(convert, ["--help"]).output
    assert re.sub(r"\s", "", NAMES) in re.sub(r"\s", "", shown)


def test_the_table_imports_no_heavy_package():
    script = "import sys, tacit.data.formats; print({'numpy', 'scipy', 'numba', 'sklearn'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "set()"
