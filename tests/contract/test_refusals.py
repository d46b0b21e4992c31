"""What a job may not ask for: refused before anything runs, with the field's path and the bound in the text."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from faces import Refusal, Runner

from sandbox import InputFile, Job, JobRefused, Limits, Network, NetworkKind, NotBuilt, OverCeiling, Status

MIB = 1 << 20
CEILINGS = {
    "wall_seconds": 300,
    "cpu_seconds": 600,
    "memory_bytes": 4 << 30,
    "processes": 512,
    "output_bytes": 16 * MIB,
    "disk_bytes": 2 << 30,
    "inodes": 65_536,
    "open_files": 4096,
}
FLOORS = {"memory_bytes": 16 * MIB, "processes": 1, "open_files": 16, "output_bytes": 0}
ABOVE_ZERO = ("wall_seconds", "cpu_seconds", "cpus")


def limited(name: str, value: Any) -> Job:
    """Give a job with one limit set."""
    return Job(code="", limits=Limits(**{name: value}))


def check(refusal: Refusal, kind: type[JobRefused], field: str, text: str) -> None:
    """Hold a refusal against what it must say."""
    assert (refusal.kind, refusal.field) == (kind, field)
    assert text in refusal.reason


def test_every_limit_is_held_to_a_bound() -> None:
    """No limit can be forgotten here."""
    assert {each.name for each in fields(Limits)} == {*CEILINGS, "cpus"}


@pytest.mark.parametrize("name", CEILINGS)
def test_a_limit_over_its_ceiling_is_refused_with_the_ceiling(runner: Runner, name: str) -> None:
    """The text says the number, and the ceiling itself is accepted."""
    ceiling = CEILINGS[name]
    above = ceiling + 1 if isinstance(getattr(Limits(), name), int) else ceiling + 0.5
    check(runner.refusal(limited(name, above)), OverCeiling, f"limits.{name}", f"at most {ceiling}")
    runner.box.vet(limited(name, ceiling))
    assert getattr(runner.box.ceilings, name) == ceiling


def test_cpus_may_be_as_many_as_the_host_has(runner: Runner) -> None:
    """Unless the operator says otherwise."""
    most = runner.box.host_cpus
    check(runner.refusal(limited("cpus", most + 0.5)), OverCeiling, "limits.cpus", f"at most {most}")
    runner.box.vet(limited("cpus", float(most)))


@pytest.mark.parametrize("name", [*CEILINGS, "cpus"])
def test_no_number_is_too_large_to_refuse(runner: Runner, name: str) -> None:
    """Not even one that no float can hold."""
    refusal = runner.refusal(limited(name, 10**400))
    assert refusal.field == f"limits.{name}"
    assert refusal.reason


@pytest.mark.parametrize("name", FLOORS)
def test_a_limit_below_its_floor_is_refused_with_the_floor(runner: Runner, name: str) -> None:
    """The text says the number, and the floor itself is accepted."""
    refusal = runner.refusal(limited(name, FLOORS[name] - 1))
    check(refusal, OverCeiling, f"limits.{name}", "at least")
    assert str(FLOORS[name]) in refusal.reason
    runner.box.vet(limited(name, FLOORS[name]))


@pytest.mark.parametrize("name", ABOVE_ZERO)
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_time_and_cpus_must_be_above_zero(runner: Runner, name: str, value: float) -> None:
    """Nothing can be done in no time."""
    check(runner.refusal(limited(name, value)), OverCeiling, f"limits.{name}", "more than 0")


def test_a_run_at_every_floor_runs(runner: Runner) -> None:
    """Sixteen mebibytes, one process and sixteen open files are enough for a small program."""
    limits = Limits(memory_bytes=16 * MIB, processes=1, open_files=16, output_bytes=4, disk_bytes=4096, inodes=1)
    for language, code in (("python", "print(123)"), ("bash", "echo 123")):
        result = runner.run(Job(code=code, language=language, limits=limits))
        assert (result.status, result.stdout, result.stderr) == (Status.OK, "123\n", "")


FILE = InputFile("a", b"")
TOO_LONG = "x" * (128 << 10)
REFUSED: tuple[tuple[Job, type[JobRefused], str, str], ...] = (
    (Job(code="", language="perl"), JobRefused, "language", "bash, python"),
    (Job(code="", language="Python"), JobRefused, "language", "bash, python"),
    (Job(code="", language=""), JobRefused, "language", "bash, python"),
    (Job(code="a\0b"), JobRefused, "code", "NUL"),
    (Job(code="", args=("x", "a\0")), JobRefused, "args.1", "NUL"),
    (Job(code="", env={"A": "\0"}), JobRefused, "env.A", "NUL"),
    (Job(code="", env={"A=B": ""}), JobRefused, "env.A=B", "'='"),
    (Job(code="", env={"": "x"}), JobRefused, "env.", "empty"),
    (Job(code="", env={"A": TOO_LONG}), OverCeiling, "env.A", "131071"),
    (Job(code="", args=(TOO_LONG,)), OverCeiling, "args.0", "131071"),
    (Job(code="", args=("x" * 100_000,) * 11), OverCeiling, "args", "983040"),
    (Job(code="", env={f"A{n}": "x" * 100_000 for n in range(11)}), OverCeiling, "env", "983040"),
    *(
        (Job(code="", files=(InputFile(path, b""),)), JobRefused, "files.0.path", "must be relative")
        for path in ("", "/", "/etc/x", "..", ".", "a/../b", "./a", "a/.", "a//b", "a/", "../x", "a/..")
    ),
    (Job(code="", files=(InputFile("a\0", b""),)), JobRefused, "files.0.path", "NUL"),
    (Job(code="", files=(InputFile("x" * 256, b""),)), JobRefused, "files.0.path", "too long"),
    (Job(code="", files=(InputFile("x/" * 2048 + "x", b""),)), JobRefused, "files.0.path", "at most 3840"),
    (Job(code="", files=(FILE, InputFile("a", b"x"))), JobRefused, "files.1.path", "twice"),
    (Job(code="", files=(FILE, InputFile("a/b", b"x"))), JobRefused, "files.1.path", "both a file and a folder"),
    (Job(code="", files=(InputFile("a/b/c", b"x"), InputFile("a/b", b""))), JobRefused, "files.1.path", "both"),
    (Job(code="", files=tuple(InputFile(f"{n}", b"") for n in range(257))), OverCeiling, "files", "256"),
    (Job(code="", files=(InputFile("a", bytes(17 * MIB)),)), OverCeiling, "files", str(16 * MIB)),
    (Job(code="", files=(InputFile("a/b", b""),), limits=Limits(inodes=1)), OverCeiling, "files", "inodes"),
    (Job(code="", files=(InputFile("a", bytes(5000)),), limits=Limits(disk_bytes=4096)), OverCeiling, "files", "4096"),
    *(
        (Job(code="", collect=("ok", glob)), JobRefused, "collect.1", "must be relative")
        for glob in ("", "/tmp/*", "../*", "a/../*", "./*", "a//b")
    ),
    (Job(code="", collect=tuple(f"{n}" for n in range(65))), OverCeiling, "collect", "64"),
    *(
        (Job(code="", writable_paths=("/ok", path)), JobRefused, "writable_paths.1", "absolute")
        for path in ("", "relative", "~/x", ".")
    ),
    *(
        (Job(code="", writable_paths=("/ok", path)), JobRefused, "writable_paths.1", "parts")
        for path in ("/", "/../x", "/a/../b", "/a/", "//a", "/./a", "/tmp/../etc")
    ),
    *(
        (Job(code="", writable_paths=("/ok", path)), JobRefused, "writable_paths.1", "system folder")
        for path in (
            *("/etc", "/etc/x", "/usr", "/usr/local/lib", "/bin", "/lib64/x", "/proc/self", "/sys/x", "/dev", "/dev/x"),
            *("/run", "/run/job", "/opt", "/opt/python", "/opt/python/x", "/mnt", "/boot/x", "/sbin", "/lib"),
        )
    ),
    *(
        (Job(code="", writable_paths=("/ok", path)), JobRefused, "writable_paths.1", "inside another")
        for path in ("/ok/x", "/tmp/x", "/workspace/x", "/dev/shm/x", "/mnt/data/x")
    ),
    (Job(code="", writable_paths=("/a\0",)), JobRefused, "writable_paths.0", "NUL"),
    (Job(code="", writable_paths=tuple(f"/w{n}" for n in range(17))), OverCeiling, "writable_paths", "16"),
    (Job(code="", network=Network(kind=NetworkKind.UNRESTRICTED)), NotBuilt, "network.kind", "'unrestricted'"),
    (
        Job(code="", network=Network(kind=NetworkKind.ALLOWLIST, hosts=("example.org",))),
        NotBuilt,
        "network.kind",
        "'allowlist'",
    ),
    (Job(code="", network=Network(kind=NetworkKind.ALLOWLIST)), NotBuilt, "network.kind", "'allowlist'"),
    (Job(code="", network=Network(hosts=("example.org",))), JobRefused, "network.hosts", "allowlist"),
)


@pytest.mark.parametrize(
    ("job", "kind", "field", "text"), REFUSED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_may_not_be_asked_is_refused_by_name(
    runner: Runner, job: Job, kind: type[JobRefused], field: str, text: str
) -> None:
    """With the offending field's path; nothing is run in part or weakened."""
    check(runner.refusal(job), kind, field, text)


