"""Job and host to plan: every decision, on a host that is only described."""

from __future__ import annotations

import resource
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import HOST

from sandbox import policy
from sandbox.config import Config
from sandbox.errors import JobRefused, NotBuilt, OverCeiling
from sandbox.model import InputFile, Job, Launcher, Limits, Network, NetworkKind, OnOutputLimit, OutputKeep, Plan
from sandbox.places import STANDING_PLACES

WATCHED = replace(HOST, meter_kind="watch", as_root=False)
CONFIG = Config()


def plan(host: Any = HOST, config: Config = CONFIG, **asked: Any) -> Plan:
    """Plan a job."""
    return policy.plan(Job(**{"code": "", **asked}), host, config)


def refused(config: Config = CONFIG, **asked: Any) -> JobRefused:
    """Give the refusal of a job."""
    with pytest.raises(JobRefused) as error:
        plan(config=config, **asked)
    return error.value


@pytest.mark.parametrize(
    ("asked", "name"),
    [("python", "python"), ("python3", "python"), ("py", "python"), ("bash", "bash"), ("sh", "bash")],
)
def test_a_language_has_its_aliases(asked: str, name: str) -> None:
    """They are the same runtime."""
    assert plan(language=asked).runtime is HOST.runtimes[name]


@pytest.mark.parametrize(
    ("kind", "root", "bound"),
    [
        ("cgroup:v1", True, ("cgroup:v1", "rlimit", "uid")),
        ("cgroup:v2", True, ("cgroup:v2", "rlimit", "uid")),
        ("cgroup:v2", False, ("cgroup:v2", "rlimit")),
        ("watch", True, ("rlimit", "watch", "affinity", "uid")),
        ("watch", False, ("rlimit", "watch", "affinity")),
    ],
)
def test_layers_follow_from_the_host_alone(kind: str, root: bool, bound: tuple[str, ...]) -> None:  # noqa: FBT001 - a parameter
    """All that must hold are always there; which bound and whether a uid depends on the machine."""
    host = replace(HOST, meter_kind=kind, as_root=root)
    always = ("user", "pid", "mount", "net", "ipc", "uts", "cgroupns")
    assert policy.layers(host) == (*always, *bound, "seccomp", "no_new_privs")
    assert plan(host).layers == policy.layers(host)


@pytest.mark.parametrize(
    ("cpus", "rate", "affinity", "threads"),
    [(0.1, 1, (0,), "1"), (1.0, 1, (0,), "1"), (1.5, 2, (0, 1), "2"), (4.0, 4, (0, 1, 2, 3), "4")],
)
def test_cpus_throttle_in_a_cgroup_and_choose_processors_without(
    cpus: float, rate: int, affinity: tuple[int, ...], threads: str
) -> None:
    """The affinity is rounded up, and so is the number of threads of numeric libraries in both cases."""
    in_cgroup, watched = (plan(host, limits=Limits(cpus=cpus)) for host in (HOST, WATCHED))
    assert (in_cgroup.affinity, in_cgroup.cpu_rate, in_cgroup.meter_limits.cpus) == (None, cpus, cpus)
    assert (watched.affinity, watched.cpu_rate) == (affinity, rate)
    for each in (in_cgroup, watched):
        assert {each.env[f"{name}_NUM_THREADS"] for name in ("OMP", "OPENBLAS", "MKL")} == {threads}


def test_affinity_uses_the_processors_we_may_use() -> None:
    """They need not be the first ones of the machine."""
    assert plan(replace(WATCHED, cpu_numbers=(5, 7)), limits=Limits(cpus=1.5)).affinity == (5, 7)


def test_rlimits_bound_memory_and_tasks_only_where_no_cgroup_does() -> None:
    """A cgroup counts the whole run; RLIMIT_DATA would refuse a program its reserve."""
    assert not {resource.RLIMIT_DATA, resource.RLIMIT_NPROC} & dict(plan().rlimits).keys()
    rlimits = dict(plan(WATCHED).rlimits)
    assert rlimits[resource.RLIMIT_DATA] == Limits().memory_bytes
    assert rlimits[resource.RLIMIT_NPROC] == Limits().processes + 1


def test_the_jobs_variables_win() -> None:
    """Over the documented ones and the runtime's, and nothing of our own environment is among them."""
    bare = plan().env
    assert plan(env={"PATH": "/x", "MINE": "1"}).env == {**bare, "PATH": "/x", "MINE": "1"}
    assert set(bare) == {
        *("HOME", "LANG", "PATH", "TMPDIR", "TZ", "USER"),
        *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "MPLBACKEND"),
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    }


