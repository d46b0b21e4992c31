"""What the service holds after many runs against what it held after the first thousand: memory and descriptors.

Callers keep their connections throughout. Each look is taken when nothing moves in the service.
"""

from __future__ import annotations

import contest
import service
from contest import Contender
from sandbox import WarmConfig

CODES = (
    ("print(1)", "python"),
    ("import json, re; print(json.loads(re.sub('x', '1', 'x')))", "python"),
    ("import numpy; print(int(numpy.ones(1)[0]))", "python"),
    ("echo 1", "bash"),
)
CALLERS = 4  # one for each of them
MOST_MEMORY = 1.05
MOST_DESCRIPTORS = 1.0
_SHOWN = 3


def main() -> None:
    """Measure, and say it."""
    options = contest.arguments(__doc__, runs=4000, first=1000)
    with contest.engine(options, WarmConfig(enabled=False)) as box:
        contest.say_facts(box, runs=options.runs, first=options.first, callers=CALLERS)
    with service.served(options.runtimes) as server:
        contenders = [server.contender(language, code, language) for code, language in CODES]
        memory, descriptors = _after(server, contenders, options.first, options.first)
        more_memory, more_descriptors = _after(server, contenders, options.runs - options.first, options.runs)
    contest.say_at_most("the service's memory, later against at first", more_memory / memory, MOST_MEMORY)
    ratio = more_descriptors / descriptors
    contest.say_at_most("the service's descriptors, later against at first", ratio, MOST_DESCRIPTORS)


def _after(server: service.Service, contenders: list[Contender], runs: int, total: int) -> tuple[int, int]:
    """Give the resident bytes and the descriptors after so many more runs."""
    takers = iter(contenders)
    met = contest.crowd(CALLERS, max(runs // CALLERS, 1), lambda: next(takers))
    if met.wrong:
        raise SystemExit(f"{len(met.wrong)} of {runs} runs went wrong: {met.wrong[:_SHOWN]}")
    server.settle()
    memory, descriptors = server.rss_bytes(), server.descriptors()
    line = met.line(f"HTTP, up to run {total}")
    contest.say({**line, "rss_mb": round(memory / (1 << 20), 1), "descriptors": descriptors})
    return memory, descriptors


if __name__ == "__main__":
    main()
