"""What a guest finds around itself: who it is, what it may see, read, write and reach."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from cases import Case, bash, error, python
from faces import Runner
from here import IPV6, PACE

from sandbox import Job, Limits, Status

DOCUMENTED = {
    "HOME": "/workspace",
    "LANG": "C.UTF-8",
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "Agg",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": "/opt/python/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "TMPDIR": "/tmp",
    "TZ": "UTC",
    "USER": "user",
}
OF_BASH = {"PWD": "/workspace", "SHLVL": "0"}

FACTS = (
    python(
        "user",
        "import os, pwd, grp; print(os.getresuid(), os.getresgid(), os.getgroups(), "
        "pwd.getpwuid(1000).pw_name, grp.getgrgid(1000).gr_name)",
        stdout=re.compile(r"^\(1000, 1000, 1000\) \(1000, 1000, 1000\) \[.*\] user user\n\Z"),
    ),
    bash("user", "id -u; id -g; whoami; echo ~", stdout="1000\n1000\nuser\n/workspace\n"),
    bash("host", "hostname; cat /etc/hostname; uname -n", stdout="fumehood\nfumehood\nfumehood\n"),
    python(
        "localhost",
        "import socket; print(socket.gethostbyname('localhost'), socket.gethostbyname('fumehood'), "
        "socket.getaddrinfo('::1', 1)[0][4][0])",
        stdout="127.0.0.1 127.0.0.1 ::1\n",
    ),
    python(
        "no-other-name",
        "import socket\ntry: socket.gethostbyname('example.org')\nexcept socket.gaierror: print('no')",
        stdout="no\n",
    ),
    python(
        "clock",
        "import time, datetime as d; print(time.tzname, d.datetime.now().astimezone().utcoffset())",
        stdout="('UTC', 'UTC') 0:00:00\n",
    ),
    bash("clock", "date +%Z%z; TZ=Asia/Tokyo date +%z", stdout="UTC+0000\n+0900\n"),
    python(
        "text",
        "import sys, locale; print(sys.stdout.encoding, sys.getfilesystemencoding(), locale.getpreferredencoding())",
        stdout="utf-8 utf-8 UTF-8\n",
    ),
    bash("text", "locale charmap; printf é | wc -m", stdout="UTF-8\n1\n"),
    python(
        "folder",
        "import os; print(os.getcwd(), os.path.samefile('/workspace', '/mnt/data'))",
        stdout="/workspace True\n",
    ),
    python(
        "one-folder-two-names", "open('/mnt/data/a', 'w').write('x'); print(open('/workspace/a').read())", stdout="x\n"
    ),
    python("umask", "import os; print(oct(os.umask(0)))", stdout="0o22\n"),
    python(
        "session",
        "import os; print(os.getsid(0) == os.getpid() == os.getpgrp(), os.getppid(), os.getpid())",
        stdout=re.compile(r"^True 1 \d\n\Z"),
    ),
    python(
        "no-terminal",
        "import os; os.open('/dev/tty', os.O_RDWR)",
        stderr=re.compile("No such device or address"),
        **error(),
    ),
    python(
        "descriptors",
        "import os; print(sorted(os.listdir('/proc/self/fd'))[:-1], [os.get_inheritable(n) for n in range(3)])",
        stdout="['0', '1', '2'] [True, True, True]\n",
    ),
    bash("descriptors-of-programs", "exec ls /proc/self/fd", stdout="0\n1\n2\n3\n"),
    python(
        "devices",
        "import os; print(sorted(os.listdir('/dev')))",
        stdout="['fd', 'full', 'null', 'random', 'shm', 'stderr', 'stdin', 'stdout', 'tty', 'urandom', 'zero']\n",
    ),
    python("devices-read-only", "open('/dev/x', 'w')", stderr=re.compile("Read-only file system"), **error()),
    bash(
        "devices-work",
        "echo x > /dev/null; head -c 2 /dev/zero | od -An -c; head -c 9 /dev/urandom | wc -c; echo x > /dev/full",
        stdout="  \\0  \\0\n9\n",
        stderr=re.compile("No space left"),
        **error(),
    ),
    bash(
        "read-only",
        "for d in / /etc /usr /usr/bin /run /run/job /proc /opt/python /mnt /home /var; do [ -e $d ] && "
        "touch $d/x && echo $d; done; true",
        stderr=None,
    ),
    bash(
        "system-folders",
        "ls / | tr '\\n' ' '",
        stdout=re.compile("^bin dev etc lib (lib32 )?lib64 (libx32 )?mnt opt proc run sbin tmp usr workspace \\Z"),
    ),
    bash(
        "empty-places",
        "ls -A /tmp /workspace /dev/shm /mnt/data",
        stdout=re.compile("^/dev/shm:\n\n/mnt/data:\n\n/tmp:\n(.matplotlib\n)?\n/workspace:\n\\Z"),
    ),
    bash("processes", "ps -e -o pid= -o user= 2>/dev/null | wc -l; ls -d /proc/[0-9]* | wc -l", stdout=None),
    python(
        "only-its-own-processes",
        "import os; print([n for n in os.listdir('/proc') if n.isdigit() and int(n) not in (1, os.getpid())])",
        stdout="[]\n",
    ),
    python(
        "no-capability",
        "print({l.split()[1] for l in open('/proc/self/status') if l.startswith('Cap')})",
        stdout="{'0000000000000000'}\n",
    ),
    python("no-core", "import resource; print(resource.getrlimit(resource.RLIMIT_CORE))", stdout="(1, 1)\n"),
    python(
        "hard-links-and-pipes",
        "import os\n"
        "open('a', 'w').close(); os.link('a', 'b'); os.symlink('a', 'c'); os.mkfifo('d'); "
        "print(sorted(os.listdir()))",
        stdout="['a', 'b', 'c', 'd']\n",
    ),
    python(
        # The mount behind all writable places lies below the workspace, and no path may lead to it.
        "nothing-behind-the-writable-places",
        "import os\n"
        "print(os.listdir('/workspace'), os.listdir('/dev/shm'))\n"
        "for place in ('/workspace', '/mnt/data', '/tmp', '/dev/shm'):\n"
        "    print(os.path.samefile(place + '/..', os.path.dirname(place)), end=' ')\n"
        "os.chdir('/workspace'); os.chdir('..'); print(os.getcwd())\n"
        "print([n for root, dirs, _ in os.walk('/', onerror=None) for n in dirs\n"
        "       if n.startswith(('standing-', 'own-'))])",
        stdout="[] []\nTrue True True True /\n[]\n",
    ),
    python("environment-of-init", "open('/proc/1/environ').read()", stderr=re.compile("PermissionError"), **error()),
)
ENVIRONMENT = (
    python(
        "own-variables",
        "import os; print(os.environ['MINE'], os.environ['HOME'], os.environ['é'], repr(os.environ['NONE']))",
        options={"env": {"MINE": "é\n", "HOME": "/tmp", "é": "=", "NONE": ""}},
        stdout="é\n /tmp = ''\n",
    ),
    bash(
        "own-variables",
        'echo "$MINE|$HOME|$PATH"',
        options={"env": {"MINE": "a b", "HOME": "/tmp", "PATH": "/bin"}},
        stdout="a b|/tmp|/bin\n",
    ),
    python(
        "own-time-zone", "import time; print(time.tzname[0])", options={"env": {"TZ": "Asia/Tokyo"}}, stdout="JST\n"
    ),
    python(
        "a-child-gets-them-too",
        "import subprocess; subprocess.run('echo $MINE $USER', shell=True)",
        options={"env": {"MINE": "x"}},
        stdout="x user\n",
    ),
)


@pytest.mark.parametrize("case", [*FACTS, *ENVIRONMENT], ids=str)
def test_the_guest_finds_what_the_contract_says(runner: Runner, case: Case) -> None:
    """Who it is, where it stands, and what is not there."""
    case.check(runner.run(case.job))


@pytest.mark.parametrize("language", ["python", "bash"])
def test_the_environment_is_the_documented_list(runner: Runner, language: str) -> None:
    """Nothing of the service's own, and nothing that is not written down; the runtime adds what its packages need."""
    code = {"python": "import json, os; print(json.dumps(dict(os.environ)))", "bash": "exec env -0"}
    result = runner.run(Job(code=code[language], language=language))
    if language == "python":
        got = json.loads(result.stdout)
        wanted = DOCUMENTED
    else:
        got = dict(line.split("=", 1) for line in result.stdout.split("\0")[:-1])
        wanted = {**DOCUMENTED, **OF_BASH}
    assert got == {**wanted, **runner.box.runtimes[language].environment}


