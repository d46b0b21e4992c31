"""256 callers at once, 20 runs each: no error, no spurious timeout, and nobody waits much longer than the others.

Every answer is checked, its output too; a run that ended otherwise than ``ok``, or a call that was refused or failed,
counts as wrong.
"""

from __future__ import annotations

import contest
import service
from contest import Contender
from sandbox import Job, Result, Sandbox

CODE = "print(1)"
MOST_P99_OF_P50 = 3.0
_SHOWN = 3


def main() -> None:
    """Measure, and say it."""
    options = contest.arguments(__doc__, callers=256, runs=20)
    sizes = {"callers": options.callers, "runs_of_each_caller": options.runs}
    with contest.engine(options) as box:
        contest.until_full(box)
        contest.say_facts(box, **sizes)
        _tell("Sandbox.run", contest.crowd(options.callers, options.runs, lambda: _any_launcher(box)))
    with service.served(options.runtimes) as server:
        server.settle()
        _tell("HTTP", contest.crowd(options.callers, options.runs, lambda: server.contender("HTTP", CODE)))


def _any_launcher(box: Sandbox) -> Contender:
    """Under such a load a run may well be cold; the caller is told, and it must be right all the same."""

    def check(result: Result) -> str:
        return "" if (result.status, result.stdout) == ("ok", "1\n") else repr(result)

    job = Job(code=CODE)
    return Contender(name="Sandbox.run", run=lambda: box.run(job), check=check)


def _tell(name: str, met: contest.Crowd) -> None:
    line = met.line(f"{name}, many callers")
    contest.say({**line, "wrong": met.wrong[:_SHOWN]} if met.wrong else line)
    contest.say_at_most(f"{name}, many callers: wrong answers", len(met.wrong), 0)
    contest.say_at_most(
        f"{name}, many callers: p99 against p50", met.times.percentile(99) / met.times.p50, MOST_P99_OF_P50
    )


if __name__ == "__main__":
    main()
