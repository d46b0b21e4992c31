"""``fumehood serve`` and ``fumehood run`` as programs, over the real engine and the real analyser."""

from __future__ import annotations

import contextlib
import logging
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from doubles import ScriptedBox
from program import FUMEHOOD, ROOT, Program, environment, program
from serving import state_folder, until

from fumehood.commands import serve
from sandbox import ForkServerState


@pytest.fixture(scope="module")
def served() -> Iterator[Program]:
    """One service for the tests that leave it as it was."""
    with state_folder() as state, program(state) as running:
        yield running
        assert running.stop() == 0


def execute(running: Program, **request: object) -> dict[str, object]:
    """Run a snippet and give the answer."""
    answer = running.client.post("/v1/execute", json=request)
    assert answer.status_code == 200, answer.text
    told: dict[str, object] = answer.json()
    return told


def test_start_up_says_what_there_is_and_a_line_that_works(served: Program) -> None:
    """The address, who is served, the layers, and a call that can be pasted into a shell as it is."""
    assert "No API key is configured" in served.greeting
    assert re.search("layers: .*user pid mount net .*seccomp", served.greeting)
    line = served.greeting.splitlines()[-1].removeprefix("Try: ")
    arguments = re.search(r"-d '(.*)'$", line)
    assert arguments is not None
    assert served.address in line
    answer = served.client.post(
        "/v1/execute", content=arguments[1].encode(), headers={"Content-Type": "application/json"}
    )
    assert answer.json()["stdout"] == "42\n"


def server(name: str, *, up: bool, reason: str = "", settled: bool = True) -> ForkServerState:
    """Give what a fork server tells of itself."""
    return ForkServerState(name=name, up=up, settled=settled, waiting=0, reason=reason, pid=None, started=1, failures=0)


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        ([], "cold: warm.enabled is false"),
        ([server("bare", up=True), server("data", up=False, settled=False)], "coming up; a run is cold until"),
        ([server("bare", up=False, reason="no right")], r"Every run is cold, .*: bare \(no right\)"),
        ([server("bare", up=True), server("data", up=True)], r"Runs are warm, by the fork servers bare, data\.$"),
        ([server("bare", up=True), server("data", up=False, reason="x")], r"warm, .* bare\. Not up: data \(x\)"),
    ],
)
def test_start_up_says_how_runs_start(servers: list[ForkServerState], words: str) -> None:
    """Never more than is known by then."""
    assert re.search(words, serve.warmth(servers))


