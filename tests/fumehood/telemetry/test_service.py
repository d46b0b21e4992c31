"""``fumehood serve`` over the real engine: what it logs and counts of real runs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
from prometheus_client.parser import text_string_to_metric_families
from serving import until

ROOT = Path(__file__).resolve().parents[3]


def test_a_service_tells_of_its_runs(state: Path, tmp_path: Path) -> None:
    """Every line of its log is one JSON object; its metrics have the times that the engine measured."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FUMEHOOD_")}
    environment |= {"FUMEHOOD_STATE_DIR": str(state), "FUMEHOOD_LOG__FORMAT": "json", "FUMEHOOD_QUEU": "SECRET-VALUE"}
    log = tmp_path / "log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "fumehood", "serve", "--port", "0"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            address = re.search(r"http://\S+", process.stdout.readline())
            assert address is not None
            with httpx2.Client(base_url=address[0], timeout=60) as client:
                until(lambda: any(one["waiting"] for one in client.get("/v1/capabilities").json()["fork_servers"]))
                body = {"code": "print('OUT' + 'PUT')\nimport time; time.sleep(0.05)", "id": "run-1"}
                for launcher in ("auto", "cold"):
                    answer = client.post("/v1/execute", json={**body, "launcher": launcher})
                    assert answer.json()["stdout"] == "OUTPUT\n"
                families = list(text_string_to_metric_families(client.get("/metrics").text))
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()
    lines: list[dict[str, Any]] = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    runs = [line for line in lines if line["event"] == "run"]
    assert sorted(line["launcher"] for line in runs) == ["cold", "warm"], log.read_text(encoding="utf-8")
    assert all(0 < line["spawn_seconds"] < 10 and 0.05 <= line["wall_seconds"] < 10 for line in runs)
    (serving,) = [line for line in lines if line["event"] == "serving"]
    assert (serving["address"], "seccomp" in serving["layers"]) == (address[0], True)
    (unknown,) = [line for line in lines if "variables" in line]
    assert unknown["variables"] == ["FUMEHOOD_QUEU"]
    text = log.read_text(encoding="utf-8")
    assert [word for word in ("OUTPUT", "time.sleep", "SECRET-VALUE") if word in text] == []
    samples = {(one.name, one.labels.get("launcher")): one.value for family in families for one in family.samples}
    for launcher in ("warm", "cold"):
        assert samples["fumehood_spawn_duration_seconds_count", launcher] == 1
        assert 0 < samples["fumehood_spawn_duration_seconds_sum", launcher] < 10
        assert samples["fumehood_run_duration_seconds_sum", launcher] >= 0.05
