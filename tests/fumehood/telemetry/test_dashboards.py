"""The dashboard and the alerts in ``deploy/``, held against what a live service exposes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from doubles import result
from promql import Labels, labels_of, nodes, parsed, selectors, wrong_labels
from scraping import scrape
from serving import Live

from sandbox import Launcher

ROOT = Path(__file__).resolve().parents[3]
DASHBOARD = json.loads((ROOT / "deploy/grafana/fumehood.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text(encoding="utf-8"))
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [(panel["title"], target) for panel in PANELS for target in panel["targets"]]
EXPRESSIONS = [
    *((f"{title} {target['refId']}", target["expr"]) for title, target in QUERIES),
    *((each["name"], each["expr"]) for each in DASHBOARD["annotations"]["list"]),
    *((rule["alert"], rule["expr"]) for rule in RULES),
]
WIDTH = 24


@pytest.fixture
def known(live: Live) -> dict[str, Labels]:
    """Give every metric of a service that has seen one call of each kind, and what its labels say."""
    for launcher in (Launcher.COLD, Launcher.WARM):
        live.box.script = lambda _, launcher=launcher: result(launcher=launcher)
        live.execute(code="1")
    live.client.post("/v1/analyze", json={"code": "x"})
    live.box.lacking = ("cgroup",)
    live.client.get("/readyz")
    metrics: dict[str, dict[str, set[str]]] = {"up": {}}
    for name, series in scrape(live).items():
        labels = metrics.setdefault(name, {})
        for found in series:
            for label, value in found:
                labels.setdefault(label, set()).add(value)
    return {name: {label: frozenset(values) for label, values in labels.items()} for name, labels in metrics.items()}


@pytest.mark.parametrize(("name", "expression"), EXPRESSIONS, ids=[name for name, _ in EXPRESSIONS])
def test_every_query_asks_for_what_there_is(known: dict[str, Labels], name: str, expression: str) -> None:
    """Each metric by its name, each label and each value of a label that it speaks of."""
    tree = parsed(expression)
    asked = list(selectors(tree))
    assert asked, name
    assert [one.name for one in asked if one.name not in known] == []
    assert wrong_labels(tree, known) == []


@pytest.mark.parametrize(
    "expression",
    [
        "fumehood_run_total",
        "rate(fumehood_runs{status='ok'}[5m])",
        "sum by (state) (fumehood_runs_total)",
        "fumehood_runs_total{state='ok'}",
        "fumehood_runs_total{status=~'ok|okay'}",
        "sum by (le) (rate(fumehood_run_cpu_seconds_total[5m]))",
    ],
)
def test_a_wrong_query_would_be_noticed(known: dict[str, Labels], expression: str) -> None:
    """The control of the test above."""
    tree = parsed(expression)
    assert wrong_labels(tree, known) or [one for one in selectors(tree) if one.name not in known]


def test_every_metric_of_ours_is_shown(known: dict[str, Labels]) -> None:
    """What is not worth a place on the dashboard is not worth its cost; build_info feeds the variables."""
    shown = {one.name for _, expression in EXPRESSIONS for one in selectors(parsed(expression))}
    shown |= {name for variable in variables() for name in re.findall(r"fumehood_\w+", str(variable["query"]))}
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in known if name.startswith("fumehood_")}
    assert {re.sub(r"_bucket$", "", name) for name in shown if name.startswith("fumehood_")} == families


def variables() -> list[dict[str, Any]]:
    """Give the dashboard's variables."""
    found: list[dict[str, Any]] = DASHBOARD["templating"]["list"]
    return found


def test_a_legend_names_labels_that_its_query_gives(known: dict[str, Labels]) -> None:
    """Else Grafana shows nothing in its place."""
    for title, target in QUERIES:
        named = set(re.findall(r"\{\{\s*(\w+)\s*\}\}", target["legendFormat"]))
        assert named <= labels_of(parsed(target["expr"]), known), title


@pytest.mark.parametrize(("name", "expression"), EXPRESSIONS, ids=[name for name, _ in EXPRESSIONS])
def test_counters_are_asked_for_their_change(name: str, expression: str) -> None:
    """A counter's own value depends on when the service started; and a quantile needs ``le``."""
    tree = parsed(expression)
    asked = [one.name for one in selectors(tree) if one.name.endswith(("_total", "_bucket"))]
    ranged = [node.vector_selector.name for node in nodes(tree) if isinstance(node, promql_parser.MatrixSelector)]
    assert sorted(asked) == sorted(each for each in ranged if each.endswith(("_total", "_bucket"))), name
    for node in nodes(tree):
        if isinstance(node, promql_parser.Call) and node.func.name == "histogram_quantile":
            assert "le" in node.args[1].modifier.labels


def test_every_panel_has_its_place() -> None:
    """Ids are unique, nothing overlaps, nothing hangs over the edge, and every row is full."""
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells: dict[tuple[int, int], str] = {}
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= WIDTH, panel["title"]
        for cell in (
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ):
            assert cell not in cells, f"{panel['title']} lies on {cells[cell]}"
            cells[cell] = panel["title"]
    assert {x for x, _ in cells} == set(range(WIDTH))
    assert len(cells) == WIDTH * (max(y for _, y in cells) + 1)


def test_the_dashboard_can_be_imported_anywhere() -> None:
    """It names no data source of one installation, and asks only for the chosen job and instances."""
    assert {variable["name"] for variable in variables()} == {"datasource", "job", "instance"}
    for panel in PANELS:
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        for target in panel["targets"]:
            assert target["datasource"] == panel["datasource"]
            for one in selectors(parsed(target["expr"])):
                assert {("job", "$job"), ("instance", "$instance")} <= {
                    (name, value) for name, _, value in one.matchers
                }
    assert "__inputs" not in DASHBOARD
    assert DASHBOARD["uid"] == "fumehood"


def test_every_alert_says_what_is_wrong_and_what_to_do(known: dict[str, Labels]) -> None:
    """With labels that it has; names are unique."""
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert set(rule["annotations"]) == {"summary", "description"}
        told = " ".join(rule["annotations"].values())
        given = labels_of(parsed(rule["expr"]), known)
        assert set(re.findall(r"\$labels\.(\w+)", told)) <= given, rule["alert"]
        if "for" in rule:
            assert promql_parser.parse_duration(rule["for"])


@pytest.fixture
def promtool() -> str:
    """Prometheus' own checker, where it is installed (Debian package ``prometheus``)."""
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed")
    return found


def test_prometheus_takes_the_alerts_and_fires_them(promtool: str, tmp_path: Path) -> None:
    """Its own checker reads the files, and its own engine evaluates them over made-up series."""
    for file in ("alerts.yml", "prometheus.yml"):
        shutil.copy(ROOT / "deploy/prometheus" / file, tmp_path)
    (tmp_path / "fumehood.token").write_text("x", encoding="ascii")
    shutil.copy(Path(__file__).with_name("alerts_test.yml"), tmp_path)
    for arguments in (("check", "config", "prometheus.yml"), ("test", "rules", "alerts_test.yml")):
        done = subprocess.run([promtool, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_story_in_which_it_fires() -> None:
    """And one in which it does not: ``alerts_test.yml`` names it with and without an expectation."""
    stories = yaml.safe_load(Path(__file__).with_name("alerts_test.yml").read_text(encoding="utf-8"))["tests"]
    fired, quiet = set(), set()
    for story in stories:
        for case in story["alert_rule_test"]:
            (fired if case.get("exp_alerts") else quiet).add(case["alertname"])
    names = {rule["alert"] for rule in RULES}
    assert fired == names
    assert quiet == names
