"""Analyse in another process: text that crashes, hangs or bloats its reader costs one answer, never the caller.

A worker that died, was late or said something odd is replaced, and its answer is a report whose verdict is
``incomplete``. Workers get an empty environment, no open files but their two pipes, and limits on memory and time.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import selectors
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self

from analyzers import wire
from analyzers.analyze import unanswered_report
from analyzers.deadline import Deadline
from analyzers.languages import AUTO, engines_named, language_named
from analyzers.model import Report, Severity

_PACKAGE_ROOT = str(Path(__file__).resolve().parents[1])
_START = "import json, sys; sys.path[{}] = json.loads(sys.argv[1]); from analyzers.worker import main; main({})"
_START_SECONDS = 30.0
_CHUNK = 1 << 16


class Process(Protocol):
    """A worker's process as far as the pool knows it; :class:`subprocess.Popen` is one."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def poll(self) -> int | None:
        """Give its exit code; None while it runs."""

    def confirm(self) -> None:
        """Raise OSError unless it is as it should be: it has said that it is ready, and was told nothing so far."""

    def kill(self) -> None:
        """End it now, and whatever it started. It may have ended already."""

    def wait(self) -> int:
        """Wait until it has ended."""


Start = Callable[[int], Process]
"""Starts a worker whose address space may come to so many bytes."""


class PoolClosedError(RuntimeError):
    """The pool was asked after it was closed."""


class _NoAnswerError(Exception):
    """The worker is of no further use; the text says why, for the report."""


