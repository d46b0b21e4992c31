"""The first process of a run, its pid 1: build the root, lock down, report how the guest ended.

Theory of operation. This process has its own user, pid, mount, net, ipc, uts and cgroup namespaces, from bwrap for a
cold run or from the clone of a fork server for a warm one, and all capabilities over them (none over the machine). Its
interpreter has been made ready to be forked (:mod:`.image`). ``serve`` gives up for good all new privileges and forks
the process that will become the guest (:mod:`.become`), which is confined and rehearses while init makes the fixed part
of the guest's root and enters it, and gives up most of the kernel by a seccomp filter of its own. Then both wait for a
job, a warm one perhaps for long. With the job init finishes the root and gives up the rest: being dumpable, and its
capabilities. No line of the guest's runs before the host opens the gate, and init itself never runs one. It reaps
whatever the guest leaves, reports the raw wait status of its main process, kills the rest (the pid namespace is all
there is), walks the workspace, and ends; its end takes the namespaces with it.

Against the guest: init is not dumpable before the guest exists, so ``/proc/1/{mem,environ,fd,…}`` refuse it; all its
signals are at their default, which for pid 1 means that nothing inside can deliver one; seccomp lets nobody ``prlimit``
another process. It holds no secret: all it was told is the job.
"""

from __future__ import annotations

import _signal
import _socket
import mmap
import os
import time

from . import become, collect, image, libc, program, root, wire
from .steps import Step, StepError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_MOST_JOB_BYTES = 128 << 20
_MOST_ANSWER_BYTES = 1 << 16
_VICTIM = b"900"  # oom_score_adj(5): when the whole machine runs out, the guest goes before init and the service
NAMESPACES = ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")


def main() -> NoReturn:
    """Be the init of the one run that bwrap was started for."""
    host = _socket.socket(fileno=wire.CONTROL_FD)
    inbox = wire.Inbox(host, _MOST_JOB_BYTES, wire.unpack)
    stage = inbox.receive()
    if stage is None:  # the host went away, or only wanted to see whether this far is possible
        os._exit(0)
    try:
        image.settle(stage["env"])
    except StepError as error:
        wire.send(host, error.told)
        os._exit(1)
    serve(inbox, stage, inbox.descriptors())


