"""Job + Host -> Plan. Pure: no I/O, so every decision can be tested on any machine. Refuses rather than weakens."""

from __future__ import annotations

import math
from dataclasses import fields
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from sandbox.confine import rlimit
from sandbox.errors import JobRefused, NotBuilt, OverCeiling
from sandbox.meter import MeterLimits
from sandbox.model import Launcher, Limits, NetworkKind, OnOutputLimit, OutputKeep, Plan, WritablePlace
from sandbox.places import STANDING_TARGETS, SYSTEM, WORKSPACE
from sandbox.runtimes import runtime_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.config import Config
    from sandbox.model import Host, InputFile, Job, Runtime

_Word = TypeVar("_Word", bound=StrEnum)
_FLOORS = Limits(
    wall_seconds=0.0,
    cpu_seconds=0.0,
    memory_bytes=16 << 20,
    processes=1,
    output_bytes=0,
    disk_bytes=4096,
    inodes=1,
    open_files=16,
    cpus=0.0,
)
_MUST_EXCEED = frozenset({"wall_seconds", "cpu_seconds", "cpus"})
_SPEAKABLE = 10**18  # no limit is larger, and a caller's number need not be repeated whole
_LONGEST_STRING = (128 << 10) - 1  # MAX_ARG_STRLEN, execve(2)
# Of arguments and of variables each, pointers included: together under a quarter of the default stack, with room for
# the standing variables and the program's name (execve(2)).
_LONGEST_STRINGS = (1 << 20) - (64 << 10)
_POINTER_BYTES = 8
_MOST_VARIABLES = 4096  # a C library looks through all that are there for each that it sets
_LONGEST_PATH = 4096 - 256  # PATH_MAX, with room for the place that init builds it in
_DEEPEST_PATH = 64
_NAME_MAX = 255
_MOST_PATTERNS = 64
_LONGEST_PATTERNS = 64 << 10
_MOST_WRITABLE = 16


def plan(job: Job, host: Host, config: Config) -> Plan:
    """Decide everything about a run. Raises JobRefused, OverCeiling or NotBuilt, naming the field."""
    runtime = runtime_named(job.language, host.runtimes)
    launcher = _launcher(job)
    _network(job)
    limits = _limits(job.limits, ceilings(config, host))
    code = _encoded("code", job.code)
    if len(code) > config.files_in_bytes:
        raise OverCeiling("code", f"may be at most {config.files_in_bytes} bytes")
    in_cgroup = host.meter_kind.startswith("cgroup")
    cpus = min(math.ceil(limits.cpus), len(host.cpu_numbers))
    return Plan(
        runtime=runtime,
        launcher=launcher,
        cpus=cpus,
        own_env=frozenset(job.env),
        code=code,
        stdin=job.stdin,
        args=_args(job.args),
        env=_environment(runtime, job.env, cpus),
        files=_files(job.files, limits, config),
        collect=_patterns(job.collect),
        files_out=config.files_out,
        files_out_bytes=config.files_out_bytes,
        writable=_writable(job.writable_paths, (*SYSTEM, *(bind.target for bind in host.guest_binds))),
        limits=limits,
        meter_limits=MeterLimits(memory_bytes=limits.memory_bytes, processes=limits.processes, cpus=limits.cpus),
        cpu_rate=min(limits.cpus, len(host.cpu_numbers)) if in_cgroup else cpus,
        rlimits=rlimit.rlimits(limits, host.meter_kind),
        affinity=None if in_cgroup else host.cpu_numbers[:cpus],
        output_keep=_one_of(OutputKeep, "output_keep", job.output_keep),
        on_output_limit=_one_of(OnOutputLimit, "on_output_limit", job.on_output_limit),
        flood_bytes=config.flood_bytes,
        layers=layers(host),
    )


def layers(host: Host) -> tuple[str, ...]:
    """Give the layers that hold for every run on this host, in the contract's words."""
    bound = (host.meter_kind, "rlimit") if host.meter_kind.startswith("cgroup") else ("rlimit", "watch", "affinity")
    own_uid = ("uid",) if host.as_root else ()
    return ("user", "pid", "mount", "net", "ipc", "uts", "cgroupns", *bound, *own_uid, "seccomp", "no_new_privs")


