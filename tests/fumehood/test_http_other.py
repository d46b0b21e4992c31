"""Analyze, health, readiness, capabilities and the description of it all."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from serving import Live, serving, until

from analyzers.isolate import Pool
from fumehood import __version__
from fumehood.problems import Kind
from fumehood.settings import Settings
from sandbox.selfcheck import Finding

FORK_SERVERS = [
    {"name": "bare", "up": True, "waiting": 2, "memory_bytes": 9_000_000, "reason": None},
    {"name": "data", "up": False, "waiting": 0, "memory_bytes": None, "reason": "no memory"},
]
DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_analyze_tells_the_report(live: Live) -> None:
    """In the contract's words, and nothing is run."""
    answer = live.client.post("/v1/analyze", json={"language": "python", "code": "eval(x)"})
    assert answer.status_code == 200
    assert answer.json() == {
        "language": "python",
        "verdict": "fail",
        "parse": "full",
        "parse_error": None,
        "unparsed": [],
        "total": 1,
        "counts": {"high": 1, "medium": 0, "low": 0, "info": 0},
        "suppressed": 0,
        "capabilities": [],
        "capability_lines": [],
        "findings": [
            {
                "rule": "FH101",
                "name": "eval-used",
                "severity": "high",
                "confidence": "high",
                "message": "eval runs any expression",
                "line": 1,
                "column": 1,
                "end_line": 1,
                "end_column": 5,
                "cwe": 95,
                "snippet": "eval(x)",
                "fix": {
                    "edits": [{"line": 1, "column": 1, "end_line": 1, "end_column": 5, "text": "ast.literal_eval"}],
                    "safe": False,
                },
                "also": ["B307"],
                "fingerprint": "",
            }
        ],
        "fixed": None,
    }
    assert live.box.jobs == []


def test_analyze_answers_a_model_within_its_budget(settings: Settings) -> None:
    """The compact format lists the gravest findings first, no more of them and no more bytes than were asked for."""
    code = "try:\n    a()\nexcept:\n    eval(x)\n" * 9
    asked = {"code": code, "format": "compact", "max_findings": 5, "max_bytes": 700}
    with Pool(1) as analyser, serving(settings, analyser=analyser) as real:
        answer = real.client.post("/v1/analyze", json=asked)
        full = real.client.post("/v1/analyze", json={"code": code, "max_bytes": 700})
        assert real.problem(full)[:2] == (422, "invalid-request")
        assert "max_bytes: a budget belongs to the format 'compact'" in full.text
    told = answer.json()
    assert (answer.status_code, told["verdict"], told["counts"]) == (200, "fail", {"high": 9, "low": 9})
    assert len(answer.content) <= 700
    assert 1 <= len(told["findings"]) <= 5
    assert {finding["rule"] for finding in told["findings"]} == {"FH101"}
    assert told["omitted"] == 18 - len(told["findings"])


FAULTY = """\
import requests


def get():
    try:
        answer = requests.get("https://example.org", verify=False, timeout=5)
    except:
        answer = None
    return answer
"""


def test_fixes_are_made_on_request(analyser: Pool, settings: Settings) -> None:
    """The safe ones, or all; the report is about the text as sent, and beside it stands what is left."""
    with serving(settings, analyser=analyser) as live:

        def ask(**asked: Any) -> Any:
            answer = live.client.post("/v1/analyze", json={"code": FAULTY, **asked})
            assert answer.status_code == 200
            return answer.json()

        plain = ask()
        assert (plain["fixed"], {one["fix"] for one in plain["findings"]}) == (None, {None})
        assert any(one["fix"] for one in ask(fixes=True)["findings"])
        safe = ask(apply_fixes=True)
        assert [one["rule"] for one in safe["findings"]] == [one["rule"] for one in plain["findings"]]
        assert safe["fixed"]["code"] == FAULTY.replace("except:", "except Exception:")
        applied = safe["fixed"]["applied"]
        assert [(one["rule"], one["line"], one["safe"], one["round"]) for one in applied] == [("FH301", 7, True, 1)]
        assert {one["rule"] for one in plain["findings"]} == {"FH301", "FH501"}
        assert {one["rule"] for one in safe["fixed"]["report"]["findings"]} == {"FH303", "FH501"}
        every = ask(apply_fixes=True, unsafe_fixes=True)["fixed"]
        assert "verify=False" not in every["code"]
        assert {one["safe"] for one in every["applied"]} == {True, False}
        assert {one["rule"] for one in every["report"]["findings"]} == {"FH303"}
        brief = ask(apply_fixes=True, format="compact")
        assert brief["fixed"]["code"] == safe["fixed"]["code"]
        assert {one["rule"] for one in brief["fixed"]["report"]["findings"]} == {"FH303", "FH501"}
        assert ask(code="x = 1\n", apply_fixes=True)["fixed"]["applied"] == []
        description = live.client.get("/openapi.json").json()
        for name, told in (("AnalyzeResponse", safe), ("CompactResponse", brief)):
            schema = {"$ref": f"#/components/schemas/{name}", "components": description["components"]}
            Draft202012Validator(schema).validate(told)


