"""What every sandbox of this engine sees besides /usr and a runtime: our guest code and a synthetic /etc.

Both are copied once, when the engine starts, to a folder of this instance that any uid may read: the guest's uid need
not be able to read the place this package lies in. The copies hold nothing that is not on every machine of the kind.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox import claim
from sandbox.confine.bwrap import GUEST_ID, HOST_NAME
from sandbox.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HOST_ETC = Path("/etc")
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
_OURS = re.compile(_PREFIX + claim.NAME)
GUEST_BUNDLE = "guest.bin"
# In the order in which they import one another. A cold run's init has no use for the last.
_GUEST_MODULES = ("wire", "libc", "steps", "root", "collect", "program", "image", "become", "init", "zygote")
# What the bundle does when it is executed: stand in for the import system, for these modules alone.
_LOADER = """
import marshal, sys
def load(codes):
    kind = type(sys)
    package = kind("guest")
    package.__path__ = []
    sys.modules["guest"] = package
    for name, code in codes:
        module = kind("guest." + name)
        module.__package__ = "guest"
        sys.modules[module.__name__] = module
        setattr(package, name, module)
        exec(code, module.__dict__)
    return module
load(marshal.loads(codes)).main()
"""
_BUNDLER = f"""
import __future__, marshal, sys
target, *sources = sys.argv[1:]
codes = []
for name, _, path in (each.partition("=") for each in sources):
    text = open(path, encoding="utf-8").read().replace("from __future__ import annotations\\n", "\\n")
    flags = __future__.annotations.compiler_flag  # in place of the line, whose execution imports a module
    codes.append((name, compile(text, "guest/" + name + ".py", "exec", flags, True)))
def bundle(codes):
    text = "codes = %r" % marshal.dumps(codes) + {_LOADER!r}
    return compile(text, "guest/loader", "exec")
with open(target, "wb") as file:
    marshal.dump(dict(init=bundle(codes[:-1]), zygote=bundle(codes)), file)
"""


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
        raise SetupError("state directory", 0, f"{path} is not a folder of ours; name another state_dir")
    closed = next((part for part in path.resolve().parents if not part.stat().st_mode & stat.S_IXOTH), None)
    if os.geteuid() == 0 and closed is not None:
        raise SetupError("state directory", 0, f"{closed} is closed to the uids of guests; name another state_dir")
    return path


def sweep(state: Path) -> None:
    """Remove what engines that were killed left. Names of another form are never touched."""
    for left in state.iterdir():
        taken = claim.take(str(left)) if _OURS.fullmatch(left.name) else None
        if taken is not None:
            shutil.rmtree(left, ignore_errors=True)
            taken.release()


@contextlib.contextmanager
def built(state: Path, interpreter: str) -> Iterator[Path]:
    """Give a folder of ours with the guest's code, compiled by the interpreter that runs it, and ``etc/``.

    It is gone when the scope ends. Raises SetupError.
    """
    made: claim.Claim | None = None
    try:
        (made,) = claim.make((str(state),), _PREFIX)
        folder = Path(made.path)
        _guest(folder / GUEST_BUNDLE, interpreter)
        _etc(folder / "etc")
        open_to_all(folder)
        yield folder
    except OSError as error:
        raise SetupError("stage", error.errno or 0, str(error)) from error
    finally:
        if made is not None:
            shutil.rmtree(made.path, ignore_errors=True)
            made.release()


def _guest(target: Path, interpreter: str) -> None:
    """Compile our guest code, by the interpreter that will run it, into one file: opening eight would cost more."""
    sources = {name: Path(__file__).with_name("guest").joinpath(f"{name}.py") for name in _GUEST_MODULES}
    command = [interpreter, "-I", "-c", _BUNDLER, str(target), *(f"{name}={path}" for name, path in sources.items())]
    done = subprocess.run(command, env={}, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()  # of a traceback, the last one says what
        raise SetupError("stage", 0, f"compiling the guest's side failed: {lines[-1] if lines else done.returncode}")


def _etc(target: Path) -> None:
    target.mkdir()
    for name in _COPIED:
        _copy_public(_HOST_ETC, Path(name), target)
    for name, text in _WRITTEN.items():
        (target / name).write_text(text, encoding="utf-8")
    (target / "localtime").symlink_to("/usr/share/zoneinfo/Etc/UTC")
    (target / "mtab").symlink_to("/proc/self/mounts")


def _copy_public(root: Path, name: Path, target: Path) -> None:
    """Copy ``root/name`` with all below it, but nothing that not every uid may read where it is. Links stay links."""
    above = [root, *(root / parent for parent in reversed(name.parents[:-1]))]
    if all(_is_public(folder, stat.S_ISDIR, stat.S_IXOTH) for folder in above):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        _copy(root / name, target / name)


def _copy(source: Path, copy: Path) -> None:
    if source.is_symlink():
        copy.symlink_to(source.readlink())
    elif _is_public(source, stat.S_ISDIR, stat.S_IROTH | stat.S_IXOTH):
        copy.mkdir()
        for each in source.iterdir():
            _copy(each, copy / each.name)
    elif _is_public(source, stat.S_ISREG, stat.S_IROTH):
        shutil.copyfile(source, copy, follow_symlinks=False)


def _is_public(path: Path, is_kind: Callable[[int], bool], needed: int) -> bool:
    """Whether it is of this kind, no link to one, and grants everybody what is needed."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    return is_kind(mode) and mode & needed == needed


def open_to_all(folder: Path) -> None:
    """Let any uid read all of it, whatever our umask is; what is a program stays one."""
    for parent, folders, files in os.walk(folder):
        for name in folders:
            if not Path(parent, name).is_symlink():
                Path(parent, name).chmod(0o755)
        for name in files:
            if not Path(parent, name).is_symlink():
                program = Path(parent, name).stat().st_mode & stat.S_IXUSR
                Path(parent, name).chmod(0o755 if program else 0o644)
    folder.chmod(0o755)