@pytest.mark.parametrize(
    ("asked", "kind", "field"),
    [
        ({"network": Network(kind=NetworkKind.UNRESTRICTED)}, NotBuilt, "network.kind"),
        ({"network": Network(kind=NetworkKind.ALLOWLIST)}, NotBuilt, "network.kind"),
        ({"network": Network(kind=NetworkKind.ALLOWLIST, hosts=("a",))}, NotBuilt, "network.kind"),
        ({"network": Network(hosts=("a",))}, JobRefused, "network.hosts"),
        ({"launcher": Launcher.WARM}, JobRefused, "launcher"),
        ({"launcher": "hot"}, JobRefused, "launcher"),
        ({"output_keep": "middle"}, JobRefused, "output_keep"),
        ({"on_output_limit": "ask"}, JobRefused, "on_output_limit"),
        ({"network": Network(kind="all")}, JobRefused, "network.kind"),  # type: ignore[arg-type]
        ({"language": "cobol"}, JobRefused, "language"),
        ({"code": "x" * (17 << 20)}, OverCeiling, "code"),
    ],
)
def test_what_cannot_be_enforced_is_refused(asked: dict[str, Any], kind: type[JobRefused], field: str) -> None:
    """Rather than weakened: an empty allow-list above all does not mean that all is allowed."""
    error = refused(**asked)
    assert type(error) is kind
    assert error.field == field


def test_a_word_counts_as_what_it_stands_for() -> None:
    """A caller who writes ``"cold"`` for ``Launcher.COLD`` gets no warm run."""
    planned = plan(launcher="cold", output_keep="head_tail", on_output_limit="kill")
    assert planned.launcher is Launcher.COLD
    assert planned.output_keep is OutputKeep.HEAD_TAIL
    assert planned.on_output_limit is OnOutputLimit.KILL


