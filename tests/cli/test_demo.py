from __future__ import annotations


def test_the_demo_ends_with_a_report(tacit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = tacit("demo")
    assert shown.code == 0, shown.err
    for words in ("57% of the true labels are missing", "Popularity", "OneVsAll", "unseen", "PSP", "recorded", "%"):
        assert words in shown.out
    assert "report tacit-demo-report.html" in shown.out
    assert [path.name for path in tmp_path.iterdir()] == ["tacit-demo-report.html"]
    assert "synthetic test data" in (tmp_path / "tacit-demo-report.html").read_text(encoding="utf-8")


def test_the_demo_checks_where_the_report_goes_before_it_starts(tacit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = tacit("demo", "--report", "nowhere/demo.html")
    assert refused.code == 2
    assert "there is no folder nowhere" in refused.err
    assert refused.out == ""
