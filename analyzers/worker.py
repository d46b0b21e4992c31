"""One process that reads hostile text for another: requests come on stdin, reports go to stdout, no more.

It ends when stdin does. It holds no secrets (its environment is empty) and spends no more than it was told to.
"""

from __future__ import annotations

import base64
import gc
import os
import resource
import sys
from typing import Any, BinaryIO

from analyzers import wire
from analyzers.analyze import analyze, unanswered_report
from analyzers.model import Severity
from analyzers.render import to_dict

_MAX_REQUESTS = 500
"""After so many, a fresh process is cheaper than wondering what this one still holds."""


def main(memory_bytes: int) -> None:
    """Answer requests until there are no more."""
    requests, answers = _take_over_streams()
    _warm_up()
    _limit(memory_bytes)
    answers.write(wire.pack({"ready": True}))
    answers.flush()
    for served in range(1, _MAX_REQUESTS + 1):
        request = wire.read_frame(requests)
        if request is None:
            return
        answer, exhausted = _answer(request)
        last = exhausted or served == _MAX_REQUESTS
        answers.write(wire.pack({"report": answer, "last": last}))
        answers.flush()
        if last:
            return


def _take_over_streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep the two pipes for the conversation; whatever else prints or reads meets /dev/null."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)
    return requests, answers


def _warm_up() -> None:
    # The import that nobody knows reads the list of packages. LibCST waits until somebody wants a fix.
    analyze("import nobody_knows\ntry:\n    pass\nexcept:\n    eval(x)\n")


def _limit(memory_bytes: int) -> None:
    for what, limit in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 32),
    ):
        bound = _within(limit, resource.getrlimit(what)[1])
        if resource.getrlimit(what) != (bound, bound):  # within walls of others even setting it again may be refused
            resource.setrlimit(what, (bound, bound))


def _within(limit: int, hard: int) -> int:
    """Return the limit, or the host's own where that is lower: a hard limit cannot be raised."""
    return limit if hard == resource.RLIM_INFINITY else min(limit, hard)


def _answer(request: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the report, and whether this process ran out of something and should not be used again."""
    language, seconds = request["language"], float(request["seconds"])
    _allow_cpu(seconds)
    # A large tree would be searched for garbage again and again while it grows; its time is better spent.
    gc.disable()
    try:
        report = analyze(
            base64.b64decode(request["bytes"]) if "bytes" in request else request["text"],
            language,
            threshold=Severity(request["threshold"]),
            fixes=bool(request["fixes"]),
            engines=tuple(request["engines"]),
            honour_suppressions=bool(request["honour_suppressions"]),
            packages=frozenset(request["packages"]),
            modules=frozenset(request["modules"]),
            apply_fixes=bool(request["apply_fixes"]),
            unsafe_fixes=bool(request["unsafe_fixes"]),
            # Stop looking while there is still time to tell what was seen.
            seconds=seconds * 0.6,
        )
        return to_dict(report), any(finding.rule in {"FH002", "FH004"} for finding in report.findings)
    except MemoryError:
        pass
    finally:
        gc.enable()
    return to_dict(unanswered_report(language, "there was not enough memory to analyse this text")), True


def _allow_cpu(seconds: float) -> None:
    """Bound this answer's processor time too: then it ends even if nobody is left to kill it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    bound = int(used.ru_utime + used.ru_stime + seconds) + 2
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (_within(bound, hard), hard))


if __name__ == "__main__":
    main(int(sys.argv[1]))
