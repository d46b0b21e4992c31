from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import reading

from sandbox.confine.seccomp import Filters, compile_filters, load_profile, shipped_profiles
from sandbox.confine.seccomp.machines import MACHINES

HERE = Path(__file__).parent
MACHINE = os.uname().machine
CONTAINER = reading.document("container")
LOOPBACK = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[0])"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Filters:
    """The container's profile as our compiler makes it (in ``allow``); an engine would use libseccomp."""
    document = {key: value for key, value in CONTAINER.items() if key != "archMap"}
    document["architectures"] = [entry["architecture"] for entry in CONTAINER["archMap"]]
    path = tmp_path_factory.mktemp("container") / "container.json"
    path.write_text(json.dumps(document))
    return compile_filters(load_profile(path), shipped_profiles()[1], MACHINE)


def test_a_guest_may_do_nothing_the_container_would_refuse() -> None:
    """Whatever the guest's profile lets through, the container's does too: the inner wall decides, with its errno."""
    guest = reading.document("default")
    for name in {name for machine in MACHINES.values() for name in machine.numbers}:
        for args in reading.interesting_arguments(name):
            if reading.verdict(guest, name, args) == "allow":
                assert reading.verdict(CONTAINER, name, args) == "allow", (name, args)


def test_the_container_adds_only_what_building_walls_takes() -> None:
    """Calls the container has beyond the guest: new namespaces, mounts, filters, and limits of other processes."""
    guest = reading.document("default")
    names = {name for machine in MACHINES.values() for name in machine.numbers}
    more = {name for name in names if reading.verdict(CONTAINER, name) == "allow" != reading.verdict(guest, name)}
    assert " ".join(sorted(more)) == (
        "clone3 landlock_add_rule landlock_create_ruleset landlock_restrict_self mount mount_setattr move_mount "
        "open_tree pivot_root prctl sched_setaffinity seccomp sethostname setns umount2 unshare"
    )


def test_the_container_refuses_and_never_kills() -> None:
    """No action kills, and the 32-bit doors are named: an engine kills at a door its profile does not know."""
    assert {rule["action"] for rule in CONTAINER["syscalls"]} == {"SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"}
    doors = {entry["architecture"]: entry["subArchitectures"] for entry in CONTAINER["archMap"]}
    assert doors == {
        "SCMP_ARCH_X86_64": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "SCMP_ARCH_AARCH64": ["SCMP_ARCH_ARM"],
    }


@pytest.mark.skipif(
    not shutil.which("bwrap") and os.environ.get("FUMEHOOD_MUST_ENFORCE") != "1",
    reason="bwrap is not installed",
)
def test_bwrap_works_under_the_container_s_profile(compiled: Filters, tmp_path: Path) -> None:
    """An unprivileged user can build all namespaces under the container's filter, and not under a guest's."""
    user = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    bwrap = [
        *(*user, "/usr/bin/env", "bwrap", "--unshare-all", "--hostname", "guest", "--ro-bind", "/usr", "/usr"),
        *("--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev"),
        *("--tmpfs", "/tmp", "/usr/bin/python3", "-I", "-c", LOOPBACK),
    ]
    guest = compile_filters(*shipped_profiles(), MACHINE).allow
    done = {}
    for name, code in (("container", compiled.allow), ("guest", guest)):
        (tmp_path / name).write_bytes(code)
        argv = [sys.executable, "-I", "-S", str(HERE / "loader.py"), str(tmp_path / name), "--", *bwrap]
        done[name] = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert (done["container"].returncode, done["container"].stdout) == (0, "127.0.0.1\n"), done["container"].stderr
    assert done["guest"].returncode != 0
    assert "No permissions to create new namespace" in done["guest"].stderr