def test_ceilings_are_the_operators() -> None:
    """Each can be set, and the refusal says the number that was set."""
    config = Config(ceilings=Limits(wall_seconds=2.5, cpus=0.5), files_in=1, files_in_bytes=10)
    assert "at most 2.5, not 3" in refused(config, limits=Limits(wall_seconds=3.0, cpus=0.5)).reason
    assert "at most 0.5, not 1" in refused(config, limits=Limits(wall_seconds=1.0)).reason
    limits = Limits(wall_seconds=1.0, cpus=0.5)
    assert "at most 1" in refused(config, files=(InputFile("a", b""), InputFile("b", b"")), limits=limits).reason
    assert "at most 10 bytes" in refused(config, files=(InputFile("a", b"x" * 11),), limits=limits).reason
    assert "at most 10 bytes" in refused(config, code="x" * 11, limits=limits).reason
    assert policy.ceilings(CONFIG, HOST).cpus == 4.0


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("memory_bytes", (16 << 20) - 1, "at least 16777216, not 16777215"),
        ("memory_bytes", (4 << 30) + 1, "at most 4294967296, not 4294967297"),
        ("processes", 0, "at least 1, not 0"),
        ("processes", -(10**400), "at least 1, not beyond -1000000000000000000"),
        ("processes", 10**4000, "at most 512, not beyond 1000000000000000000"),
        ("wall_seconds", 0.0, "more than 0, not 0"),
        ("wall_seconds", 300.25, "at most 300, not 300.25"),
        ("cpus", -1.0, "more than 0, not -1"),
        ("open_files", 15, "at least 16, not 15"),
        ("disk_bytes", 4095, "at least 4096, not 4095"),
        ("inodes", 0, "at least 1, not 0"),
        ("output_bytes", -1, "at least 0, not -1"),
        ("wall_seconds", float("nan"), "finite number"),
        ("wall_seconds", float("inf"), "finite number"),
        ("cpu_seconds", True, "finite number"),
        ("processes", 1.0, "whole number"),
        ("processes", "1", "finite number"),
        ("cpus", None, "finite number"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_limit_out_of_bounds_is_refused_with_both_numbers(name: str, value: Any, text: str) -> None:
    """As they are, not rounded."""
    error = refused(limits=replace(Limits(), **{name: value}))
    assert error.field == f"limits.{name}"
    assert text in error.reason


PARTS = st.sampled_from(["", ".", "..", "a", "b", "...", "a\0", "é", "x" * 255, "x" * 256, "\ud800", "-", "*", " "])


@given(st.lists(PARTS, min_size=1, max_size=6))
def test_a_path_in_is_safe_or_refused(parts: list[str]) -> None:
    """Nothing that is accepted can name a place outside, or none."""
    path = "/".join(parts)
    bad = {"", ".", "..", "a\0", "x" * 256, "\ud800"} & set(parts)
    if bad:
        assert refused(files=(InputFile(path, b""),)).field == "files.0.path"
        assert refused(collect=("ok", path)).field == "collect.1"
    else:
        assert plan(files=(InputFile(path, b""),)).files[0].path == path
        assert plan(collect=(path,)).collect == (path,)


DEEP, LONG = "/".join("a" * 64), "/".join(["b" * 239] * 16)  # 64 parts; 3839 bytes


@pytest.mark.parametrize("path", [DEEP + "/a", LONG + "/b", "/".join("a" * 1900)])
def test_what_the_kernel_could_not_name_is_refused(path: str) -> None:
    """In front of a path in stands the place where init builds it; and a path is walked part by part."""
    assert refused(files=(InputFile(path, b""),)).field == "files.0.path"
    assert refused(collect=(path,)).field == "collect.0"
    assert refused(writable_paths=(f"/{path}",)).field == "writable_paths.0"


@pytest.mark.parametrize("path", [DEEP, LONG])
def test_what_the_kernel_can_name_is_accepted(path: str) -> None:
    """The bounds are no tighter than they say."""
    assert plan(files=(InputFile(path, b""),), collect=(path,)).files[0].path == path
    assert targets(f"/{path}") == [(0o755, (f"/{path}",))]


def test_arguments_and_variables_fit_in_one_execve() -> None:
    """Many short ones cost more by their pointers than by their letters; both together stay under 2 MiB."""
    most = (1 << 20) - (64 << 10)
    assert len(plan(args=("a",) * (most // 10)).args) == most // 10
    assert refused(args=("a",) * (most // 10 + 1)).field == "args"
    env = {f"{number:04}": "x" * 226 for number in range(4096)}
    assert plan(env=env).own_env == env.keys()
    assert refused(env={**env, "0000": "x" * 227}).field == "env"
    assert refused(env={f"{number}": "" for number in range(4097)}).field == "env"


def test_globs_are_bounded_in_all() -> None:
    """Each is compiled before anything is collected."""
    assert plan(collect=tuple(f"{number:02}" + "x" * 200 for number in range(64)))
    assert refused(collect=tuple(f"{number:02}/" + LONG[:1199] for number in range(64))).field == "collect"


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join), max_size=6))
def test_files_never_collide(paths: list[str]) -> None:
    """What is accepted is a tree: no path is there twice, and none is both a file and a folder."""
    collides = len(set(paths)) < len(paths) or any(f"{b}/".startswith(f"{a}/") for a in paths for b in paths if a != b)
    files = tuple(InputFile(path, b"") for path in paths)
    if collides:
        assert refused(files=files).field.startswith("files.")
    else:
        assert plan(files=files).files == files


def targets(*paths: str) -> list[tuple[int, tuple[str, ...]]]:
    """Give mode and places of what is planned to be writable beyond the standing places."""
    return [(place.mode, place.targets) for place in plan(writable_paths=paths).writable]


def test_writable_places_are_the_standing_ones_and_the_jobs() -> None:
    """One folder each; the standing ones may be named and are not doubled."""
    standing = [(place.mode, place.targets) for place in STANDING_PLACES]
    assert standing == [(0o755, ("/workspace", "/mnt/data")), (0o1777, ("/tmp",)), (0o1777, ("/dev/shm",))]
    assert targets() == targets("/tmp", "/workspace", "/mnt/data", "/dev/shm", "/tmp") == []
    assert targets("/srv/b", "/srv/a", "/srv/a") == [(0o755, ("/srv/a",)), (0o755, ("/srv/b",))]


SYSTEM = (
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "opt/python",
    "proc",
    "run",
    "sbin",
    "sys",
    "usr",
)


@pytest.mark.parametrize("system", SYSTEM)
def test_no_writable_place_covers_or_enters_the_system(system: str) -> None:
    """Neither the folder, nor one below it, nor one above it; a name that only begins alike is another."""
    above = f"/{system.rpartition('/')[0]}" if "/" in system else None
    for path in filter(None, (f"/{system}", f"/{system}/x", f"/{system}/x/y", above)):
        assert refused(writable_paths=(path,)).field == "writable_paths.0"
    assert targets(f"/{system}x") == [(0o755, (f"/{system}x",))]


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "b", "tmp", "usr", "..", "", "dev", "shm", "mnt"]), max_size=4).map("/".join),
        max_size=5,
    )
)
def test_writable_places_are_apart_and_none_is_the_systems(paths: list[str]) -> None:
    """Whatever is asked for: refused by field, or absolute, clean, apart from one another and outside the system."""
    asked = tuple(f"/{path}" for path in paths)
    try:
        places = plan(writable_paths=asked).writable
    except JobRefused as error:
        field = error.field
    else:
        field = ""
    if field:
        assert field.startswith("writable_paths.")
        return
    every = [target for place in (*STANDING_PLACES, *places) for target in place.targets]
    assert len(set(every)) == len(every)
    for target in every:
        assert target.startswith("/")
        assert not {"", ".", ".."} & set(target[1:].split("/"))
        assert not any(f"{other}/".startswith(f"{target}/") for other in every if other != target)
        if target != "/dev/shm":
            assert not any(
                f"{target}/".startswith(f"/{each}/") or f"/{each}/".startswith(f"{target}/") for each in SYSTEM
            )
    assert set(asked) <= set(every)