def test_the_log_says_what_came_of_the_fork_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, when it is known of all; a warning where one is not up. A stop ends the wait."""
    said: list[tuple[int, str]] = []
    monkeypatch.setattr(serve._log, "log", lambda level, _, text: said.append((level, text)))
    monkeypatch.setattr(serve, "_LOOK_SECONDS", 0.01)
    box = ScriptedBox()
    box.warmth = (server("bare", up=False, settled=False),)
    stopping = threading.Event()
    telling = threading.Thread(target=serve._tell_warmth, args=(box, stopping))
    telling.start()
    box.warmth = (server("bare", up=False, reason="no right"),)
    telling.join(5)
    ((level, text),) = said
    assert level == logging.WARNING
    assert "no right" in text
    stopping.set()
    box.warmth = (server("bare", up=False, settled=False),)
    serve._tell_warmth(box, stopping)  # type: ignore[arg-type]
    assert len(said) == 1


def test_python_and_bash_run(served: Program) -> None:
    """With files in and out, arguments and standard input."""
    told = execute(
        served,
        code="import sys\nopen('o.bin', 'wb').write(b'\\xff' + open('in/x', 'rb').read())\nprint(input(), sys.argv)",
        stdin="hello\n",
        args=["a"],
        files=[{"path": "in/x", "content": "y"}],
        collect=["*.bin"],
    )
    assert (told["status"], told["stdout"]) == ("ok", "hello ['/run/job/main.py', 'a']\n")
    assert [(file["path"], file["content"]) for file in told["files"]] == [("o.bin", "/3k=")]  # type: ignore[attr-defined]
    told = execute(served, code="echo $((40+2)); exit 3", language="sh")
    assert (told["status"], told["stdout"], told["exit_code"]) == ("error", "42\n", 3)


def test_the_service_is_ready_and_says_what_it_can(served: Program) -> None:
    """A real snippet ran and every promised layer held."""
    assert served.client.get("/readyz").status_code == 200
    told = served.client.get("/v1/capabilities").json()
    assert [one["name"] for one in told["runtimes"]] == ["python", "bash"]
    assert [one["name"] for one in told["fork_servers"]] == ["bare", "standard", "data"]
    assert re.search("Fork servers are coming up|Runs are warm|Every run is cold", served.greeting)


def test_block_mode_reads_before_it_runs(served: Program) -> None:
    """With the real analyser: what has a finding, and what does not parse, is not run."""
    assert execute(served, code="print(eval(input()))", analysis={"mode": "block"})["status"] == "blocked"
    assert execute(served, code="x = (", analysis={"mode": "block"})["status"] == "blocked"
    hidden = "print(eval(input()))  # nosec\n# fumehood: allow[FH101] we trust ourselves\nexec(input())  # noqa\n"
    assert execute(served, code=hidden, analysis={"mode": "block"})["status"] == "blocked"
    told = execute(served, code="print(1)", analysis={"mode": "block"})
    assert (told["status"], told["stdout"]) == ("ok", "1\n")


@pytest.mark.parametrize(
    ("request_", "status", "path"),
    [
        ({"limits": {"wall_seconds": 1000}}, 422, "limits.wall_seconds"),
        ({"limits": {"memory_bytes": 1}}, 422, "limits.memory_bytes"),
        ({"language": "perl"}, 422, "language"),
        ({"files": [{"path": "../x", "content": ""}]}, 422, "files.0.path"),
        ({"writable_paths": ["/etc/x"]}, 422, "writable_paths.0"),
        ({"network": {"kind": "unrestricted"}}, 501, "network.kind"),
    ],
)
def test_the_engines_refusals_name_the_field(
    served: Program, request_: dict[str, object], status: int, path: str
) -> None:
    """Paths are those of the request."""
    answer = served.client.post("/v1/execute", json={"code": "print(1)", **request_})
    assert answer.status_code == status
    assert [error["path"] for error in answer.json()["errors"]] == [path]


def test_a_run_can_be_cancelled_by_id(served: Program) -> None:
    """It ends at once with what it had printed."""
    with contextlib.ExitStack() as scope:
        told: dict[str, object] = {}
        thread = threading.Thread(
            target=lambda: told.update(
                httpx2.post(
                    f"{served.address}/v1/execute",
                    json={"id": "mine", "code": "import time; print('part', flush=True); time.sleep(60)"},
                    timeout=60,
                ).json()
            )
        )
        thread.start()
        scope.callback(thread.join)
        time.sleep(0.5)
        until(lambda: served.client.post("/v1/executions/mine/cancel").status_code == 200)
    assert (told["status"], told["exit_code"]) == ("cancelled", None)
    assert told["stdout"] in {"part\n", ""}


def test_a_closed_connection_frees_the_slot(state: Path) -> None:
    """With one slot, the next call would otherwise wait for the whole sleep."""
    with program(state, concurrency="1", warm__enabled="false") as running:
        assert "Runs are cold: warm.enabled is false" in running.greeting
        body = b'{"code": "import time; time.sleep(60)"}'
        head = "POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", int(running.address.rpartition(":")[2]))) as connection:
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            time.sleep(0.5)
        began = time.monotonic()
        assert execute(running, code="print(1)")["status"] == "ok"
        assert time.monotonic() - began < 10
        assert running.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_ends_runs_answers_them_and_leaves_nothing(state: Path, number: signal.Signals) -> None:
    """After the grace they are cancelled; the exit code is 0 and the state folder holds no run."""
    with program(state, shutdown_grace_seconds="0.2") as running:
        told: dict[str, object] = {}

        def call() -> None:
            told.update(execute(running, code="import time; print(1, flush=True); time.sleep(60)"))

        thread = threading.Thread(target=call)
        thread.start()
        time.sleep(1)
        assert running.stop(number) == 0
        thread.join()
    assert told["status"] == "cancelled"
    left = [path for path in state.rglob("*") if path.is_file() and not path.name.endswith(".lock")]
    assert [path.name for path in left if "slots" not in path.parts] == ["fumehood.db"]


def test_wrong_settings_stop_the_start() -> None:
    """2, and the setting's name on stderr."""
    for settings, words in (({"host": "0.0.0.0"}, "host: 0.0.0.0 can be reached"), ({"queue": "x"}, "queue:")):  # noqa: S104
        done = subprocess.run(
            [*FUMEHOOD, "serve"], cwd=ROOT, env=environment(**settings), capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr


def test_a_taken_port_stops_the_start(served: Program, state: Path) -> None:
    """1, and the reason on stderr; nothing is announced."""
    port = served.address.rpartition(":")[2]
    done = subprocess.run(
        [*FUMEHOOD, "serve", "--port", port],
        cwd=ROOT,
        env=environment(state_dir=str(state)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"fumehood: 127.0.0.1 port {port}: Address already in use\n"


@pytest.mark.parametrize(
    ("options", "code", "exit_code", "out"),
    [
        ((), "import sys; print('o'); print('e', file=sys.stderr); sys.exit(7)", 7, "o\n"),
        (("--wall-seconds", "0.5"), "print(1, flush=True)\nwhile True: pass", 124, "1\n"),
        (("--analysis", "block"), "eval(input())", 126, ""),
    ],
)
def test_run_as_a_program(state: Path, options: tuple[str, ...], code: str, exit_code: int, out: str) -> None:
    """The guest's output on stdout and a code that says how it ended."""
    done = subprocess.run(
        [*FUMEHOOD, "run", *options, "-"],
        cwd=ROOT,
        env=environment(state_dir=str(state)),
        input=code,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (exit_code, out), done.stderr


def test_doctor_finds_this_machine_fit(state: Path) -> None:
    """Every required layer is proved, in words and as JSON."""
    done = subprocess.run(
        [*FUMEHOOD, "doctor"],
        cwd=ROOT,
        env=environment(state_dir=str(state)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✓ bwrap: " in done.stdout
    assert "✗" not in done.stdout
    assert re.search(r"^✓ runtime bash: bash 5", done.stdout, re.MULTILINE)
    assert re.search(r"^[✓-] runs can be warm", done.stdout, re.MULTILINE)
    assert re.search(r"^[✓-] fork server data", done.stdout, re.MULTILINE)
