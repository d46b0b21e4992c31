"""``fumehood rules``: list the analyser's rules, or explain some of them. 2 for a rule that nobody knows."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable

from analyzers import pages
from analyzers.rule import Page

_CWE = "https://cwe.mitre.org/data/definitions/{}.html"


def main(args: argparse.Namespace) -> int:
    """Print the rules and give the exit code."""
    known = list(pages().values())
    chosen: list[Page] = [] if args.rules else sorted(known, key=lambda page: page.id)
    for name in args.rules:
        found = [page for page in known if name.upper() in _names(page)]
        if not found:
            print(f"fumehood: no rule {name!r}; `fumehood rules` lists them", file=sys.stderr)
            return 2
        chosen += found
    chosen = list(dict.fromkeys(chosen))
    match args.format:
        case "json":
            print(json.dumps([_object(page) for page in chosen], indent=2, ensure_ascii=False))
        case "markdown":
            print("\n".join(_markdown(page) for page in chosen) if args.rules else _table(chosen))
        case _:
            print("\n\n".join(_page(page) for page in chosen) if args.rules else _list(chosen))
    return 0


def _names(page: Page) -> set[str]:
    ruff = {f"S{code[1:]}" for code in page.also if code.startswith("B") and code[1:].isdigit()}
    return {page.id.upper(), page.name.upper(), *(code.upper() for code in page.also), *ruff}


def _object(page: Page) -> dict[str, object]:
    return {
        "rule": page.id,
        "name": page.name,
        "severity": page.severity.value,
        "confidence": page.confidence.value,
        "cwe": page.cwe,
        "also": list(page.also),
        "text": page.text,
    }


def _list(chosen: Iterable[Page]) -> str:
    return "\n".join(f"{page.id}  {page.severity.value:6}  {page.name:28}  {_title(page)}".rstrip() for page in chosen)


def _page(page: Page) -> str:
    weakness = f", CWE-{page.cwe} ({_CWE.format(page.cwe)})" if page.cwe else ""
    also = f"\nAlso known as {', '.join(page.also)}." if page.also else ""
    return (
        f"{page.id} {page.name}\n{page.severity.value} severity, {page.confidence.value} confidence{weakness}{also}\n\n"
        f"{page.text}"
    )


def _table(chosen: Iterable[Page]) -> str:
    rows = [
        f"| {page.id} | {page.name} | {page.severity.value} | {page.cwe or ''} | {', '.join(page.also)} "
        f"| {_title(page).replace('|', '&#124;')} |"
        for page in chosen
    ]
    return "\n".join(["| Rule | Name | Severity | CWE | Also known as | What |", "|---|---|---|---|---|---|", *rows])


def _markdown(page: Page) -> str:
    weakness = f" · [CWE-{page.cwe}]({_CWE.format(page.cwe)})" if page.cwe else ""
    also = f" · also {', '.join(page.also)}" if page.also else ""
    grade = f"{page.severity.value} severity · {page.confidence.value} confidence"
    return f"## {page.id} {page.name}\n\n{grade}{weakness}{also}\n\n{page.text}\n"


def _title(page: Page) -> str:
    return page.text.partition("\n")[0]