def serve(inbox: wire.Inbox, stage: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Serve one job. ``descriptors`` came with the stage and are for the process that becomes the guest."""
    try:
        try:
            _serve(inbox, stage, descriptors)
        except StepError as error:
            wire.send(inbox.link, error.told)
    except OSError:  # the host went away, and the run with it
        os._exit(1)
    os._exit(0)


def _serve(inbox: wire.Inbox, stage: dict[str, Any], descriptors: list[int]) -> None:
    host = inbox.link
    with Step("init: die with the parent"):
        libc.die_with_parent(_signal.SIGKILL)
    with Step("init: namespaces"):
        namespaces = {name: os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES}
    with Step("init: no new power"):
        libc.drop_bounding_set()
        libc.forbid_new_privileges()
    with Step("init: fork"):
        if stage.keys() != wire.STAGE_KEYS:
            raise wire.WireError("this is no stage")
        last_word = mmap.mmap(-1, mmap.PAGESIZE)  # shared by the two, and by what the guest forks
        pid, link = _fork(host, stage, descriptors, last_word)
    answers = wire.Inbox(link, _MOST_ANSWER_BYTES)
    scratch = _prepare(stage, inbox, pid, link, answers)
    with Step("init: report"):
        pidfds = (os.pidfd_open(pid), os.pidfd_open(os.getpid()))
        wire.send(host, {"waiting": {"namespaces": namespaces, **_confinement(pid)}}, descriptors=pidfds)
        for pidfd in pidfds:
            os.close(pidfd)
    with Step("init: receive job"):
        job = inbox.receive()
        if job is None:  # a warm child that was not needed
            return
        if job.keys() != wire.JOB_KEYS:
            raise wire.WireError("this is no job")
    with Step("init: finish root"):
        root.finish(scratch, stage, job)
    with Step("init: affinity"):
        if job["affinity"] is not None:  # from here, as the filters let nobody change it
            os.sched_setaffinity(pid, job["affinity"])
    with Step("init: not dumpable"):
        libc.set_dumpable(0)
    with Step("init: drop capabilities"):
        libc.drop_capabilities()
    with Step("init: go"):
        ready = time.monotonic()  # before the word: the guest may run before init does again
        wire.send_down(link, {"go": None})
        wire.send(host, {"ready": ready})
    _watch(host, job, pid, answers, last_word)
    with Step("init: farewell"):
        _linger(pid)


def _fork(
    host: _socket.socket, stage: dict[str, Any], descriptors: list[int], last_word: mmap.mmap
) -> tuple[int, _socket.socket]:
    """Make the process that becomes the guest; give its pid and the link to it."""
    link, far = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    score = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
    own_score = os.read(score, 16)
    os.write(score, _VICTIM)
    pid = os.fork()
    if pid == 0:
        link.close()
        os.close(score)
        host.close()
        os.dup2(1, wire.CONTROL_FD)  # /dev/null, so far
        become.main(far, stage, descriptors, last_word)
    far.close()
    for descriptor in descriptors:
        os.close(descriptor)
    os.write(score, own_score)
    os.close(score)
    return pid, link


def _prepare(stage: dict[str, Any], host: wire.Inbox, pid: int, link: _socket.socket, answers: wire.Inbox) -> int:
    """Do all that needs no job; give the tmpfs of the writable places."""
    with Step("init: prepare root"):
        scratch = root.prepare(stage)
    with Step("init: rehearse"):
        if not host.has_word():
            _rehearse(pid)
    with Step("init: seccomp"):  # leaves what finishes the root, reaps and collects
        libc.load_filter(stage["init_filter"])
    with Step("init: the guest is confined"):
        answer = answers.receive()
        if answer is None:
            raise wire.WireError("the process that should become the guest is gone")
        if "failed" in answer:
            raise StepError(**answer["failed"])
        wire.send_down(link, {"rooted": None})
    return scratch


def _rehearse(pid: int) -> None:
    """Do once, without effect, what a job will have us do: the pages that it writes to are our own from then on."""
    root.rehearse()
    wire.unpack(wire.pack({**dict.fromkeys(wire.JOB_KEYS), "code": b""})[wire.HEADER_BYTES :])
    os.wait4(-1, os.WNOHANG | os.WUNTRACED)
    _is_alone(pid)
    wire.encode({"over": {"status": 0, "cpu_seconds": 0.0, "max_rss_bytes": 0}})
    wire.encode(_done([]))


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


def _watch(host: _socket.socket, job: dict[str, Any], main_pid: int, answers: wire.Inbox, last_word: mmap.mmap) -> None:
    """Reap until the guest's main process ends, then end everything else and give account."""
    announced = None
    while announced is None:
        pid, status, usage = os.wait4(-1, os.WUNTRACED)
        if pid != main_pid:
            continue
        announced = program.announced(last_word) if os.WIFSTOPPED(status) else status
    if not os.WIFSTOPPED(status):
        with Step("init: the guest has begun"):
            word = answers.receive()  # no guest code ever holds the other end; it is closed by now
            if word is None:
                raise wire.WireError("the process that should become the guest was ended")
            failure = word if "failed" in word else answers.receive()
        if failure is not None:
            wire.send(host, failure)
            return
    over = {
        "over": {
            "status": announced,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "max_rss_bytes": usage.ru_maxrss * 1024,
        }
    }
    if not job["collect"]:  # nothing will be read: the rest is told to end, or has stopped; our own end waits for it
        with Step("init: end the rest"):
            if not (os.WIFSTOPPED(status) and _is_alone(main_pid)):
                _kill_the_rest()
            wire.send(host, over, _done([]))
        return
    wire.send(host, over)
    with Step("init: end the rest"):
        _end_the_rest()
    with Step("init: collect"):
        skipped = collect.collect(
            root.WORKSPACE,
            job["collect"],
            job["files_out"],
            job["files_out_bytes"],
            lambda path, content: wire.send(host, {"file": {"path": path, "content": content}}),
        )
        wire.send(host, _done(skipped))


def _linger(main_pid: int) -> None:
    """Wait for the host to end us, while the guest's main process is stopped; return at once where it is not.

    Our end takes the guest's memory down, on the processors that the answer needs. Should the guest have seen to it
    that a signal lets it go on, by a timer perhaps, then it ends now.
    """
    try:
        os.waitid(os.P_PID, main_pid, os.WEXITED | os.WCONTINUED)
    except ChildProcessError:  # it has ended and been reaped
        pass


def _done(skipped: list[list[str]]) -> dict[str, Any]:
    space = os.statvfs(root.WORKSPACE)
    return {"done": {"skipped": skipped, "disk_full": space.f_bavail == 0 or space.f_favail == 0}}


def _is_alone(main_pid: int) -> bool:
    """Whether the guest's main process, which has stopped with all its threads, is all that there is besides us."""
    return {name for name in os.listdir("/proc") if name.isdigit()} == {"1", str(main_pid)}


def _end_the_rest() -> None:
    """SIGKILL all other processes of this pid namespace until none is left; they cannot refuse."""
    while True:
        _kill_the_rest()
        try:
            os.wait4(-1, 0)
        except ChildProcessError:
            return


def _kill_the_rest() -> None:
    try:
        os.kill(-1, _signal.SIGKILL)
    except ProcessLookupError:
        pass
