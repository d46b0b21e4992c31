"""The first process inside, pid 1 of the run: build the root, lock down, fork the guest, report how it ended.

Theory of operation. bwrap has already given this process its own user, pid, mount, net, ipc, uts and cgroup
namespaces, an almost empty root, and all capabilities over those namespaces (none over the machine). ``main`` reads
the job, builds the guest's root, then gives every privilege up: capabilities, new privileges, being dumpable, and by
two seccomp filters most of the kernel. Only then does it fork. The child waits at the gate until the host has put it
under its meter, makes itself an ordinary process and becomes the guest's program. The parent never runs a line of the
guest's. It reaps whatever the guest leaves, reports the raw wait status of its main process, kills the rest (the pid
namespace is all there is), walks the workspace, and ends; its end takes the namespaces with it.

Against the guest: init is not dumpable before the guest exists, so ``/proc/1/{mem,environ,fd,…}`` refuse it; all its
signals are at their default, which for pid 1 means that nothing inside can deliver one; seccomp lets nobody ``prlimit``
another process. It holds no secret: all it was told is the job.
"""

from __future__ import annotations

import _signal
import _socket
import os
import resource
import sys

from . import collect, libc, program, root, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_READ_BYTES = 1 << 18
_MOST_JOB_BYTES = 128 << 20
_NAMESPACES = ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")
_DESCRIPTORS = 4  # stdin, stdout, stderr, gate; doors follow
_MOST_DESCRIPTORS = 16
_HIGHEST_OF_OURS = 64  # no descriptor of init's has a higher number
_VICTIM = b"900"  # oom_score_adj(5): when the whole machine runs out, the guest goes before init and the service


class _StepError(Exception):
    """A step of ours failed."""

    def __init__(self, step: str, errno: int, detail: str) -> None:
        super().__init__(step)
        self.step = step
        self.errno = errno
        self.detail = detail


class _Step:
    """Names what is being done, so that its failure can be told."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise _StepError(self._name, error.errno or 0, str(error.strerror or error)) from error
        if isinstance(error, Exception) and not isinstance(error, _StepError):
            raise _StepError(self._name, 0, f"{type(error).__name__}: {error}") from error


def main() -> NoReturn:
    """Serve one job."""
    host = _socket.socket(fileno=wire.CONTROL_FD)
    try:
        _serve(host)
    except _StepError as error:
        _send(host, {"failed": {"step": error.step, "errno": error.errno, "detail": error.detail}})
        os._exit(1)
    os._exit(0)


def _serve(host: _socket.socket) -> None:
    with _Step("init: signals"):
        for number in (_signal.SIGINT, _signal.SIGPIPE, _signal.SIGXFSZ):  # what the interpreter changed
            _signal.signal(number, _signal.SIG_DFL)
        libc.die_with_parent(_signal.SIGKILL)
    with _Step("init: receive job"):
        job, descriptors = _receive(host)
    with _Step("init: oom score"):
        oom_score = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
        own_score = os.read(oom_score, 16)
        os.write(oom_score, _VICTIM)
    with _Step("init: namespaces"):
        namespaces = {name: os.readlink(f"/proc/self/ns/{name}") for name in _NAMESPACES}
    with _Step("init: build root"):
        root.build(job["root"], (job["source_name"], job["code"]), job["files"])
    _lock_down(job)
    with _Step("init: fork"):
        report_reader, report = os.pipe()
        pid = os.fork()
    if pid == 0:
        host.detach()  # its number becomes the guest's standard input; nothing may close that by accident
        _guest(job, descriptors, report)
    with _Step("init: hand over"):
        for descriptor in (*descriptors, report):
            os.close(descriptor)
        os.write(oom_score, own_score)
        os.close(oom_score)
        pidfds = (os.pidfd_open(pid), os.pidfd_open(os.getpid()))
        facts = {"namespaces": namespaces, **_confinement()}
        _send(host, {"ready": facts}, *pidfds)
        for pidfd in pidfds:
            os.close(pidfd)
    _watch(host, job, pid, report_reader)


def _receive(host: _socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Read the job and the descriptors that come with its first bytes."""
    reader = wire.Reader(_MOST_JOB_BYTES)
    descriptors: list[int] = []
    while True:
        data, ancillary, _, _ = host.recvmsg(
            _READ_BYTES, _socket.CMSG_SPACE(4 * _MOST_DESCRIPTORS), _socket.MSG_CMSG_CLOEXEC
        )
        if not data:  # the host went away before it gave a job: nothing to do, nobody to tell
            os._exit(0)
        for level, kind, payload in ancillary:
            if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                descriptors += [int.from_bytes(payload[at : at + 4], sys.byteorder) for at in range(0, len(payload), 4)]
        jobs = reader.feed(data)
        if jobs:
            break
    (job,) = jobs
    if job.keys() != wire.JOB_KEYS or len(descriptors) != _DESCRIPTORS + job["doors"]:
        raise wire.WireError("not a job")
    return job, descriptors


