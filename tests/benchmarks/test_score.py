"""What scores the analyser: reading others' cases, comparing, and the page."""

from __future__ import annotations

from pathlib import Path

import pytest

import score
from analyzers import analyze
from quality import gosec, hostile
from quality.measures import Measure, Place, missing

SAMPLES = """package testutils

var SampleCodeG401 = []CodeSample{
	{[]string{`
package main

import "crypto/md5"

func main() { md5.New() }
`}, 1, gosec.NewConfig()},
	{Code: []string{"package main\\nfunc main() {}\\n", "package main" + "\\n"}, Errors: 0},
}
"""


def test_samples_are_read_with_and_without_keys(tmp_path: Path) -> None:
    """Raw and interpreted strings, sums of them, several files; the rule is in the variable's name."""
    (tmp_path / "testutils").mkdir()
    (tmp_path / "testutils/g401_samples.go").write_text(SAMPLES, encoding="utf-8")
    bad, good = gosec.samples(tmp_path)
    assert (bad.family, bad.rule, bad.name, bad.bad) == ("g401", "G401", "g401_samples:4", True)
    assert good.files == ("package main\nfunc main() {}\n", "package main\n")
    assert not good.bad
    figures = {measure.what: measure.value for measure in gosec.measure(tmp_path)}
    assert figures == {
        "bad samples that syntax decides": 1,
        "good samples that syntax decides": 0,
        "bad samples of every rule": 1,
        "good samples of every rule": 0,
        "samples judged the same without package and imports": 1,
    }


def test_one_finding_stands_for_one_of_each_name() -> None:
    """On its line, under our id or another tool's; Ruff's number is Bandit's."""
    report = analyze("eval(x)\n")
    assert missing([Place("B307", 1, 1), Place("S307", 1, 1), Place("FH101", 1, 1)], report) == []
    lost = [Place("B307", 2, 3), Place("B102", 1, 1)]
    assert missing(lost, report) == lost
    assert missing([Place("B307", 1, 1)] * 2, report) == [Place("B307", 1, 1)]


def test_the_page_names_what_is_missed() -> None:
    """A table for each corpus, and every miss on one line below it."""
    met = Measure("A", "found", 0.96, ">=", 0.95, "96 of 100", ("one\n miss",))
    lines = list(score.page([met, met._replace(corpus="B", value=0.9)]))
    assert "| found | 0.96 | ≥ 0.95 | 96 of 100 |" in lines
    assert "| found | 0.9 **not met** | ≥ 0.95 | 96 of 100 |" in lines
    assert lines.count("- one miss") == 2


def test_a_corpus_that_is_not_there_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was measured, so nothing was shown."""
    monkeypatch.setattr("sys.argv", ["score.py", str(tmp_path), "--only", "gosec"])
    assert score.main() == 1
    assert "no checkout for gosec" in capsys.readouterr().err


def test_every_hostile_text_is_large_or_odd() -> None:
    """A short plain text would prove nothing."""
    for name, text in hostile.texts():
        assert len(text) > 10_000 or not text.isprintable(), name
