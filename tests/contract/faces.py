"""Ways to ask for a run, with one answer: whatever face took the job, tests see the engine's own ``Result``."""

from __future__ import annotations

import base64
import contextlib
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Protocol

from here import paced

from sandbox import (
    Cancel,
    Job,
    JobRefused,
    Launcher,
    NotBuilt,
    OutputFile,
    OverCeiling,
    Result,
    Sandbox,
    SkippedFile,
    SkipReason,
    Status,
    Usage,
)

if TYPE_CHECKING:
    import httpx2

_PATIENCE_SECONDS = 120.0
_KINDS: dict[str, type[JobRefused]] = {
    "invalid-request": JobRefused,
    "over-ceiling": OverCeiling,
    "not-built": NotBuilt,
}


@dataclass(frozen=True)
class Refusal:
    """What a refused job was told: the exception's kind, the field's path and the reason."""

    kind: type[JobRefused]
    field: str
    reason: str


class Canceller(Protocol):
    """What ends a run for its caller."""

    def set(self) -> None:
        """End it."""


class Runner(Protocol):
    """One way to a result: a face, a launcher and a meter. The launcher is asked for, and checked in the answer."""

    box: Sandbox
    face: str
    launcher: Launcher

    def run(self, job: Job, cancel: Any = None) -> Result:
        """Run a job to its end."""

    def canceller(self) -> Canceller:
        """Give what can end one run that is started with it."""

    def refusal(self, job: Job) -> Refusal:
        """Give the refusal of a job that must be refused."""


class Running:
    """A run under way in a thread of its own; ``cancel`` ends it as its caller would."""

    def __init__(self, runner: Runner, job: Job) -> None:
        self.cancel = runner.canceller()
        self._result: Result | None = None
        self._error: BaseException | None = None

        def work() -> None:
            try:
                self._result = runner.run(job, self.cancel)
            except BaseException as error:  # noqa: BLE001 - told to whoever waits
                self._error = error

        self._thread = threading.Thread(target=work)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the run is still under way."""
        return self._thread.is_alive()

    def result(self) -> Result:
        """Wait for the end."""
        self._thread.join(_PATIENCE_SECONDS)
        assert not self._thread.is_alive()
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result


@dataclass(frozen=True)
class Api:
    """The Python API."""

    box: Sandbox
    launcher: Launcher
    face: str = "api"

    def run(self, job: Job, cancel: Cancel | None = None) -> Result:
        """Call ``Sandbox.run``."""
        return _launched(self.launcher, self.box.run(_asking(self.launcher, job), cancel=cancel))

    def canceller(self) -> Cancel:
        """Give the engine's own."""
        return Cancel()

    def refusal(self, job: Job) -> Refusal:
        """Give what ``Sandbox.vet`` raises."""
        try:
            self.box.vet(job)
        except JobRefused as refused:
            return Refusal(type(refused), refused.field, refused.reason)
        raise AssertionError("the job was not refused")


class HttpCancel:
    """Ends a run by the id that its caller gave."""

    def __init__(self, client: httpx2.Client) -> None:
        self.run_id = f"contract-{time.monotonic_ns()}"
        self._client = client

    def set(self) -> None:
        """Call the cancel of the contract."""
        answer = self._client.post(f"/v1/executions/{self.run_id}/cancel", json={})
        assert answer.status_code == 200, answer.text


@dataclass(frozen=True)
class Http:
    """``POST /v1/execute`` of a live server."""

    box: Sandbox
    launcher: Launcher
    client: httpx2.Client
    face: str = "http"

    def run(self, job: Job, cancel: HttpCancel | None = None) -> Result:
        """Post the job; anything but 200 fails."""
        answer = self.client.post("/v1/execute", json=request(_asking(self.launcher, job), cancel and cancel.run_id))
        assert answer.status_code == 200, answer.text
        return _launched(self.launcher, result(answer.json()))

    def canceller(self) -> HttpCancel:
        """Give one for a run of a new id."""
        return HttpCancel(self.client)

    def refusal(self, job: Job) -> Refusal:
        """Give the problem document's one error."""
        answer = self.client.post("/v1/execute", json=request(job))
        assert answer.headers["content-type"] == "application/problem+json", answer.text
        told = answer.json()
        kind = _KINDS[told["type"].rpartition(":")[2]]
        assert answer.status_code == told["status"] == (501 if kind is NotBuilt else 422)
        (error,) = told["errors"]
        return Refusal(kind, error["path"], error["detail"])


