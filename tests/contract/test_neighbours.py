"""Runs side by side: each alone with itself, and none pays for another."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from faces import Runner, Running

from sandbox import Job, Launcher, Limits, Status

MIB = 1 << 20
# What each run leaves lying about, and then looks for: everything that the other has made would be found.
HERE = """
import ctypes, glob, json, os, socket, sys, time
mine = {name!r}
libc = ctypes.CDLL(None, use_errno=True)
before = {{
    'files': sorted(glob.glob('/tmp/*') + glob.glob('/dev/shm/*') + glob.glob('/workspace/*')),
    'processes': sorted(int(n) for n in os.listdir('/proc') if n.isdigit() and int(n) not in (1, os.getpid())),
    'sockets': [l.split()[-1] for l in open('/proc/net/unix').readlines()[1:] if '@' in l or '/' in l],
    'segments': len(open('/proc/sysvipc/shm').readlines()) - 1,
    'queues': len(open('/proc/sysvipc/msg').readlines()) - 1,
    'ports': len(open('/proc/net/tcp').readlines()) - 1,
}}
for folder in ('/tmp', '/dev/shm', '/workspace'):
    open(f'{{folder}}/{{mine}}', 'w').write(mine)
abstract = socket.socket(socket.AF_UNIX); abstract.bind('\\0' + mine); abstract.listen()
tcp = socket.create_server(('127.0.0.1', 4711))
made = [libc.shmget(0x4711, 4096, 0o1666), libc.msgget(0x4711, 0o1666)]
if os.fork() == 0:
    time.sleep(60)
print(json.dumps([before, made]), flush=True)
time.sleep({seconds})
"""


def test_two_runs_at_once_do_not_see_each_other(runner: Runner) -> None:
    """No file, process, socket, port, shared memory or message queue of one is there for the other."""
    first = Running(runner, Job(code=HERE.format(name="first", seconds=60), limits=Limits(wall_seconds=90)))
    time.sleep(1)
    second = runner.run(Job(code=HERE.format(name="second", seconds=0)))
    assert first.alive
    first.cancel.set()
    results = [first.result(), second]
    assert [each.status for each in results] == [Status.CANCELLED, Status.OK]
    for result in results:
        assert result.stderr == ""
        assert "first" not in result.stdout
        assert "second" not in result.stdout
    assert results[0].stdout == results[1].stdout  # both found an untouched world, and could make the same things in it
    assert '"processes": []' in results[0].stdout
    made = "-1, -1" if "watch" in results[0].layers else "0, 0"  # a watch would not see what such things hold
    assert results[0].stdout.endswith(f'"segments": 0, "queues": 0, "ports": 0}}, [{made}]]\n')


def test_one_run_leaves_nothing_for_the_next(runner: Runner) -> None:
    """The second in the same slot finds what the first did."""
    job = Job(code=HERE.format(name="same", seconds=0))
    first, second = runner.run(job), runner.run(job)
    assert first.status is second.status is Status.OK
    assert first.stdout == second.stdout


def test_random_numbers_are_each_runs_own(runner: Runner) -> None:
    """No generator is shared, numpy's included; the hash seed only by the runs of one fork server."""
    code = """
import os, random, secrets, tempfile, uuid, numpy
print(random.random(), os.urandom(8).hex(), uuid.uuid4(), secrets.token_hex(8), numpy.random.random(),
      numpy.random.default_rng().random(), tempfile.mktemp(), hash("abc"))
"""
    answers = [runner.run(Job(code=code)).stdout.split() for _ in range(4)]
    *generators, hashes = ([*column] for column in zip(*answers, strict=True))
    assert [len(set(column)) for column in generators] == [4] * 7
    assert len(set(hashes)) == 4 or runner.launcher is Launcher.WARM


def test_a_memory_hog_hurts_no_neighbour(runner: Runner) -> None:
    """Its limit ends it alone; who lives beside it keeps what it has and gets what it asks for."""
    hog = Job(code="x = []\nwhile True: x.append(b'x' * (1 << 20))", limits=Limits(memory_bytes=64 * MIB))
    modest = Job(
        code=(
            "import time\nx = []\nfor _ in range(8):\n    x.append(b'y' * (10 << 20)); time.sleep(0.15)\nprint(len(x))"
        ),
        limits=Limits(memory_bytes=160 * MIB),
    )
    neighbour = Running(runner, modest)
    hogs = []
    while neighbour.alive:
        hogs.append(runner.run(hog).status)
    assert set(hogs) == {Status.MEMORY_LIMIT}
    result = neighbour.result()
    assert (result.status, result.stdout, result.limits_hit) == (Status.OK, "8\n", ())


def test_a_fork_bomb_hurts_no_neighbour(runner: Runner) -> None:
    """The count of one run's processes is not the other's."""
    bomb = Job(
        code="import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        limits=Limits(processes=16, wall_seconds=1.5),
    )
    bombing = Running(runner, bomb)
    time.sleep(0.5)
    code = "import os, time\nfor _ in range(12):\n    if os.fork() == 0: time.sleep(9)\nprint('fine')"
    result = runner.run(Job(code=code, limits=Limits(processes=16, wall_seconds=20)))
    assert (result.status, result.stdout) == (Status.OK, "fine\n")
    end = bombing.result()
    assert end.status is Status.TIMEOUT or "processes" in end.limits_hit
    assert end.usage.peak_processes <= 17


def test_many_at_once_are_each_answered_rightly(runner: Runner) -> None:
    """Sixteen callers, each with an answer of his own."""

    def ask(number: int) -> str:
        result = runner.run(Job(code=f"print({number}); raise SystemExit({number})", limits=Limits(wall_seconds=60)))
        assert result.exit_code == number
        return result.stdout

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, range(32))) == [f"{number}\n" for number in range(32)]
