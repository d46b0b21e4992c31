"""Prove, on this machine, that each layer bites. The same probes serve ``doctor``, ``/readyz`` and the tests.

A probe is a snippet that tries something harmless which only its layer forbids, and prints what it got; the expected
answer is compared here, outside. :func:`ready` is one run of the probes that cost nothing; :func:`examine` adds the
limits, each with a run of its own, and says what is missing where no run is possible at all.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox.config import Config, WarmConfig
from sandbox.errors import LayerMissing, SandboxError
from sandbox.model import Job, Launcher, Limits, Status
from sandbox.run import Sandbox

_SECONDS = 10.0
_COMING_UP_SECONDS = 60.0
_LOOK_SECONDS = 0.02
_WARM_REMEDY = "let the service's user namespaces hold further ones; until then every run is cold, and as safe"
_UNBOUND = (
    "so CPU is not throttled, and memory in files, pipes and unix sockets does not count towards memory_bytes "
    "(docs/limits.md)"
)
_CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. ``layer`` is a word of ``Result.layers`` or None; ``remedy`` is empty where it held."""

    name: str
    layer: str | None
    held: bool
    detail: str
    remedy: str
    required: bool


@dataclass(frozen=True, slots=True)
class _Probe:
    """One line of Python whose value must be ``wanted``; ``error`` names the exception's errno where it raises."""

    name: str
    layer: str
    expression: str
    wanted: object


# Each value is what only a confined process sees. ``facts`` holds what the host says of itself.
_PROBES = (
    _Probe("the guest is not root", "user", "[os.getuid(), os.getgid()]", [1000, 1000]),
    _Probe("the guest holds no capability", "user", "status('CapEff', 'CapPrm', 'CapBnd', 'CapAmb')", ["0" * 16] * 4),
    _Probe(
        "only its own processes are in sight",
        "pid",
        "[n for n in os.listdir('/proc') if n.isdigit() and n != me]",
        ["1"],
    ),
    _Probe("it cannot read its init", "pid", "attempt(lambda: open('/proc/1/environ').read())", "EACCES"),
    _Probe("it cannot read its init's memory", "pid", "attempt(lambda: open('/proc/1/mem', 'rb'))", "EACCES"),
    _Probe("the host's files are not there", "mount", "[p for p in facts['hidden'] if os.path.exists(p)]", []),
    _Probe("the system cannot be written", "mount", "[attempt(lambda: open(p, 'w')) for p in readonly]", ["EROFS"] * 4),
    _Probe(
        "the network is loopback alone",
        "net",
        "[l.split(':')[0].strip() for l in open('/proc/net/dev').readlines()[2:]]",
        ["lo"],
    ),
    _Probe(
        "the service's port is out of reach",
        "net",
        "attempt(lambda: socket.create_connection(facts['port']))",
        "ECONNREFUSED",
    ),
    _Probe(
        "no address outside is reachable",
        "net",
        "attempt(lambda: socket.create_connection(('192.0.2.1', 9)))",
        "ENETUNREACH",
    ),
    _Probe("shared memory of the host is not there", "ipc", "open('/proc/sysvipc/shm').read().count(chr(10))", 1),
    _Probe("the host's name is not seen", "uts", "socket.gethostname()", "fumehood"),
    _Probe("no privilege can be gained", "no_new_privs", "status('NoNewPrivs')", ["1"]),
    _Probe("system calls are filtered", "seccomp", "status('Seccomp')", ["2"]),
    _Probe("a namespace of its own is refused", "seccomp", "attempt(lambda: syscall('unshare', 0x10000000))", "EPERM"),
    _Probe("an unknown call is refused", "seccomp", "attempt(lambda: syscall(4000))", "ENOSYS"),
)
_SNIPPET = """
import ctypes, errno, json, os, socket, sys
facts = json.load(sys.stdin)
me = str(os.getpid())
readonly = ['/canary', '/etc/canary', '/usr/canary', '/dev/canary']
libc = ctypes.CDLL(None, use_errno=True)
def status(*names):
    lines = dict(l.split(':', 1) for l in open('/proc/self/status').read().splitlines())
    return [lines[n].strip() for n in names]
def attempt(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return 'allowed'
def syscall(call, *arguments):
    result = libc.unshare(*arguments) if call == 'unshare' else libc.syscall(call, *arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), call)
answers = []
for expression in facts['expressions']:
    try:
        answers.append(eval(expression))
    except Exception as error:
        answers.append(repr(error))
print(json.dumps(answers))
"""


