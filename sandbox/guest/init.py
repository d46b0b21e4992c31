"""The first process inside, pid 1 of the run: build the root, lock down, report how the guest ended.

Theory of operation. bwrap has already given this process its own user, pid, mount, net, ipc, uts and cgroup
namespaces, an almost empty root, and all capabilities over those namespaces (none over the machine). ``main`` first
forks the process that will become the guest (:mod:`.become`), which rehearses meanwhile. Then it reads the job, builds
the guest's root, and gives every privilege up: capabilities, new privileges, being dumpable, and by two seccomp filters
most of the kernel. Only then it sends the other its orders, who gives up the same, is checked from here by the kernel's
word, and waits at the gate until the host opens it: no line of the guest's runs before. Init itself never runs one. It
reaps whatever the guest leaves, reports the raw wait status of its main process, kills the rest (the pid namespace is
all there is), walks the workspace, and ends; its end takes the namespaces with it.

Against the guest: init is not dumpable before the guest exists, so ``/proc/1/{mem,environ,fd,…}`` refuse it; all its
signals are at their default, which for pid 1 means that nothing inside can deliver one; seccomp lets nobody ``prlimit``
another process. It holds no secret: all it was told is the job.
"""

from __future__ import annotations

import _signal
import _socket
import os
import resource

from . import become, collect, libc, root, wire
from .steps import Step, StepError, lock_down

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_MOST_JOB_BYTES = 128 << 20
_MOST_ANSWER_BYTES = 1 << 16
_VICTIM = b"900"  # oom_score_adj(5): when the whole machine runs out, the guest goes before init and the service
_NAMESPACES = ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")


def main() -> NoReturn:
    """Serve one job."""
    host = _socket.socket(fileno=wire.CONTROL_FD)
    try:
        try:
            _serve(host)
        except StepError as error:
            wire.send(host, error.told)
    except OSError:  # the host went away, and the run with it
        os._exit(1)
    os._exit(0)


def _serve(host: _socket.socket) -> None:
    with Step("init: signals"):
        for number in (_signal.SIGINT, _signal.SIGPIPE, _signal.SIGXFSZ):  # what the interpreter changed
            _signal.signal(number, _signal.SIG_DFL)
        libc.die_with_parent(_signal.SIGKILL)
    with Step("init: fork"):
        pid, link = _fork(host)
    with Step("init: receive job"):
        job, descriptors = wire.receive(host, wire.Reader(_MOST_JOB_BYTES))
        if job is None:  # the host went away before it gave a job: nothing to do, nobody to tell
            return
        if job.keys() != wire.JOB_KEYS:
            raise wire.WireError("this is no job")
    with Step("init: build root"):
        root.build(job["root"], (job["source_name"], job["code"]), job["files"])
    with Step("init: limits of its own"):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # one a level when walking the workspace
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with Step("init: not dumpable"):
        libc.set_dumpable(0)
    with Step("init: namespaces"):
        namespaces = {name: os.readlink(f"/proc/self/ns/{name}") for name in _NAMESPACES}
    lock_down("init", job["filters"])
    answers = wire.Reader(_MOST_ANSWER_BYTES)
    with Step("init: give orders"):
        answer = _order(link, answers, {key: job[key] for key in wire.ORDER_KEYS}, descriptors)
    if "failed" in answer:
        wire.send(host, answer)
        return
    with Step("init: hand over"):
        pidfds = (os.pidfd_open(pid), os.pidfd_open(os.getpid()))
        wire.send(host, {"ready": {"namespaces": namespaces, **_confinement(pid)}}, pidfds)
        for pidfd in pidfds:
            os.close(pidfd)
    _watch(host, job, pid, link, answers)


def _fork(host: _socket.socket) -> tuple[int, _socket.socket]:
    """Make the process that becomes the guest; give its pid and the link to it."""
    link, far = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    score = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
    own_score = os.read(score, 16)
    os.write(score, _VICTIM)
    pid = os.fork()
    if pid == 0:
        link.close()
        os.close(score)
        os.dup2(1, host.detach())  # the host is init's to talk to; 1 is /dev/null so far
        become.main(far)
    far.close()
    os.write(score, own_score)
    os.close(score)
    return pid, link


def _order(
    link: _socket.socket, answers: wire.Reader, orders: dict[str, Any], descriptors: list[int]
) -> dict[str, Any]:
    """Give the orders and hand the descriptors over; give the answer."""
    try:
        wire.send(link, orders, descriptors)
    except BrokenPipeError:  # it failed already, and has said how
        pass
    for descriptor in descriptors:
        os.close(descriptor)
    answer, _ = wire.receive(link, answers)
    if answer is None:
        raise wire.WireError("the process that should become the guest is gone")
    return answer  # type: ignore[no-any-return]


def _confinement(pid: int) -> dict[str, Any]:
    """What the kernel says of the process that becomes the guest (proc_pid_status(5))."""
    with open(f"/proc/{pid}/status", "rb") as file:
        fields = dict(line.split(b":\t", 1) for line in file.read().splitlines() if b":\t" in line)
    capabilities = 0
    for name in (b"CapInh", b"CapPrm", b"CapEff", b"CapBnd", b"CapAmb"):
        capabilities |= int(fields[name], 16)
    return {
        "seccomp": int(fields[b"Seccomp"]),
        "no_new_privs": int(fields[b"NoNewPrivs"]),
        "capabilities": capabilities,
    }


def _watch(
    host: _socket.socket, job: dict[str, Any], main_pid: int, link: _socket.socket, answers: wire.Reader
) -> None:
    """Reap until the guest's main process ends, then end everything else and give account."""
    while True:
        pid, status, usage = os.wait4(-1, 0)
        if pid == main_pid:
            break
    failure, _ = wire.receive(link, answers)  # no guest code ever holds the other end; it is closed by now
    if failure is not None:
        wire.send(host, failure)
        return
    over = {
        "status": status,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "max_rss_bytes": usage.ru_maxrss * 1024,
    }
    wire.send(host, {"over": over})
    _end_the_rest()
    space = os.statvfs(root.WORKSPACE)
    skipped = collect.collect(
        root.WORKSPACE,
        job["collect"],
        job["files_out"],
        job["files_out_bytes"],
        lambda path, content: wire.send(host, {"file": {"path": path, "content": content}}),
    )
    wire.send(host, {"done": {"skipped": skipped, "disk_full": space.f_bavail == 0 or space.f_favail == 0}})


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
