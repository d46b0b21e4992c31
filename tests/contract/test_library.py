"""What a snippet may use: the standard library, the system's programs and the data stack, each as outside."""

from __future__ import annotations

import re

import pytest
from cases import Case, bash, python, signaled
from faces import Runner

from sandbox import InputFile, Job, Limits, Status

LIBRARY = (
    *(
        python(
            f"multiprocessing-{method}",
            "import multiprocessing as m\n"
            "def f(x): return x * x\n"
            "if __name__ == '__main__':\n"
            f"    m.set_start_method('{method}')\n"
            "    with m.Pool(2) as pool: print(pool.map(f, range(4)))",
            stdout="[0, 1, 4, 9]\n",
        )
        for method in ("fork", "spawn", "forkserver")
    ),
    python(
        "process-pool",
        "from concurrent.futures import ProcessPoolExecutor\n"
        "with ProcessPoolExecutor(2) as p: print(list(p.map(abs, [-1, -2])))",
        stdout="[1, 2]\n",
    ),
    python(
        "shared-memory",
        "from multiprocessing import shared_memory as s\n"
        "a = s.SharedMemory(create=True, size=9); a.buf[0] = 7\n"
        "b = s.SharedMemory(a.name); print(b.buf[0])\na.close(); b.close(); a.unlink()",
        stdout="7\n",
        stderr=None,
    ),
    python(
        "queue-and-lock",
        "import multiprocessing as m\nq = m.Queue(); l = m.Lock()\ndef f():\n"
        "    with l: q.put(1)\np = m.Process(target=f); p.start(); print(q.get()); p.join()",
        stdout="1\n",
    ),
    python(
        "subprocess",
        "import subprocess; print(subprocess.run('echo a | tr a b; exit 3', shell=True, "
        "capture_output=True, text=True))",
        stdout="CompletedProcess(args='echo a | tr a b; exit 3', returncode=3, stdout='b\\n', stderr='')\n",
    ),
    python(
        "asyncio",
        "import asyncio\nasync def f():\n"
        "    p = await asyncio.create_subprocess_exec('echo', 'x', stdout=-1)\n"
        "    return (await asyncio.gather(asyncio.sleep(0, 1), p.communicate()))\n"
        "print(asyncio.run(f()))",
        stdout="[1, (b'x\\n', None)]\n",
    ),
    python(
        "asyncio-sockets",
        "import asyncio\nasync def f():\n"
        "    s = await asyncio.start_server(lambda r, w: w.write(b'hi') or w.close(), '127.0.0.1', 0)\n"
        "    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())\n"
        "    return await r.read()\nprint(asyncio.run(f()))",
        stdout="b'hi'\n",
    ),
    python(
        "asyncio-interrupt",
        "import asyncio, os, signal\nasync def f():\n"
        "    os.kill(os.getpid(), signal.SIGINT); await asyncio.sleep(9)\nasyncio.run(f())",
        stderr=re.compile("KeyboardInterrupt"),
        **signaled("SIGINT"),
    ),
    python(
        "sqlite",
        "import sqlite3\n"
        "c = sqlite3.connect('d.db'); c.execute('create table t(x)'); c.execute('insert into t "
        "values(42)'); c.commit(); print(*c.execute('select x from t'))",
        stdout="(42,)\n",
    ),
    python("tls", "import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 50)", stdout="True\n"),
    python(
        "zones",
        "from zoneinfo import ZoneInfo, available_timezones as a; from datetime import datetime as d\n"
        "print(d(2026, 7, 1, tzinfo=ZoneInfo('Europe/Berlin')).utcoffset(), len(a()) > 400)",
        stdout="2:00:00 True\n",
    ),
    python(
        "signals",
        "import signal\n"
        "print([s.name for s in signal.valid_signals() if s in (2, 13, 25, 15, 1, 17) and "
        "signal.getsignal(s) is not signal.SIG_DFL])",
        stdout="['SIGINT', 'SIGPIPE', 'SIGXFSZ']\n",
        stderr="",
    ),
    python(
        "tempfile",
        "import tempfile; f = tempfile.NamedTemporaryFile(); print(f.name.startswith('/tmp/'))",
        stdout="True\n",
    ),
    python("ctypes", "import ctypes; print(ctypes.CDLL(None).getpid() > 1)", stdout="True\n"),
    python(
        "random-differs", "import os, random; print(len(os.urandom(8)), 0 <= random.random() < 1)", stdout="8 True\n"
    ),
    python(
        "pip",
        "import subprocess, sys; print(subprocess.run([sys.executable, '-m', 'pip', '--version'], "
        "capture_output=True, text=True).stdout[:4])",
        stdout="pip \n",
    ),
    bash("awk", "echo 'a b' | awk '{print $2}'", stdout="b\n"),
    bash(
        "tools",
        "printf 'b\\na\\n' | sort | sed s/a/x/ | grep x; python3 -c 'print(1)'; pip --version | cut -c1-3",
        stdout="x\n1\npip\n",
    ),
    bash(
        "programs-in-writable-places",
        "for d in /tmp /workspace /dev/shm /mnt/data; do printf '#!/bin/sh\\necho $0\\n' > $d/p; chmod "
        "+x $d/p; $d/p; done",
        stdout="/tmp/p\n/workspace/p\n/dev/shm/p\n/mnt/data/p\n",
    ),
    bash("here-documents", "cat <<< x; cat < <(echo y); cat <<E\nz\nE", stdout="x\ny\nz\n"),
    bash("broken-pipe", "yes | head -1; echo ${PIPESTATUS[0]}", stdout="y\n141\n"),
    bash(
        "default-signals",
        "cat /proc/self/status | grep -E '^Sig(Blk|Ign|Cgt)'",
        stdout="SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n",
    ),
)


