"""What one caller waits for at least: the floor under the latency of a warm run, and where the rest of it goes.

From below: a message to a process that waits and its answer; the same to one that was forked from the guest's
interpreter, waits, and runs ``print(1)`` when it is told; the same, run once before without being heard; the same
where an init between them sees the program's end and says so. No walls, no job, no control group, nothing read
afterwards. From above: the engine, a server of the service's kind that does nothing, and the service, with what it
takes to say that it is alive. All take turns in one process, with everything at rest before each turn, as in warm.py;
ratios are against bare python.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil

import contest
import service
from bare import SYSTEM_PYTHON, command, guest_python
from contest import Contender
from sandbox import Job, Launcher

CODE = "print(1)"
_READY_SECONDS = 0.004
"""From the making of a child until it waits, with plenty to spare."""
# Runs in the guest's interpreter. For each line it makes a child that waits, does its part, and is replaced.
SERVER = """
import gc, os, signal, sys
told, said = 0, os.dup(1)
gc.collect(); gc.freeze(); gc.disable()
quiet = os.open("/dev/null", os.O_WRONLY)
def program(stdout):
    os.dup2(stdout, 1)
    exec(compile("print(1)", "main.py", "exec"), {"__name__": "__main__"})
    sys.stdout.flush()
def echo():
    os.read(told, 1)
    os.write(said, b"1\\n")
def forked():
    os.read(told, 1)
    program(said)
def rehearsed():
    program(quiet)
    os.read(told, 1)
    program(said)
def with_init():
    near, far = os.pipe()
    pid = os.fork()
    if pid == 0:
        program(quiet)
        os.read(told, 1)
        program(far)
        os.kill(os.getpid(), signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    os.write(said, os.read(near, 9))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
parts = {b"e": echo, b"f": forked, b"r": rehearsed, b"i": with_init}
while kind := os.read(told, 1):
    pid = os.fork()
    if pid == 0:
        parts[kind]()
        os._exit(0)
    os.waitpid(pid, 0)
    os.write(said, b"x")
"""

# The least that the service's HTTP server does: read a request's body, and answer.
APPLICATION = """
import sys, uvicorn
async def application(scope, receive, send):
    if scope["type"] == "http":
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"application/json"), (b"content-length", b"15")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"status":"ok"}'})
uvicorn.run(application, fd=int(sys.argv[1]), http="httptools", loop="asyncio", lifespan="off", log_level="critical")
"""


def main() -> None:
    """Measure, and say it."""
    options = contest.arguments(__doc__, rounds=200)
    with (
        contest.engine(options) as box,
        service.served(options.runtimes) as server,
        _waiting(guest_python(box.host)) as floor,
        _bare_http() as least,
    ):
        job = Job(code=CODE)

        def settle() -> None:
            contest.until_full(box)
            server.settle()

        contest.until_full(box)
        contest.say_facts(box, rounds=options.rounds)
        contenders = (
            command("bare python", SYSTEM_PYTHON, "-I", "-c", CODE),
            _contender(floor, "a message and its answer", b"e"),
            _contender(floor, "a forked interpreter that waits", b"f"),
            _contender(floor, "and has rehearsed", b"r"),
            _contender(floor, "and an init that sees its end", b"i"),
            contest.sandboxed(box, "Sandbox.run, warm", job, Launcher.WARM),
            least.alive("HTTP, a server that does nothing"),
            server.alive("HTTP, alive"),
            server.contender("HTTP", CODE),
        )
        times = contest.compete(contenders, options.rounds, settle, warm_up=min(options.rounds, 5))
    bare = times["bare python"].p50
    for name, each in times.items():
        contest.say({**each.line(f"latency: {name}"), "of_bare_python": round(each.p50 / bare, 4)})


@contextlib.contextmanager
def _waiting(python: str) -> Iterator[socket.socket]:
    """Start the server above; give our end of its socket."""
    near, far = socket.socketpair()
    with (
        near,
        subprocess.Popen(
            [python, "-I", "-S", "-c", SERVER], env={}, stdin=far.fileno(), stdout=far.fileno()
        ) as process,
    ):
        far.close()
        yield near
        near.shutdown(socket.SHUT_RDWR)
        process.wait()


@contextlib.contextmanager
def _bare_http() -> Iterator[service.Service]:
    """Start the application above on a port of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        argv = [sys.executable, "-c", APPLICATION, str(listener.fileno())]
        with subprocess.Popen(argv, pass_fds=(listener.fileno(),)) as process:
            try:
                yield service.Service(psutil.Process(process.pid), listener.getsockname())
            finally:
                process.terminate()


def _contender(server: socket.socket, name: str, kind: bytes) -> Contender:
    """Give one whose child is made before its time counts, and cleared away after."""

    def run() -> bytes:
        server.sendall(b"g")
        answer = b""
        while b"\n" not in answer:
            answer += server.recv(16)
        return answer

    def check(answer: bytes) -> str:
        if answer == b"1\n":
            answer += server.recv(1)  # it is cleared away
        return "" if answer == b"1\nx" else repr(answer)

    def prepare() -> None:
        server.sendall(kind)
        time.sleep(_READY_SECONDS)

    return Contender(name=name, run=run, check=check, prepare=prepare)


if __name__ == "__main__":
    main()
