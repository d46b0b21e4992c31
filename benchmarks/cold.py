"""One cold run against a bare interpreter and against bare bwrap, taking turns in one process.

All three run the guest's interpreter and print one number.
"""

from __future__ import annotations

import contest
from bare import bwrap, command, guest_python
from sandbox import Job, Launcher, WarmConfig

CODE = "print(1)"
MOST_OF_BWRAP = 1.4


def main() -> None:
    """Measure, and say it."""
    options = contest.arguments(__doc__, rounds=200)
    with contest.engine(options, WarmConfig(enabled=False)) as box:
        contest.say_facts(box, rounds=options.rounds)
        contenders = (
            command("bare python", guest_python(box.host), "-I", "-c", CODE),
            command("bare bwrap", *bwrap(box.host), "-I", "-c", CODE),
            contest.sandboxed(box, "Sandbox.run, cold", Job(code=CODE, launcher=Launcher.COLD), Launcher.COLD),
        )
        times = contest.compete(contenders, options.rounds, lambda: None, warm_up=min(options.rounds, 5))
    for name, each in times.items():
        contest.say(each.line(name))
    cold, bare = times["Sandbox.run, cold"].p50, times["bare bwrap"].p50
    contest.say_at_most("a cold run, p50, against bare bwrap", cold / bare, MOST_OF_BWRAP)


if __name__ == "__main__":
    main()
