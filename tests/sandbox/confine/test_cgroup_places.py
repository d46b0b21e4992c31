"""Finding where groups would go, on made-up /proc files and cgroup trees."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sandbox.confine.cgroup import Hierarchy, Unavailable, locate
from sandbox.confine.cgroup.mounts import Mount, parse_mountinfo, parse_own_groups
from sandbox.confine.cgroup.v2 import V2Hierarchy

ALL = "cpuset cpu io memory pids"
V1 = ("memory", "pids", "cpu", "cpuacct")


class Machine:
    """A made-up machine: its /proc, and the cgroup mounts that its mountinfo names."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.proc = root / "proc"
        (self.proc / "self").mkdir(parents=True)
        self.mounts = ["23 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"]
        self.groups: list[str] = []

    def mount(self, point: str, kind: str, options: str, root: str = "/") -> Path:
        """Mount a hierarchy."""
        directory = self.root / point
        directory.mkdir(parents=True, exist_ok=True)
        self.mounts.append(f"30 23 0:28 {root} {directory} rw,relatime shared:9 - {kind} {kind} {options}")
        return directory

    def v1(self, own: str = "/", root: str = "/") -> None:
        """Mount every v1 controller by itself; our group is the same in each."""
        for controller in V1:
            self.mount(f"cg/{controller}", "cgroup", f"rw,{controller}", root)
            self.groups.append(f"1:{controller}:{own}")

    def v2(self, own: str = "/", point: str = "sys", **files: str) -> Path:
        """Mount v2 and lay out our own group in it; a file whose text is ``-`` is left out."""
        mounted = self.mount(point, "cgroup2", "rw")
        self.groups.append(f"0::{own}")
        home = mounted / own.strip("/")
        home.mkdir(parents=True, exist_ok=True)
        (mounted / "cgroup.procs").touch()
        texts = {"controllers": ALL, "subtree_control": "", "procs": "", "type": "domain"} | files
        for name, text in texts.items():
            if text != "-":
                (home / f"cgroup.{name}").write_text(text)
        return home

    def locate(self, preferred_parent: str | None = None) -> Hierarchy | Unavailable:
        """Look around on this machine."""
        (self.proc / "self" / "mountinfo").write_text("\n".join(self.mounts) + "\n")
        (self.proc / "self" / "cgroup").write_text("".join(f"{line}\n" for line in self.groups))
        return locate(preferred_parent, proc=str(self.proc))

    def parents(self, preferred_parent: str | None = None) -> list[str]:
        """Return the parents found, relative to this machine."""
        found = self.locate(preferred_parent)
        assert isinstance(found, Hierarchy), found
        return [str(Path(parent).relative_to(self.root)) for parent in found.parents]

    def reason(self, preferred_parent: str | None = None) -> str:
        """Return why there is no place."""
        found = self.locate(preferred_parent)
        assert isinstance(found, Unavailable)
        return found.reason

    def evacuates(self) -> bool:
        """Say whether our own processes would have to move."""
        found = self.locate()
        assert isinstance(found, V2Hierarchy), found
        return found.evacuate


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Give a machine without any cgroup."""
    return Machine(tmp_path)


@pytest.fixture
def attributes(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Pretend to be root, and that every file has the extended attributes put into the answer."""
    found: dict[str, bytes] = {}

    def getxattr(_path: str, name: str) -> bytes:
        if name not in found:
            raise OSError(errno.ENODATA, os.strerror(errno.ENODATA))
        return found[name]

    monkeypatch.setattr(os, "getxattr", getxattr)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return found


def test_separate_v1_mounts_each_get_a_parent_below_our_own_group(machine: Machine) -> None:
    """Our group differs from controller to controller, and so do the parents."""
    machine.v1()
    machine.groups = ["4:memory:/box", "3:pids:/", "2:cpu:/a/b", "1:cpuacct:/", "0::/"]
    expected = ["cg/memory/box/fumehood", "cg/pids/fumehood", "cg/cpu/a/b/fumehood", "cg/cpuacct/fumehood"]
    assert machine.parents() == expected


def test_v1_controllers_mounted_together_share_one_parent(machine: Machine) -> None:
    """The controllers cpu and cpuacct on one mount are one directory, made once."""
    machine.mount("cg/memory", "cgroup", "rw,memory")
    machine.mount("cg/pids", "cgroup", "rw,pids")
    machine.mount("cg/cpu,cpuacct", "cgroup", "rw,cpu,cpuacct")
    machine.groups = ["4:memory:/x", "3:pids:/x", "2:cpu,cpuacct:/x"]
    assert machine.parents() == ["cg/memory/x/fumehood", "cg/pids/x/fumehood", "cg/cpu,cpuacct/x/fumehood"]


def test_a_hybrid_machine_uses_its_v1_controllers(machine: Machine) -> None:
    """The v2 tree of a hybrid machine has no controllers, so it is passed over."""
    machine.v1()
    machine.v2(point="cg/unified", controllers="")
    found = machine.locate()
    assert isinstance(found, Hierarchy)
    assert found.kind == "cgroup:v1"


