"""Run untrusted code behind kernel walls. The names below are the whole public surface.

with Sandbox() as box:
    result = box.run(Job(code="print(1)"))
"""

from sandbox.config import Config, Preload, RuntimeConfig, WarmConfig
from sandbox.enclose import Enclosed
from sandbox.errors import JobRefused, LayerMissing, NotBuilt, OverCeiling, SandboxError, SetupError
from sandbox.model import (
    ForkServerState,
    InputFile,
    Job,
    Launcher,
    Limits,
    Network,
    NetworkKind,
    OnOutputLimit,
    OutputFile,
    OutputKeep,
    Plan,
    Result,
    Runtime,
    SkippedFile,
    SkipReason,
    Status,
    Usage,
)
from sandbox.run import Sandbox
from sandbox.runtimes import runtime_named
from sandbox.supervise import Cancel

__all__ = [
    "Cancel",
    "Config",
    "Enclosed",
    "ForkServerState",
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
    "Plan",
    "Preload",
    "Result",
    "Runtime",
    "RuntimeConfig",
    "Sandbox",
    "SandboxError",
    "SetupError",
    "SkipReason",
    "SkippedFile",
    "Status",
    "Usage",
    "WarmConfig",
    "runtime_named",
]
