from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import places
import runtime
from sandbox.host import runtimes_directories

FIND = Path(__file__).resolve().parents[2] / "deploy/setup/find-python.sh"
SHELLS = [shell for shell in ("/bin/sh", "/bin/bash") if Path(shell).exists()]
REAL = f"exec '{sys.executable}' \"$@\""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder to search, with a blank in its name."""
    path = tmp_path / "a folder"
    path.mkdir()
    return path


def command(folder: Path, name: str, does: str) -> None:
    """Lay a shell script where a Python would be."""
    (folder / name).write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def find(folder: Path, shell: str = "/bin/sh", **environment: str) -> subprocess.CompletedProcess[str]:
    """Search ``folder`` alone, though the script ends with a look at the system's own."""
    return subprocess.run(
        [shell, FIND], env={"PATH": os.fspath(folder)} | environment, capture_output=True, text=True, check=False
    )


def real() -> str:
    """Name the Python behind the environment that the tests run in."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


@pytest.mark.parametrize("shell", SHELLS)
def test_finds_the_python_behind_a_shim(folder: Path, shell: str) -> None:
    """A version manager's script costs a tenth of a second at each start, so it is not what gets built on."""
    command(folder, "python3", REAL)
    done = find(folder, shell)
    assert (done.stdout.strip(), done.stderr) == (real(), "")


def test_passes_by_an_old_python3_and_a_broken_one(folder: Path) -> None:
    """A newer Python by another name is as good."""
    command(folder, "python3", "echo 3.9 >&2; exit 1")
    command(folder, "python3.13", "echo 'no such version' >&2; exit 127")
    command(folder, "python3.12", REAL)
    assert find(folder).stdout.strip() == real()


def test_is_not_misled_by_another_python(folder: Path) -> None:
    """What a shell has set for another Python does not count."""
    command(folder, "python3", REAL)
    assert find(folder, PYTHONHOME="/nowhere", PYTHONPATH="/nowhere", VIRTUAL_ENV="/nowhere").stdout.strip() == real()


def test_names_the_package_where_the_named_python_is_too_old(folder: Path) -> None:
    """One sentence, and it can be typed."""
    command(folder, "old", "echo 3.9 >&2; exit 1")
    done = find(folder, PYTHON="old")
    assert done.returncode == 1
    assert done.stderr == (
        "fumehood: Python 3.11 or newer is needed and old is 3.9; "
        "install the Debian package python3.11-venv or newer.\n"
    )


def test_names_the_package_where_pip_and_venv_are_missing(folder: Path) -> None:
    """Debian keeps both apart from python3."""
    bare = folder / "bare"
    command(folder, "bare", f'case $3 in *find_spec*) exit 1 ;; *base_exec*) echo "{bare}" ;; *) echo 3.12 ;; esac')
    done = find(folder, PYTHON=os.fspath(bare))
    assert done.returncode == 1
    assert done.stderr.endswith("install the Debian package python3.12-venv.\n")


def test_says_so_where_the_named_python_is_none(folder: Path) -> None:
    """A typing error is not answered with another Python."""
    done = find(folder, PYTHON="/nowhere/python")
    assert (done.returncode, done.stderr) == (1, "fumehood: PYTHON=/nowhere/python is not a Python that runs.\n")


@pytest.mark.parametrize(
    "head",
    [
        "#!/var/lib/x/bin/python3\n",
        "#!/var/lib/x/bin/python3.12\n",
        "#!/bin/sh\n'''exec' \"/home/a b/bin/python3\" \"$0\" \"$@\"\n' '''\n",
    ],
)
def test_scripts_name_the_interpreter_as_guests_see_it(head: str) -> None:
    """Pip writes the path of the place where a runtime is built, in two shapes."""
    script = runtime._with_guest_path(f"{head}import sys\n".encode())
    assert script == b"#!/opt/python/bin/python3\nimport sys\n"


@pytest.mark.parametrize("script", [b"#!/bin/sh\necho python\n", b"\x7fELF", b"", b"import sys\n"])
def test_other_scripts_stay_as_they_are(script: bytes) -> None:
    """Only what pip wrote is changed."""
    assert runtime._with_guest_path(script) == script


def test_opens_a_tree_made_under_a_closed_umask(tmp_path: Path) -> None:
    """A guest's uid must read all of it, and links are left alone."""
    (tmp_path / "tree/inner").mkdir(parents=True)
    (tmp_path / "tree/inner/module.py").touch(mode=0o600)
    (tmp_path / "tree/program").touch(mode=0o700)
    (tmp_path / "tree/dangling").symlink_to("/nowhere")
    (tmp_path / "tree/inner").chmod(0o700)
    places.open_to_all(tmp_path / "tree")
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "tree").rglob("*") if not path.is_symlink()
    }
    assert modes == {"inner": 0o755, "module.py": 0o644, "program": 0o755}


def test_set_up_builds_where_the_engine_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two cannot share code, for one runs before anything is installed."""
    monkeypatch.delenv("FUMEHOOD_RUNTIMES", raising=False)
    assert places.runtimes() == runtimes_directories(None)[0]


class TestTheBuiltRuntime:
    """What `make test` built before it came here."""

    @pytest.fixture
    def prefix(self) -> Path:
        """Give its folder on this machine."""
        facts = json.loads((places.runtimes() / "python.json").read_text(encoding="utf-8"))
        return Path(facts["prefix"])

    def test_is_readable_by_everyone(self, prefix: Path) -> None:
        """As root the guest runs under a uid of its own."""
        closed = [
            path
            for path in (prefix, *prefix.rglob("*"))
            if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) not in {0o644, 0o755}
        ]
        assert closed == []

    def test_names_no_path_of_the_place_it_was_built_in(self, prefix: Path) -> None:
        """Scripts, byte code and the font cache speak of /opt/python or of nothing."""
        grep = shutil.which("grep")
        assert grep
        found = subprocess.run([grep, "-rlF", f"/.{prefix.name}-", prefix], capture_output=True, text=True, check=False)
        assert found.stdout == ""

    def test_holds_what_is_promised(self, prefix: Path) -> None:
        """The data stack and pip, by their versions in the lock."""
        facts = json.loads((prefix / runtime.FACTS).read_text(encoding="utf-8"))
        assert {"numpy", "pandas", "matplotlib", "pip"} <= facts["packages"].keys()
        lock = (FIND.parents[2] / "requirements/guest.txt").read_text(encoding="utf-8")
        assert [name for name, version in facts["packages"].items() if f"{name}=={version} " not in lock] == []