@pytest.mark.parametrize("case", LIBRARY, ids=str)
def test_what_programs_need_is_there(runner: Runner, case: Case) -> None:
    """Processes, sockets, data bases, certificates, time zones and the usual commands."""
    case.check(runner.run(case.job))


DATA = """
import io, matplotlib, numpy as np, pandas as pd
import matplotlib.pyplot as plt
print(matplotlib.get_backend().lower(), np.linalg.inv(np.eye(2)).tolist())
print(pd.read_csv(io.StringIO('a,b\\n1,2\\n3,4')).sum().to_dict())
plt.plot([1, 2, 3]); plt.title('é'); plt.savefig('out/plot.png')
"""


def test_the_data_stack_works(runner: Runner) -> None:
    """Numbers, frames and a picture, which comes back as the file it is."""
    files = (InputFile("out/keep", b""),)
    result = runner.run(Job(code=DATA, files=files, collect=("*.png", "out/*.png"), limits=Limits(wall_seconds=60)))
    assert (result.status, result.stderr) == (Status.OK, "")
    assert result.stdout == "agg [[1.0, 0.0], [0.0, 1.0]]\n{'a': 4, 'b': 6}\n"
    (plot,) = result.files
    assert plot.path == "out/plot.png"
    assert plot.content.startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize(("cpus", "threads"), [(0.5, "1"), (1.0, "1"), (1.5, "2")])
def test_numeric_libraries_use_as_many_threads_as_there_are_cpus(runner: Runner, cpus: float, threads: str) -> None:
    """The share asked for, rounded up; a library that took the host's count would fight itself."""
    if runner.box.host_cpus < 2:
        threads = "1"
    code = "import os; print(*(os.environ[f'{n}_NUM_THREADS'] for n in ('OMP', 'OPENBLAS', 'MKL')))"
    ceiling = min(cpus, runner.box.host_cpus)
    assert runner.run(Job(code=code, limits=Limits(cpus=ceiling))).stdout.split() == [threads] * 3
