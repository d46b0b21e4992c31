"""What ``/metrics`` tells, and to whom."""

from __future__ import annotations

import platform
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from doubles import ScriptedBox, result
from scraping import OPENMETRICS, Change, scrape
from serving import Live, serving, until

from fumehood import __version__
from fumehood.audit import Audit
from fumehood.problems import Kind
from fumehood.settings import Settings
from fumehood.store.database import DatabaseError
from fumehood.telemetry.settings import MetricsSetting
from sandbox import Launcher, SetupError, Status, Usage
from sandbox.selfcheck import Finding

DOCS = Path(__file__).resolve().parents[3] / "docs"
KEY, TOKEN = "key-that-runs-code", "token-that-reads"


def labels(**values: str) -> frozenset[tuple[str, str]]:
    """Give labels as a scrape has them."""
    return frozenset(values.items())


@pytest.mark.parametrize("accept", ["*/*", "", OPENMETRICS])
def test_both_formats_are_sound(live: Live, accept: str) -> None:
    """Prometheus asks for OpenMetrics, people for text; neither has a series twice."""
    live.execute(code="1")
    samples = scrape(live, Accept=accept)
    assert samples["fumehood_build_info"] == {labels(version=__version__, python=platform.python_version()): 1}
    assert samples["process_resident_memory_bytes"][labels()] > 1 << 20
    assert samples["process_open_fds"][labels()] > 3
    assert samples["process_start_time_seconds"][labels()] > 1e9
    assert not [name for name in samples if name.endswith("_created")]  # twice the lines, and nobody reads them
    assert all(name.startswith(("fumehood_", "process_", "python_gc_")) for name in samples)


def test_runs_are_counted_and_timed(live: Live) -> None:
    """By status, canonical language and launcher; what a guest spent is in the unit that the name says."""
    usage = Usage(wall_seconds=2.0, cpu_seconds=1.5, peak_memory_bytes=3 << 20, peak_processes=1, spawn_seconds=0.25)
    changed: dict[str, Any] = {"usage": usage, "launcher": Launcher.WARM, "limits_hit": ("wall", "output")}
    live.box.script = lambda _: result(Status.TIMEOUT, **changed)
    change = Change(live)
    for language in ("python", "py", "bash"):
        assert live.execute(code="1", language=language).status_code == 200
    assert change("fumehood_runs_total", status="timeout", language="python", launcher="warm") == 2
    assert change("fumehood_runs_total", status="timeout", language="bash", launcher="warm") == 1
    assert change("fumehood_runs_total") == 3
    assert change("fumehood_spawn_duration_seconds_sum", language="python", launcher="warm") == pytest.approx(0.5)
    assert change("fumehood_spawn_duration_seconds_count", launcher="cold") == 0
    assert change("fumehood_spawn_duration_seconds_bucket", le="0.128") == 0
    assert change("fumehood_spawn_duration_seconds_bucket", le="0.25") == 3
    assert change("fumehood_run_duration_seconds_sum", language="bash") == pytest.approx(2)
    assert change("fumehood_run_cpu_seconds_total", language="python") == pytest.approx(3)
    assert change("fumehood_run_peak_memory_bytes_sum", language="bash") == pytest.approx(3 << 20)
    assert change("fumehood_run_limits_hit_total", limit="wall") == 3
    assert change("fumehood_run_limits_hit_total", limit="memory") == 0
    assert change("fumehood_queue_wait_seconds_count", queue="run") == 3


def test_runs_that_never_began_are_counted_apart(live: Live) -> None:
    """Blocked, or cancelled in the line: no guest, so no time of one."""
    change = Change(live)
    live.execute(code="eval(1)", analysis={"mode": "block"})
    assert change("fumehood_runs_total", status="blocked", language="python", launcher="none") == 1
    assert change("fumehood_analyses_total", verdict="fail", origin="run", language="python") == 1
    with ThreadPoolExecutor(3) as callers:
        calls = [callers.submit(live.execute, code="wait", id=f"w{number}") for number in range(2)]
        until(lambda: len(live.box.jobs) == 2)
        calls.append(callers.submit(live.execute, code="wait", id="w2"))
        until(lambda: live.app.state.executions.admission.waiting == 1)
        for number in (2, 1, 0):
            live.client.post(f"/v1/executions/w{number}/cancel")
        assert {call.result().json()["status"] for call in calls} == {"cancelled"}
    assert change("fumehood_runs_total", status="cancelled", launcher="none") == 1
    assert change("fumehood_runs_total", status="cancelled", launcher="cold") == 2
    assert change("fumehood_run_duration_seconds_count") == 2
    assert change("fumehood_queue_wait_seconds_count", queue="run") == 3  # the two that ran, and the blocked one


