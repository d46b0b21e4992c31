"""Probe, once, what this machine and its kernel offer. Gives facts; decides nothing about any job."""

from __future__ import annotations

import errno
import json
import os
import platform
import pwd
import resource
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox import runtimes
from sandbox.confine import find_bwrap
from sandbox.errors import LayerMissing, SetupError
from sandbox.model import Bind, Host
from sandbox.stage import GUEST_BUNDLE

if TYPE_CHECKING:
    from sandbox.config import Config

GUEST_CODE = "/run/guest.bin"
_SHARED_RUNTIMES = Path("/var/lib/fumehood/runtimes")
_SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_REMEDY = "run `make setup`, which builds it"
_FEWEST_DESCRIPTORS = 256  # a run holds about a dozen; requests, waiting children and the service's own come to it
# The interpreter's switches: isolated, unbuffered (output must survive a kill), no byte code left in the workspace.
_SWITCHES = ("-I", "-u", "-B", "-c")
_BOOT = "import marshal; exec(marshal.load(open({!r}, 'rb')).get({!r}))"


def runtimes_directories(configured: Path | None) -> tuple[Path, ...]:
    """Give the folders where set-up may have left runtimes, the first with one wins."""
    if configured is not None:
        return (configured,)
    if os.geteuid() == 0:  # a guest's uid could not read below root's home
        return (_SHARED_RUNTIMES,)
    home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    return (home / ".local/share/fumehood/runtimes", _SHARED_RUNTIMES)


def probe(config: Config, stage: Path, meter_kind: str, meter_reason: str) -> Host:
    """Give the facts. ``stage`` is where guest code and /etc lie; the meter was found by whoever holds it.

    Raises LayerMissing for bwrap, the runtime, or a meter that the operator did not agree to do without, SetupError
    where we may open too few files to run anything.
    """
    _enough_descriptors()
    folders = runtimes_directories(config.runtimes_dir)
    bwrap = find_bwrap.find(config.bwrap, folders)
    if meter_kind == "watch" and "cgroup" not in config.may_lack:
        raise LayerMissing("cgroup", meter_reason, 'or accept its absence: may_lack = ["cgroup"]')
    as_root = os.geteuid() == 0
    facts = _runtime_facts(folders)
    interpreter = f"{facts['mounted_at']}/{facts['interpreter']}"
    guest_uid = config.uid_base if as_root else None
    shown = (
        Bind(source="/usr", target="/usr"),
        *_system_binds(),
        Bind(source=facts["prefix"], target=facts["mounted_at"]),
        *(Bind(source=path, target=path) for path in facts["extra_read_only"]),
    )
    shown += runtimes.shown(config.runtimes, [bind.target for bind in shown], guest_uid)
    links = _system_links()
    return Host(
        machine=platform.machine(),
        cpu_numbers=tuple(sorted(os.sched_getaffinity(0))),
        as_root=as_root,
        bwrap=str(bwrap.path),
        bwrap_version=bwrap.version,
        bwrap_origin=bwrap.origin,
        meter_kind=meter_kind,
        meter_reason=meter_reason,
        runtimes=runtimes.find(facts, config.runtimes, guest_uid),
        init=(interpreter, *_SWITCHES, _BOOT.format(GUEST_CODE, "init")),
        zygote=(interpreter, *_SWITCHES, _BOOT.format(GUEST_CODE, "zygote")),
        binds=(
            *shown,
            Bind(source=str(stage / GUEST_BUNDLE), target=GUEST_CODE),
            Bind(source=str(stage / "etc"), target="/etc"),
        ),
        links=links,
        guest_binds=(
            *(Bind(source=bind.target, target=bind.target) for bind in shown),
            Bind(source="/etc", target="/etc"),
        ),
        guest_links=links,
    )


def _enough_descriptors() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FEWEST_DESCRIPTORS:
        why = f"this process may have {soft} open, and needs {_FEWEST_DESCRIPTORS}: raise `ulimit -n` or LimitNOFILE="
        raise SetupError("open files", errno.EMFILE, why)


def host_interpreter(config: Config) -> str:
    """Give the path, on the host, of the interpreter that guests run on."""
    facts = _runtime_facts(runtimes_directories(config.runtimes_dir))
    return f"{facts['prefix']}/{facts['interpreter']}"


def namespaces_remedy() -> str:
    """Say in one sentence what to change where the system refuses user namespaces to bwrap."""
    if _sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return "AppArmor refuses user namespaces here: load the profile in deploy/apparmor, its README says how"
    if _sysctl("kernel/unprivileged_userns_clone") == "0":
        return "set the sysctl kernel.unprivileged_userns_clone to 1"
    if _sysctl("user/max_user_namespaces") == "0":
        return "set the sysctl user.max_user_namespaces to 16384"
    return "in a container, start it with the options that README.md names under Container"


def _sysctl(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _system_links() -> tuple[tuple[str, str], ...]:
    """(text, path) for the top folders that are links into /usr, as they are wherever /usr is merged."""
    return tuple((os.readlink(f"/{name}"), f"/{name}") for name in _SYSTEM_FOLDERS if Path("/", name).is_symlink())


def _system_binds() -> tuple[Bind, ...]:
    found = (Path("/", name) for name in _SYSTEM_FOLDERS)
    return tuple(Bind(source=str(path), target=str(path)) for path in found if path.is_dir() and not path.is_symlink())


def _runtime_facts(folders: tuple[Path, ...]) -> dict[str, Any]:
    for folder in folders:
        try:
            facts: dict[str, Any] = json.loads((folder / "python.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise LayerMissing("runtime", f"{folder / 'python.json'}: {error}", _REMEDY) from error
        return facts
    raise LayerMissing("runtime", f"no guest runtime in {' or '.join(map(str, folders))}", _REMEDY)
