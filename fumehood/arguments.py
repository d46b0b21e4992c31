"""What may be typed on the command line, by :mod:`argparse`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from fumehood import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_ENGINES = ("bandit", "shellcheck")
_SEVERITIES = ("high", "medium", "low", "info")
_FORMATS = ("text", "json", "compact", "lines", "sarif", "github", "junit")


def size(text: str) -> int:
    """A number of bytes: ``1048576``, ``1024K``, ``1M``; the suffixes are powers of 1024."""
    number, factor = (text[:-1], _UNITS[text[-1].upper()]) if text[-1:].upper() in _UNITS else (text, 1)
    try:
        return int(number) * factor
    except ValueError:
        msg = f"not a number of bytes: {text!r}"
        raise argparse.ArgumentTypeError(msg) from None


def _path(text: str) -> Path:
    from pathlib import Path  # noqa: PLC0415 - costs a start more than many a command

    return Path(text)


class _Help(argparse.HelpFormatter):
    """As wide as the terminal. Argparse would load shutil and all its compressors to find that out, help or no help."""

    def __init__(self, prog: str) -> None:
        try:
            columns = int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
        except (OSError, ValueError):
            columns = 80
        super().__init__(prog, width=columns - 2)


def parser_for(words: Sequence[str]) -> argparse.ArgumentParser:
    """Make the parser, with the arguments of the command that was typed: all of them cost as much as a check."""
    parser = argparse.ArgumentParser(
        prog="fumehood",
        description="Run untrusted code behind kernel walls, or read it without running it.",
        formatter_class=_Help,
    )
    parser.add_argument("--version", action="version", version=f"fumehood {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (summary, add) in _COMMANDS.items():
        command = commands.add_parser(name, help=summary, allow_abbrev=False, formatter_class=_Help)
        if name in words:
            add(command)
    return parser


def _add_config(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--config", type=_path, metavar="TOML", help="settings file (else FUMEHOOD_CONFIG)")


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to bind (127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to bind (8080); 0 takes a free one")
    _add_config(parser)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", nargs="?", default="-", metavar="FILE", help="the snippet; - is standard input")
    parser.add_argument("-l", "--language", metavar="LANG", help="python or bash; else by suffix or #!, else python")
    parser.add_argument("--json", action="store_true", help="print the whole result as JSON")
    given = parser.add_argument_group("what the snippet is given")
    given.add_argument("--arg", action="append", default=[], metavar="ARG", help="an argument; may be repeated")
    given.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable; may be repeated")
    given.add_argument("--stdin", metavar="FILE", help="its standard input (else empty); - is ours")
    given.add_argument(
        "--file", action="append", default=[], metavar="[INSIDE=]FILE", help="a file for /workspace; may be repeated"
    )
    given.add_argument("--writable-path", action="append", metavar="PATH", help="a writable folder (/tmp)")
    taken = parser.add_argument_group("what is taken from it")
    taken.add_argument("--collect", action="append", default=[], metavar="GLOB", help="files of /workspace to keep")
    taken.add_argument("--into", type=_path, metavar="DIR", help="where collected files go; nothing is overwritten")
    taken.add_argument("--output-keep", choices=("head", "head_tail"), default="head")
    taken.add_argument("--on-output-limit", choices=("truncate", "kill"), default="truncate")
    limits = parser.add_argument_group("limits", "byte sizes may end in K, M or G, powers of 1024")
    for name in ("wall-seconds", "cpu-seconds", "cpus"):
        limits.add_argument(f"--{name}", type=float, metavar="N")
    for name in ("memory-bytes", "output-bytes", "disk-bytes"):
        limits.add_argument(f"--{name}", type=size, metavar="N")
    for name in ("processes", "inodes", "open-files"):
        limits.add_argument(f"--{name}", type=int, metavar="N")
    how = parser.add_argument_group("how")
    how.add_argument("--analysis", choices=("off", "report", "block"), default="off", help="read it before it runs")
    how.add_argument("--block-at", choices=(*_SEVERITIES, "never"), default="high", help="what blocks (high)")
    how.add_argument("--launcher", choices=("auto", "cold"), default="auto")
    for name, metavar, what in (
        ("block", "RULE", "what blocks whatever its severity: FH2, B105, CWE-798"),
        ("allow", "RULE", "what does not block"),
        ("deny-capability", "NAME", "what the code may not want: net.outbound, fs.write:/etc"),
        ("accept", "GAP", "what may be amiss with the analysis: repaired, partial, text, cut-short, no-answer"),
    ):
        how.add_argument(f"--{name}", action="append", default=[], metavar=metavar, help=f"{what}; may be repeated")
    _add_config(how)


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", default=["-"], metavar="FILE", help="files and folders; - is our input")
    parser.add_argument("--language", metavar="L", help="else by suffix or #!")
    parser.add_argument("--format", choices=_FORMATS, default="text", help="text; compact and lines are for models")
    parser.add_argument("--engine", action="append", choices=_ENGINES, default=[], help="run this tool's rules as well")
    parser.add_argument("--fix", action="store_true", help="write safe fixes back; for -, print the fixed source")
    parser.add_argument("--unsafe-fixes", action="store_true", help="with --fix, make those too that change behaviour")
    parser.add_argument("--fail-on", choices=_SEVERITIES, metavar="SEVERITY", help="(low)")
    parser.add_argument("--select", action="append", type=_selectors, metavar="RULES", help="FH2,B105,CWE-798; or ALL")
    parser.add_argument("--ignore", action="append", type=_selectors, metavar="RULES", help="likewise")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="of text (auto)")
    parser.add_argument("--max-findings", type=_count, metavar="N", help="of compact and lines, for each source")
    parser.add_argument("--max-bytes", type=_count, metavar="N", help="likewise")
    parser.add_argument("--no-project", action="store_true", help="leave [tool.fumehood] of pyproject.toml alone")


def _add_keys(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make a key and print it, once", allow_abbrev=False)
    create.add_argument("--label", required=True, metavar="TEXT", help="whose it is, for people")
    create.add_argument("--expires", metavar="WHEN", help="90d, 12h, or 2027-01-31T12:00:00Z; else never")
    create.add_argument("--admin", action="store_true", help="it may read every key's executions")
    create.add_argument("--json", action="store_true", help="print key and settings as JSON")
    _add_grants(create.add_argument_group("what it may ask for", "else all that the service allows"))
    change = actions.add_parser("change", help="change what a key may ask for", allow_abbrev=False)
    change.add_argument("id", metavar="ID", help="as 'keys list' tells it")
    change.add_argument("--reset", action="append", default=[], metavar="NAME", help="back to what the service allows")
    change.add_argument("--json", action="store_true", help="print what is kept of it as JSON")
    _add_grants(change.add_argument_group("what it may ask for", "what is not named stays"))
    listed = actions.add_parser("list", help="list the valid keys", allow_abbrev=False)
    listed.add_argument("--all", action="store_true", help="also those that were revoked or have expired")
    listed.add_argument("--json", action="store_true", help="print them as JSON")
    revoke = actions.add_parser("revoke", help="let a key be valid no more", allow_abbrev=False)
    revoke.add_argument("id", metavar="ID", help="as 'keys list' tells it")
    for each in (create, change, listed, revoke):
        _add_config(each)


def _add_grants(grants: argparse._ArgumentGroup) -> None:
    grants.add_argument("--concurrency", type=int, metavar="N", help="runs at once")
    grants.add_argument("--queue", type=int, metavar="N", help="runs in line")
    grants.add_argument("--rate-per-minute", type=int, metavar="N", help="runs started")
    grants.add_argument("--limit", action="append", default=[], metavar="NAME=N", help="a ceiling; may be repeated")
    for name, what in (("language", "a language"), ("network", "a kind of network"), ("tool", "a tool")):
        grants.add_argument(f"--{name}", action="append", metavar="NAME", help=f"{what}; may be repeated")
    grants.add_argument("--launcher", choices=("auto", "cold"), help="cold: none of its runs is warm")
    grants.add_argument("--analysis", choices=("off", "report", "block"), help="the least before a run")
    grants.add_argument("--block-at", choices=_SEVERITIES, help="the highest severity that blocks")


def _add_audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "jsonl", "csv"), default="text")
    parser.add_argument("--since", metavar="WHEN", help="2026-05-01T12:00:00Z, or 90d, 12h, 30m ago")
    parser.add_argument("--until", metavar="WHEN", help="likewise; this moment itself is left out")
    parser.add_argument("--key", metavar="ID", help="of one key")
    parser.add_argument("--id", metavar="ID", help="of one run's id")
    parser.add_argument("--batch", metavar="ID", help="of one batch's id")
    parser.add_argument("--status", action="append", default=[], metavar="STATUS", help="of a status; may be repeated")
    parser.add_argument("--limit", type=int, metavar="N", help="the newest N (text: 50; else all)")
    _add_config(parser)


def _add_rules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rules", nargs="*", metavar="RULE", help="an id, a name, or another tool's id (B307); else all")
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    _add_config(parser)


_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "serve": ("serve HTTP", _add_serve),
    "run": ("run one snippet", _add_run),
    "check": ("analyse files without running them", _add_check),
    "keys": ("make, change, list and revoke API keys", _add_keys),
    "audit": ("list and export who ran what", _add_audit),
    "rules": ("list the analyser's rules, or explain some", _add_rules),
    "doctor": ("prove each layer on this machine", _add_doctor),
}


def _selectors(text: str) -> list[str]:
    return [selector.strip() for selector in text.split(",") if selector.strip()]


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        msg = "a number from 0 is needed"
        raise argparse.ArgumentTypeError(msg)
    return number
