from __future__ import annotations

import errno
import struct

import bpf
import pytest
import reading
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.confine.seccomp import (
    Comparison,
    Filters,
    Operator,
    Profile,
    Rule,
    compile_filters,
    shipped_profiles,
)
from sandbox.confine.seccomp.bpf import _Program
from sandbox.confine.seccomp.machines import MACHINES

BOTH = ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64")
FILTERS: dict[str, Filters] = {machine: compile_filters(*shipped_profiles(), machine) for machine in MACHINES}
NAMES = {machine: {number: name for name, number in MACHINES[machine].numbers.items()} for machine in MACHINES}
CONDITIONAL = sorted(
    {
        name
        for profile in ("default", "deny")
        for rule in reading.document(profile)["syscalls"]
        if "args" in rule
        for name in rule["names"]
    },
)
DEFAULT = reading.document("default")
DENY = reading.document("deny")
CLONE_NEW = {
    "CLONE_NEWTIME": 0x80,
    "CLONE_NEWNS": 0x20000,
    "CLONE_NEWCGROUP": 0x2000000,
    "CLONE_NEWUTS": 0x4000000,
    "CLONE_NEWIPC": 0x8000000,
    "CLONE_NEWUSER": 0x10000000,
    "CLONE_NEWPID": 0x20000000,
    "CLONE_NEWNET": 0x40000000,
}


def answer(name: str, *args: int, machine: str = "x86_64") -> str:
    """What a guest sees: both filters, loaded in the order their documentation asks for."""
    filters = FILTERS[machine]
    return bpf.stacked((filters.deny, filters.allow), MACHINES[machine].numbers[name], args, machine)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("which", ["allow", "deny"])
def test_every_number_is_answered_as_the_json_reads(machine: str, which: str) -> None:
    """Numbers 0 to 1023 get from each filter what a plain reading of its document says, with all arguments 0."""
    document = reading.document("default" if which == "allow" else "deny")
    program = getattr(FILTERS[machine], which)
    wrong = {
        number: (NAMES[machine].get(number), got)
        for number in range(1024)
        if (got := bpf.run(program, number, machine=machine)) != reading.verdict(document, NAMES[machine].get(number))
    }
    assert wrong == {}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", CONDITIONAL)
def test_conditional_calls_are_answered_as_the_json_reads(machine: str, name: str) -> None:
    """Calls whose arguments matter agree with the plain reading for every value compared, with high bits as well."""
    if name not in MACHINES[machine].numbers:
        assert name == "mknod"
        return
    number = MACHINES[machine].numbers[name]
    filters = FILTERS[machine]
    for args in reading.interesting_arguments(name):
        for program, document in ((filters.allow, DEFAULT), (filters.deny, DENY)):
            assert bpf.run(program, number, args, machine) == reading.verdict(document, name, args), args


@pytest.mark.parametrize("name", CONDITIONAL)
def test_no_two_rules_of_different_answers_hold_at_once(name: str) -> None:
    """Where rules overlapped, runtimes could differ on the answer; so within one document they never do."""
    for args in reading.interesting_arguments(name):
        assert not any(reading.overlaps(document, name, args) for document in (DEFAULT, DENY)), args


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("which", ["allow", "deny"])
def test_a_foreign_architecture_gets_enosys(machine: str, which: str) -> None:
    """``int 0x80`` and every other machine's calls are answered ENOSYS, whatever the number, by both filters."""
    program = getattr(FILTERS[machine], which)
    for foreign in bpf.MACHINE_WORDS.keys() - {machine}:
        assert {bpf.run(program, number, machine=foreign) for number in range(1024)} == {"ENOSYS"}


@pytest.mark.parametrize("which", ["allow", "deny"])
def test_x32_gets_enosys(which: str) -> None:
    """Every call with the x32 bit is answered ENOSYS by both filters, whatever other bits are set."""
    program = getattr(FILTERS["x86_64"], which)
    for bits in (0x40000000, 0x80000000, 0xC0000000):
        assert {bpf.run(program, number | bits) for number in range(1024)} == {"ENOSYS"}