class Pool:
    """Up to ``size`` worker processes, started when first needed and kept. Any thread may use it.

    Args:
        size: How many at once.
        seconds: How long an answer may take, where the caller says nothing else.
        memory_bytes: What the address space of each may come to.
        start: Starts one worker of :func:`command` with pipes as its standard input and output, and raises OSError
            where it cannot; by default in a process with no more than what is said above.
    """

    def __init__(
        self, size: int = 2, *, seconds: float = 10.0, memory_bytes: int = 1 << 30, start: Start | None = None
    ) -> None:
        self._seconds = seconds
        self._memory_bytes = memory_bytes
        self._start = _start_here if start is None else start
        self._slots = threading.Semaphore(size)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def analyze(
        self,
        code: str | bytes,
        language: str = "python",
        *,
        threshold: Severity = Severity.LOW,
        filename: str | None = None,
        fixes: bool = False,
        engines: Collection[str] = (),
        seconds: float | None = None,
        honour_suppressions: bool = True,
        packages: Collection[str] = (),
        modules: Collection[str] = (),
        apply_fixes: bool = False,
        unsafe_fixes: bool = False,
    ) -> Report:
        """Do as :func:`analyzers.analyze` does, within ``seconds`` counted from when a worker is free.

        Raises UnknownLanguageError, UnknownEngineError, and PoolClosedError after :meth:`close`. Waiting for a
        worker is bounded by the same ``seconds``.
        """
        language = language_named(language)
        allowed = self._seconds if seconds is None else seconds
        request: dict[str, Any] = {
            "language": language,
            "threshold": Severity(threshold).value,
            "fixes": fixes,
            "engines": engines_named(engines),
            "seconds": allowed,
            "honour_suppressions": honour_suppressions,
            "packages": list(packages),
            "modules": list(modules),
            "apply_fixes": apply_fixes,
            "unsafe_fixes": unsafe_fixes,
        }
        if isinstance(code, bytes):
            request["bytes"] = base64.b64encode(code).decode()
        else:
            request["text"] = code
        if not self._slots.acquire(timeout=allowed):
            return unanswered_report(language, "no analyser was free in time", filename)
        try:
            return self._ask(request, allowed, filename)
        except _NoAnswerError as error:
            return unanswered_report(language, str(error), filename)
        finally:
            self._slots.release()

    def _ask(self, request: dict[str, Any], seconds: float, filename: str | None) -> Report:
        try:
            worker = self._take()
        except (OSError, wire.BrokenFrameError) as error:
            raise _NoAnswerError("the analyser could not be started") from error
        try:
            answer = worker.ask(request, Deadline(seconds))
            report = wire.report_from(answer.get("report"), filename)
            if request["language"] not in (report.language, AUTO):
                raise wire.BrokenFrameError("about another language")  # noqa: TRY301 - as every other broken answer
        except (OSError, wire.BrokenFrameError) as error:
            worker.kill()
            raise _NoAnswerError("the analyser gave no answer that can be read") from error
        except BaseException:
            worker.kill()
            raise
        if answer.get("last") is not False:
            worker.kill()
        else:
            self._give_back(worker)
        return report

    def _take(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise PoolClosedError("this pool of analysers is closed")
            while self._idle:
                worker = self._idle.pop()
                if worker.alive():
                    return worker
                worker.kill()
        return _Worker(self._start(self._memory_bytes))

    def _give_back(self, worker: _Worker) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(worker)
                return
        worker.kill()

    def warm(self) -> None:
        """Start a worker if none is idle. Raises OSError where none can be had, and PoolClosedError."""
        try:
            self._give_back(self._take())
        except (wire.BrokenFrameError, _NoAnswerError) as error:
            raise OSError(0, str(error)) from error

    def close(self) -> None:
        """End every idle worker now, and each busy one with its answer."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.kill()


def command(interpreter: str, path: Sequence[str], memory_bytes: int, *, keep: bool = False) -> list[str]:
    """Give the words that start a worker.

    ``path`` are the absolute folders from which it may import; with ``keep``, before the interpreter's own.
    """
    # Isolated mode ignores PYTHON* and the working directory.
    start = _START.format(":0" if keep else ":", memory_bytes)
    return [interpreter, "-I", "-X", "utf8", "-c", start, json.dumps(list(path))]


class _Here(subprocess.Popen[bytes]):
    """A worker with no walls but its own limits."""

    def confirm(self) -> None:
        pass


def _start_here(memory_bytes: int) -> Process:
    """Start a worker that can import what this process can."""
    path = [_PACKAGE_ROOT, *(entry for entry in sys.path if os.path.isabs(entry))]
    return _Here(
        command(sys.executable, path, memory_bytes),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={},
        start_new_session=True,
    )


class _Worker:
    """One worker process, used by one thread at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        assert self._process.stdin is not None  # noqa: S101 - asked for above
        assert self._process.stdout is not None  # noqa: S101 - likewise
        self._in, self._out = self._process.stdin, self._process.stdout
        os.set_blocking(self._in.fileno(), False)
        os.set_blocking(self._out.fileno(), False)
        self._buffer = bytearray()
        try:
            self._exchange(b"", Deadline(_START_SECONDS))
            process.confirm()
        except BaseException:
            self.kill()
            raise

    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        return self._exchange(wire.pack(request), deadline)

    def kill(self) -> None:
        """End it now and wait for its end. It holds nothing that would have to be put away."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._in, self._out):
            with contextlib.suppress(OSError):
                pipe.close()

    def _exchange(self, frame: bytes, deadline: Deadline) -> dict[str, Any]:
        """Write a frame and read one, whichever is possible first, until the deadline."""
        unsent = memoryview(frame)
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            if unsent:
                selector.register(self._in, selectors.EVENT_WRITE)
            while True:
                ready = selector.select(deadline.left())
                if not ready:
                    raise _NoAnswerError("the analyser was stopped: it took too long")
                for key, _ in ready:
                    if key.fileobj is self._in:
                        unsent = unsent[self._write(unsent) :]
                        if not unsent:
                            selector.unregister(self._in)
                    elif (body := self._read()) is not None:
                        return wire.unpack(body)

    def _write(self, unsent: memoryview) -> int:
        try:
            return os.write(self._in.fileno(), unsent[:_CHUNK])
        except BlockingIOError:
            return 0
        except OSError as error:
            raise _NoAnswerError("the analyser died while reading this text") from error

    def _read(self) -> bytes | None:
        """Take in what there is; return a frame's body once it is complete."""
        try:
            chunk = os.read(self._out.fileno(), _CHUNK)
        except BlockingIOError:
            return None
        if not chunk:
            raise _NoAnswerError("the analyser died while reading this text")
        self._buffer += chunk
        if len(self._buffer) < wire.HEAD.size:
            return None
        length = wire.HEAD.unpack_from(self._buffer)[0]
        if length > wire.MAX_FRAME:
            raise wire.BrokenFrameError("too long")
        end = wire.HEAD.size + length
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[wire.HEAD.size : end])
        del self._buffer[:end]
        return body
