"""Where things that guests must read are kept: apart from the clone, which may lie under a private folder."""

from __future__ import annotations

import fcntl
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from programs import fail


def runtimes() -> Path:
    """Give the folder of runtimes: FUMEHOOD_RUNTIMES, else the system's for root, else the user's own.

    The engine looks in the same places and reads no environment, so neither HOME nor XDG_DATA_HOME counts here.
    """
    if named := os.environ.get("FUMEHOOD_RUNTIMES"):
        return Path(named).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/fumehood/runtimes")
    return Path(pwd.getpwuid(os.geteuid()).pw_dir) / ".local/share/fumehood/runtimes"


def prepare(folder: Path) -> None:
    """Make ``folder``. Root's guests run under another uid, so for root every folder above must be open to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"the folder of runtimes {folder} cannot be made ({error.strerror}); name another in FUMEHOOD_RUNTIMES.")
    if os.geteuid() != 0:
        return
    for part in (folder, *folder.parents):
        if not part.stat().st_mode & stat.S_IXOTH:
            fail(f"{part} is closed to other users, and guests of a service run by root need the runtimes in {folder}.")


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Hold ``folder/name`` against other set-ups; the kernel lets go of it whatever happens to us."""
    with (folder / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def replace_text(path: Path, text: str) -> None:
    """Write ``path`` so that a reader sees the old text or the new one, never a part."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(0o644)
    fresh.replace(path)


def open_to_all(tree: Path) -> None:
    """Let everyone read ``tree`` and run what its owner may run, whatever umask it was made under."""
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)
