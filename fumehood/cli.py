"""The command line face. What may be typed is in :mod:`fumehood.arguments`, what it does in :mod:`fumehood.commands`.

Both are loaded when something is typed. Usage errors, unreadable files and refused jobs end with 2, as argparse has it.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from types import SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

USAGE = 2
_CHECK: dict[str, object] = {
    "command": "check",
    "color": "auto",
    "engine": [],
    "fail_on": None,
    "fix": False,
    "format": "text",
    "ignore": None,
    "language": None,
    "max_bytes": None,
    "max_findings": None,
    "no_project": False,
    "select": None,
    "unsafe_fixes": False,
}
"""What the parser gives for ``fumehood check`` with nothing but files."""


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says and give the exit code."""
    words = sys.argv[1:] if argv is None else argv
    # What a start makes stays; to look for garbage in it takes longer than to check a file.
    gc.disable()
    try:
        args = parsed(words)
        command = importlib.import_module(f"fumehood.commands.{args.command}")
    finally:
        gc.freeze()
        gc.enable()
    try:
        code: int = command.main(args)
        sys.stdout.flush()
        if argv is None and args.command == "check":
            # Nothing is left to do, and taking the interpreter down piece by piece takes half as long as the check.
            sys.stderr.flush()
            os._exit(code)
    except BrokenPipeError:
        # Whoever read our output has left. Python would try, and complain, once more when it closes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # 128 + SIGPIPE, as the shell would have it
    except KeyboardInterrupt:
        return 130  # 128 + SIGINT
    return code


def parsed(words: Sequence[str]) -> Namespace | SimpleNamespace:
    """Parse the command line. Exits with 2 where it cannot be understood.

    ``check`` with nothing but names of files is read by hand: argparse would take as long as the check.
    """
    if words[:1] == ["check"] and all(word == "-" or not word.startswith("-") for word in words):
        return SimpleNamespace(**_CHECK, paths=list(words[1:]) or ["-"])
    from fumehood.arguments import parser_for  # noqa: PLC0415 - see above

    return parser_for(words).parse_args(words)
