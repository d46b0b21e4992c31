"""The wire, inwards: request -> Job. Field names, defaults and units are the contract's.

Requests are validated in pydantic's strict JSON mode: no ``"30"`` for a number, no ``true`` for an integer, no unknown
field. What only the engine can judge (ceilings, languages, paths) is left to ``Sandbox.vet``.
"""

from __future__ import annotations

import base64
import binascii
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

import sandbox
from analyzers import Severity
from fumehood.problems import from_validation
from sandbox import Job, JobRefused, Launcher, NetworkKind, OnOutputLimit, OutputKeep

_JOB = Job(code="")
ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"


class Wire(BaseModel):
    """What every message is: strict, closed and frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Encoding(StrEnum):
    """How bytes are written in a JSON string."""

    UTF_8 = "utf-8"
    BASE64 = "base64"


class AnalysisMode(StrEnum):
    """What a run's analysis decides: it is not made, it is told beside the result, or it can stop the run."""

    OFF = "off"
    REPORT = "report"
    BLOCK = "block"


def _no_nul(text: str) -> str:
    if "\0" in text:
        msg = "a NUL character cannot be passed on"
        raise ValueError(msg)
    return text


def _variable_name(name: str) -> str:
    if not name or "=" in name:
        msg = "an environment variable's name is not empty and has no '='"
        raise ValueError(msg)
    return _no_nul(name)


Text = Annotated[str, AfterValidator(_no_nul)]
VariableName = Annotated[str, AfterValidator(_variable_name)]


def _decode(field: str, content: str, encoding: Encoding) -> bytes:
    if encoding is Encoding.UTF_8:
        return content.encode()
    try:
        return base64.b64decode(content, validate=True)
    except binascii.Error as error:
        raise JobRefused(field, f"not base64: {error}") from error


class FileIn(Wire):
    """A file laid into ``/workspace`` before the run."""

    path: Text
    content: str
    encoding: Encoding = Encoding.UTF_8


class LimitsIn(Wire):
    """What the run may spend. A field left out has its default, or the ceiling where that is lower."""

    wall_seconds: float = _JOB.limits.wall_seconds
    cpu_seconds: float = _JOB.limits.cpu_seconds
    memory_bytes: int = _JOB.limits.memory_bytes
    processes: int = _JOB.limits.processes
    output_bytes: int = _JOB.limits.output_bytes
    disk_bytes: int = _JOB.limits.disk_bytes
    inodes: int = _JOB.limits.inodes
    open_files: int = _JOB.limits.open_files
    cpus: float = _JOB.limits.cpus

    def under(self, ceilings: sandbox.Limits) -> sandbox.Limits:
        """The engine's limits: what was asked for as it is, what was left out no higher than its ceiling."""
        values: dict[str, Any] = {
            name: value if name in self.model_fields_set else min(value, getattr(ceilings, name))
            for name, value in self
        }
        return sandbox.Limits(**values)


class NetworkIn(Wire):
    """How much network the run asks for; ``hosts`` belongs to ``allowlist`` alone."""

    kind: NetworkKind = NetworkKind.NONE
    hosts: tuple[str, ...] = ()


class AnalysisIn(Wire):
    """Whether the code is analysed before it runs, and from which severity ``block`` stops it."""

    mode: AnalysisMode = AnalysisMode.OFF
    block_at: Severity = Severity.HIGH


class ExecuteRequest(Wire):
    """One run. Only ``code`` is required."""

    id: Annotated[str, Field(pattern=ID_PATTERN)] | None = None
    language: str = _JOB.language
    code: Text
    stdin: str = ""
    stdin_encoding: Encoding = Encoding.UTF_8
    args: tuple[Text, ...] = ()
    env: dict[VariableName, Text] = {}
    files: tuple[FileIn, ...] = ()
    collect: tuple[Text, ...] = ()
    limits: LimitsIn = LimitsIn()
    output_keep: OutputKeep = _JOB.output_keep
    on_output_limit: OnOutputLimit = _JOB.on_output_limit
    network: NetworkIn = NetworkIn()
    writable_paths: tuple[Text, ...] = _JOB.writable_paths
    analysis: AnalysisIn = AnalysisIn()
    launcher: Literal["auto", "cold"] = "auto"

    def job(self, ceilings: sandbox.Limits) -> Job:
        """The engine's job, its bytes decoded.

        Raises:
            JobRefused: a content that is not the base64 it says it is, or ``hosts`` without ``allowlist``.
        """
        if self.network.hosts and self.network.kind is not NetworkKind.ALLOWLIST:
            raise JobRefused("network.hosts", "hosts belong to the kind 'allowlist' alone")
        return Job(
            code=self.code,
            language=self.language,
            stdin=_decode("stdin", self.stdin, self.stdin_encoding),
            args=self.args,
            env=self.env,
            files=tuple(
                sandbox.InputFile(file.path, _decode(f"files.{index}.content", file.content, file.encoding))
                for index, file in enumerate(self.files)
            ),
            collect=self.collect,
            limits=self.limits.under(ceilings),
            output_keep=self.output_keep,
            on_output_limit=self.on_output_limit,
            network=sandbox.Network(kind=self.network.kind, hosts=self.network.hosts),
            writable_paths=self.writable_paths,
            launcher=Launcher(self.launcher),
        )


class AnalyzeRequest(Wire):
    """Source to read without running it; ``threshold`` is the lowest severity whose finding is a ``fail``."""

    language: str = "python"
    code: str
    threshold: Severity = Severity.LOW


Message = TypeVar("Message", bound=Wire)


def parse(model: type[Message], text: bytes) -> Message:
    """The JSON text as ``model``. Raises Problem 422 with every wrong field's path."""
    try:
        return model.model_validate_json(text)
    except ValidationError as wrong:
        raise from_validation(wrong) from None
