"""What waits in TCP connections that nobody has accepted: kernel memory that no control group is charged for.

The kernel charges a connection to a group when it is accepted (inet_csk_accept, net/ipv4/inet_connection_sock.c of
Linux 6.18), so who connects to himself and never accepts can hold as much as the whole machine allows to TCP. A process
sees the connections of its network namespace in ``/proc/<pid>/net`` (proc_pid_net(5)), and so do we.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

HELD_BYTES = 64 << 10
"""What one such connection may hold: the receive buffer that the guest's root sets, ``tcp_rmem`` in ``guest/root.py``.

Small packets fill it with a few bytes of content, so what it does hold cannot be told from the queue's length.
"""
_STATE, _QUEUES, _INODE = 3, 4, 9  # columns of /proc/net/tcp
_LISTENING = "0A"
_NOBODY = "0"


def unaccepted_bytes(pid: int, most_bytes: int) -> int:
    """Give what may wait in a process's network namespace, counted until it exceeds ``most_bytes``; 0 if it cannot.

    Going through the tables costs milliseconds, so it is done only where there are enough sockets to matter, and only
    until it is known. Never raises: of a process that is gone nothing waits.
    """
    net = Path(f"/proc/{pid}/net")
    enough = most_bytes // HELD_BYTES + 1
    with contextlib.suppress(OSError, ValueError, IndexError):
        if _sockets(net) >= enough:
            return sum(1 for _ in itertools.islice(_waiting(net), enough)) * HELD_BYTES
    return 0


def _sockets(net: Path) -> int:
    """Count the namespace's TCP sockets."""
    lines = [line for name in ("sockstat", "sockstat6") for line in (net / name).read_text().splitlines()]
    return sum(int(line.split()[2]) for line in lines if line.startswith("TCP"))


def _waiting(net: Path) -> Iterator[str]:
    """Give the lines of connections that no process holds and in which something has arrived."""
    for name in ("tcp", "tcp6"):
        with (net / name).open() as lines:
            next(lines)
            for line in lines:
                words = line.split()
                arrived = not words[_QUEUES].endswith(":00000000")
                if words[_INODE] == _NOBODY and words[_STATE] != _LISTENING and arrived:
                    yield line
