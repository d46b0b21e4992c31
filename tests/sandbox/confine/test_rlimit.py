"""The guest's resource limits, as numbers and on the kernel."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess

import pytest

from sandbox.confine.rlimit import rlimits
from sandbox.model import Limits

LIMITS = Limits(cpu_seconds=1.5, memory_bytes=64 << 20, processes=7, disk_bytes=1 << 20, open_files=20)
SYSTEM_PYTHON = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
FORK = """
import os, time
made = 0
try:
    while made < 50:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except OSError as error:
    print(made, error.errno, flush=True)
os.killpg(0, 9)
"""


def _guest(code: str, meter_kind: str, *before: str) -> subprocess.CompletedProcess[str]:
    """Run Python code under the limits, as init would: set last, just before the guest's own code."""
    if SYSTEM_PYTHON is None:
        (pytest.fail if os.environ.get("FUMEHOOD_MUST_ENFORCE") == "1" else pytest.skip)("no python3 of the system")
    setter = "import json, resource, sys\nfor n, v in json.loads(sys.argv[1]): resource.setrlimit(n, (v, v))\n"
    argv = [*before, SYSTEM_PYTHON, "-I", "-S", "-c", setter + code, json.dumps(rlimits(LIMITS, meter_kind))]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30, start_new_session=True)


def test_each_limit_has_its_number() -> None:
    """The job's own numbers are used where the kernel has a limit for them."""
    numbers = dict(rlimits(LIMITS, "cgroup:v2"))
    assert numbers[resource.RLIMIT_NOFILE] == 20
    assert numbers[resource.RLIMIT_FSIZE] == 1 << 20
    assert numbers[resource.RLIMIT_CPU] == 4
    assert numbers[resource.RLIMIT_RTPRIO] == 0
    assert not {resource.RLIMIT_AS, resource.RLIMIT_CORE} & numbers.keys()


def test_memory_and_tasks_are_left_to_a_cgroup_where_there_is_one() -> None:
    """Only the watch needs a limit of each process beside it; then the init is one task more."""
    extra = set(rlimits(LIMITS, "watch")) - set(rlimits(LIMITS, "cgroup:v1"))
    assert extra == {(resource.RLIMIT_DATA, 64 << 20), (resource.RLIMIT_NPROC, 8)}


def test_a_python_guest_sees_an_error_where_a_file_grows_too_large() -> None:
    """Python ignores SIGXFSZ; what fits has been written."""
    code = "import tempfile\nf = tempfile.TemporaryFile(buffering=0)\nprint(f.write(bytes(2 << 20)))\nf.write(b'x')"
    done = _guest(code, "cgroup:v1")
    assert done.stdout == f"{1 << 20}\n"
    assert "[Errno 27] File too large" in done.stderr


def test_a_guest_that_does_not_know_the_signal_is_ended_by_it() -> None:
    """That is how a C program meets the limit."""
    code = "import signal, tempfile\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nf = tempfile.TemporaryFile()\n"
    assert _guest(code + "f.truncate(2 << 20)", "cgroup:v1").returncode == -signal.SIGXFSZ


def test_memory_beyond_the_bound_is_refused_under_a_watch() -> None:
    """The allocation fails in the guest; nothing has to be killed."""
    assert "MemoryError" in _guest("bytearray(65 << 20)", "watch").stderr
    assert _guest("bytearray(65 << 20)", "cgroup:v1").returncode == 0


def test_files_beyond_the_bound_are_refused() -> None:
    """EMFILE, and no trace outside."""
    assert "[Errno 24]" in _guest("import os\nwhile True: os.dup(0)", "cgroup:v1").stderr


def test_tasks_are_counted_per_user_namespace_under_a_watch() -> None:
    """An unprivileged user's tasks outside do not count, those inside do: of 8, the first is one of them."""
    # Root is not bound, so it has to be put off first.
    drop = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups") if os.geteuid() == 0 else ()
    crowd = "for i in 1 2 3 4 5 6 7 8 9; do sleep 20 & done; wait"
    outside = subprocess.Popen([*drop, "/bin/sh", "-c", crowd], start_new_session=True)
    try:
        assert _guest(FORK, "watch", *drop, "unshare", "-Ur").stdout == "7 11\n"
    finally:
        os.killpg(outside.pid, signal.SIGKILL)
        outside.wait()
