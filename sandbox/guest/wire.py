"""The conversation between the host and what of ours runs inside: the only file both sides of the wall import.

The host talks to each run's init over one stream socket of its own, and over a second to the process that becomes the
guest. Init forks that one before any job is known, and talks to it over a socket pair. Every message is a frame: a
four-byte little-endian length, then one value in the encoding below. In order::

    host -> init    stage    what holds for every run: the fixed part of the root, the filters, the documented
                             environment. Descriptors with it, all for the other process: its end of its socket to the
                             host; stdin, stdout, stderr and gate; the doors of the meter, if it has any, which a
                             process enters by writing to them. A fork server has the stage already, and forks init
                             with the descriptors
    init                     forks the other process; makes the root and enters it
    become -> init  set      it is confined; now it rehearses, and takes its descriptors
    init -> become  rooted   it may look at the file system, and take orders
    init -> host    waiting  descriptors with it: a pidfd of that process, and one of init
    host                     puts that process under a meter without doors
                             -- a warm child waits here; a cold one has job and orders already --
    host -> init    job      init finishes the root, makes it read-only, and gives up its own power
    host -> become  orders   its limits, its environment, what it becomes
    host                     when the meter holds, writes one byte to the gate
    init -> become  go       with that and the gate's byte, the guest runs
    become -> init  begun    from here on its end is the guest's; read when it has ended
    init -> host    ready    it went; when, by CLOCK_MONOTONIC
    init -> host    over     the guest's main process has ended: its raw wait status and resource usage
                             (init now kills and reaps every other process, then walks the workspace; where the
                             job collects nothing, it only kills them, and over and done come at once)
    init -> host    file     one per collected file
    init -> host    done     what was skipped, whether the disk was full; init ends, and with it the pid namespace

or, at any point before ``over``, from init, which hears of the other's failures too::

    init -> host    failed   the step that failed and its errno; init ends

A cold run's init is started for it by bwrap. A warm one is made by a fork server, to which the host speaks over a
socket of its own::

    host -> server  serve    the stage, the names of modules to import, and links [[path, text]] to lay before that
    server -> host  serving  ``imports``, the names that could be imported, ``modules``, the top names of all that is
                             imported by then, and its own ``namespaces``
    host -> server  child    descriptors with it: the other end of a new init's socket, then those of the stage;
                             repeated, never answered

The keys of each message are in :data:`STAGE_KEYS`, :data:`JOB_KEYS`, :data:`ORDER_KEYS`, and of each answer:

========  ==========================================================================================
waiting   ``namespaces`` {name: inode text}, ``seccomp`` filter mode, ``no_new_privs``, ``capabilities``
          (all sets or-ed), as the kernel tells them of the process that becomes the guest, the namespaces
          of init, who shares them
ready     a float: seconds
over      ``status`` raw wait status, ``cpu_seconds`` and ``max_rss_bytes`` of the guest's main process
file      ``path``, ``content``
done      ``skipped`` [[path, reason]], ``disk_full``
failed    ``step``, ``errno``, ``detail``
========  ==========================================================================================

Values: None, bool, int, float, str (surrogate escapes allowed), bytes, list, dict with str keys. What goes down, from
the host to init and from there on, is packed by ``marshal`` in its second version, the same for every Python: who reads
it trusts the writer with everything. What comes up may have been forged by a guest, so it has an encoding of our own,
read with bounds: a frame is refused when it is longer than the reader's bound, nests deeper than :data:`MAX_DEPTH`, or
is not exactly one value. (``json`` would do for both; its import costs init 5 ms.)
"""

from __future__ import annotations

import _socket
import marshal
import os
import sys

TYPE_CHECKING = False  # typing costs init several milliseconds; mypy knows this name
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

CONTROL_FD = 0  # of whom bwrap started: standard input needs no agreement on a number
MAX_DEPTH = 8
HEADER_BYTES = 4
_MARSHAL_VERSION = 2
_CHUNK_BYTES = 1 << 18
_MOST_DESCRIPTORS = 16
_LONGEST_NUMBER = 64  # digits; bounds the work of int()