def test_the_line_is_shown_as_it_stands(live: Live) -> None:
    """Depth and slots at the moment of the scrape, beside how much of each there is."""
    with ThreadPoolExecutor(3) as callers:
        calls = [callers.submit(live.execute, code="wait") for _ in range(3)]
        until(lambda: len(live.box.jobs) == 2 and live.app.state.executions.admission.waiting == 1)
        samples = scrape(live)
        live.box.let_go.set()
        assert {call.result().status_code for call in calls} == {200}
    run, analysis = labels(queue="run"), labels(queue="analysis")
    assert samples["fumehood_queue_depth"] == {run: 1, analysis: 0}
    assert samples["fumehood_queue_capacity"] == {run: 2, analysis: 2}
    assert samples["fumehood_slots_in_use"] == {run: 2, analysis: 0}
    assert samples["fumehood_slots"] == {run: 2, analysis: 1}
    assert samples["fumehood_http_requests_in_progress"][labels()] == 4  # the scrape is one
    until(lambda: scrape(live)["fumehood_slots_in_use"][run] == 0)
    assert scrape(live)["fumehood_queue_depth"][run] == 0


def test_a_wait_is_as_long_as_it_was(live: Live) -> None:
    """Counted when the slot is had, not while the call stands in line."""
    change = Change(live)
    with ThreadPoolExecutor(3) as callers:
        calls = [callers.submit(live.execute, code="wait") for _ in range(3)]
        until(lambda: len(live.box.jobs) == 2 and live.app.state.executions.admission.waiting == 1)
        threading.Event().wait(0.2)
        assert change("fumehood_queue_wait_seconds_count", queue="run") == 2
        live.box.let_go.set()
        assert {call.result().status_code for call in calls} == {200}
    assert change("fumehood_queue_wait_seconds_count", queue="run") == 3
    assert 0.2 <= change("fumehood_queue_wait_seconds_sum", queue="run") < 5


def test_fork_servers_tell_their_state(live: Live) -> None:
    """Up, children that wait, starts after the first, and failures."""
    samples = scrape(live)
    bare, data = labels(server="bare"), labels(server="data")
    assert samples["fumehood_fork_server_up"] == {bare: 1, data: 0}
    assert samples["fumehood_fork_server_waiting_children"] == {bare: 2, data: 0}
    assert samples["fumehood_fork_server_restarts_total"] == {bare: 2, data: 0}
    assert samples["fumehood_fork_server_failures_total"] == {bare: 0, data: 4}
    assert samples["fumehood_fork_server_memory_bytes"] == {bare: 9_000_000}


def test_analyses_are_counted_and_timed(live: Live) -> None:
    """By verdict and language; one that no analyser was asked for is none."""
    change = Change(live)
    for code in ("eval(x)", "x", "???", "x"):
        live.client.post("/v1/analyze", json={"code": code})
    live.client.post("/v1/analyze", json={"code": "x", "language": "perl"})
    for verdict, count in (("fail", 1), ("pass", 2), ("incomplete", 1)):
        assert change("fumehood_analyses_total", language="python", verdict=verdict, origin="request") == count
    assert change("fumehood_analyses_total") == 4
    assert change("fumehood_analysis_duration_seconds_count", language="python") == 4
    assert change("fumehood_queue_wait_seconds_count", queue="analysis") == 5


def test_refusals_are_counted_by_reason(live: Live) -> None:
    """A call's own, and those in the place of a batch's run, each once."""
    change = Change(live)
    live.execute()
    live.execute(code="1", limits={"wall_seconds": 9999})
    live.client.get("/nowhere")
    live.client.get("/v1/execute")
    live.client.post("/v1/execute", content=b"x", headers={"Content-Type": "text/plain"})
    live.client.get("/healthz", headers={"Host": "evil.example"})
    live.client.post("/v1/execute/batch", json={"runs": [{"code": "1"}, {"code": "1", "language": "perl"}, {}]})
    wanted = {
        "invalid-request": 3,
        "over-ceiling": 1,
        "not-found": 1,
        "method-not-allowed": 1,
        "unsupported-media-type": 1,
        "foreign-host": 1,
    }
    assert {kind.value.slug: change("fumehood_problems_total", type=kind.value.slug) for kind in Kind} == {
        kind.value.slug: wanted.get(kind.value.slug, 0) for kind in Kind
    }