def test_a_container_that_sees_only_its_own_v1_subtree_finds_itself(machine: Machine) -> None:
    """The mount shows /docker/7 at its top; our group is named from the host's top."""
    machine.v1("/docker/7/in", root="/docker/7")
    assert machine.parents()[0] == "cg/memory/in/fumehood"
    machine.groups = [line.replace("/docker/7/in", "/docker/77") for line in machine.groups]
    assert "outside what is mounted" in machine.reason()


def test_v1_without_the_pids_controller_is_refused_by_name(machine: Machine) -> None:
    """The reason names what the operator must mount."""
    machine.mount("cg/memory", "cgroup", "rw,memory")
    machine.groups = ["4:memory:/"]
    assert "pids" in machine.reason()


def test_v1_with_cpuset_on_the_same_mount_is_refused(machine: Machine) -> None:
    """A new cpuset group admits no process before it is given cpus."""
    machine.mount("cg/all", "cgroup", "rw,cpuset,cpu,cpuacct,memory,pids")
    machine.groups = ["1:cpuset,cpu,cpuacct,memory,pids:/"]
    assert "cpuset" in machine.reason()


def test_a_configured_parent_replaces_our_own_group(machine: Machine) -> None:
    """It is a path from the top of the mount."""
    machine.v1("/box")
    assert machine.parents("/runs")[0] == "cg/memory/runs/fumehood"


def test_in_the_real_v2_root_no_process_has_to_move(machine: Machine) -> None:
    """The real root has no cgroup.type; the kernel exempts it from the rule against inner processes."""
    machine.v2(type="-", procs="1\n2\n")
    assert not machine.evacuates()
    assert machine.parents() == ["sys/fumehood"]


def test_a_delegated_v2_group_is_evacuated(machine: Machine, attributes: dict[str, bytes]) -> None:
    """The mark of a delegated group is an extended attribute that systemd sets."""
    attributes["user.delegate"] = b"1"
    machine.v2("/system.slice/fumehood.service", procs="77\n")
    assert machine.evacuates()
    assert machine.parents() == ["sys/system.slice/fumehood.service/fumehood"]


@pytest.mark.usefixtures("attributes")
def test_a_v2_group_that_is_not_delegated_is_left_alone(machine: Machine) -> None:
    """Even root may not rearrange a group that systemd manages; the reason says what to set."""
    machine.v2("/user.slice/session-1.scope", procs="77\n")
    assert "Delegate=yes" in machine.reason()


@pytest.mark.usefixtures("attributes")
def test_the_top_of_a_cgroup_namespace_counts_as_delegated(machine: Machine) -> None:
    """In a container everything in the tree is the one service."""
    machine.v2(procs="1\n")
    assert machine.evacuates()


def test_from_the_leaf_the_group_above_is_the_delegated_one(machine: Machine) -> None:
    """After a move, or with DelegateSubgroup=supervisor, groups still go beside the leaf and not into it."""
    home = machine.v2("/svc", subtree_control="cpu memory pids")
    (home / "supervisor").mkdir()
    machine.groups = ["0::/svc/supervisor"]
    assert machine.parents() == ["sys/svc/fumehood"]


def test_a_v2_group_without_the_memory_controller_is_refused_by_name(machine: Machine) -> None:
    """Controllers come from the group above; the reason names the missing one."""
    machine.v2("/svc", controllers="cpu pids")
    assert "memory" in machine.reason()


@pytest.mark.usefixtures("attributes")
def test_a_configured_v2_parent_with_processes_is_refused(machine: Machine) -> None:
    """They are not ours, so they are not moved."""
    machine.v2("/svc")
    other = machine.v2("/runs", procs="99\n")
    machine.groups = ["0::/svc"]
    assert "not ours" in machine.reason("/runs")
    (other / "cgroup.procs").write_text("")
    assert machine.parents("/runs") == ["sys/runs/fumehood"]


def test_a_machine_without_cgroups_says_so(machine: Machine) -> None:
    """Ordinary absence is an answer, never an exception."""
    assert "not mounted" in machine.reason()
    nowhere = locate(proc=str(machine.root / "nowhere"))
    assert isinstance(nowhere, Unavailable)
    assert "No such file" in nowhere.reason


def test_mountinfo_is_read_with_its_escapes_and_optional_fields() -> None:
    """A blank in a mount point is an octal escape; the optional fields before the dash vary in number."""
    text = r"41 31 0:38 /a\040b /sys/c\040g rw shared:1 master:2 - cgroup cgroup rw,cpu,cpuacct"
    assert parse_mountinfo(text + "\n\nnonsense\n") == (
        Mount(version=1, root="/a b", point="/sys/c g", controllers=frozenset({"cpu", "cpuacct"})),
    )


def test_own_groups_are_read_with_named_and_joint_hierarchies() -> None:
    """A colon may occur in a group's own name."""
    assert parse_own_groups("9:name=systemd:/x\n2:cpu,cpuacct:/a:b\n0::/u\n") == {
        "name=systemd": "/x",
        "cpu": "/a:b",
        "cpuacct": "/a:b",
        "": "/u",
    }
