"""Child -> Exit: watch, drain, and decide to kill. Nothing a guest does raises here.

One thread, one selector, no ticking: it wakes for a descriptor or for the nearest of the computed times, which are the
wall deadline, the first moment at which the CPU limit could be spent, a watch's next look, or where there is none the
next look at connections, and a kill's grace.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import hashlib
import os
import selectors
import signal
import termios
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from sandbox.confine import connections
from sandbox.errors import SetupError
from sandbox.guest import wire
from sandbox.model import Cause, Exit, OnOutputLimit, OutputFile, OutputKeep, SkippedFile, SkipReason, Stream
from sandbox.waiting import pid_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import FileIO

    from sandbox.model import Child, Plan

_READ_BYTES = 1 << 18
_WRITE_BYTES = 1 << 16
_KILL_GRACE_SECONDS = 5.0
_ACCOUNT_SECONDS = 20.0
_SHORTEST_LOOK_SECONDS = 0.002
_CONNECTIONS_SECONDS = 0.25
_SMALL_BYTES = 4096
_SMALL_READS = 64
_BREATH_SECONDS = 0.001
_HIGHEST_STATUS = 0xFFFF
_LARGEST = (1 << 63) - 1


class Cancel:
    """A wish to end a run, from any thread, before or during it. Said once, it stays said.

    It holds a descriptor only while a run listens: many may wait for their turn, or never have one.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may say it while its own thread holds this
        self._said = False
        self._events: set[int] = set()

    def set(self) -> None:
        """End the run that this was given to."""
        with self._lock:
            self._said = True
            for event in self._events:
                os.eventfd_write(event, 1)

    def is_set(self) -> bool:
        """Whether :meth:`set` was called."""
        return self._said

    @contextlib.contextmanager
    def listening(self) -> Iterator[int]:
        """Give a descriptor that becomes readable when the wish is there, until the block ends. Raises OSError."""
        event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            with self._lock:
                self._events.add(event)
                if self._said:
                    os.eventfd_write(event, 1)
            yield event
        finally:
            with self._lock:
                self._events.discard(event)
            os.close(event)


class _Kept:
    """Keeps what may be kept of a stream in constant memory, and counts the rest."""

    def __init__(self, limit_bytes: int, keep: OutputKeep) -> None:
        self._head_bytes = limit_bytes if keep is OutputKeep.HEAD else limit_bytes - limit_bytes // 2
        self._tail_bytes = limit_bytes - self._head_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes = 0

    def take(self, data: bytes) -> None:
        self.total_bytes += len(data)
        room = self._head_bytes - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if self._tail_bytes and data:
            self._tail += data[-self._tail_bytes :]
            if len(self._tail) > 2 * self._tail_bytes:  # cut seldom: each cut moves the whole tail
                del self._tail[: -self._tail_bytes]

    def stream(self) -> Stream:
        tail = bytes(self._tail[-self._tail_bytes :]) if self._tail_bytes else b""
        return Stream(head=bytes(self._head), tail=tail, total_bytes=self.total_bytes)


def _within(number: float, most: int) -> float:
    """Give the number if it is one from 0 to ``most``. Raises ValueError and TypeError."""
    if not 0 <= number <= most:  # NaN is not
        raise ValueError("a number that cannot be")
    return number


def supervise(child: Child, plan: Plan, cancel: Cancel | None = None) -> Exit:
    """Run the guest to its end. Raises SetupError only for what is ours: init gone, or speaking nonsense."""
    with _Watchman(child, plan, cancel) as watchman:
        return watchman.watch()


