"""What a caller with a key of his own notices of another who floods: his p99 against his p99 when all is quiet.

Three floods, each from a program of its own over many connections that ask again at once: runs as short as his, runs
that burn a processor for a second, and more calls than the line takes, so that most are refused. Quiet and flooded
turns follow one another.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import contest
import service
from contest import Times
from sandbox import WarmConfig

QUIET, FLOOD = "quiet-caller", "flooding-caller"
CODE = "print(1)"
BURN = "import time\nuntil = time.monotonic() + 1\nwhile time.monotonic() < until: pass\nprint(1)"
MOST_OF_QUIET = 2.0
_QUEUE = 64
_THINK_SECONDS = 0.02
_SETTLE_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Kind:
    """A flood: its name, what it runs, and over how many connections."""

    name: str
    code: str
    connections: int


KINDS = (Kind("short runs", CODE, 32), Kind("runs of a second", BURN, 32), Kind("refused calls", CODE, 96))


def main() -> None:
    """Measure, and say it; or be the flood, as started by ourselves."""
    if sys.argv[1:2] == ["flood"]:
        _flood(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
        return
    options = contest.arguments(__doc__, runs=150, rounds=4)
    with contest.engine(options, WarmConfig(enabled=False)) as box:
        contest.say_facts(box, runs=options.runs, rounds=options.rounds, queue=_QUEUE)
    keys = {"FUMEHOOD_API_KEY": f"{QUIET},{FLOOD}", "FUMEHOOD_QUEUE": str(_QUEUE)}
    with service.served(options.runtimes, **keys) as server:
        client = service.Client(server.address, QUIET)
        request = client.request("/v1/execute", {"code": CODE})
        _ask(client, request, 50)
        for kind in KINDS:
            quiet: list[float] = []
            flooded: list[float] = []
            for _ in range(options.rounds):
                server.settle()
                quiet += _ask(client, request, options.runs)
                with _flooding(server.address, kind):
                    time.sleep(_SETTLE_SECONDS)
                    flooded += _ask(client, request, options.runs)
            contest.say(Times(quiet).line(f"quiet, beside {kind.name}"))
            contest.say(Times(flooded).line(f"flooded by {kind.name}"))
            ratio = Times(flooded).percentile(99) / Times(quiet).percentile(99)
            contest.say_at_most(f"p99 of a caller beside a flood of {kind.name}, against quiet", ratio, MOST_OF_QUIET)


def _ask(client: service.Client, request: bytes, times: int) -> list[float]:
    """Run one after the other, with a pause between them as callers have, and give what each took."""
    seconds = []
    for _ in range(times):
        time.sleep(_THINK_SECONDS)
        started = time.perf_counter()
        answer = client.ask(request)
        seconds.append(time.perf_counter() - started)
        if b'"status":"ok"' not in answer:
            raise SystemExit(answer.decode())
    return seconds


@contextlib.contextmanager
def _flooding(address: tuple[str, int], kind: Kind) -> Iterator[None]:
    argv = [sys.executable, __file__, "flood", address[0], str(address[1]), str(kind.connections), kind.code]
    with subprocess.Popen(argv) as process:
        try:
            yield
        finally:
            process.kill()


def _flood(host: str, port: int, connections: int, code: str) -> None:
    """Ask over every connection, again as soon as there is an answer, whatever it is."""

    def ask() -> None:
        client = service.Client((host, port), FLOOD)
        request = client.request("/v1/execute", {"code": code})
        while True:
            client.ask(request)

    threads = [threading.Thread(target=ask) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
