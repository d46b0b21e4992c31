"""``fumehood rules``."""

from __future__ import annotations

import json

import pytest

from analyzers import pages
from fumehood.cli import main


def rules(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    """Call the command; give exit code, stdout and stderr."""
    code = main(["rules", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_every_rule_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """A line each, as a table in Markdown, as objects in JSON."""
    code, out, _ = rules(capsys)
    assert (code, len(out.splitlines())) == (0, len(pages()))
    assert all(line.split()[0] in pages() for line in out.splitlines())
    assert len(rules(capsys, "--format", "markdown")[1].splitlines()) == len(pages()) + 2
    told = json.loads(rules(capsys, "--format", "json")[1])
    assert {one["rule"] for one in told} == set(pages())


@pytest.mark.parametrize("name", ["FH101", "fh101", "eval-used", "B307", "S307"])
def test_a_rule_is_explained_by_any_of_its_names(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Its page, severity, confidence and weakness."""
    code, out, _ = rules(capsys, name)
    assert code == 0
    assert out.startswith("FH101 eval-used\nhigh severity, high confidence, CWE-95")
    assert "literal_eval" in out


def test_pages_in_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    """A heading, a line of facts, the page."""
    out = rules(capsys, "FH301", "FH202", "--format", "markdown")[1]
    assert out.startswith("## FH301 bare-except\n\nlow severity · high confidence · [CWE-396]")
    assert "## FH202 known-token" in out


def test_an_unknown_rule_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """And is named."""
    code, out, err = rules(capsys, "FH101", "FH999")
    assert (code, out) == (2, "")
    assert "FH999" in err
