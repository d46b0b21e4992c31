"""What the engine is measured against: programs started by subprocess, as anyone would, with walls or without."""

from __future__ import annotations

import subprocess
from pathlib import Path

from contest import Contender
from sandbox.model import Host

SYSTEM_PYTHON = "/usr/bin/python3"
SYSTEM_BASH = "/usr/bin/bash"


def command(name: str, *argv: str, expect: str = "1\n") -> Contender:
    """Give a contender that starts a program and waits for it."""

    def run() -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(argv, env={}, capture_output=True, check=False)

    def check(done: subprocess.CompletedProcess[bytes]) -> str:
        return "" if (done.returncode, done.stdout.decode()) == (0, expect) else repr(done)

    return Contender(name=name, run=run, check=check)


def guest_python(host: Host) -> str:
    """Give the host's path of the interpreter that guests run on."""
    inside = host.init[0]
    bind = next(bind for bind in host.binds if Path(inside).is_relative_to(bind.target) and bind.source != bind.target)
    return bind.source + inside.removeprefix(bind.target)


def bwrap(host: Host) -> list[str]:
    """Give the least bwrap command that has the guest's interpreter behind every namespace; the program follows."""
    mounts = [word for bind in host.binds for word in ("--ro-bind", bind.source, bind.target)]
    links = [word for text, path in host.links for word in ("--symlink", text, path)]
    return [
        *(host.bwrap, "--unshare-all", "--die-with-parent", *mounts, *links, "--proc", "/proc", "--dev", "/dev"),
        *("--", host.init[0]),
    ]