def test_our_own_failures_are_counted(live: Live) -> None:
    """Those that name their step, in a batch too, and those that nobody foresaw."""

    def fail(job: Any) -> Any:
        if job.code == "setup":
            raise SetupError("fork", 11, "no more processes")
        raise ZeroDivisionError

    live.box.script = fail
    change = Change(live)
    assert live.execute(code="setup").status_code == 500
    assert live.execute(code="other").status_code == 500
    live.client.post("/v1/execute/batch", json={"runs": [{"code": "setup"}, {"code": "other"}]})
    assert change("fumehood_problems_total", type="setup-failed") == 2
    assert change("fumehood_problems_total", type="internal-error") == 2
    assert change("fumehood_runs_total") == 0


def test_a_full_line_is_counted(live: Live) -> None:
    """429, the one refusal that says the service is too small."""
    change = Change(live)
    with ThreadPoolExecutor(4) as callers:
        calls = [callers.submit(live.execute, code="wait") for _ in range(4)]
        until(lambda: live.app.state.executions.admission.waiting == 2)
        assert live.execute(code="1").status_code == 429
        live.box.let_go.set()
        assert {call.result().status_code for call in calls} == {200}
    assert change("fumehood_problems_total", type="queue-full") == 1


def test_requests_are_counted_by_route_and_nothing_a_caller_chose(live: Live) -> None:
    """A path with an id is its route; an unknown path and an unknown method are ``other``."""
    change = Change(live)
    live.execute(code="1")
    for number in range(3):
        live.client.post(f"/v1/executions/no-{number}/cancel")
        live.client.get(f"/secret-{number}")
    live.client.request("PROPFIND", "/healthz")
    assert change("fumehood_http_requests_total", method="POST", route="/v1/execute", code="200") == 1
    assert change("fumehood_http_requests_total", route="/v1/executions/{run_id}/cancel", code="404") == 3
    assert change("fumehood_http_requests_total", method="GET", route="other", code="404") == 3
    assert change("fumehood_http_requests_total", method="other", code="405") == 1
    assert change("fumehood_http_request_duration_seconds_count", route="/v1/execute") == 1
    text = live.client.get("/metrics").text
    assert not re.search("secret|BREW|no-1", text)


def test_a_caller_who_left_is_an_answer_nobody_had(live: Live) -> None:
    """Not a success: its code is ``none``."""
    change = Change(live)
    with pytest.raises(httpx2.ReadTimeout):
        live.client.post("/v1/execute", json={"code": "wait"}, timeout=0.2)
    until(lambda: len(live.box.ended) == 1)
    until(lambda: change("fumehood_http_requests_total", route="/v1/execute") == 1)
    assert change("fumehood_runs_total", status="cancelled", launcher="cold") == 1


def test_first_events_are_increases(settings: Settings) -> None:
    """Each counter that an alert may watch is there, at 0, before anything happened."""
    with serving(settings) as fresh:
        samples = scrape(fresh)
    runs = samples["fumehood_runs_total"]
    assert set(runs.values()) == {0}
    assert labels(status="ok", language="python", launcher="warm") in runs
    assert labels(status="blocked", language="bash", launcher="none") in runs
    assert labels(status="blocked", language="bash", launcher="warm") not in runs
    assert {dict(found)["type"] for found in samples["fumehood_problems_total"]} == {kind.value.slug for kind in Kind}
    assert set(samples["fumehood_run_limits_hit_total"].values()) == {0}
    assert len(samples["fumehood_run_limits_hit_total"]) == 6
    assert samples["fumehood_queue_wait_seconds_count"] == {labels(queue="run"): 0, labels(queue="analysis"): 0}
    assert labels(language="python", verdict="incomplete", origin="run") in samples["fumehood_analyses_total"]


def fail_to_store(*_: object) -> None:
    """Be a database that is away."""
    raise DatabaseError("away")


