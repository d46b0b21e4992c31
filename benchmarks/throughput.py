"""Runs a second with 8 callers, every run in a fresh net namespace: the engine and the service against bare bwrap.

The three take turns, a batch each. CPU is the whole machine's, so nothing else should run on it.
"""

from __future__ import annotations

import contest
import service
from bare import bwrap, command
from contest import Contender, Crowd
from sandbox import Job, Launcher

CODE = "print(1)"
CALLERS = 8
LEAST_OF_BWRAP = 2.5
LEAST_OF_BWRAP_OVER_HTTP = 2.2


def main() -> None:
    """Measure, and say it."""
    options = contest.arguments(__doc__, turns=6, runs=40)
    with contest.engine(options) as box, service.served(options.runtimes) as server:
        job = Job(code=CODE)

        def bare() -> Contender:
            return command("bare bwrap", *bwrap(box.host), "-I", "-c", CODE)

        def engine() -> Contender:
            return contest.sandboxed(box, "Sandbox.run", job, Launcher.WARM)

        def over_http() -> Contender:
            return server.contender("HTTP", CODE)

        parts: dict[str, list[Crowd]] = {"bare bwrap": [], "Sandbox.run": [], "HTTP": []}
        contest.until_full(box)
        server.settle()
        contest.say_facts(box, callers=CALLERS, turns=options.turns, runs_of_each_caller_a_turn=options.runs)
        for turn in range(-1, options.turns):
            for name, caller in zip(parts, (bare, engine, over_http), strict=True):
                contest.until_full(box)
                server.settle()
                met = contest.crowd(CALLERS, options.runs if turn >= 0 else 1, caller)
                if turn >= 0:
                    parts[name].append(met)
    whole = {name: contest.joined(each) for name, each in parts.items()}
    for name, met in whole.items():
        contest.say(met.line(f"{name}, {CALLERS} callers"))
    if any(met.wrong for met in whole.values()):
        raise SystemExit(str({name: met.wrong[:3] for name, met in whole.items()}))
    reference = whole["bare bwrap"].runs_per_second
    ratio = whole["Sandbox.run"].runs_per_second / reference
    contest.say_at_least("runs a second, Sandbox.run against bare bwrap", ratio, LEAST_OF_BWRAP)
    ratio = whole["HTTP"].runs_per_second / reference
    contest.say_at_least("runs a second, HTTP against bare bwrap", ratio, LEAST_OF_BWRAP_OVER_HTTP)


if __name__ == "__main__":
    main()