def ready(box: Sandbox) -> tuple[Finding, ...]:
    """Run one real snippet and hold every promised layer against it. Never raises."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        facts = {
            "hidden": [path for path in ("/root", "/home", "/var/lib", "/sys", "/boot") if Path(path).exists()],
            "port": listener.getsockname(),
            "expressions": [probe.expression for probe in _PROBES],
        }
        job = Job(code=_SNIPPET, stdin=json.dumps(facts).encode(), limits=Limits(wall_seconds=_SECONDS))
        try:
            result = box.run(job)
            answers = json.loads(result.stdout)
        except (SandboxError, ValueError) as error:
            return (_failure("a snippet runs", error),)
    findings = [_finding("a snippet runs", None, held=True, detail=f"{result.runtime}, {result.launcher.value}")]
    for probe, answer in zip(_PROBES, answers, strict=True):
        held = answer == probe.wanted
        findings.append(_finding(probe.name, probe.layer, held=held, detail="" if held else f"it got {answer!r}"))
    return (*findings, *_accepted(box))


def examine(config: Config) -> tuple[Finding, ...]:
    """Check everything, building an engine for it. Never raises."""
    try:
        box = Sandbox(replace(config, warm=WarmConfig(enabled=False)))
    except SandboxError as error:
        return (_failure("the engine starts", error),)
    with box:
        findings = (*_equipment(box), *ready(box), *_limits(box), _cores(box))
    return (*findings, *_warmth(config))


def _equipment(box: Sandbox) -> Iterator[Finding]:
    host = box.host
    yield _finding("bwrap", None, held=True, detail=f"{host.bwrap_version} ({host.bwrap_origin}): {host.bwrap}")
    for runtime in host.runtimes.values():
        yield _finding(f"runtime {runtime.name}", None, held=True, detail=runtime.version)


def _warmth(config: Config) -> Iterator[Finding]:
    """Runs by a fork server's child, and whether each server comes up. Without one, runs are slower, not weaker.

    Of the layers only those that did not hold are told: all were told of cold runs.
    """
    name = "runs can be warm"
    if not config.warm.enabled:
        yield Finding(name, None, held=False, detail="switched off", remedy="", required=False)
        return
    try:
        with Sandbox(replace(config, warm=replace(config.warm, depth=1))) as box:
            deadline = time.monotonic() + _COMING_UP_SECONDS
            while not all(server["settled"] for server in box.warmth) and time.monotonic() < deadline:
                time.sleep(_LOOK_SECONDS)
            servers, held = box.warmth, box.warm_memory_bytes()
            warm = box.run(Job(code="print(1)")).launcher is Launcher.WARM
            fallen = [probe for probe in ready(box) if probe.required and not probe.held]
    except SandboxError as error:
        yield replace(_failure(name, error), required=False)
        return
    reason = "" if warm else servers[0]["reason"] or "the run was cold all the same"
    yield Finding(name, None, held=warm, detail=reason, remedy="" if warm else _WARM_REMEDY, required=False)
    for server in servers:
        said = server["reason"] or f"{held.get(server['name'], 0) >> 20} MiB with one waiting child"
        yield Finding(f"fork server {server['name']}", None, server["up"], said, remedy="", required=False)
    if warm:  # cold runs were held against the same probes before
        yield from (replace(probe, name=f"warm: {probe.name}") for probe in fallen)


def _accepted(box: Sandbox) -> Iterator[Finding]:
    for layer in box.lacking:
        remedy = "run where a cgroup is writable, for instance by Delegate=yes in a systemd unit"
        yield Finding(
            name=f"{layer} is missing, as accepted",
            layer=layer,
            held=False,
            detail=f"{box.host.meter_reason}; {_UNBOUND}",
            remedy=remedy,
            required=False,
        )


# name, layer, snippet, limits, what the result must be, and the exception that shows the bound as well where only a
# resource limit refuses and no kernel count tells of it
_LIMIT_PROBES: tuple[tuple[str, str | None, str, Limits, Status, str], ...] = (
    ("wall time ends a run", None, "import time; time.sleep(60)", Limits(wall_seconds=0.3), Status.TIMEOUT, ""),
    (
        "CPU time ends a run",
        None,
        "while True: pass",
        Limits(cpu_seconds=0.3, wall_seconds=_SECONDS),
        Status.CPU_LIMIT,
        "",
    ),
    (
        "memory is bounded",
        "meter",
        "x = bytearray(1)\nwhile True: x += b'x' * (1 << 20)",
        Limits(memory_bytes=64 << 20, wall_seconds=_SECONDS),
        Status.MEMORY_LIMIT,
        "MemoryError",
    ),
    (
        "processes are bounded",
        "meter",
        "import os, time\nfor _ in range(64):\n    if os.fork() == 0:\n        time.sleep(9)",
        Limits(processes=8, wall_seconds=_SECONDS),
        Status.PROCESS_LIMIT,
        "BlockingIOError",
    ),
    (
        "disk is bounded",
        "mount",
        "f = open('x', 'wb', 0)\nwhile f.write(bytes(1 << 20)): pass",
        Limits(disk_bytes=4 << 20, wall_seconds=_SECONDS),
        Status.DISK_LIMIT,
        "",
    ),
)


def _limits(box: Sandbox) -> Iterator[Finding]:
    for name, layer, code, limits, wanted, refusal in _LIMIT_PROBES:
        held_by = box.host.meter_kind if layer == "meter" else layer
        try:
            result = box.run(Job(code=code, limits=limits))
        except SandboxError as error:
            yield _failure(name, error)
            continue
        refused = held_by == "watch" and result.status is Status.ERROR and f"\n{refusal}" in result.stderr
        held = result.status is wanted or refused
        detail = "" if held else f"it ended {result.status}: {result.stderr[-200:]}"
        yield _finding(name, held_by, held=held, detail=detail)


def _cores(box: Sandbox) -> Finding:
    """Whether a guest that crashes starts a program of the host's, which would then read what the guest wrote."""
    name = "a crash starts no core handler"
    pattern = _CORE_PATTERN.read_text(encoding="utf-8", errors="replace").strip()
    if not pattern.startswith(("|", "@")):
        return _finding(name, "rlimit", held=True, detail=f"cores are files here: {pattern!r}")
    handler = f"this machine hands cores to {pattern[1:].split(' ')[0]}"
    if pattern.startswith("|"):
        try:
            limit = box.run(Job(code="import resource; print(resource.getrlimit(resource.RLIMIT_CORE)[0])")).stdout
        except SandboxError as error:
            return _failure(name, error)
        if limit == "1\n":
            return _finding(name, "rlimit", held=True, detail=f"{handler}, but not those of guests")
        remedy = "start the service with a hard limit on cores above 0 (systemd: LimitCORE=1)"
    else:  # no limit keeps the kernel from connecting to a socket
        remedy = "set the sysctl kernel.core_pattern to a file's name or a program"
    return Finding(name, "rlimit", held=False, detail=f"{handler}, those of guests too", remedy=remedy, required=False)


def _finding(name: str, layer: str | None, *, held: bool, detail: str) -> Finding:
    remedy = "" if held else "do not run untrusted code here; report this with the output of `fumehood doctor --json`"
    return Finding(name, layer, held, detail, remedy, required=True)


def _failure(name: str, error: Exception) -> Finding:
    layer = error.layer if isinstance(error, LayerMissing) else None
    remedy = error.remedy if isinstance(error, LayerMissing) else ""
    detail = error.reason if isinstance(error, LayerMissing) else str(error)
    return Finding(name=name, layer=layer, held=False, detail=detail, remedy=remedy, required=True)
