"""Ask the service of this container for a few runs, and judge the answers. ``smoke.py KEY``; standard library only."""

from __future__ import annotations

import http.client
import json
import sys
import time

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


main()
