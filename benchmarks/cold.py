"""One cold run against a bare interpreter and against bare bwrap, interleaved in one process. JSON lines.

``python benchmarks/cold.py [ROUNDS]``. Each line: what ran, its p50 and p99 in milliseconds, and the ratio of its p50
to bare bwrap's; first a line of host facts. The bare ones run the same interpreter as the guest, print one number, and
are started by subprocess as anyone would.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from sandbox import Config, Job, Sandbox, Status

CODE = "print(1)"
WARM_UP = 5


def measure(rounds: int) -> None:
    """Print the facts, then a line for each contender."""
    with Sandbox(
        Config(runtimes_dir=__import__("pathlib").Path(os.environ["RT"])) if "RT" in os.environ else None
    ) as box:
        host = box.host
        mounts = [word for bind in host.binds for word in ("--ro-bind", bind.source, bind.target)]
        links = [word for text, path in host.links for word in ("--symlink", text, path)]
        interpreter = host.init[0]
        bare = next(bind.source for bind in host.binds if interpreter.startswith(bind.target + "/"))
        outside = bare + interpreter[len("/opt/python") :]
        bwrap = [host.bwrap, "--unshare-all", "--die-with-parent", *mounts, *links, "--proc", "/proc", "--dev", "/dev"]

        def sandbox() -> None:
            result = box.run(Job(code=CODE))
            if result.status is not Status.OK or result.stdout != "1\n":
                raise SystemExit(f"the sandbox answered {result}")

        def command(*argv: str) -> Callable[[], None]:
            def run() -> None:
                done = subprocess.run(argv, env={}, capture_output=True, check=True)
                if done.stdout != b"1\n":
                    raise SystemExit(f"{argv[0]} answered {done}")

            return run

        contenders = {
            "bare python": command(outside, "-I", "-c", CODE),
            "bare bwrap": command(*bwrap, "--", interpreter, "-I", "-c", CODE),
            "sandbox, cold": sandbox,
        }
        seconds: dict[str, list[float]] = {name: [] for name in contenders}
        for number in range(rounds + WARM_UP):
            for name, run in contenders.items():
                started = time.perf_counter()
                run()
                if number >= WARM_UP:
                    seconds[name].append(time.perf_counter() - started)
        facts = {
            "host": platform.platform(),
            "cpus": os.cpu_count(),
            "python": host.runtimes["python"].version,
            "bwrap": host.bwrap_version,
            "layers": box.layers,
            "rounds": rounds,
        }
    print(json.dumps(facts))
    reference = statistics.median(seconds["bare bwrap"])
    for name, times in seconds.items():
        p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
        line = {"name": name, "p50_ms": round(p50 * 1e3, 2), "p99_ms": round(p99 * 1e3, 2)}
        print(json.dumps({**line, "p50_of_bare_bwrap": round(p50 / reference, 3)}))


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
