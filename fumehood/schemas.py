"""The wire, inwards: request -> Job. Field names, defaults and units are the contract's.

Requests are validated in pydantic's strict JSON mode: no ``"30"`` for a number, no ``true`` for an integer, no unknown
field. What only the engine can judge (ceilings, languages, paths) is left to ``Sandbox.vet``.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SkipValidation,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import to_json

import sandbox
from analyzers import Severity, engines, engines_named
from fumehood.policies import AnalysisPolicy
from fumehood.problems import from_validation
from sandbox import Job, JobRefused, Launcher, NetworkKind, OnOutputLimit, OutputKeep, Status

_JOB = Job(code="")
ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"


class Wire(BaseModel):
    """What every message is: strict, closed and frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Encoding(StrEnum):
    """How bytes are written in a JSON string."""

    UTF_8 = "utf-8"
    BASE64 = "base64"


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
    except ValueError as error:  # binascii.Error is one; so is what a character beyond ASCII raises
        raise JobRefused(field, f"not base64: {error}") from error


class FileIn(Wire):
    """A file laid into ``/workspace`` before the run."""

    path: Text
    content: str
    encoding: Encoding = Encoding.UTF_8


class LimitsIn(Wire):
    """What the run may spend. A field left out has its language's default, or the ceiling where that is lower.

    The defaults here are those of a language whose runtime has none of its own (``/v1/capabilities``).
    """

    wall_seconds: float = _JOB.limits.wall_seconds
    cpu_seconds: float = _JOB.limits.cpu_seconds
    memory_bytes: int = _JOB.limits.memory_bytes
    processes: int = _JOB.limits.processes
    output_bytes: int = _JOB.limits.output_bytes
    disk_bytes: int = _JOB.limits.disk_bytes
    inodes: int = _JOB.limits.inodes
    open_files: int = _JOB.limits.open_files
    cpus: float = _JOB.limits.cpus

    def under(self, ceilings: sandbox.Limits, defaults: sandbox.Limits) -> sandbox.Limits:
        """The engine's limits: what was asked for as it is; else the language's default, or the ceiling if lower."""
        values: dict[str, Any] = {
            name: value if name in self.model_fields_set else min(getattr(defaults, name), getattr(ceilings, name))
            for name, value in self
        }
        return sandbox.Limits(**values)


class NetworkIn(Wire):
    """How much network the run asks for; ``hosts`` belongs to ``allowlist`` alone."""

    kind: NetworkKind = NetworkKind.NONE
    hosts: tuple[str, ...] = ()


class AnalysisIn(AnalysisPolicy, Wire):
    """Whether the code is analysed before it runs, and for what ``block`` stops it; the operator's policy stays.

    A finding at or above ``block_at`` (null: none for that alone) or one that ``block`` selects stops the run, unless
    a longer selector of ``allow`` fits it; so does a capability of ``deny_capabilities`` that the code wants, and
    every reason for the report to say too little, but for those in ``accept``.
    """


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

    def job(self, ceilings: sandbox.Limits, runtimes: Mapping[str, sandbox.Runtime]) -> Job:
        """The engine's job, its bytes decoded, with the defaults of its language where that is known.

        Raises:
            JobRefused: a content that is not the base64 it says it is, or ``hosts`` without ``allowlist``.
        """
        if self.network.hosts and self.network.kind is not NetworkKind.ALLOWLIST:
            raise JobRefused("network.hosts", "hosts belong to the kind 'allowlist' alone")
        try:
            defaults = sandbox.runtime_named(self.language, runtimes).limits
        except JobRefused:  # the engine's to say, after all that is refused here
            defaults = _JOB.limits
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
            limits=self.limits.under(ceilings, defaults),
            output_keep=self.output_keep,
            on_output_limit=self.on_output_limit,
            network=sandbox.Network(kind=self.network.kind, hosts=self.network.hosts),
            writable_paths=self.writable_paths,
            launcher=Launcher(self.launcher),
        )


class CaseIn(Wire):
    """One input of a program that runs over many; what is null or left out is the run's own."""

    id: Annotated[str, Field(pattern=ID_PATTERN)] | None = None
    stdin: str | None = None
    stdin_encoding: Encoding = Encoding.UTF_8
    args: tuple[Text, ...] | None = None

    def job(self, job: Job) -> Job:
        """The job with this input; all else is shared with it. Raises JobRefused for what is not base64."""
        return dataclasses.replace(
            job,
            stdin=job.stdin if self.stdin is None else _decode("stdin", self.stdin, self.stdin_encoding),
            args=job.args if self.args is None else self.args,
        )


class BatchRequest(Wire):
    """Many runs, or one run over many cases.

    ``runs`` and ``cases`` hold JSON values as they came: each is read by itself (:func:`reread`), so that a bad one is
    refused in its own place. ``stop_on`` names the statuses after which no later run is started.
    """

    id: Annotated[str, Field(pattern=ID_PATTERN)] | None = None
    runs: tuple[SkipValidation[ExecuteRequest], ...] | None = None
    run: ExecuteRequest | None = None
    cases: tuple[SkipValidation[CaseIn], ...] | None = None
    stop_on: tuple[Status, ...] | None = None

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        given = {name for name in ("runs", "run", "cases") if getattr(self, name) is not None}
        if given not in ({"runs"}, {"run", "cases"}):
            msg = "give either 'runs', or 'run' and 'cases'"
            raise ValueError(msg)
        if self.run is not None and self.run.id is not None:
            msg = "run.id: an id belongs to the batch or to a case"
            raise ValueError(msg)
        return self


def _engine(name: str) -> str:
    return engines_named((name,))[0]


Engine = Annotated[str, AfterValidator(_engine), WithJsonSchema({"enum": list(engines())})]


class AnalyzeRequest(Wire):
    """Source to read without running it; ``threshold`` is the lowest severity whose finding is a ``fail``.

    ``engines`` names other tools to run as well; ``fixes`` offers edits with the findings; ``apply_fixes`` makes the
    safe ones, or with ``unsafe_fixes`` all, and answers the fixed code too. ``honour_suppressions`` is switched off by
    who does not trust the code's author to take findings back. The ``compact`` format is for models: the gravest
    findings first, at most ``max_findings`` of them and ``max_bytes`` in all.
    """

    language: str = "python"
    code: str
    threshold: Severity = Severity.LOW
    fixes: bool = False
    apply_fixes: bool = False
    unsafe_fixes: bool = False
    engines: tuple[Engine, ...] = ()
    honour_suppressions: bool = True
    format: Literal["full", "compact"] = "full"
    max_findings: Annotated[int, Field(ge=0)] | None = None
    max_bytes: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        for name in ("max_findings", "max_bytes"):
            if self.format == "full" and getattr(self, name) is not None:
                msg = f"{name}: a budget belongs to the format 'compact'"
                raise ValueError(msg)
        if self.unsafe_fixes and not self.apply_fixes:
            msg = "unsafe_fixes: belongs to 'apply_fixes'"
            raise ValueError(msg)
        return self


Message = TypeVar("Message", bound=Wire)


def parse(model: type[Message], text: bytes) -> Message:
    """The JSON text as ``model``. Raises Problem 422 with every wrong field's path."""
    try:
        return model.model_validate_json(text)
    except ValidationError as wrong:
        raise from_validation(wrong) from None


def reread(model: type[Message], value: object) -> Message:
    """A JSON value that was read before as ``model``. Raises Problem 422 with paths inside the value."""
    return parse(model, to_json(value))