STAGE_KEYS = frozenset(
    {
        "binds",  # [[source in the current root, target]]
        "links",  # [[text, path]]
        "writable",  # [[mode, [absolute paths of one folder]]], the standing places
        "quota",  # [bytes, inodes] of all writable places, for a job that asks for no other
        "laid_links",  # [[path, text]] in them
        "filters",  # [BPF bytes], loaded in this order
        "init_filter",  # init's own: what finishes the root, reaps and collects
        "env",  # the documented variables
    }
)
ORDER_KEYS = frozenset(
    {
        "source_name",  # file name under /run/job
        "command",  # program and leading arguments; None: run inside this interpreter
        "args",
        "env",
        "rlimits",  # [[resource, value]], soft and hard alike
    }
)
JOB_KEYS = frozenset(
    {
        "affinity",  # [cpu numbers], or None where a cgroup throttles
        "writable",  # [[mode, [absolute paths of one folder]]], the job's own places
        "disk_bytes",  # over all writable places
        "inodes",
        "files",  # [[path, bytes]] laid into the workspace
        "source_name",
        "code",  # bytes of the source
        "collect",  # globs relative to the workspace
        "files_out",
        "files_out_bytes",
    }
)


class WireError(Exception):
    """The other side sent what is not a message."""


def pack(value: Any) -> bytes:
    """Give the frame of one value that goes down."""
    body = marshal.dumps(value, _MARSHAL_VERSION)
    return len(body).to_bytes(HEADER_BYTES, "little") + body


def unpack(body: bytes) -> Any:
    """Give the value of a frame that came down."""
    return marshal.loads(body)  # noqa: S302 - from whoever made this process


def encode(value: Any) -> bytes:
    """Give the frame of one value that goes up."""
    body = bytearray()
    _put(body, value)
    return len(body).to_bytes(HEADER_BYTES, "little") + bytes(body)


def _put(out: bytearray, value: Any) -> None:  # noqa: C901 - one branch a type is what a format is
    if value is None:
        out += b"n"
    elif value is True:
        out += b"t"
    elif value is False:
        out += b"f"
    elif isinstance(value, int):
        _put_sized(out, b"i", str(value).encode())
    elif isinstance(value, float):
        _put_sized(out, b"r", repr(value).encode())
    elif isinstance(value, str):
        _put_sized(out, b"s", value.encode("utf-8", "surrogateescape"))
    elif isinstance(value, (bytes, bytearray)):
        _put_sized(out, b"b", value)
    elif isinstance(value, (list, tuple)):
        out += b"l" + len(value).to_bytes(4, "little")
        for item in value:
            _put(out, item)
    elif isinstance(value, dict):
        out += b"d" + len(value).to_bytes(4, "little")
        for key, item in value.items():
            _put_sized(out, b"s", key.encode("utf-8", "surrogateescape"))
            _put(out, item)
    else:
        raise TypeError(f"no wire form for {type(value).__name__}")


def _put_sized(out: bytearray, tag: bytes, body: bytes | bytearray) -> None:
    out += tag + len(body).to_bytes(4, "little")
    out += body


def decode(body: bytes) -> Any:
    """Give the one value that ``body`` (a frame without its header) holds. Raises WireError."""
    try:
        value, end = _take(body, 0, 0)
    except WireError:
        raise
    except (IndexError, ValueError, OverflowError) as error:
        raise WireError(f"malformed value: {error}") from None
    if end != len(body):
        raise WireError("bytes after the value")
    return value


def _take(body: bytes, at: int, depth: int) -> tuple[Any, int]:  # noqa: C901, PLR0912 - likewise
    if depth > MAX_DEPTH:
        raise WireError("nested too deep")
    tag = body[at : at + 1]
    at += 1
    if tag == b"n":
        return None, at
    if tag == b"t":
        return True, at
    if tag == b"f":
        return False, at
    if tag in (b"i", b"r", b"s", b"b"):
        raw, at = _take_sized(body, at)
        if tag == b"b":
            return raw, at
        if tag == b"s":
            return raw.decode("utf-8", "surrogateescape"), at
        if len(raw) > _LONGEST_NUMBER:
            raise WireError("number too long")
        return (int(raw) if tag == b"i" else float(raw)), at
    if tag == b"l":
        count, at = _take_count(body, at)
        items = []
        for _ in range(count):
            item, at = _take(body, at, depth + 1)
            items.append(item)
        return items, at
    if tag == b"d":
        count, at = _take_count(body, at)
        pairs = {}
        for _ in range(count):
            if body[at : at + 1] != b"s":
                raise WireError("a key is not text")
            key, at = _take(body, at, depth + 1)
            pairs[key], at = _take(body, at, depth + 1)
        return pairs, at
    raise WireError(f"unknown tag {tag!r}")