def test_analyze_judges_by_the_threshold(live: Live) -> None:
    """Low unless asked otherwise."""
    for threshold, verdict in ((None, "fail"), ("low", "fail"), ("medium", "pass")):
        request = {"code": "eval(secret)"} | ({"threshold": threshold} if threshold else {})
        assert live.client.post("/v1/analyze", json=request).json()["verdict"] == verdict


@pytest.mark.parametrize("language", ["cobol", "perl", ""])
def test_a_language_that_is_not_there_is_422_naming_the_known(live: Live, language: str) -> None:
    """Until its analyser exists."""
    answer = live.client.post("/v1/analyze", json={"language": language, "code": "x"})
    assert live.problem(answer) == (422, "invalid-request", ["language"])
    assert "known: python" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("request_", "paths"),
    [({}, ["code"]), ({"code": "x", "name": 1}, ["name"]), ({"code": "x", "threshold": "none"}, ["threshold"])],
)
def test_a_wrong_analyze_request_is_422(live: Live, request_: dict[str, Any], paths: list[str]) -> None:
    """As strict as execute."""
    assert live.problem(live.client.post("/v1/analyze", json=request_)) == (422, "invalid-request", paths)


def test_hostile_text_costs_one_answer(settings: Settings) -> None:
    """Nesting that breaks parsers and lines of 5 MB are answered, in time, and the service goes on."""
    wide = settings.model_copy(update={"body_bytes": 8 << 20})
    with Pool(1, seconds=5) as analyser, serving(wide, analyser=analyser) as real:
        for code in ("(" * 200_000, "x = " + "-" * 1_000_000 + "1", "a" * (5 << 20), "if x:\n" * 1, "\ufeff\r\f\v"):
            answer = real.client.post("/v1/analyze", json={"code": code})
            assert answer.status_code == 200
            assert answer.json()["verdict"] in {"pass", "fail", "incomplete"}
        assert real.client.post("/v1/analyze", json={"code": "eval(x)"}).json()["verdict"] == "fail"


def test_a_full_line_of_analyses_is_429(settings: Settings) -> None:
    """Analyses have slots and a line of their own, so that runs and analyses do not starve each other."""

    class Slow:
        def analyze(self, *_: object, **__: object) -> Any:
            entered.release()
            released.wait(10)
            raise MemoryError

    import threading  # noqa: PLC0415

    entered, released = threading.Semaphore(0), threading.Event()
    with serving(settings, analyser=Slow()) as slow, ThreadPoolExecutor(3) as callers:
        calls = [callers.submit(slow.client.post, "/v1/analyze", json={"code": "x"})]
        assert entered.acquire(timeout=5)
        calls += [callers.submit(slow.client.post, "/v1/analyze", json={"code": "x"}) for _ in range(2)]
        until(lambda: slow.app.state.analyses._admission.waiting == 2)
        assert slow.problem(slow.client.post("/v1/analyze", json={"code": "x"}))[:2] == (429, "queue-full")
        assert slow.execute(code="1").status_code == 200
        released.set()
        assert {call.result().status_code for call in calls} == {500}


def test_healthz_says_alive(live: Live) -> None:
    """It asks nothing of the engine."""
    assert live.client.get("/healthz").json() == {"status": "ok"}


def test_readyz_tells_what_held(live: Live) -> None:
    """And what the operator accepted as missing; details of the machine are for ``doctor``."""
    answer = live.client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {
        "ready": True,
        "layers": ["user", "pid"],
        "lacking": [],
        "fork_servers": FORK_SERVERS,
        "checks": [{"name": "run", "layer": None, "held": True, "required": True}],
    }


def test_readyz_is_503_where_a_promised_layer_did_not_hold(settings: Settings) -> None:
    """One probe serves all who ask at about the same time; an accepted absence is no failure."""
    asked = []

    def probe() -> tuple[Finding, ...]:
        asked.append(1)
        return (
            Finding(name="mount", layer="mount", held=False, detail="/secret", remedy="", required=True),
            Finding(name="cgroup", layer="cgroup", held=False, detail="", remedy="", required=False),
        )

    with serving(settings, probe=probe) as unfit:
        answer = unfit.client.get("/readyz")
        assert unfit.problem(answer)[:2] == (503, "not-ready")
        assert answer.json()["detail"] == "did not hold: mount"
        assert [check["name"] for check in answer.json()["checks"]] == ["mount", "cgroup"]
        assert "/secret" not in answer.text
        for _ in range(5):
            unfit.client.get("/readyz")
        assert asked == [1]


