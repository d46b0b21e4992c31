"""Run untrusted code behind kernel walls. The names below are the whole public surface.

with Sandbox() as box:
    result = box.run(Job(code="print(1)"))
"""

from sandbox.errors import JobRefused, LayerMissing, NotBuilt, OverCeiling, SandboxError, SetupError
from sandbox.model import (
    Config,
    InputFile,
    Job,
    Launcher,
    Limits,
    Network,
    NetworkKind,
    OnOutputLimit,
    OutputFile,
    OutputKeep,
    Result,
    Runtime,
    SkippedFile,
    SkipReason,
    Status,
    Usage,
)
from sandbox.run import Sandbox
from sandbox.supervise import Cancel

__all__ = [
    "Cancel",
    "Config",
    "InputFile",
    "Job",
    "JobRefused",
    "Launcher",
    "LayerMissing",
    "Limits",
    "Network",
    "NetworkKind",
    "NotBuilt",
    "OnOutputLimit",
    "OutputFile",
    "OutputKeep",
    "OverCeiling",
    "Result",
    "Runtime",
    "Sandbox",
    "SandboxError",
    "SetupError",
    "SkipReason",
    "SkippedFile",
    "Status",
    "Usage",
]
