"""A canary in the service's environment and in its files, and in no run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from faces import Runner

from sandbox import Config, Job, Limits

# In two halves wherever it must be written down, so that nobody finds it in the searching program itself.
HALVES = ("FUMEHOOD-CANARY", "9b1d4e77")
CANARY = "-".join(HALVES)
SEARCH = """
import json, os, sys
needle = '-'.join(json.load(sys.stdin))
found, seen = [], 0
def look(path, most=1 << 20):
    global seen
    try:
        with open(path, 'rb') as file:
            seen += 1
            if needle.encode() in file.read(most):
                found.append(path)
    except (OSError, ValueError):
        pass
if needle in ' '.join(map(' '.join, os.environ.items())):
    found.append('os.environ')
for pid in (n for n in os.listdir('/proc') if n.isdigit()):
    for name in ('environ', 'cmdline', 'comm', 'mountinfo', 'maps', 'stack', 'cgroup'):
        look(f'/proc/{pid}/{name}')
    for link in ('cwd', 'root', 'exe'):
        try:
            target = os.readlink(f'/proc/{pid}/{link}')
            names = os.listdir(f'/proc/{pid}/{link}') if link != 'exe' else []
        except OSError:
            continue
        if needle in target or any(needle in name for name in names):
            found.append(f'/proc/{pid}/{link}')
for name in ('mounts', 'cmdline', 'version', 'net/unix', 'keys'):
    look(f'/proc/{name}')
for top in json.loads(sys.argv[1]):
    for folder, below, files in os.walk(top):
        if folder in ('/', '/proc', '/sys'):
            below[:] = [n for n in below if n not in ('proc', 'sys')]
        for name in (*below, *files):
            if needle in name:
                found.append(f'{folder}/{name}')
        if not folder.startswith(('/usr/', '/opt/python')):
            for name in files:
                if os.path.isfile(f'{folder}/{name}'):  # a pipe would have us wait for its writer
                    look(f'{folder}/{name}')
        seen += len(files)
print(json.dumps([found, seen]))
"""


@pytest.fixture
def canaries(config: Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """Lay the canary wherever a service keeps what is its own: environment, working folder, homes, state, /tmp."""
    assert config.state_dir is not None
    with ExitStack() as scope:
        folders = [config.state_dir, Path.home(), Path("/var/lib"), Path("/var/tmp"), Path("/tmp"), Path("/home")]
        laid = []
        for parent in folders:
            if os.access(parent, os.W_OK):
                folder = Path(scope.enter_context(tempfile.TemporaryDirectory(prefix=f"{CANARY}.", dir=parent)))
                folder.chmod(0o755)
                (folder / "secret").write_text(CANARY)
                (folder / "secret").chmod(0o644)
                laid.append(folder)
        monkeypatch.chdir(laid[0])
        monkeypatch.setenv("FUMEHOOD_SECRET", CANARY)
        yield laid


def test_no_run_can_find_the_services_secrets(runner: Runner, canaries: list[Path]) -> None:
    """The search has a control: unconfined, the same program finds every one of them."""
    given = json.dumps(HALVES)
    control = subprocess.run(
        [sys.executable, "-c", SEARCH, json.dumps([str(folder) for folder in canaries])],
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    found, _ = json.loads(control.stdout)
    assert {str(folder / "secret") for folder in canaries} | {"os.environ"} <= set(found)
    assert any(path.endswith("/environ") for path in found)
    job = Job(code=SEARCH, args=(json.dumps(["/"]),), stdin=given.encode(), limits=Limits(wall_seconds=60))
    result = runner.run(job)
    found, seen = json.loads(result.stdout)
    assert found == []
    assert seen > 1000