class _Watchman:
    """The state of one supervision: what is due when, what was kept, what was said."""

    def __init__(self, child: Child, plan: Plan, cancel: Cancel | None) -> None:
        self._child = child
        self._plan = plan
        self._cancel = cancel
        self._scope = contextlib.ExitStack()
        self._selector = self._scope.enter_context(selectors.PollSelector())
        self._stdin = memoryview(plan.stdin)
        limit, keep = plan.limits.output_bytes, plan.output_keep
        self._kept = {child.stdout: _Kept(limit, keep), child.stderr: _Kept(limit, keep)}
        self._small_reads = 0
        self._cause: Cause | None = None
        self._due: dict[str, float] = {}
        self._over: dict[str, Any] | None = None
        self._wall_seconds = 0.0
        self._files: list[OutputFile] = []
        self._file_bytes = 0
        self._done: dict[str, Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._scope.close()

    def watch(self) -> Exit:
        child, plan = self._child, self._plan
        self._selector.register(child.control, selectors.EVENT_READ, self._on_message)
        for stream in self._kept:
            self._selector.register(stream, selectors.EVENT_READ, self._on_output)
        if self._stdin:
            self._selector.register(child.stdin, selectors.EVENT_WRITE, self._on_stdin)
        else:
            child.stdin.close()
        if self._cancel is not None:
            event = self._scope.enter_context(self._cancel.listening())
            self._selector.register(event, selectors.EVENT_READ, self._on_cancel)
        self._started = child.started
        self._due["wall"] = self._started + plan.limits.wall_seconds
        self._due["cpu"] = self._started + plan.limits.cpu_seconds / plan.cpu_rate
        if child.meter.poll_seconds is not None:
            self._due["meter"] = self._started + child.meter.poll_seconds
        else:
            self._due["connections"] = self._started + _CONNECTIONS_SECONDS
        self._hear(child.said)
        while self._done is None:
            self._wait()
            if not self._look_at_clock():
                break
        return self._exit()

    def _wait(self) -> None:
        """Wait for a descriptor or for what is due next, and answer those that have something."""
        now = time.monotonic()
        timeout = max(0.0, min(self._due.values()) - now)
        events = self._selector.select(timeout)
        if time.monotonic() - now > _BREATH_SECONDS:  # there was time to breathe
            self._small_reads = 0
        for key, _ in events:
            if key.fd in self._selector.get_map():  # one event's answer may have closed what the next is about
                key.data(key.fileobj)
        if self._small_reads >= _SMALL_READS:
            # Who writes byte by byte is read a thousand times a second: more would cost us what it costs him.
            time.sleep(_BREATH_SECONDS)

    # --- descriptors ---

    def _on_output(self, stream: FileIO) -> None:
        data = self._read(stream, _READ_BYTES)
        self._small_reads = self._small_reads + 1 if len(data or b"") < _SMALL_BYTES else 0
        if data == b"":
            self._forget(stream)

    def _read(self, stream: FileIO, most: int) -> bytes | None:
        data: bytes | None = stream.read(most)
        if data:
            kept = self._kept[stream]
            kept.take(data)
            over = kept.total_bytes > self._plan.limits.output_bytes
            flood = sum(each.total_bytes for each in self._kept.values()) > self._plan.flood_bytes
            if flood or (over and self._plan.on_output_limit is OnOutputLimit.KILL):
                self._end(Cause.OUTPUT)
        return data

    def _on_stdin(self, stream: FileIO) -> None:
        try:
            written = stream.write(self._stdin[:_WRITE_BYTES])
        except BrokenPipeError:  # the guest closed it, which is its right
            self._forget(stream)
            return
        self._stdin = self._stdin[written or 0 :]
        if not self._stdin:
            self._forget(stream)

    def _on_cancel(self, event: int) -> None:
        self._selector.unregister(event)
        self._end(Cause.CANCELLED)

    def _on_message(self, _: object) -> None:
        try:
            data = self._child.control.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            raise SetupError("init", error.errno or 0, "its connection broke") from error
        if not data:
            if self._cause is None or self._over is not None:
                raise SetupError("init", 0, "it ended without an account of the run")
            self._done = {"skipped": [], "disk_full": False}
            return
        try:
            self._hear(self._child.messages.feed(data))
        except wire.WireError as error:
            raise SetupError("init", 0, f"what it said makes no sense: {error}") from error

    def _hear(self, messages: Iterable[Any]) -> None:
        try:
            for message in messages:
                self._on_word(message)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise SetupError("init", 0, f"what it said makes no sense: {error}") from error

    def _on_word(self, message: dict[str, Any]) -> None:
        ((word, told),) = message.items()
        if word == "failed" and self._cause is not None and self._over is None:
            self._done = {"skipped": [], "disk_full": False}  # it was ended before it had begun: by us
        elif word == "failed":
            raise SetupError.told(told)
        elif word == "over" and self._over is None:
            self._over = {
                "status": int(_within(told["status"], _HIGHEST_STATUS)),
                "cpu_seconds": float(_within(told["cpu_seconds"], _LARGEST)),
                "max_rss_bytes": int(_within(told["max_rss_bytes"], _LARGEST)),
            }
            self._main_ended()
        elif word == "file" and self._over is not None:
            self._file_bytes += len(told["content"])
            if len(self._files) >= self._plan.files_out or self._file_bytes > self._plan.files_out_bytes:
                raise SetupError("init", 0, "it sent more files than were asked for")
            digest = hashlib.sha256(told["content"]).hexdigest()
            self._files.append(OutputFile(path=str(told["path"]), content=bytes(told["content"]), sha256=digest))
        elif word == "done" and self._over is not None:
            skipped = [SkippedFile(path=str(path), reason=SkipReason(why)) for path, why in told["skipped"]]
            self._done = {"skipped": skipped, "disk_full": bool(told["disk_full"])}
        else:
            raise SetupError("init", 0, f"{word!r} out of turn")

    # --- time ---

    def _look_at_clock(self) -> bool:
        """Do what is due; False when there is nothing left to wait for."""
        now = time.monotonic()
        due = [name for name, when in self._due.items() if when <= now]
        if "wall" in due:
            self._end(Cause.WALL)
        if self._cause is None and ("cpu" in due or "meter" in due):
            self._look_at_meter(now)
        if self._cause is None and "connections" in due:
            self._look_at_connections(now)
        if "account" in due:
            raise SetupError("init", 0, f"no account of the workspace within {_ACCOUNT_SECONDS:g} s")
        return "grace" not in due

    def _look_at_meter(self, now: float) -> None:
        meter, limits = self._child.meter, self._plan.limits
        reading = meter.read()
        # A watch reads the clock ticks of several counts, each rounded by itself, and may read more than can be.
        spendable_seconds = (now - self._started) * self._plan.cpu_rate
        left = limits.cpu_seconds - min(reading.cpu_seconds, spendable_seconds)
        if left <= 0:
            self._end(Cause.CPU)
        elif meter.poll_seconds is not None and reading.memory_bytes > limits.memory_bytes:
            self._end(Cause.MEMORY)
        elif meter.poll_seconds is not None and reading.processes > limits.processes:
            self._end(Cause.PROCESSES)
        else:
            self._due["cpu"] = now + max(left / self._plan.cpu_rate, _SHORTEST_LOOK_SECONDS)
            if meter.poll_seconds is not None:
                # A look that takes long is followed by as long a pause: on a busy machine output is still read.
                looked = time.monotonic()
                self._due["meter"] = looked + max(meter.poll_seconds, looked - now)

    def _look_at_connections(self, now: float) -> None:
        """See what waits unaccepted, which a control group is not charged for: its bound is memory_bytes once more."""
        most_bytes = self._plan.limits.memory_bytes
        with contextlib.suppress(SetupError):  # it has ended: init is about to say so
            if connections.unaccepted_bytes(pid_of(self._child.guest), most_bytes) > most_bytes:
                self._end(Cause.MEMORY)
                return
        self._due["connections"] = now + _CONNECTIONS_SECONDS

    def _end(self, cause: Cause) -> None:
        """Kill the guest's main process; init, who sees it die, ends the rest."""
        if self._cause is not None or self._over is not None:
            return
        self._cause = cause
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._child.guest, signal.SIGKILL)
        self._due = {"grace": time.monotonic() + _KILL_GRACE_SECONDS}

    def _main_ended(self) -> None:
        self._wall_seconds = time.monotonic() - self._started
        self._due = {"account": time.monotonic() + _ACCOUNT_SECONDS}
        for stream in tuple(self._kept):
            if not stream.closed:
                self._drain(stream)
                self._forget(stream)
        if not self._child.stdin.closed:
            self._forget(self._child.stdin)

    def _drain(self, stream: FileIO) -> None:
        """Take what the pipe holds now: all of the main process's words, none of a descendant's later ones."""
        waiting = array.array("i", [0])
        fcntl.ioctl(stream.fileno(), termios.FIONREAD, waiting)
        left = waiting[0]
        while left > 0 and (data := self._read(stream, min(left, _READ_BYTES))):
            left -= len(data)

    def _forget(self, stream: FileIO) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(stream)
        stream.close()

    # --- the end ---

    def _exit(self) -> Exit:
        plan, child = self._plan, self._child
        reading = child.meter.read()
        if self._over is None:
            self._main_ended()
        over = self._over or {"status": None, "cpu_seconds": 0.0, "max_rss_bytes": 0}
        if child.meter.poll_seconds is not None and over["cpu_seconds"] > reading.cpu_seconds:
            reading = replace(reading, cpu_seconds=over["cpu_seconds"])  # spent since the last look
        done = self._done or {"skipped": [], "disk_full": False}
        also_due = set()
        if self._wall_seconds >= plan.limits.wall_seconds:
            also_due.add(Cause.WALL)
        if reading.cpu_seconds >= plan.limits.cpu_seconds:
            also_due.add(Cause.CPU)
        return Exit(
            wait_status=over["status"],
            cause=self._cause,
            also_due=frozenset(also_due),
            started=child.started,
            wall_seconds=self._wall_seconds,
            stdout=self._kept[child.stdout].stream(),
            stderr=self._kept[child.stderr].stream(),
            reading=reading,
            max_rss_bytes=over["max_rss_bytes"],
            disk_full=done["disk_full"],
            files=tuple(self._files),
            files_skipped=tuple(done["skipped"]),
            layers=child.layers,
            launcher=child.launcher,
        )
