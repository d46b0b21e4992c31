"""Ask the service of this container for a few runs, and judge the answers. ``smoke.py KEY``; standard library only.

Then hold the image's bill of materials against what is installed in it.
"""

from __future__ import annotations

import http.client
import importlib.metadata
import json
import subprocess
import sys
import time
from pathlib import Path

_START_SECONDS = 60.0
_DATA = """
import numpy, pandas, matplotlib.pyplot as plot
plot.plot([1, 2])
plot.savefig("plot.png")
print(int(numpy.sum([40, 2])))
"""
_RUNS = (
    ({"code": "print(40 + 2)"}, "ok", "42\n"),
    ({"code": "echo $((40 + 2)); id -u", "language": "bash"}, "ok", "42\n1000\n"),
    ({"code": _DATA, "collect": ["*.png"]}, "ok", "42\n"),
    ({"code": "while True: pass", "limits": {"wall_seconds": 1}}, "timeout", ""),
    ({"code": "import socket; socket.create_connection(('192.0.2.1', 80), 1)"}, "error", ""),
    ({"code": "open('/opt/fumehood/pyvenv.cfg')"}, "error", ""),
)


def _call(method: str, path: str, body: object = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=60)
    headers = {"Authorization": f"Bearer {sys.argv[1]}", "Content-Type": "application/json"}
    connection.request(method, path, json.dumps(body) if body else None, headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def _wait() -> None:
    """Wait until the service is ready: a snippet ran and every wall held."""
    end = time.monotonic() + _START_SECONDS
    said: object = "no answer"
    while time.monotonic() < end:
        try:
            status, said = _call("GET", "/readyz")
        except OSError as error:
            said = error
        else:
            if status == http.HTTPStatus.OK:
                return
        time.sleep(0.2)
    sys.exit(f"not ready after {_START_SECONDS:.0f} s: {said!r}")


def _installed() -> set[tuple[str, str, str]]:
    """Every package of the image, found in another way than the bill's: part, name, version."""
    listed = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n"],  # noqa: S607 - the image's own PATH
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split() for line in listed.stdout.splitlines()]
    found = {("system", name, version) for status, name, version in lines if status == "installed"}
    for part, pattern in (("service", "opt/fumehood"), ("guest", "var/lib/fumehood/runtimes/python-*")):
        folders = [str(path) for path in Path("/").glob(f"{pattern}/lib/python3*/site-packages")]
        for one in importlib.metadata.distributions(path=folders):
            found.add((part, one.metadata["Name"], one.version))
    return found


def _check_bill() -> int:
    """Hold the bill of materials against what is there; give the number of its entries."""
    bill = json.loads(Path("/opt/fumehood/sbom.cdx.json").read_text(encoding="utf-8"))
    told = set()
    for one in bill["components"]:
        (part,) = [each["value"] for each in one["properties"] if each["name"] == "fumehood:part"]
        told.add((part, one["name"], one["version"]))
    found = _installed()
    if told != found or bill["bomFormat"] != "CycloneDX":
        sys.exit(f"the bill of materials is wrong: missing {sorted(found - told)}, too many {sorted(told - found)}")
    wanted = {("system", "bubblewrap"), ("service", "fastapi"), ("service", "fumehood"), ("guest", "numpy")}
    if lost := wanted - {one[:2] for one in told}:
        sys.exit(f"the bill of materials lacks {sorted(lost)}")
    return len(told)


def main() -> None:
    """Run each snippet; say what was wrong with the first that fails."""
    _wait()
    for asked, status, stdout in _RUNS:
        code, body = _call("POST", "/v1/execute", asked)
        result = json.loads(body)
        if (code, result.get("status"), result.get("stdout")) != (200, status, stdout):
            sys.exit(f"{asked}: HTTP {code} {result}")
        if asked.get("collect") and [file["path"] for file in result["files"]] != ["plot.png"]:
            sys.exit(f"{asked}: no picture in {result}")
        print(f"{status}: {result['usage']['wall_seconds']:.3f} s: {asked['code']!r}")
    print("layers:", *result["layers"])
    print(f"bill of materials: {_check_bill()} components, as installed")


main()