def _lock_down(job: dict[str, Any]) -> None:
    """Give up everything, for good. What follows, init's own work and the guest's, happens under it."""
    with _Step("init: limits of its own"):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # one a level when walking the workspace
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if job["affinity"] is not None:  # for init too: the filters let nobody change it afterwards
            os.sched_setaffinity(0, job["affinity"])
    with _Step("init: drop capabilities"):
        libc.drop_capabilities()
    with _Step("init: no_new_privs"):
        libc.forbid_new_privileges()
    with _Step("init: not dumpable"):
        libc.set_dumpable(0)
    with _Step("init: seccomp"):
        for program_bytes in job["filters"]:
            libc.load_filter(program_bytes)


def _confinement() -> dict[str, Any]:
    """What the kernel says of this process now (proc_pid_status(5)); the guest has inherited it."""
    with open("/proc/self/status", "rb") as file:
        fields = dict(line.split(b":\t", 1) for line in file.read().splitlines() if b":\t" in line)
    capabilities = 0
    for name in (b"CapInh", b"CapPrm", b"CapEff", b"CapBnd", b"CapAmb"):
        capabilities |= int(fields[name], 16)
    return {
        "seccomp": int(fields[b"Seccomp"]),
        "no_new_privs": int(fields[b"NoNewPrivs"]),
        "capabilities": capabilities,
    }


def _guest(job: dict[str, Any], descriptors: list[int], report: int) -> NoReturn:
    """In the child: wait at the gate, become ordinary, become the program."""
    try:
        stdin, stdout, stderr, gate, *doors = descriptors
        with _Step("guest: enter the meter"):
            for door in doors:
                os.write(door, b"0")
                os.close(door)
        with _Step("guest: session"):
            os.setsid()
            libc.set_dumpable(1)
        with _Step("guest: descriptors"):
            report = _above_ours(report)
            gate = _above_ours(gate)
            # Through high numbers first: a received descriptor may itself be 0, 1 or 2's target.
            for number, descriptor in enumerate([_above_ours(each) for each in (stdin, stdout, stderr)]):
                os.dup2(descriptor, number, inheritable=True)
                os.close(descriptor)
            os.closerange(3, _HIGHEST_OF_OURS)
        with _Step("guest: working directory"):
            os.chdir(root.WORKSPACE)
            os.umask(0o022)
        with _Step("guest: limits"):
            for number, value in job["rlimits"]:
                resource.setrlimit(number, (value, value))
        with _Step("guest: gate"):
            if not os.read(gate, 1):  # the host went away
                os._exit(1)
            os.close(gate)
        path = f"{root.JOB_DIRECTORY}/{job['source_name']}"
        if job["command"] is not None:
            with _Step("guest: exec"):
                program.run_exec(job["command"], path, job["args"], job["env"])
        os.close(report)
    except _StepError as error:
        _fail(report, error)
    sys.path.insert(0, root.WORKSPACE)
    hidden = tuple(name for name in sys.modules if name == __package__ or name.startswith(f"{__package__}."))
    sys.path.remove(os.path.dirname(os.path.dirname(__file__)))
    program.run_python(path, job["args"], job["env"], hidden)


def _above_ours(descriptor: int) -> int:
    import fcntl

    moved: int = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGHEST_OF_OURS)
    os.close(descriptor)
    return moved


def _fail(report: int, error: _StepError) -> NoReturn:
    """Tell init, through a pipe that no guest code ever holds, which step failed."""
    os.write(report, wire.encode([error.step, error.errno, error.detail]))
    os._exit(1)


def _watch(host: _socket.socket, job: dict[str, Any], main_pid: int, report: int) -> None:
    """Reap until the guest's main process ends, then end everything else and give account."""
    while True:
        pid, status, usage = os.wait4(-1, 0)
        if pid == main_pid:
            break
    failure = wire.Reader(1 << 16).feed(os.read(report, 1 << 16))
    if failure:
        step, errno, detail = failure[0]
        _send(host, {"failed": {"step": step, "errno": errno, "detail": detail}})
        return
    over = {
        "status": status,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "max_rss_bytes": usage.ru_maxrss * 1024,
    }
    _send(host, {"over": over})
    _end_the_rest()
    space = os.statvfs(root.WORKSPACE)
    skipped = collect.collect(
        root.WORKSPACE,
        job["collect"],
        job["files_out"],
        job["files_out_bytes"],
        lambda path, content: _send(host, {"file": {"path": path, "content": content}}),
    )
    _send(host, {"done": {"skipped": skipped, "disk_full": space.f_bavail == 0 or space.f_favail == 0}})


def _end_the_rest() -> None:
    """SIGKILL all other processes of this pid namespace until none is left; they cannot refuse."""
    while True:
        try:
            os.kill(-1, _signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            os.wait4(-1, 0)
        except ChildProcessError:
            return


def _send(host: _socket.socket, message: dict[str, Any], *descriptors: int) -> None:
    data = memoryview(wire.encode(message))
    ancillary = []
    if descriptors:
        payload = b"".join(each.to_bytes(4, sys.byteorder) for each in descriptors)
        ancillary.append((_socket.SOL_SOCKET, _socket.SCM_RIGHTS, payload))
    try:
        while data:
            data = data[host.sendmsg([data[:_READ_BYTES]], ancillary, _socket.MSG_NOSIGNAL) :]
            ancillary = []
    except OSError:  # the host went away, and the run with it
        os._exit(1)
