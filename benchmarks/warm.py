"""One caller, warm: through ``Sandbox.run`` and over HTTP, against the same program without any isolation.

All take turns in one process; the service is a process of its own. Before every turn, of the bare programs too, it is
awaited that all fork servers have all their waiting children and that nothing moves in the service. What a caller
meets who does not wait is told in the lines "back to back": calls that follow one another at once, for as long as the
pool of waiting children lasts and on beyond it.
"""

from __future__ import annotations

import contest
import service
from bare import SYSTEM_BASH, SYSTEM_PYTHON, command, guest_python
from sandbox import Job, Launcher, Sandbox

CODE = "print(1)"
IMPORTS = "import numpy, pandas; print(1)"
BURST = 20
BASH_ALLOWANCE_SECONDS = 0.005
MOST_OF_PYTHON = 0.12
MOST_OF_PYTHON_OVER_HTTP = 0.25
MOST_OF_IMPORTS = 0.015
MOST_OF_BASH = 1.0


def main() -> None:
    """Measure, and say it."""
    options = contest.arguments(__doc__, rounds=200, heavy_rounds=20)
    with contest.engine(options) as box, service.served(options.runtimes) as server:

        def settle() -> None:
            contest.until_full(box)
            server.settle()

        settle()
        contest.say_facts(box, rounds=options.rounds, heavy_rounds=options.heavy_rounds, burst=BURST)
        light = _light(box, server, options.rounds, settle)
        heavy = contest.compete(
            (
                command("bare python, numpy and pandas", guest_python(box.host), "-I", "-c", IMPORTS),
                server.contender("HTTP, numpy and pandas", IMPORTS),
            ),
            options.heavy_rounds,
            settle,
            warm_up=1,
        )
    times = {**light, **heavy}
    for name, each in times.items():
        contest.say({**each.line(name), "pool": "not awaited" if "back to back" in name else "full before each turn"})
    p50 = {name: each.p50 for name, each in times.items()}
    bare = p50["bare python"]
    contest.say_at_most("Sandbox.run warm against bare python", p50["Sandbox.run, warm"] / bare, MOST_OF_PYTHON)
    contest.say_at_most("HTTP keep-alive against bare python", p50["HTTP"] / bare, MOST_OF_PYTHON_OVER_HTTP)
    imports = p50["HTTP, numpy and pandas"] / p50["bare python, numpy and pandas"]
    contest.say_at_most("numpy and pandas over HTTP against bare python", imports, MOST_OF_IMPORTS)
    bash = p50["HTTP, bash"] / (p50["bare bash"] + BASH_ALLOWANCE_SECONDS)
    contest.say_at_most("bash over HTTP against bare bash + 5 ms", bash, MOST_OF_BASH)


def _light(box: Sandbox, server: service.Service, rounds: int, settle: contest.Settle) -> dict[str, contest.Times]:
    job = Job(code=CODE)
    once = (
        command("bare python", SYSTEM_PYTHON, "-I", "-c", CODE),
        contest.sandboxed(box, "Sandbox.run, warm", job, Launcher.WARM),
        server.contender("HTTP", CODE),
        command("bare bash", SYSTEM_BASH, "-c", "echo 1"),
        server.contender("HTTP, bash", "echo 1", "bash"),
    )
    streams = (
        contest.sandboxed(box, "Sandbox.run, warm, back to back", job, Launcher.WARM, BURST),
        server.contender("HTTP, back to back", CODE, burst=BURST),
    )
    return {
        **contest.compete(once, rounds, settle, warm_up=min(rounds, 5)),
        **contest.compete(streams, max(rounds // BURST, 1), settle, warm_up=1),
    }


if __name__ == "__main__":
    main()