def _take_count(body: bytes, at: int) -> tuple[int, int]:
    end = at + 4
    if end > len(body):
        raise WireError("cut off")
    return int.from_bytes(body[at:end], "little"), end


def _take_sized(body: bytes, at: int) -> tuple[bytes, int]:
    size, at = _take_count(body, at)
    end = at + size
    if end > len(body):
        raise WireError("cut off")
    return bytes(body[at:end]), end


class Reader:
    """Cuts a stream of bytes into values; ``max_bytes`` bounds a frame, and so what a peer can make us hold.

    ``read`` is :func:`unpack` for what comes down, and :func:`decode` unless told.
    """

    def __init__(self, max_bytes: int, read: Callable[[bytes], Any] | None = None) -> None:
        self._max_bytes = max_bytes
        self._read = read or decode
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Any]:
        """Take bytes as they come; give the values completed by them. Raises WireError."""
        self._buffer += data
        values = []
        while len(self._buffer) >= HEADER_BYTES:
            size = int.from_bytes(self._buffer[:HEADER_BYTES], "little")
            if size > self._max_bytes:
                raise WireError("frame too long")
            end = HEADER_BYTES + size
            if len(self._buffer) < end:
                break
            values.append(self._read(bytes(self._buffer[HEADER_BYTES:end])))
            del self._buffer[:end]
        return values


def send(link: _socket.socket, *values: Any, descriptors: Sequence[int] = ()) -> None:
    """Send values up at once, and with their first bytes the descriptors. Raises OSError."""
    _send(link, b"".join(map(encode, values)), descriptors)


def send_down(link: _socket.socket, value: Any, descriptors: Sequence[int] = ()) -> None:
    """Send one value down, and with its first bytes the descriptors. Raises OSError."""
    _send(link, pack(value), descriptors)


def _send(link: _socket.socket, frame: bytes, descriptors: Sequence[int]) -> None:
    """Send a frame, and with its first bytes the descriptors (SCM_RIGHTS, unix(7))."""
    data = memoryview(frame)
    ancillary = []
    if descriptors:
        payload = b"".join(each.to_bytes(4, sys.byteorder) for each in descriptors)
        ancillary.append((_socket.SOL_SOCKET, _socket.SCM_RIGHTS, payload))
    while data:
        data = data[link.sendmsg([data[:_CHUNK_BYTES]], ancillary, _socket.MSG_NOSIGNAL) :]
        ancillary = []


class Inbox:
    """What comes over one link: values in order, and descriptors, close-on-exec, as they come (SCM_RIGHTS, unix(7))."""

    def __init__(self, link: _socket.socket, max_bytes: int, read: Callable[[bytes], Any] | None = None) -> None:
        self.reader = Reader(max_bytes, read)
        self.link = link
        self._values: list[Any] = []
        self._descriptors: list[int] = []

    def receive(self) -> Any:
        """Wait for the next value; None at the end of the stream. Raises OSError and WireError."""
        while not self._values:
            space = _socket.CMSG_SPACE(4 * _MOST_DESCRIPTORS)
            data, ancillary, _, _ = self.link.recvmsg(_CHUNK_BYTES, space, _socket.MSG_CMSG_CLOEXEC)
            for level, kind, payload in ancillary:
                if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                    words = (payload[at : at + 4] for at in range(0, len(payload), 4))
                    self._descriptors += [int.from_bytes(word, sys.byteorder) for word in words]
            if not data:
                return None
            self._values = self.reader.feed(data)
        return self._values.pop(0)

    def has_word(self) -> bool:
        """Whether there is something to receive. Raises OSError."""
        try:
            return bool(self._values or self.link.recv(1, _socket.MSG_PEEK | _socket.MSG_DONTWAIT))
        except BlockingIOError:
            return False

    def came(self) -> list[Any]:
        """Give the values that have come and were not received; what comes later is the reader's to cut."""
        given, self._values = self._values, []
        return given

    def descriptors(self) -> list[int]:
        """Give those that came and were not given yet; they are the caller's now."""
        return self.take(len(self._descriptors))

    def take(self, count: int) -> list[int]:
        """Give the first so many of those that came. Raises WireError where fewer did."""
        if len(self._descriptors) < count:
            raise WireError(f"{count} descriptors were expected")
        given, self._descriptors = self._descriptors[:count], self._descriptors[count:]
        return given

    def close(self) -> None:
        """Close the descriptors that nobody took."""
        for descriptor in self.descriptors():
            os.close(descriptor)