def test_capabilities_tell_runtimes_limits_and_layers(live: Live) -> None:
    """What a caller may ask for, with versions, packages and ceilings."""
    told = live.client.get("/v1/capabilities").json()
    assert told["version"] == __version__
    assert told["runtimes"][0] == {
        "name": "python",
        "aliases": ["python3", "py"],
        "version": "python 3.11.7",
        "packages": {"numpy": "2.3.0"},
        "limits": told["limits"]["defaults"],
    }
    assert told["runtimes"][1]["limits"] == {**told["limits"]["defaults"], "wall_seconds": 5}
    assert told["fork_servers"] == FORK_SERVERS
    assert told["limits"]["defaults"]["wall_seconds"] == 30
    assert told["limits"]["ceilings"] == {
        "wall_seconds": 300,
        "cpu_seconds": 600,
        "memory_bytes": 4 << 30,
        "processes": 512,
        "output_bytes": 16 << 20,
        "disk_bytes": 2 << 30,
        "inodes": 65_536,
        "open_files": 4096,
        "cpus": 2,
    }
    assert told["files"] == {"files_in": 256, "files_in_bytes": 16 << 20, "files_out": 100, "files_out_bytes": 16 << 20}
    assert (told["networks"], told["layers"], told["lacking"]) == (["none"], ["user", "pid"], [])
    assert told["analysis"]["languages"][0] == "python"


def test_the_description_is_sound(live: Live) -> None:
    """Every reference leads somewhere, every schema is one, and every endpoint of the contract is there."""
    description = live.client.get("/openapi.json").json()
    assert description["openapi"].startswith("3.1")
    assert set(description["paths"]) == {
        "/v1/execute",
        "/v1/execute/batch",
        "/v1/executions",
        "/v1/executions/{run_id}",
        "/v1/executions/{run_id}/cancel",
        "/v1/analyze",
        "/healthz",
        "/readyz",
        "/v1/capabilities",
        "/metrics",
    }
    schemas = description["components"]["schemas"]
    for name, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        assert schema.get("title") == name
    for reference in references(description):
        assert reference.removeprefix("#/components/schemas/") in schemas
    for path in description["paths"].values():
        for operation in path.values():
            assert operation["operationId"]
            assert operation["summary"]
            assert "403" in operation["responses"]


def references(node: Any) -> set[str]:
    """Give every ``$ref`` below."""
    if isinstance(node, dict):
        return {node["$ref"]} if "$ref" in node else set().union(*map(references, node.values()), set())
    return set().union(*map(references, node), set()) if isinstance(node, list) else set()


def test_what_is_sent_fits_the_description(live: Live) -> None:
    """Requests, answers and problems of real calls validate against the published schemas."""
    description = live.client.get("/openapi.json").json()

    def fits(name: str, value: Any) -> None:
        schema = {"$ref": f"#/components/schemas/{name}", "components": description["components"]}
        Draft202012Validator(schema).validate(value)

    request = {"code": "eval(x)", "limits": {"wall_seconds": 1}, "files": [], "analysis": {"mode": "report"}}
    fits("ExecuteRequest", request)
    fits("ExecuteResponse", live.execute(**request).json())
    fits("AnalyzeResponse", live.client.post("/v1/analyze", json={"code": "eval(x)"}).json())
    compact = {"code": "eval(x)", "format": "compact"}
    fits("CompactResponse", live.client.post("/v1/analyze", json=compact).json())
    fits("Ready", live.client.get("/readyz").json())
    fits("Capabilities", live.client.get("/v1/capabilities").json())
    fits("Problem", live.execute().json())
    page = live.client.get("/v1/executions").json()
    fits("ExecutionPage", page)
    assert page["executions"]
    fits("ExecutionRecord", live.client.get(f"/v1/executions/{page['executions'][0]['id']}").json())
    request = {"runs": [{"code": "x"}, {"code": "y", "language": "perl"}], "stop_on": ["error"]}
    fits("BatchRequest", {**request, "runs": request["runs"][:1]})
    fits("BatchResponse", live.client.post("/v1/execute/batch", json=request).json())
    assert not Draft202012Validator(
        {"$ref": "#/components/schemas/ExecuteRequest", "components": description["components"]}
    ).is_valid({"code": "x", "timeout": 3})


def test_every_problem_is_documented() -> None:
    """The table in ``docs/http.md`` and the code name the same problems with the same statuses."""
    text = (DOCS / "http.md").read_text(encoding="utf-8")
    rows = [[cell.strip(" `") for cell in line.split("|")] for line in text.splitlines() if line.startswith("| `")]
    documented = {(row[1], row[2]) for row in rows if row[2].isdecimal()}
    assert documented == {(kind.value.slug, str(kind.value.status)) for kind in Kind}


def test_every_example_of_a_request_is_valid(live: Live) -> None:
    """The JSON bodies in ``docs/http.md`` are taken as they stand."""
    text = (DOCS / "http.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in text.split("```json execute\n")[1:]]
    assert blocks
    for block in blocks:
        assert live.client.post("/v1/execute", json=json.loads(block)).status_code == 200
    batches = [block.split("```")[0] for block in text.split("```json batch\n")[1:]]
    for block in batches:
        answer = live.client.post("/v1/execute/batch", json=json.loads(block))
        assert {one["status"] for one in answer.json()["results"]} == {"ok"}