def ceilings(config: Config, host: Host) -> Limits:
    """Give the ceilings with every number filled in."""
    top = config.ceilings
    values = {each.name: getattr(top, each.name) for each in fields(top)}
    values["cpus"] = top.cpus or float(len(host.cpu_numbers))
    return Limits(**values)


def _one_of(kind: type[_Word], name: str, value: str) -> _Word:
    """Take the word itself as well as the member it stands for: what is compared later is the member alone."""
    try:
        return kind(value)
    except ValueError:
        raise JobRefused(name, f"may be {' or '.join(repr(each.value) for each in kind)}") from None


def _launcher(job: Job) -> Launcher:
    launcher = _one_of(Launcher, "launcher", job.launcher)
    if launcher is Launcher.WARM:
        raise JobRefused("launcher", "may be 'auto' or 'cold'")
    return launcher


def _network(job: Job) -> None:
    kind = _one_of(NetworkKind, "network.kind", job.network.kind)
    if job.network.hosts and kind is not NetworkKind.ALLOWLIST:
        raise JobRefused("network.hosts", "belongs to kind 'allowlist'")
    if kind is not NetworkKind.NONE:
        raise NotBuilt("network.kind", f"{kind.value!r} cannot be enforced by this version; use 'none'")


def _limits(asked: Limits, top: Limits) -> Limits:
    for each in fields(asked):
        name, field = each.name, f"limits.{each.name}"
        value, floor, ceiling = getattr(asked, name), getattr(_FLOORS, name), getattr(top, name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not _finite(value):
            raise JobRefused(field, "must be a finite number")
        if not isinstance(value, int) and isinstance(floor, int):
            raise JobRefused(field, "must be a whole number")
        if value < floor or (name in _MUST_EXCEED and value <= floor):
            bound = "more than" if name in _MUST_EXCEED else "at least"
            raise OverCeiling(field, f"must be {bound} {_exact(floor)}, not {_exact(value)}")
        if value > ceiling:
            raise OverCeiling(field, f"may be at most {_exact(ceiling)}, not {_exact(value)}")
    return asked


def _finite(number: float) -> bool:
    return isinstance(number, int) or math.isfinite(number)  # an int may be too large to become a float


def _exact(number: float) -> str:
    if abs(number) > _SPEAKABLE:
        return f"beyond {'-' if number < 0 else ''}{_SPEAKABLE}"
    return str(int(number)) if number == int(number) else repr(number)


def _encoded(field: str, text: str) -> bytes:
    try:
        encoded = text.encode("utf-8")
    except UnicodeEncodeError:
        raise JobRefused(field, "holds half of a surrogate pair, which has no UTF-8 form") from None
    if b"\0" in encoded:
        raise JobRefused(field, "holds a NUL character")
    return encoded


def _args(args: tuple[str, ...]) -> tuple[str, ...]:
    total = 0
    for number, each in enumerate(args):
        size = len(_encoded(f"args.{number}", each))
        total += size + 1 + _POINTER_BYTES
        if size > _LONGEST_STRING:
            raise OverCeiling(f"args.{number}", f"may be at most {_LONGEST_STRING} bytes")
    if total > _LONGEST_STRINGS:
        raise OverCeiling("args", f"may be at most {_LONGEST_STRINGS} bytes in all, with 9 more for each")
    return args


def library_environment(runtime: Runtime, cpus: int) -> dict[str, str]:
    """Give what libraries read when they are imported, by a fork server as by a run of so many processors."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(cpus))
    return {"MPLBACKEND": "Agg", **threads, **runtime.environment}


def standing_environment(runtime: Runtime, cpus: int) -> dict[str, str]:
    """Give the documented few variables, as a run has them that asks for none and for so many processors."""
    return {
        "PATH": "/opt/python/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        "HOME": WORKSPACE,
        "USER": "user",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TMPDIR": "/tmp",  # noqa: S108 - inside the guest
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **library_environment(runtime, cpus),
    }


def _environment(runtime: Runtime, asked: Mapping[str, str], cpus: int) -> dict[str, str]:
    """The documented variables, then the job's own over them."""
    if len(asked) > _MOST_VARIABLES:
        raise OverCeiling("env", f"may be at most {_MOST_VARIABLES}")
    env = standing_environment(runtime, cpus)
    total = 0
    for name, value in asked.items():
        field = f"env.{name}"
        if not name or "=" in name:
            raise JobRefused(field, "a variable's name is not empty and holds no '='")
        size = len(_encoded(field, name)) + len(_encoded(field, value)) + 2
        total += size + _POINTER_BYTES
        if size > _LONGEST_STRING:
            raise OverCeiling(field, f"may be at most {_LONGEST_STRING} bytes")
        env[name] = value
    if total > _LONGEST_STRINGS:
        raise OverCeiling("env", f"may be at most {_LONGEST_STRINGS} bytes in all, with 10 more for each")
    return env


def _parts(field: str, path: str) -> list[str]:
    """Split a path that must name something below a folder, by the same rule for files in and globs out."""
    encoded = _encoded(field, path)
    if len(encoded) > _LONGEST_PATH:
        raise JobRefused(field, f"may be at most {_LONGEST_PATH} bytes")
    parts = path.split("/")
    if len(parts) > _DEEPEST_PATH:
        raise JobRefused(field, f"may have at most {_DEEPEST_PATH} parts")
    for part in parts:
        if part in ("", ".", ".."):
            raise JobRefused(field, "must be relative, without empty, '.' or '..' parts")
        if len(part.encode()) > _NAME_MAX:
            raise JobRefused(field, "has a part that is too long")
    return parts


def _files(files: tuple[InputFile, ...], limits: Limits, config: Config) -> tuple[InputFile, ...]:
    if len(files) > config.files_in:
        raise OverCeiling("files", f"may be at most {config.files_in}")
    if sum(len(file.content) for file in files) > min(config.files_in_bytes, limits.disk_bytes):
        most = min(config.files_in_bytes, limits.disk_bytes)
        raise OverCeiling("files", f"may hold at most {most} bytes in all")
    names: set[str] = set()
    folders: set[str] = set()
    for number, file in enumerate(files):
        field = f"files.{number}.path"
        parts = _parts(field, file.path)
        above = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
        if file.path in names:
            raise JobRefused(field, "is there twice")
        if file.path in folders or above & names:
            raise JobRefused(field, "is both a file and a folder")
        names.add(file.path)
        folders |= above
    page_bytes = 4096
    pages = sum(-(-len(file.content) // page_bytes) for file in files)
    if len(names) + len(folders) > limits.inodes or pages * page_bytes > limits.disk_bytes:
        raise OverCeiling("files", "do not fit in limits.disk_bytes and limits.inodes")
    return files


def _patterns(globs: tuple[str, ...]) -> tuple[str, ...]:
    if len(globs) > _MOST_PATTERNS:
        raise OverCeiling("collect", f"may be at most {_MOST_PATTERNS}")
    for number, glob in enumerate(globs):
        _parts(f"collect.{number}", glob)
    if sum(len(glob.encode()) for glob in globs) > _LONGEST_PATTERNS:
        raise OverCeiling("collect", f"may be at most {_LONGEST_PATTERNS} bytes in all")
    return globs


def _writable(paths: tuple[str, ...], system_folders: tuple[str, ...]) -> tuple[WritablePlace, ...]:
    """The job's own places, without those that stand anyway."""
    if len(paths) > _MOST_WRITABLE:
        raise OverCeiling("writable_paths", f"may be at most {_MOST_WRITABLE}")
    places = []
    taken = list(STANDING_TARGETS)
    for number, path in sorted(enumerate(paths), key=lambda item: item[1]):
        field = f"writable_paths.{number}"
        if not path.startswith("/"):
            raise JobRefused(field, "must be absolute")
        parts = _parts(field, path[1:])
        clean = "/" + "/".join(parts)
        if clean in taken:
            continue
        if any(clean.startswith(f"{other}/") for other in taken):
            raise JobRefused(field, "lies inside another writable place, which is writable as a whole")
        if any(
            # A folder over or below one of these would change what programs find.
            f"{each}/".startswith(f"{clean}/") or f"{clean}/".startswith(f"{system}/")
            for system in system_folders
            for each in (system, *STANDING_TARGETS)
        ):
            raise JobRefused(field, "is, holds or lies under a system folder")
        taken.append(clean)
        places.append(WritablePlace(mode=0o755, targets=(clean,)))
    return tuple(places)
