"""Hold the analyser against what others wrote: ``score.py CORPORA [PAGE]``, with checkouts below the folder CORPORA.

Prints one JSON line for each figure; with PAGE, writes them there with every miss by name. Exit code 1 where a figure
is out of its bound or a corpus is not there. ``--only NAME`` (may be repeated) measures some.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import sys
from collections.abc import Iterable
from pathlib import Path

from quality.measures import Measure

CORPORA = ("bandit", "ruff", "gosec", "gitleaks", "detect_secrets", "mutated", "noise", "speed", "hostile")
_ALONE = frozenset({"noise", "speed", "hostile"})
"""These need no checkout."""
_MOST_MISSES = 60


def main() -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description="Hold the analyser against what others wrote.")
    parser.add_argument("corpora", type=Path, help="a folder with checkouts: bandit, ruff, gosec, gitleaks, …")
    parser.add_argument("page", type=Path, nargs="?", help="write the figures and every miss here")
    parser.add_argument("--only", action="append", choices=CORPORA, help="measure this one")
    arguments = parser.parse_args()
    logging.getLogger("bandit").setLevel(logging.CRITICAL)  # warns of every file whose package it cannot name
    measures: list[Measure] = []
    absent = []
    for name in arguments.only or CORPORA:
        module = importlib.import_module(f"quality.{name}")
        checkouts = [arguments.corpora / folder for folder in module.FOLDERS if (arguments.corpora / folder).is_dir()]
        if not checkouts and name in _ALONE:
            checkouts = [arguments.corpora]
        if not checkouts:
            absent.append(name)
            print(f"no checkout for {name}: {' or '.join(module.FOLDERS)}", file=sys.stderr)
        for checkout in checkouts:
            for measure in module.measure(checkout):
                print(json.dumps({**measure._asdict(), "misses": len(measure.misses), "met": measure.met}), flush=True)
                measures.append(measure)
    if arguments.page is not None:
        arguments.page.write_text("\n".join(page(measures)) + "\n", encoding="utf-8")
    return int(bool(absent) or not all(measure.met for measure in measures))


def page(measures: Iterable[Measure]) -> Iterable[str]:
    """Give the lines of the page."""
    measures = list(measures)
    yield "# How good the analyser is"
    yield ""
    yield "Made by `make score CORPORA=DIR`, with checkouts of other tools below `DIR`; nothing of theirs is kept here."
    yield "What is not as expected stands below each table by name. It is a figure of that day and those checkouts."
    for corpus in dict.fromkeys(measure.corpus for measure in measures):
        yield from ("", f"## {corpus}", "", "| what | figure | bound | counted |", "|---|---|---|---|")
        of_this = [measure for measure in measures if measure.corpus == corpus]
        for measure in of_this:
            sign = "≥" if measure.relation == ">=" else "≤"
            mark = "" if measure.met else " **not met**"
            yield f"| {measure.what} | {measure.value:.3g}{mark} | {sign} {measure.bound:g} | {measure.counted} |"
        for measure in of_this:
            if measure.misses:
                yield from ("", f"### {measure.what}: {len(measure.misses)}", "")
                yield from (f"- {_one_line(miss)}" for miss in measure.misses[:_MOST_MISSES])
                if len(measure.misses) > _MOST_MISSES:
                    yield f"- and {len(measure.misses) - _MOST_MISSES} more"


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    raise SystemExit(main())