def test_the_layers_are_told_exactly(runner: Runner) -> None:
    """In the contract's words, and the same that the engine promised."""
    kind = runner.box.host.meter_kind
    bound = ("rlimit", "watch", "affinity") if kind == "watch" else (kind, "rlimit")
    uid = ("uid",) if runner.box.host.as_root else ()
    result = runner.run(Job(code=""))
    assert result.layers == (
        *("user", "pid", "mount", "net", "ipc", "uts", "cgroupns"),
        *bound,
        *uid,
        *("seccomp", "no_new_privs"),
    )
    assert result.layers == runner.box.layers
    assert result.runtime == runner.box.runtimes["python"].version
    assert runner.box.lacking == (("cgroup",) if kind == "watch" else ())


def numbers(runner: Runner, code: str, **limits: Any) -> Any:
    """Run and give the usage."""
    result = runner.run(Job(code=code, limits=Limits(**limits)))
    assert (result.status, result.stderr) == (Status.OK, "")
    return result.usage


def test_usage_is_what_was_spent(runner: Runner) -> None:
    """Wall and CPU time of a run that sleeps and one that works, memory and processes of one that takes some."""
    watched = runner.box.host.meter_kind == "watch"
    nothing = numbers(runner, "")
    assert 0 < nothing.wall_seconds < 2 * PACE
    assert 0 <= nothing.cpu_seconds < 0.5 * PACE
    sleeping = numbers(runner, "import time; time.sleep(0.5)")
    assert 0.5 <= sleeping.wall_seconds < 3 * PACE
    assert sleeping.cpu_seconds < 0.3 * PACE
    working = numbers(runner, "import time\nwhile time.process_time() < 0.5: pass")
    assert (0.4 if watched or PACE > 1 else 0.49) <= working.cpu_seconds < 1.5 * PACE  # user-mode Linux counts by ticks
    holding = numbers(runner, "import time; x = b'x' * (64 << 20); time.sleep(0.3)")
    assert 64 << 20 <= holding.peak_memory_bytes < 128 << 20
    many = numbers(runner, "import os, time\nfor _ in range(5):\n  if not os.fork(): time.sleep(9)\ntime.sleep(0.3)")
    assert many.peak_processes == 6


