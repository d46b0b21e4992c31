"""Debian's PostgreSQL in a temporary folder: a server of its own on a Unix socket, as a user without rights."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_USER = "fumehood"


def binaries() -> Path | None:
    """Where the newest installed server's programs are."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    elsewhere = shutil.which("initdb")
    return Path(elsewhere).resolve().parent if elsewhere else None


@contextlib.contextmanager
def server(programs: Path) -> Iterator[Server]:
    """Run a server until the block ends."""
    with tempfile.TemporaryDirectory(prefix="fumehood-pg-") as name:
        folder = Path(name)
        yield_as = _unprivileged(folder)
        data = folder / "data"
        _run([programs / "initdb", "-D", data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-sync"], yield_as)
        running = Server(programs, folder, yield_as)
        running.start()
        try:
            yield running
        finally:
            running.stop()


class Server:
    """A running server; it can be stopped and started again."""

    def __init__(self, programs: Path, folder: Path, user: dict[str, Any]) -> None:
        self._programs = programs
        self._folder = folder
        self._user = user

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = f"-k {self._folder} -c listen_addresses= -c fsync=off -c max_connections=50"
        log = self._folder / "log"
        self._control("start", "-o", options, "-l", str(log))

    def stop(self) -> None:
        """Stop it at once; connections are cut."""
        self._control("stop", "-m", "immediate")

    def database(self) -> str:
        """Make a new database and give its URL."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        _run([self._programs / "createdb", "-h", self._folder, "-U", _USER, name], self._user)
        return f"postgresql://{_USER}@/{name}?host={self._folder}"

    def _control(self, action: str, *options: str) -> None:
        _run([self._programs / "pg_ctl", action, "-w", "-D", self._folder / "data", *options], self._user)


def _unprivileged(folder: Path) -> dict[str, Any]:
    """As root, a user for the server, which refuses to be root; and the folder is his."""
    if os.geteuid() != 0:
        return {}
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        user = pwd.getpwnam("nobody")
    os.chown(folder, user.pw_uid, user.pw_gid)
    folder.chmod(0o755)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _run(command: list[Any], user: dict[str, Any]) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        # pg_ctl's server inherits them, and a pipe would never end.
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=60,
        **user,
    )
    assert done.returncode == 0, command