def test_numbers_beyond_any_kernel_get_enosys() -> None:
    """A number no kernel has, up to all ones, is answered ENOSYS by the allow-list."""
    for machine, filters in FILTERS.items():
        for number in (471, 512, 547, 1024, 65536, 0x3FFFFFFF, 0xFFFFFFFF):
            assert bpf.run(filters.allow, number, machine=machine) == "ENOSYS"


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("namespaces", "unshare setns listns"),
        ("mounts", "mount umount2 pivot_root chroot mount_setattr statmount listmount open_tree open_tree_attr"),
        ("mounts, piece by piece", "fsopen fsconfig fsmount fspick move_mount"),
        (
            "other processes",
            "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd",
        ),
        ("programs in the kernel", "bpf perf_event_open seccomp"),
        ("asynchronous I/O", "io_uring_setup io_uring_enter io_uring_register io_setup io_submit"),
        ("memory", "userfaultfd memfd_secret vmsplice mbind set_mempolicy migrate_pages move_pages"),
        ("keyrings", "add_key request_key keyctl"),
        ("file handles", "name_to_handle_at open_by_handle_at"),
        ("kernel and modules", "kexec_load kexec_file_load init_module finit_module delete_module reboot syslog acct"),
        ("swap and quota", "swapon swapoff quotactl quotactl_fd"),
        ("watching files", "inotify_init1 inotify_add_watch inotify_rm_watch fanotify_init fanotify_mark"),
        ("message queues", "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr"),
        ("names and clocks", "sethostname setdomainname clock_settime clock_adjtime settimeofday adjtimex"),
        ("other people's disks and cores", "sync syncfs sched_setaffinity"),
        ("how others are scheduled", "sched_setscheduler sched_setparam sched_setattr"),
    ],
)
def test_known_and_refused_calls_get_eperm(machine: str, family: str, names: str) -> None:
    """Every call of the families a guest has no business in is answered EPERM, whatever its arguments."""
    for name in names.split():
        answers = {answer(name, *args, machine=machine) for args in ((0,) * 6, ((1 << 64) - 1,) * 6)}
        assert answers == {"EPERM"}, (family, name)


@pytest.mark.parametrize("name", ["iopl", "ioperm", "modify_ldt", "uselib", "sysfs", "ustat", "inotify_init"])
def test_x86_relics_get_eperm(name: str) -> None:
    """Calls that only x86-64 still has are refused there."""
    assert answer(name) == "EPERM"


LEFT_TO_ENOSYS = {
    "glibc falls back to clone, whose flags a filter can read": "clone3",
    "looks like a kernel without Landlock": "landlock_create_ruleset landlock_add_rule landlock_restrict_self",
    "glibc does not need them": "futex_waitv futex_wake futex_wait futex_requeue",
    "newer than the programs we run": "file_getattr file_setattr",
    "the kernel itself has nothing behind these numbers": (
        "_sysctl afs_syscall create_module epoll_ctl_old epoll_wait_old get_kernel_syms getpmsg nfsservctl putpmsg "
        "query_module security tuxcall vserver"
    ),
}


def test_every_call_with_a_name_was_decided() -> None:
    """Each name of both tables stands in the allow-list document, but for the calls left to its ENOSYS on purpose."""
    spoken = {name for rule in DEFAULT["syscalls"] for name in rule["names"]}
    left = {name for machine in MACHINES.values() for name in machine.numbers} - spoken
    assert left == set(" ".join(LEFT_TO_ENOSYS.values()).split())
    assert {answer(name) for name in left} == {"ENOSYS"}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("high", [0, 1 << 32, 1 << 63])
