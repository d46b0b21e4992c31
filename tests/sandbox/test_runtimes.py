"""Languages that an operator adds: what is refused, and one that really runs."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox import (
    Config,
    Job,
    JobRefused,
    Launcher,
    LayerMissing,
    Limits,
    Preload,
    RuntimeConfig,
    Sandbox,
    WarmConfig,
)
from sandbox.runtimes import find, shown

FACTS: dict[str, Any] = {"version": "3.11.7", "packages": {}, "environment": {"A": "b"}, "links": {}}
SHOUT = """#!/bin/sh
if [ "$1" = --version ]; then echo; echo "shout (v1.2.3-rc1) built for $(id -u) env $(env | wc -l)"; exit; fi
IFS= read -r word
printf '%s|%s|%s\\n' "$(cat "$2")" "$word" "$3" | tr a-z A-Z
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a program in it. Not where pytest makes its own: a guest's uid must be able to reach it."""
    place = Path(tempfile.mkdtemp(prefix="fumehood-test-", dir="/var/tmp"))
    try:
        place.chmod(0o755)
        program = place / "shout"
        program.write_text(SHOUT, encoding="ascii")
        program.chmod(0o755)
        yield place
    finally:
        for path in sorted(place.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        place.rmdir()


def shout(folder: Path, **changed: Any) -> RuntimeConfig:
    """Give a language whose programs are shouted."""
    values = {
        "name": "shout",
        "aliases": ("loud",),
        "command": (f"{folder}/shout", "-x"),
        "source_name": "main.txt",
        "read_only": (folder,),
        "version_command": (f"{folder}/shout", "--version"),
        "limits": Limits(wall_seconds=7),
    }
    return RuntimeConfig(**{**values, **changed})


def test_what_ships_is_there_without_a_word(folder: Path) -> None:
    """And stays first."""
    assert list(find(FACTS, (), None)) == ["python", "bash"]
    assert list(find(FACTS, (shout(folder),), None)) == ["python", "bash", "shout"]


def test_the_version_is_what_the_program_says(folder: Path) -> None:
    """Its first dotted number, else its first line; or the operator's own word."""
    assert find(FACTS, (shout(folder),), None)["shout"].version == "shout 1.2.3-rc1"
    said = shout(folder, version_command=("/bin/sh", "-c", "echo; echo new >&1"))
    assert find(FACTS, (said,), None)["shout"].version == "shout new"
    told = shout(folder, version="9", version_command=("/bin/false",))
    assert find(FACTS, (told,), None)["shout"].version == "shout 9"


def test_the_version_is_asked_without_our_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root also without our uid: whatever the program is, it has less than we have."""
    monkeypatch.setenv("SECRET", "s3cr3t")
    asked = shout(folder, version_command=("/bin/sh", "-c", "echo $SECRET $(/usr/bin/id -u)"))
    uid = 2_000_000_000 if os.geteuid() == 0 else None
    assert find(FACTS, (asked,), uid)["shout"].version == f"shout {uid or os.geteuid()}"


def test_one_that_ships_may_have_other_limits() -> None:
    """And further aliases, and nothing else."""
    python = RuntimeConfig(name="python", aliases=("snake",), limits=Limits(cpus=2))
    found = find(FACTS, (python,), None)["python"]
    assert (found.aliases, found.limits) == (("python3", "py", "snake"), Limits(cpus=2))
    assert found.version == "python 3.11.7"
    with pytest.raises(LayerMissing, match="ships with us"):
        find(FACTS, (dataclasses.replace(python, command=("/usr/bin/python3",)),), None)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "a b"}, "no name for a language"),
        ({"aliases": ("",)}, "no name for a language"),
        ({"aliases": ("py",)}, "'py' is taken"),
        ({"aliases": ("shout",)}, "'shout' is taken"),
        ({"source_name": "../x"}, "no plain file name"),
        ({"source_name": ""}, "no plain file name"),
        ({"command": ()}, "absolute path of a program"),
        ({"command": ("sh",)}, "absolute path of a program"),
        ({"command": ("/usr/../bin/sh",)}, "absolute path of a program"),
        ({"command": ("/usr/bin/nothing-there",)}, "is not there"),
        ({"command": ("/usr/bin",)}, "is not there, or no program"),
        ({"read_only": ()}, "which no guest sees"),
        ({"version_command": ("/bin/false",)}, "version_command"),
        ({"version_command": ("/nothing/there",)}, "version_command"),
    ],
)
def test_what_cannot_run_inside_stops_the_start(folder: Path, changed: dict[str, Any], words: str) -> None:
    """Found by asking the host, before any guest meets it."""
    with pytest.raises(LayerMissing, match=words):
        find(FACTS, (shout(folder, **changed),), None)


def test_no_language_is_there_twice(folder: Path) -> None:
    """A second entry is no correction of the first."""
    with pytest.raises(LayerMissing, match="twice"):
        find(FACTS, (shout(folder), shout(folder, aliases=())), None)


@pytest.mark.parametrize(
    "path",
    ["/", "/usr", "/usr/share", "/etc", "/etc/ssl", "/dev", "/proc", "/sys", "/run", "/tmp", "/opt", "/opt/python/lib"],
)
def test_a_folder_may_not_cover_what_guests_have(path: str) -> None:
    """Neither over it nor inside it."""
    with pytest.raises(LayerMissing, match="would cover, or lies in"):
        shown([RuntimeConfig(name="x", read_only=(Path(path),))], ["/srv/covered"], None)


def test_a_folder_may_not_cover_another(folder: Path) -> None:
    """Nor one that the guest's Python needs; the same one for two languages is shown once."""
    (folder / "in").mkdir()
    with pytest.raises(LayerMissing, match="would cover"):
        shown([RuntimeConfig(name="x", read_only=(folder, folder / "in"))], [], None)
    with pytest.raises(LayerMissing, match="would cover"):
        shown([RuntimeConfig(name="x", read_only=(folder,))], [f"{folder}/in"], None)
    assert len(shown([RuntimeConfig(name=name, read_only=(folder,)) for name in "xy"], [], None)) == 1


def test_a_folder_must_be_there_itself_and_readable(folder: Path) -> None:
    """No link, no file, no relative path; and as root every folder above it is open to a guest's uid."""
    (folder / "link").symlink_to(folder)
    (folder / "closed").mkdir(mode=0o700)
    (folder / "closed/open").mkdir(mode=0o755)
    for path, words in (
        (folder / "link", "without links"),
        (Path("relative"), "without links"),
        (folder / "nothing", "no folder"),
        (folder / "shout", "no folder"),
        (folder / "closed", "cannot be read"),
        (folder / "closed/open", "cannot be read"),
    ):
        with pytest.raises(LayerMissing, match=words):
            shown([RuntimeConfig(name="x", read_only=(path,))], [], 2_000_000_000)


def test_a_program_of_the_operators_runs_as_any_other(folder: Path, runtimes_dir: Path | None) -> None:
    """By both launchers, under every layer, with arguments and input; its folder is there and cannot be written."""
    if Path("/usr/bin/perl").exists():
        more = (RuntimeConfig(name="perl", command=("/usr/bin/perl", "-w"), source_name="main.pl"),)
    else:
        more = ()
    with tempfile.TemporaryDirectory(prefix="fumehood-test-") as state:
        Path(state).chmod(0o755)
        config = Config(
            state_dir=Path(state),
            runtimes_dir=runtimes_dir,
            runtimes=(shout(folder), *more),
            warm=WarmConfig(preloads=(Preload("bare", ()),), depth=1),
        )
        with Sandbox(config) as box:
            deadline = time.monotonic() + 20
            while not all(server["settled"] for server in box.warmth):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            warm = Launcher.WARM if box.warmth[0]["up"] else Launcher.COLD
            for asked, launcher in ((Launcher.AUTO, warm), (Launcher.COLD, Launcher.COLD)):
                job = Job(code="code", language="loud", stdin=b"word\n", args=("arg",), launcher=asked)
                result = box.run(job)
                assert (result.status, result.stdout, result.stderr) == ("ok", "CODE|WORD|ARG\n", "")
                assert (result.runtime, result.layers) == ("shout 1.2.3-rc1", box.layers)
                assert result.launcher is launcher
            told = box.run(Job(code=f"ls {folder}; echo x > {folder}/new", language="bash"))
            assert (told.stdout, told.exit_code) == ("shout\n", 1)
            assert "Read-only file system" in told.stderr
            for path in (str(folder), f"{folder}/new"):
                with pytest.raises(JobRefused, match="system folder"):
                    box.vet(Job(code="", writable_paths=(path,)))
            for one in more:
                told = box.run(Job(code="print 6*7, $ARGV[0]", language=one.name, args=("!",)))
                assert (told.status, told.stdout) == ("ok", "42!")
                assert box.runtimes[one.name].version.startswith("perl 5.")
