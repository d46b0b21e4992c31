"""What every sandbox of this engine sees besides /usr and a runtime: our guest code and a synthetic /etc.

Both are copied once, when the engine starts, to a folder of this instance that any uid may read: the guest's uid need
not be able to read the place this package lies in. The copies hold nothing that is not on every machine of the kind.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.confine.bwrap import GUEST_ID, HOST_NAME
from sandbox.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# From the host's /etc, because programs below /usr point there: bwrap shows no other part of it.
_COPIED = (
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ssl/certs",
    "ssl/openssl.cnf",
    "fonts",
    "mime.types",
)
_WRITTEN = {
    "passwd": f"root:x:0:0:root:/:/usr/sbin/nologin\nuser:x:{GUEST_ID}:{GUEST_ID}:user:/workspace:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "group": f"root:x:0:\nuser:x:{GUEST_ID}:\nnogroup:x:65534:\n",
    "hosts": f"127.0.0.1 localhost {HOST_NAME}\n::1 localhost {HOST_NAME}\n",
    "hostname": f"{HOST_NAME}\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "resolv.conf": "",
    "timezone": "Etc/UTC\n",
}


_PREFIX = "stage-"


def state_directory(configured: Path | None) -> Path:
    """Give the folder for this user's instances, made if need be. Raises SetupError if it is not safely ours."""
    if configured is not None:
        path = configured
    elif os.geteuid() == 0:
        path = Path("/run/fumehood")
    else:
        own = Path(f"/run/user/{os.geteuid()}")
        path = own / "fumehood" if os.access(own, os.W_OK) else Path(f"/tmp/fumehood-{os.geteuid()}")  # noqa: S108
    try:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
        status = path.lstat()
        if status.st_uid == os.geteuid() and stat.S_ISDIR(status.st_mode):
            path.chmod(0o755)  # whatever the umask was
    except OSError as error:
        raise SetupError("state directory", error.errno or 0, str(path)) from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise SetupError("state directory", 0, f"{path} is not a folder of ours")
    closed = next((part for part in path.resolve().parents if not part.stat().st_mode & stat.S_IXOTH), None)
    if os.geteuid() == 0 and closed is not None:
        raise SetupError("state directory", 0, f"{closed} is closed to the uids of guests; name another state_dir")
    return path


def sweep(state: Path, alive: Callable[[str], bool]) -> None:
    """Remove what engines that were killed left; ``alive`` tells whether the process of an instance still runs."""
    for left in state.glob(f"{_PREFIX}*"):
        if not alive(left.name.removeprefix(_PREFIX).partition(".")[0]):
            shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def built(state: Path, instance: str, interpreter: str) -> Iterator[Path]:
    """Give a folder of this instance with ``guest/``, compiled by the interpreter that runs it, and ``etc/``.

    It is gone when the scope ends. Raises SetupError.
    """
    folder = state / f"{_PREFIX}{instance}"
    try:
        folder.mkdir(mode=0o755)
        _guest(folder / "guest", interpreter)
        _etc(folder / "etc")
        _readable(folder)
        yield folder
    except OSError as error:
        raise SetupError("stage", error.errno or 0, str(error)) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _guest(target: Path, interpreter: str) -> None:
    shutil.copytree(Path(__file__).with_name("guest"), target, ignore=shutil.ignore_patterns("__pycache__"))
    command = [interpreter, "-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(target)]
    done = subprocess.run(command, env={}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupError("stage", 0, f"compiling the guest's side failed: {done.stdout}{done.stderr}".strip())


def _etc(target: Path) -> None:
    target.mkdir()
    for name in _COPIED:
        source = Path("/etc", name)
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, symlinks=True, ignore_dangling_symlinks=True)
        elif source.is_file():
            shutil.copyfile(source, copy)
    for name, text in _WRITTEN.items():
        (target / name).write_text(text, encoding="utf-8")
    (target / "localtime").symlink_to("/usr/share/zoneinfo/Etc/UTC")
    (target / "mtab").symlink_to("/proc/self/mounts")


def _readable(folder: Path) -> None:
    """Any uid may read all of it, whatever our umask is."""
    for parent, folders, files in os.walk(folder):
        for name in folders:
            if not Path(parent, name).is_symlink():
                Path(parent, name).chmod(0o755)
        for name in files:
            if not Path(parent, name).is_symlink():
                Path(parent, name).chmod(0o644)
    folder.chmod(0o755)
