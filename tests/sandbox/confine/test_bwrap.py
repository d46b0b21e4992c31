"""The command line of bwrap: the same for every run, and of our own making."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sandbox import Config, InputFile, Job, Launcher, Sandbox, host
from sandbox.confine import bwrap
from sandbox.model import Bind
from sandbox.starter import Started, Starter

ROOT = Path(__file__).resolve().parents[3]
HOSTILE = "/hostile-9c41"


@pytest.fixture
def state() -> Iterator[Path]:
    """Give a folder that guests can reach."""
    folder = Path(tempfile.mkdtemp(prefix="fumehood-bwrap-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_every_namespace_is_asked_for_and_nothing_is_shared() -> None:
    """Each by its name, none as a mere try; bwrap ends with the service and has a session of its own."""
    words = bwrap.argv(
        "/usr/bin/bwrap", [Bind(source="/a", target="/b")], [("usr/bin", "/bin")], "/run/new", ["/init", "x"]
    )
    assert words[0] == "/usr/bin/bwrap"
    assert {word for word in words if word.startswith("--unshare")} == {
        f"--unshare-{name}" for name in ("user", "pid", "net", "ipc", "uts", "cgroup")
    }
    assert not [word for word in words if "share-net" in word and word != "--unshare-net"]
    assert {"--die-with-parent", "--new-session", "--as-pid-1"} <= set(words)
    assert not {"--bind", "--bind-try", "--ro-bind-try", "--dev"} & set(words)
    assert words[words.index("--ro-bind") :][:3] == ("--ro-bind", "/a", "/b")
    assert words[-3:] == ("--", "/init", "x")


def test_no_path_of_a_caller_or_a_guest_is_a_mount_point_of_bwraps(
    runtimes_dir: Path | None, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links that are followed during set-up are how a run got out: bwrap is told the same words for every job."""
    started: list[tuple[str, ...]] = []
    real = Starter.start

    def start(self: Starter, scope: contextlib.ExitStack, argv: Sequence[str], uid: int | None) -> Started:
        started.append(tuple(argv))
        return real(self, scope, argv, uid)

    monkeypatch.setattr(Starter, "start", start)
    config = Config(
        state_dir=state,
        runtimes_dir=runtimes_dir,
        may_lack=frozenset({"cgroup"}),
        uid_base=2_060_000_000 + os.getpid() % 4096 * 64,
        slots=8,
    )
    links = f"import os\nos.symlink('/', 'root'); os.symlink('/etc', '/tmp/etc'); os.symlink('{HOSTILE}', 'x')"
    with Sandbox(config) as box:
        started.clear()
        jobs = (
            Job(code=""),
            Job(code=links, collect=("root/**", "**"), writable_paths=("/tmp", HOSTILE, f"{HOSTILE}x/y")),
            Job(
                code=f"cd {HOSTILE}",
                language="bash",
                files=(InputFile(HOSTILE[1:], b""), InputFile(f"d{HOSTILE}/x", b"")),
                args=(HOSTILE,),
                env={"HOME": HOSTILE},
                writable_paths=(HOSTILE,),
            ),
        )
        for job in jobs:
            assert box.run(replace(job, launcher=Launcher.COLD)).stderr == ""
    started = [argv for argv in started if argv[-len(box.host.init) :] == box.host.init]
    assert len(started) == len(jobs)
    assert len(set(started)) == 1
    assert HOSTILE[1:] not in " ".join(started[0])


UNPRIVILEGED = """
import os, sys
from pathlib import Path
from sandbox import Config, Job, Sandbox
state, runtimes = sys.argv[1:]
config = Config(
    state_dir=Path(state), runtimes_dir=Path(runtimes) if runtimes else None, may_lack=frozenset({"cgroup"}))
with Sandbox(config) as box:
    result = box.run(Job(code="import os; print(os.getuid())"))
    assert (result.status, result.stdout, result.stderr) == ("ok", "1000\\n", ""), result
    assert "uid" not in result.layers and "uid" not in box.layers, result.layers
    assert {"user", "pid", "mount", "net", "ipc", "uts", "seccomp", "no_new_privs"} <= set(result.layers)
    assert box.run(Job(code="exit 3", language="bash")).exit_code == 3
print("ran as", os.geteuid())
"""


def test_an_ordinary_user_can_run_it(runtimes_dir: Path | None, state: Path, need: Callable[[bool, str], None]) -> None:
    """Without any privilege and without a cgroup, if that was accepted; there is then no uid of the run's own."""
    need(os.geteuid() == 0, "root, to become an ordinary user")
    # The clone, and what this test runs on, may lie in folders that only root may enter; a guest's may not.
    interpreter = host.host_interpreter(Config(runtimes_dir=runtimes_dir))
    shutil.copytree(Path(psutil.__file__).parent, state / "code/psutil")
    shutil.copytree(ROOT / "sandbox", state / "code/sandbox", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "seccomp", state / "code/sandbox/seccomp_profiles")
    own = state / "own"
    own.mkdir()
    os.chown(own, 65534, 65534)
    for folder, _, _ in os.walk(state / "code"):
        Path(folder).chmod(0o755)
    done = subprocess.run(
        [
            *("/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"),
            *(interpreter, "-c", UNPRIVILEGED, str(own), str(runtimes_dir or "")),
        ],
        cwd=state / "code",
        env={"PYTHONPATH": f"{state / 'code'}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("ran as 65534\n", 0), done.stderr