def test_records_that_wait_for_the_database_are_told(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A beginning and an end for each run, until they are stored."""
    with serving(settings) as service:
        assert scrape(service)["fumehood_audit_pending_records"] == {labels(): 0}
        monkeypatch.setattr(Audit, "_store", fail_to_store)
        service.execute(code="1")
        until(lambda: scrape(service)["fumehood_audit_pending_records"] == {labels(): 2})
        monkeypatch.undo()
        until(lambda: scrape(service)["fumehood_audit_pending_records"] == {labels(): 0})


def test_readiness_and_what_is_lacking_are_told(settings: Settings) -> None:
    """Nothing before somebody asked; then what the last probe found."""
    held = [True]

    def probe() -> tuple[Finding, ...]:
        return (Finding(name="run", layer=None, held=held[0], detail="", remedy="", required=True),)

    box = ScriptedBox()
    box.lacking = ("cgroup",)
    with serving(settings, box=box, probe=probe) as service:
        samples = scrape(service)
        assert samples["fumehood_layer_lacking"] == {labels(layer="cgroup"): 1}
        assert "fumehood_ready" not in samples
        service.client.get("/readyz")
        assert scrape(service)["fumehood_ready"] == {labels(): 1}
    held[0] = False
    with serving(settings, probe=probe) as service:
        service.client.get("/readyz")
        assert scrape(service)["fumehood_ready"] == {labels(): 0}


def test_services_do_not_share_numbers(settings: Settings) -> None:
    """Each has a registry of its own; nothing is in the library's global one."""
    from prometheus_client import REGISTRY  # noqa: PLC0415

    with serving(settings) as one, serving(settings) as other:
        one.execute(code="1")
        assert sum(scrape(one)["fumehood_runs_total"].values()) == 1
        assert sum(scrape(other)["fumehood_runs_total"].values()) == 0
    assert not [family.name for family in REGISTRY.collect() if family.name.startswith("fumehood")]


@pytest.mark.parametrize(
    ("access", "token", "expected"),
    [
        ("key", None, {None: 401, "wrong": 401, TOKEN: 401, KEY: 200}),
        ("key", TOKEN, {None: 401, "wrong": 401, TOKEN: 200, KEY: 200}),
        ("open", TOKEN, {None: 200, "wrong": 200, TOKEN: 200, KEY: 200}),
        ("off", TOKEN, {None: 401, "wrong": 401, KEY: 404}),
    ],
)
def test_who_may_read_is_the_operators_choice(
    settings: Settings, access: str, token: str | None, expected: dict[str | None, int]
) -> None:
    """Where keys are needed: a key by default; the reader's token reads, and opens nothing else."""
    watched = MetricsSetting.model_validate({"access": access, "token": token})
    locked = Settings(**{**dict(settings), "api_key": [KEY], "metrics": watched})
    with serving(locked) as service:
        for presented, status in expected.items():
            headers = {"Authorization": f"Bearer {presented}"} if presented else {}
            assert service.client.get("/metrics", headers=headers).status_code == status, presented
        reader = {"X-API-Key": TOKEN}
        assert service.client.get("/v1/capabilities", headers=reader).status_code == 401
        assert service.client.post("/v1/execute", json={"code": "1"}, headers=reader).status_code == 401
        assert service.client.get("/v1/capabilities", headers={"X-API-Key": KEY}).status_code == 200
        foreign = {"X-API-Key": KEY, "Host": "evil.example"}
        assert service.client.get("/metrics", headers=foreign).status_code == 421


def test_without_keys_the_machine_may_read(live: Live) -> None:
    """As it may run: only loopback is served then."""
    assert live.client.get("/metrics").status_code == 200


def test_switched_off_it_is_no_part_of_the_surface(settings: Settings) -> None:
    """Neither served nor described."""
    silent = settings.model_copy(update={"metrics": MetricsSetting.model_validate({"access": "off"})})
    with serving(silent) as service:
        assert service.client.get("/metrics").status_code == 404
        assert "/metrics" not in service.client.get("/openapi.json").json()["paths"]


def test_every_metric_is_documented(live: Live) -> None:
    """``docs/observability.md`` has a row for each of ours with its labels, and for nothing else."""
    live.execute(code="1")
    live.client.get("/readyz")
    text = live.client.get("/metrics").text
    exposed = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE fumehood_")}
    told = (DOCS / "observability.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(fumehood_\w+)` \|([^|]*)\|", told, re.MULTILINE))
    assert set(rows) == exposed
    samples = scrape(live)
    for name, cell in rows.items():
        series = next((samples[full] for full in (name, f"{name}_count") if full in samples), {})
        documented = set(re.findall("`([a-z]+)`", cell))
        for found in series:
            assert {label for label, _ in found} == documented, name
