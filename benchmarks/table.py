"""Turn the benchmarks' JSON lines into the tables of docs/performance.md.

``python benchmarks/table.py LINES [PAGE]`` reads the lines and puts the tables between the page's two markers; without
a page it prints them. What is not a JSON line is passed over.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

BEGIN = "<!-- tables: begin -->"
END = "<!-- tables: end -->"
_OF_THE_HOST = ("host", "processor", "cpus", "memory", "service_python", "guest_python", "bwrap", "layers")
_FIGURES = ("p50_ms", "p90_ms", "p99_ms")
_ALREADY = {"name", "count", *_FIGURES}


def parsed(text: str) -> list[dict[str, Any]]:
    """Give the JSON lines of a benchmark's output."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def tables(lines: Iterable[dict[str, Any]]) -> str:
    """Give Markdown: what was measured on, every measure against its bound, every contender's figures."""
    kept = list(lines)
    facts = [line["facts"] for line in kept if "facts" in line]
    measures = [line for line in kept if "measure" in line]
    contenders = [line for line in kept if "name" in line]
    return "\n".join(
        [
            *_facts(facts),
            "| measure | ratio | bound | met |",
            "|---|---|---|---|",
            *(_row(line["measure"], line["ratio"], line["bound"], "yes" if line["met"] else "no") for line in measures),
            "",
            "| what ran | times | p50 ms | p90 ms | p99 ms | besides |",
            "|---|---|---|---|---|---|",
            *(
                _row(line["name"], line.get("count", ""), *(line.get(each, "") for each in _FIGURES), _besides(line))
                for line in contenders
            ),
        ]
    )


def _facts(facts: list[dict[str, Any]]) -> Iterator[str]:
    if facts:
        yield "Measured on: " + "; ".join(f"{name} {_words(facts[0][name])}" for name in _OF_THE_HOST) + "."
        loads = ", ".join(f"{each['program']} {each['load_before']}" for each in facts)
        yield f"Load of the machine before each (1-minute average): {loads}."
        yield ""


def _besides(line: dict[str, Any]) -> str:
    return "; ".join(f"{name} {_words(value)}" for name, value in line.items() if name not in _ALREADY)


def _words(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def placed(page: str, text: str) -> str:
    """Give the page with ``text`` between its markers. Raises ValueError where it has none."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return f"{head}{begin}\n{text}\n{end}{tail}"


def main() -> None:
    """Read, and place or print."""
    source, *page = (Path(each) for each in sys.argv[1:])
    text = tables(parsed(source.read_text(encoding="utf-8")))
    if page:
        page[0].write_text(placed(page[0].read_text(encoding="utf-8"), text), encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