def test_what_is_just_allowed_is_allowed(runner: Runner) -> None:
    """The neighbours of what is refused: dots in names, deep paths, equal writable places, many files."""
    files = tuple(InputFile(path, b"") for path in ("..a", "a..", "...", ".a/b", "a b", "x" * 255, "d/" * 63 + "f"))
    paths = ("/tmp", "/tmp", "/workspace", "/mnt/data", "/dev/shm", "/srv", "/opt/x", "/usrx", "/mnt/other", "/srv/")[
        :9
    ]
    job = Job(code="echo $#", language="bash", files=files, writable_paths=paths, args=("x",) * 999)
    result = runner.run(job)
    assert (result.status, result.stdout, result.stderr) == (Status.OK, "999\n", "")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1", None, 1.5])
def test_a_limit_that_is_no_fitting_number_is_refused(runner: Runner, value: Any) -> None:
    """Whole numbers for what is counted, finite ones for all."""
    with pytest.raises(JobRefused, match="number"):
        runner.box.vet(limited("memory_bytes", value))
    if value != 1.5:
        with pytest.raises(JobRefused, match="number"):
            runner.box.vet(limited("wall_seconds", value))


def test_half_a_surrogate_pair_is_refused(runner: Runner) -> None:
    """It has no UTF-8 form, so neither a file nor a program could be given it."""
    for job in (Job(code="\ud800"), Job(code="", args=("\ud800",)), Job(code="", env={"A": "\udfff"})):
        with pytest.raises(JobRefused, match="surrogate"):
            runner.box.vet(job)


def test_a_refused_job_costs_no_run(runner: Runner) -> None:
    """``run`` raises what ``vet`` raises."""
    for job, kind, field, _ in REFUSED[:5]:
        with pytest.raises(kind) as refused:
            runner.box.run(replace(job))
        assert refused.value.field == field