def test_memory_is_not_taken_from_the_guest_by_us(runner: Runner) -> None:
    """A program may have what the limit says, but for the interpreter's own few megabytes."""
    result = runner.run(Job(code="x = b'x' * (80 << 20); print(len(x))", limits=Limits(memory_bytes=96 << 20)))
    assert (result.status, result.stdout) == (Status.OK, f"{80 << 20}\n")


def test_cpus_throttle(runner: Runner) -> None:
    """Half a processor takes twice the time; the affinity that stands in without a cgroup only bounds how many."""
    code = "import os, time\nprint(len(os.sched_getaffinity(0)))\nwhile time.process_time() < 0.4: pass"
    result = runner.run(Job(code=code, limits=Limits(cpus=0.25)))
    assert result.status is Status.OK
    if "affinity" in result.layers:
        assert result.stdout == "1\n"
    else:
        assert result.usage.wall_seconds > 0.9


REACH = """
import json, socket, sys
answers = []
for family, address in json.load(sys.stdin):
    try:
        with socket.socket(getattr(socket, family)) as s:
            s.settimeout(2)
            s.connect(tuple(address) if isinstance(address, list) else address)
        answers.append('reached')
    except OSError as error:
        answers.append(type(error).__name__)
print(json.dumps(answers))
"""


def test_no_network_is_none_at_all(runner: Runner, tmp_path: Path) -> None:
    """Neither the host's loopback, nor its abstract sockets, nor any address outside; the listeners have a control."""
    path = str(tmp_path / "s")
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as abstract:
        name = "\0fumehood-contract"
        abstract.bind(name)
        abstract.listen()
        with socket.socket(socket.AF_UNIX) as named:
            named.bind(path)
            named.listen()
            targets = [
                ("AF_INET", list(tcp.getsockname())),
                ("AF_UNIX", name),
                ("AF_UNIX", path),
                ("AF_INET", ["192.0.2.1", 80]),
                ("AF_INET", ["169.254.169.254", 80]),
                ("AF_INET6", ["2001:db8::1", 80]),
            ]
            for family, address in targets[:3]:
                with socket.socket(getattr(socket, family)) as control:
                    control.connect(tuple(address) if isinstance(address, list) else address)
            result = runner.run(Job(code=REACH, stdin=json.dumps(targets).encode()))
    answers = json.loads(result.stdout)
    assert answers[:3] == ["ConnectionRefusedError", "ConnectionRefusedError", "FileNotFoundError"]
    assert answers[3:] == ["OSError"] * 3  # ENETUNREACH


def test_sockets_work_within_the_run(runner: Runner) -> None:
    """Loopback, its IPv6 form, UNIX and abstract sockets are there between the guest's own processes."""
    families = ["(2, ('127.0.0.1', 0))", "(1, '/tmp/s')", "(1, '\\0s')", *(["(10, ('::1', 0))"] if IPV6 else [])]
    code = (
        "import os, socket\n"
        f"for f, a in ({', '.join(families)}):\n"
        "    s = socket.socket(f); s.bind(a); s.listen()\n"
        "    if os.fork() == 0:\n"
        "        c = socket.socket(f); c.connect(s.getsockname()); c.sendall(b'hi'); os._exit(0)\n"
        "    print(s.accept()[0].recv(9))"
    )
    assert runner.run(Job(code=code)).stdout == "b'hi'\n" * len(families)


def test_init_has_no_power_left_and_a_filter_of_its_own(runner: Runner) -> None:
    """As the kernel tells: one filter on top of whatever the service itself is under, as the guest has two or three."""
    code = """
import json
def status(pid):
    return dict(line.split(":\\t") for line in open(f"/proc/{pid}/status").read().splitlines() if ":\\t" in line)
names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
init = status(1)
fewer = int(status("self")["Seccomp_filters"]) - int(init["Seccomp_filters"])
print(json.dumps([[int(init[name], 16) for name in names], fewer]))
"""
    result = runner.run(Job(code=code))
    assert json.loads(result.stdout) == [[0, 0, 0, 0, 0, 1, 2], 2 if "watch" in result.layers else 1]
