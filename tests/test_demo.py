from __future__ import annotations

from click.testing import CliRunner

from tacit.cli.demo import demo


def test_the_demo_ends_with_a_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(demo, ["--report", "demo.html"], catch_exceptions=False)
    assert outcome.exit_code == 0
    for words in ("57% of the true labels are missing", "Popularity", "OneVsAll", "recorded", "%", "report demo.html"):
        assert words in outcome.output
    assert "synthetic test data" in (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["demo.html"]


def test_the_demo_checks_where_the_report_goes_before_it_starts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(demo, ["--report", "nowhere/demo.html"])
    assert "there is no folder nowhere" in str(outcome.exception)
    assert outcome.output == ""