@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("clone", (0x3D0F00,), "allow"),
        ("clone", (17,), "allow"),
        ("clone3", (0, 88), "ENOSYS"),
        *(("clone", (flag | 17,), "EPERM") for flag in CLONE_NEW.values()),
        ("ioctl", (0, 0x5401), "allow"),
        ("ioctl", (0, 0x5412), "EPERM"),
        ("ioctl", (0, 0x541C), "EPERM"),
        ("ioctl", (0, 0x541D), "EPERM"),
        ("ioctl", (0, 0x5423), "EPERM"),
        ("fcntl", (0, 1026), "EPERM"),
        ("fcntl", (0, 1030), "allow"),
        ("madvise", (0, 0, 12), "EPERM"),
        ("madvise", (0, 0, 4), "allow"),
        ("setsockopt", (0, 1, 7), "allow"),
        ("setsockopt", (0, 1, 8), "EPERM"),
        ("setsockopt", (0, 1, 26), "EPERM"),
        ("setsockopt", (0, 1, 2), "allow"),
        ("setsockopt", (0, 6, 31), "EPERM"),
        ("setsockopt", (0, 6, 1), "allow"),
        ("setsockopt", (0, 41, 6), "EPERM"),
        ("setsockopt", (0, 41, 26), "allow"),
        ("fadvise64", (0, 0, 0, 4), "EPERM"),
        ("fadvise64", (0, 0, 0, 3), "allow"),
        ("setrlimit", (4, 1), "EPERM"),
        ("setrlimit", (7, 1), "allow"),
        ("mmap", (0, 4096, 3, 0x22), "allow"),
        ("mmap", (0, 4096, 3, 0x40022), "EPERM"),
        ("memfd_create", (0, 3), "allow"),
        ("memfd_create", (0, 4 | 21 << 26), "EPERM"),
        ("shmget", (0, 4096, 0o1600), "allow"),
        ("shmget", (0, 4096, 0o5600), "EPERM"),
        ("prctl", (15,), "allow"),
        ("prctl", (38, 1), "allow"),
        ("prctl", (22, 2), "EPERM"),
        ("prctl", (35,), "EPERM"),
        ("prctl", (9999,), "ENOSYS"),
        ("personality", (0,), "allow"),
        ("personality", (0xFFFFFFFF,), "allow"),
        ("personality", (0x40000,), "EPERM"),
        ("personality", (0x440000,), "EPERM"),
        ("personality", (8,), "EPERM"),
        ("mknodat", (0, 0, 0o010600), "allow"),
        ("mknodat", (0, 0, 0o100600), "allow"),
        ("mknodat", (0, 0, 0o020600), "EPERM"),
        ("mknodat", (0, 0, 0o060600), "EPERM"),
    ],
)
def test_arguments_are_read_as_the_kernel_reads_them(
    machine: str,
    high: int,
    name: str,
    args: tuple[int, ...],
    expected: str,
) -> None:
    """The kernel takes 32 bits of these arguments, so bits above change no answer: neither hide nor forbid."""
    assert answer(name, *(arg | high for arg in args), machine=machine) == expected


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("setpriority", (0, 0, 19), "allow"),
        ("setpriority", (0, 1, 19), "EPERM"),
        ("setpriority", (1, 0, 19), "EPERM"),
        ("setpriority", (2, 0, 19), "EPERM"),
        ("setpriority", (2 | 1 << 32, 0, 19), "EPERM"),
        ("setpriority", (0, 1 | 1 << 32, 19), "EPERM"),
        ("ioprio_set", (1, 0, 3 << 13), "allow"),
        ("ioprio_set", (1, 1, 3 << 13), "EPERM"),
        ("ioprio_set", (2, 0, 3 << 13), "EPERM"),
        ("ioprio_set", (3, 0, 3 << 13), "EPERM"),
        ("prlimit64", (0, 7, 1 << 40, 0), "allow"),
        ("prlimit64", (0, 4, 0, 1 << 40), "allow"),
        ("prlimit64", (0, 4, 1 << 40, 0), "EPERM"),
        ("prlimit64", (0, 4 | 1 << 32, 1, 0), "EPERM"),
        ("prlimit64", (1, 7, 0, 0), "EPERM"),
        *((getter, (1, 1, 1), "allow") for getter in ("getpriority", "ioprio_get", "sched_getscheduler")),
    ],
)
def test_a_guest_changes_nobody_but_itself(machine: str, name: str, args: tuple[int, ...], expected: str) -> None:
    """How init is scheduled is not the guest's to say, and neither is whether its own crash starts a core handler."""
    assert answer(name, *args, machine=machine) == expected


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("high", [0, 1 << 32, 1 << 63])
def test_sockets_are_unix_tcp_and_udp(machine: str, high: int) -> None:
    """Of every family, type and protocol only unix, TCP and UDP sockets can be had, whatever the bits above 32."""
    allowed = {
        (family, kind, protocol)
        for family in range(48)
        for kind in range(16)
        for protocol in (0, 1, 6, 17, 58, 115, 132, 136, 255, 256, 262)
        if answer("socket", family | high, kind | 0x80800 | high, protocol | high, machine=machine) == "allow"
    }
    assert {hit for hit in allowed if hit[0] != 1} == {
        (family, kind, protocol) for family in (2, 10) for kind, protocol in ((1, 0), (1, 6), (2, 0), (2, 17))
    }
    assert {(family, kind) for family, kind, _ in allowed if family == 1} == {(1, 1), (1, 2), (1, 5)}


@pytest.mark.parametrize(
    ("family", "kind", "protocol"),
    [(16, 3, 0), (17, 3, 768), (38, 5, 0), (40, 1, 0), (2, 3, 255), (10, 3, 58), (2, 10, 0), (2, 1, 132), (2, 1, 262)],
    ids=["netlink", "packet", "alg", "vsock", "raw", "raw6", "inet-packet", "sctp", "mptcp"],
)
def test_other_sockets_get_eperm(family: int, kind: int, protocol: int) -> None:
    """Netlink, packet, AF_ALG, vsock, raw, SCTP and MPTCP sockets are known and refused."""
    assert answer("socket", family, kind, protocol) == "EPERM"
    assert answer("socketpair", family, kind, protocol) == "EPERM"


