"""How fast the analyser is, beside the parser, Bandit and Ruff, which take turns with it in one process."""

from __future__ import annotations

import ast
import gc
import importlib
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from analyzers import analyze
from analyzers.quiet import no_warnings
from contest import Times
from quality.measures import AT_LEAST, AT_MOST, Measure
from quality.noise import library, sources

FOLDERS = ("cpython",)
_SNIPPETS = Path(__file__).with_name("snippets")
_ROUNDS, _FEW_ROUNDS = 400, 15
_MOST_LINES = 5000


def measure(checkout: Path) -> Iterable[Measure]:
    """Measure warm and cold."""
    yield from _warm()
    yield from _large(library(checkout if (checkout / "Lib").is_dir() else None))
    yield _cold()


def _warm() -> Iterable[Measure]:
    python, go = ((_SNIPPETS / f"web.{suffix}.txt").read_text(encoding="utf-8") for suffix in ("py", "go"))
    lines = python.splitlines(keepends=True)
    at = len(lines) // 2
    runs: dict[str, Callable[[], object]] = {
        "ast.parse": lambda: ast.parse(python),
        "whole Python": lambda: analyze(python),
        "Python, cut off": lambda: analyze("".join(lines[: at * 2 - 8]) + "    x = tempfile.mkt"),
        "Python, broken in the middle": lambda: analyze("".join([*lines[:at], "    x = = 1\n", *lines[at:]])),
        "Python, indented": lambda: analyze("".join(f"    {line}" for line in lines)),
        "Go": lambda: analyze(go, "go"),
    }
    times = _turns(runs, _ROUNDS)
    slow = _turns({"Bandit": _bandit(python), "ruff": _ruff(python)}, _FEW_ROUNDS)
    told = ", ".join(
        f"{name} {one.p50 * 1e3:.2f} ms" for name, one in {"ast.parse": times["ast.parse"], **slow}.items()
    )
    for name, bound in (
        ("whole Python", 1.0),
        ("Python, cut off", 2.0),
        ("Python, broken in the middle", 2.0),
        ("Python, indented", 2.0),
        ("Go", 1.5),
    ):
        one = times[name]
        size = f"{len((go if name == 'Go' else python).splitlines())} lines; {told}"
        yield Measure("Speed, warm", f"{name}, p50 in ms", one.p50 * 1e3, AT_MOST, bound, size)
        yield Measure("Speed, warm", f"{name}, p99 in ms", one.percentile(99) * 1e3, AT_MOST, 3 * bound)


def _turns(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, Times]:
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(-5, rounds):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            if turn >= 0:
                seconds[name].append(time.perf_counter() - began)
    return {name: Times(some) for name, some in seconds.items()}


def _bandit(text: str) -> Callable[[], object]:
    manager: Any = importlib.import_module("bandit.core.manager")
    config: Any = importlib.import_module("bandit.core.config").BanditConfig()

    def run() -> None:
        with no_warnings():
            manager.BanditManager(config, "file")._parse_file("x.py", io.BytesIO(text.encode()), ["x.py"])  # noqa: SLF001

    return run


def _ruff(text: str) -> Callable[[], object]:
    ruff = Path(sys.executable).with_name("ruff")
    command = [os.fspath(ruff), "check", "--isolated", "--select", "S,E722,BLE", "--output-format", "json", "-"]
    return lambda: subprocess.run(command, input=text.encode(), capture_output=True, check=False)


def _large(folder: Path) -> Iterable[Measure]:
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sources(folder)]
    long = max((text for text in texts if text.count("\n") <= _MOST_LINES), key=lambda text: text.count("\n"))
    times = _turns({"parse": lambda: ast.parse(long), "analyze": lambda: analyze(long)}, _FEW_ROUNDS)
    ratio = times["analyze"].p50 / times["parse"].p50
    size = f"{long.count(chr(10)):,} lines in {times['analyze'].p50 * 1e3:.0f} ms"
    yield Measure("Speed, large", "one file, times ast.parse", ratio, AT_MOST, 2.5, size)
    gc.collect()
    began = time.process_time()
    for text in texts:
        analyze(text)
    took = time.process_time() - began
    lines = sum(text.count("\n") for text in texts)
    what = "lines of the standard library a second, one core"
    yield Measure("Speed, large", what, lines / took, AT_LEAST, 30_000, f"{lines:,} lines in {took:.1f} s")


def _cold() -> Measure:
    def run(*words: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-I", *words], capture_output=True, check=False)

    code = "import sys; sys.argv[0] = 'fumehood'; from fumehood.cli import main; sys.exit(main(sys.argv[1:]))"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "web.py")
        path.write_bytes((_SNIPPETS / "web.py.txt").read_bytes())
        check = run("-c", code, "check", os.fspath(path))
        times = _turns({"floor": run("-c", "import ast, json"), "check": check}, _FEW_ROUNDS * 2)
    counted = ", ".join(f"{name} {one.p50 * 1e3:.0f} ms" for name, one in times.items())
    what = "`fumehood check`, times an interpreter with ast and json"
    return Measure("Speed, cold", what, times["check"].p50 / times["floor"].p50, AT_MOST, 2.0, counted)
