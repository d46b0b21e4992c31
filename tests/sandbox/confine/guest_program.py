"""What an honest guest does: threads, children of every kind, a database, an event loop, files and sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def _square(number: int) -> int:
    return number * number


def _pool(method: str) -> object:
    with multiprocessing.get_context(method).Pool(1) as pool:
        return pool.map(_square, [3])


def _threads() -> object:
    barrier = threading.Barrier(4)

    def meet(_: int) -> int:
        barrier.wait()
        return threading.get_native_id()

    with ThreadPoolExecutor(4) as pool:
        return len(set(pool.map(meet, range(4))))


def _sqlite(folder: str) -> object:
    with contextlib.closing(sqlite3.connect(f"{folder}/d.db")) as database:
        database.execute("pragma journal_mode=wal")
        database.execute("create table t (x)")
        database.execute("insert into t values (7)")
        return database.execute("select x from t").fetchone()[0]


async def _loop() -> object:
    child = await asyncio.create_subprocess_exec("/bin/echo", "hi", stdout=asyncio.subprocess.PIPE)
    text, _ = await child.communicate()
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    rest = await reader.read()
    writer.close()
    server.close()
    return [text.decode().strip(), len(rest)]


def _sockets() -> object:
    left, right = socket.socketpair()
    with left, right, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM), socket.socket(socket.AF_UNIX):
        left.sendall(b"x")
        return right.recv(1).decode()


def _files(folder: str) -> object:
    Path(folder, "a").write_text("1")
    shutil.copy2(f"{folder}/a", f"{folder}/b")
    os.mkfifo(f"{folder}/pipe")
    with os.fdopen(os.memfd_create("m"), "wb") as memory, Path(folder, "b").open("rb") as source:
        os.sendfile(memory.fileno(), source.fileno(), 0, 1)
    return sorted(path.name for path in Path(folder).iterdir())


def _output(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, check=True, text=True).stdout


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        done = {
            "threads": _threads(),
            "subprocess": _output(sys.executable, "-c", "print(5)"),
            "shell": _output("/bin/bash", "-c", "echo a | cat | tr a b; (exit 3) || ulimit -n 64; sleep 0 & wait"),
            "pools": [_pool(method) for method in ("fork", "spawn", "forkserver")],
            "sqlite3": _sqlite(one),
            "asyncio": asyncio.run(_loop()),
            "sockets": _sockets(),
            "files": _files(two),
        }
    print(json.dumps(done))  # noqa: T201