def test_limits_of_other_processes_are_out_of_reach() -> None:
    """``prlimit64`` speaks only of the caller: a process id, also one hidden in high bits, is answered EPERM."""
    assert answer("prlimit64", 0, 7) == "allow"
    assert {answer("prlimit64", pid, 7) for pid in (1, 2, 1 << 31, 1 << 32, (1 << 64) - 1)} == {"EPERM"}


@pytest.mark.parametrize("machine", MACHINES)
def test_programs_are_short(machine: str) -> None:
    """Both filters stay far below the kernel's 4096 instructions, and an ordinary call costs less than 20 steps."""
    filters = FILTERS[machine]
    assert len(filters.allow) // 8 < 700
    assert len(filters.deny) // 8 < 150
    for name in ("read", "write", "futex", "mmap", "openat", "execve", "newfstatat", "statx"):
        assert steps(filters.allow, MACHINES[machine].numbers[name], machine) < 20


def steps(program: bytes, number: int, machine: str) -> int:
    """Count the instructions that an answer takes which depends on no argument."""
    taken = at = accumulator = 0
    while True:
        code, yes, no, k = struct.unpack_from("<HBBI", program, at * 8)
        taken, at = taken + 1, at + 1
        if code == 0x06:
            return taken
        if code == 0x20:
            accumulator = {0: number, 4: bpf.MACHINE_WORDS[machine]}[k]
        elif code == 0x05:
            at += k
        else:
            holds = {0x15: accumulator == k, 0x25: accumulator > k, 0x35: accumulator >= k}[code]
            at += yes if holds else no


VALUES = st.one_of(
    st.integers(0, (1 << 64) - 1),
    st.sampled_from([0, 1, 0xFFFFFFFF, 1 << 32, (1 << 32) + 1, (1 << 63), (1 << 64) - 1]),
)


@given(op=st.sampled_from(list(Operator)), value=VALUES, two=VALUES, argument=VALUES, index=st.integers(0, 5))
@settings(max_examples=300, deadline=None)
def test_comparisons_hold_on_all_64_bits(op: Operator, value: int, two: int, argument: int, index: int) -> None:
    """Each operator compares whole 64-bit arguments, although the filter's machine has 32-bit words."""
    if op is Operator.MASKED_EQ:
        value = value or 1
        two &= value
        # Half of the time ask about an argument that does match; random ones hardly ever do.
        argument = argument & ~value | two if argument & 1 else argument
    rule = {"index": index, "op": op.value, "value": value, "valueTwo": two}
    expected = reading.verdict(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "defaultErrnoRet": 38,
            "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW", "args": [rule]}],
        },
        "read",
        (0,) * index + (argument,),
    )
    profile = Profile(38, BOTH, (Rule(("read",), None, (Comparison(index, op, value, two),)),))
    for machine in MACHINES:
        program = compile_filters(profile, profile, machine).allow
        number = MACHINES[machine].numbers["read"]
        assert bpf.run(program, number, (0,) * index + (argument,), machine) == expected


def test_far_jumps_land_where_they_should() -> None:
    """Rules that push targets beyond 255 instructions, in one call and across calls, still answer rightly."""
    many = [Comparison(0, Operator.EQ, value << 33 | value) for value in range(1, 200)]
    names = ("read", "write", "close")
    rules = tuple(
        Rule((name,), None if place % 2 else place % 40 + 1, (arg,)) for name in names for place, arg in enumerate(many)
    )
    program = compile_filters(Profile(38, BOTH, rules), Profile(None, BOTH, rules[:1]), "x86_64").allow
    assert len(program) // 8 > 2000
    for name in names:
        number = MACHINES["x86_64"].numbers[name]
        for place, arg in enumerate(many):
            got = bpf.run(program, number, (arg.value,))
            assert got == ("allow" if place % 2 else errno.errorcode[place % 40 + 1])
        assert bpf.run(program, number, (arg.value + 1,)) == "ENOSYS"


@pytest.mark.parametrize("gap", range(246, 262))
def test_the_edge_of_a_jump_s_reach(gap: int) -> None:
    """A conditional jump reaches 255 instructions; around that edge both targets are found, whichever is farther."""
    for first, second in ((None, errno.EPERM), (errno.EPERM, None)):
        program = _Program()
        labels = {answer: program.answer(answer) for answer in (first, second)}
        program.code += [(0x54, 0, 0, 0)] * gap
        program.add(0x20, 0, program.branch(0x15, 7, labels[None], labels[errno.EPERM]))
        code = b"".join(struct.pack("<HBBI", *line) for line in reversed(program.code))
        assert [bpf.run(code, number) for number in (7, 8)] == ["allow", "EPERM"]
