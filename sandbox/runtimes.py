"""The languages: the two that ship, and those that an operator adds. Found, checked and asked for their version once.

A runtime of an operator's is a program that is there on the host, in ``/usr`` or in a folder that is named to be shown:
read-only, to every guest of every language. Nothing that a guest has anyway may be covered by such a folder, and a
guest's uid must be able to read it; what does not hold stops the start.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox.config import RuntimeConfig
from sandbox.errors import JobRefused, LayerMissing
from sandbox.model import Bind, Runtime, RuntimeKind
from sandbox.places import STANDING_TARGETS, SYSTEM

_BASH = "/usr/bin/bash"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+#._-]{0,63}")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
_LONGEST_VERSION = 100
_ANSWER_SECONDS = 10.0


def find(facts: Mapping[str, Any], configured: Sequence[RuntimeConfig], uid: int | None) -> Mapping[str, Runtime]:
    """Give all runtimes by name. ``facts`` are those of the guest's Python; ``uid`` is a guest's where it has its own.

    Raises LayerMissing, naming the runtime.
    """
    shipped = {"python": _python(facts), "bash": _bash(facts, uid)}
    found = dict(shipped)
    for each in configured:
        if each.name in shipped:
            found[each.name] = _adjusted(shipped[each.name], each)
        elif each.name in found:
            raise _unfit(each, "is there twice")
        else:
            found[each.name] = _added(each, facts, uid)
    taken: set[str] = set()
    for name, runtime in found.items():
        for word in (name, *runtime.aliases):
            if word in taken:
                raise LayerMissing("runtime", f"{name}: the name {word!r} is taken")
            taken.add(word)
    return found


def runtime_named(language: str, runtimes: Mapping[str, Runtime]) -> Runtime:
    """Give the runtime that goes by this name or alias. Raises JobRefused where none does."""
    for runtime in runtimes.values():
        if language in (runtime.name, *runtime.aliases):
            return runtime
    known = ", ".join(sorted(runtimes))
    raise JobRefused("language", f"{language!r} is not one of: {known}")


def shown(configured: Iterable[RuntimeConfig], covered: Iterable[str], uid: int | None) -> tuple[Bind, ...]:
    """Give the folders that runtimes need beyond ``/usr``; ``covered`` are the targets of all others.

    Raises LayerMissing where one is not there, would cover what a guest has anyway, or cannot be read by guests.
    """
    binds: dict[str, Bind] = {}
    taken = (*SYSTEM, *STANDING_TARGETS, *covered)
    for each in configured:
        for path in each.read_only:
            target = str(path)
            if target in binds:
                continue
            over = next((other for other in (*taken, *binds) if _overlap(target, other)), None)
            if over is not None:
                raise _unfit(each, f"read_only: {target} would cover, or lies in, {over}")
            _readable(each, path, uid)
            binds[target] = Bind(source=target, target=target)
    return tuple(binds.values())


def _readable(runtime: RuntimeConfig, path: Path, uid: int | None) -> None:
    if not path.is_absolute() or path.resolve() != path:
        raise _unfit(runtime, f"read_only: {path} is no absolute path without links")
    if not path.is_dir():
        raise _unfit(runtime, f"read_only: {path} is no folder")
    if uid is None:
        readable = os.access(path, os.R_OK | os.X_OK)
    else:
        modes = [part.stat().st_mode for part in (path, *path.parents)]
        readable = all(mode & stat.S_IXOTH for mode in modes) and bool(modes[0] & stat.S_IROTH)
    if not readable:
        raise _unfit(runtime, f"read_only: {path} cannot be read by guests")


def _overlap(one: str, other: str) -> bool:
    one, other = f"{one.rstrip('/')}/", f"{other}/"
    return one.startswith(other) or other.startswith(one)


def _python(facts: Mapping[str, Any]) -> Runtime:
    return Runtime(
        name="python",
        aliases=("python3", "py"),
        kind=RuntimeKind.PYTHON,
        command=(),
        source_name="main.py",
        version=f"python {facts['version']}",
        packages=facts["packages"],
        environment=facts["environment"],
        links=tuple(facts["links"].items()),
    )


def _bash(facts: Mapping[str, Any], uid: int | None) -> Runtime:
    try:
        version = _said((_BASH, "-c", "echo ${BASH_VERSION%%(*}"), uid)
    except (OSError, subprocess.SubprocessError) as error:
        raise LayerMissing("runtime", f"{_BASH}: {error}", "install bash") from error
    return Runtime(
        name="bash",
        aliases=("sh",),
        kind=RuntimeKind.EXEC,
        command=(_BASH,),
        source_name="main.sh",
        version=f"bash {version.strip()}",
        environment=facts["environment"],
    )


def _adjusted(shipped: Runtime, wanted: RuntimeConfig) -> Runtime:
    """Give a runtime that ships with other default limits and further aliases; all else about it is ours."""
    if wanted.command or wanted.source_name or wanted.version or wanted.version_command:
        raise _unfit(wanted, "ships with us: only aliases, limits and read_only can be set")
    return replace(shipped, aliases=(*shipped.aliases, *wanted.aliases), limits=wanted.limits)


def _added(wanted: RuntimeConfig, facts: Mapping[str, Any], uid: int | None) -> Runtime:
    for word in (wanted.name, *wanted.aliases):
        if not _NAME.fullmatch(word):
            raise _unfit(wanted, f"{word!r} is no name for a language")
    if not _FILE_NAME.fullmatch(wanted.source_name):
        raise _unfit(wanted, f"source_name: {wanted.source_name!r} is no plain file name")
    _check_program(wanted)
    return Runtime(
        name=wanted.name,
        aliases=wanted.aliases,
        kind=RuntimeKind.EXEC,
        command=wanted.command,
        source_name=wanted.source_name,
        version=f"{wanted.name} {wanted.version or _version(wanted, uid)}",
        environment=facts["environment"],
        limits=wanted.limits,
    )


def _check_program(wanted: RuntimeConfig) -> None:
    """The program must be found inside by the same path as on the host."""
    program = Path(wanted.command[0]) if wanted.command else Path()
    if not program.is_absolute() or ".." in program.parts:
        raise _unfit(wanted, "command: begins with the absolute path of a program")
    real = program.resolve()
    places = (Path("/usr"), *wanted.read_only)
    if not any(real.is_relative_to(place) for place in places):
        raise _unfit(wanted, f"command: {program} is {real}, which no guest sees; name its folder in read_only")
    if not real.is_file() or not os.access(real, os.X_OK):
        raise _unfit(wanted, f"command: {program} is not there, or no program")


def _version(wanted: RuntimeConfig, uid: int | None) -> str:
    command = wanted.version_command or (wanted.command[0], "--version")
    try:
        said = _said(command, uid)
    except (OSError, subprocess.SubprocessError) as error:
        raise _unfit(wanted, f"version_command: {error}") from error
    number = _VERSION.search(said)
    lines = said.split("\n")
    return (number[0] if number else next((line.strip() for line in lines if line.strip()), ""))[:_LONGEST_VERSION]


def _said(command: Sequence[str], uid: int | None) -> str:
    """Give what a program prints when it is run here, without an environment, as a guest's uid where there is one."""
    lowered = {} if uid is None else {"user": uid, "group": uid, "extra_groups": ()}
    done = subprocess.run(
        command,
        env={},
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=_ANSWER_SECONDS,
        check=True,
        **lowered,  # type: ignore[call-overload]
    )
    return str(done.stdout or done.stderr)


def _unfit(runtime: RuntimeConfig, reason: str) -> LayerMissing:
    return LayerMissing("runtime", f"{runtime.name}: {reason}", "mend its [[runtimes]] in the settings")