def _asking(launcher: Launcher, job: Job) -> Job:
    job = replace(job, limits=paced(job.limits))
    return replace(job, launcher=Launcher.COLD) if launcher is Launcher.COLD else job


def _launched(launcher: Launcher, told: Result) -> Result:
    assert told.launcher is launcher
    return told


def request(job: Job, run_id: str | None = None) -> dict[str, Any]:
    """Give the contract's JSON for a job; what has its default is left out."""
    default = Job(code="")
    body: dict[str, Any] = {"code": job.code}
    if run_id is not None:
        body["id"] = run_id
    for name in ("language", "args", "env", "collect", "output_keep", "on_output_limit", "writable_paths"):
        if getattr(job, name) != getattr(default, name):
            body[name] = getattr(job, name)
    if job.launcher is not default.launcher:
        body["launcher"] = job.launcher.value
    if job.stdin:
        body |= {"stdin": base64.b64encode(job.stdin).decode(), "stdin_encoding": "base64"}
    if job.files:
        body["files"] = [
            {"path": file.path, "content": base64.b64encode(file.content).decode(), "encoding": "base64"}
            for file in job.files
        ]
    limits = {
        each.name: getattr(job.limits, each.name)
        for each in fields(job.limits)
        if getattr(job.limits, each.name) != getattr(default.limits, each.name)
    }
    if limits:
        body["limits"] = limits
    if job.network != default.network:
        body["network"] = {"kind": job.network.kind, "hosts": job.network.hosts}
    return body


def result(told: dict[str, Any]) -> Result:
    """Give the response as the engine's own value; a field too many or too few fails here."""
    told = dict(told)
    assert told.pop("id")
    assert told.pop("analysis") is None
    files = []
    for file in told.pop("files"):
        content = file["content"].encode() if file["encoding"] == "utf-8" else base64.b64decode(file["content"])
        assert file["bytes"] == len(content)
        files.append(OutputFile(path=file["path"], content=content, sha256=file["sha256"]))
    skipped = [SkippedFile(path=each["path"], reason=SkipReason(each["reason"])) for each in told.pop("files_skipped")]
    return Result(
        status=Status(told.pop("status")),
        launcher=Launcher(told.pop("launcher")),
        usage=Usage(**told.pop("usage")),
        limits_hit=tuple(told.pop("limits_hit")),
        layers=tuple(told.pop("layers")),
        files=tuple(files),
        files_skipped=tuple(skipped),
        **told,
    )


@contextlib.contextmanager
def served(box: Sandbox) -> Iterator[httpx2.Client]:
    """Serve an engine on a free loopback port until the block ends."""
    import httpx2  # noqa: PLC0415 - only where the service is asked

    from analyzers.isolate import Pool  # noqa: PLC0415 - likewise
    from fumehood.app import create_app  # noqa: PLC0415 - likewise
    from fumehood.server import Server  # noqa: PLC0415 - likewise
    from fumehood.settings import Settings  # noqa: PLC0415 - likewise
    from sandbox import selfcheck  # noqa: PLC0415 - likewise

    settings = Settings(port=0, concurrency=4, body_bytes=64 << 20, shutdown_grace_seconds=0.2)
    with Pool(1, seconds=10) as analyser:
        app = create_app(settings, box=box, analyser=analyser, probe=lambda: selfcheck.ready(box))
        addresses: queue.Queue[str] = queue.Queue()
        server = Server(app, settings, addresses.put)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            with httpx2.Client(base_url=addresses.get(timeout=10), timeout=_PATIENCE_SECONDS) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(_PATIENCE_SECONDS)
            assert not thread.is_alive()
