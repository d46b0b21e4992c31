"""``fumehood run``: one snippet behind the walls, its stdout, stderr and exit code passed through.

=====  ===============================================================================================
 code  means
=====  ===============================================================================================
 n     the guest's own exit code
 2     usage: the command line, a file that cannot be read, a job that is refused
 124   the wall or CPU limit ended it
 125   our own failure: a layer that cannot be had, a step that failed
 126   blocked by analysis
 130   cancelled by a signal to us
 137   the memory limit bit
 153   ended for its output (128 + SIGXFSZ)
128+n  the guest died by signal n
=====  ===============================================================================================
"""

from __future__ import annotations

import argparse
import base64
import json
import signal
import sys
from dataclasses import fields, replace
from pathlib import Path, PurePosixPath

from analyzers import UnknownLanguageError
from fumehood import permissions, responses, settings
from fumehood.cli import USAGE
from fumehood.commands import source
from fumehood.keys import ALL
from fumehood.policies import AnalysisMode
from fumehood.problems import Problem
from fumehood.responses import ExecuteResponse
from fumehood.schemas import ExecuteRequest, parse
from fumehood.settings import Settings
from sandbox import Cancel, JobRefused, Limits, Sandbox, SandboxError, Status, WarmConfig, runtime_named

OURS = 125
_CODES = {
    Status.TIMEOUT: 124,
    Status.CPU_LIMIT: 124,
    Status.MEMORY_LIMIT: 137,
    Status.BLOCKED: 126,
    Status.CANCELLED: 130,
}
_LIMITS = tuple(each.name for each in fields(Limits))
_OUTPUT_LIMIT = 128 + signal.SIGXFSZ
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(args: argparse.Namespace) -> int:
    """Run it and give the exit code."""
    cancel = Cancel()
    for number in _SIGNALS:
        signal.signal(number, lambda *_: cancel.set())
    try:
        # Where the service would bind is none of this command's business, and must not stop it.
        chosen = settings.load(args.config, host="127.0.0.1")
        asked = _request(args)
        # One run is not worth a fork server.
        with Sandbox(replace(chosen.engine(), warm=WarmConfig(enabled=False))) as box:
            told = _run(box, asked, cancel, chosen)
        if args.into is not None:
            _write_files(args.into, told)
    except (settings.SettingsError, JobRefused, UnknownLanguageError) as wrong:
        return _fail(str(wrong), USAGE)
    except Problem as wrong:
        return _fail(wrong.detail, USAGE)
    except SandboxError as error:
        return _fail(f"{error}; 'fumehood doctor' says more", OURS)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}", USAGE)
    _tell(told, as_json=args.json)
    return exit_code(told)


def exit_code(told: ExecuteResponse) -> int:
    """The code that says best how the run ended."""
    if told.status in _CODES:
        return _CODES[told.status]
    if told.exit_code is not None:
        return told.exit_code
    if told.signal is not None and told.status is not Status.OUTPUT_LIMIT:
        return 128 + _number(told.signal)
    return _OUTPUT_LIMIT if told.status is Status.OUTPUT_LIMIT else 1


def _request(args: argparse.Namespace) -> ExecuteRequest:
    """The command line as the request that the service would get, so that both refuse alike."""
    code = source.read(args.source)
    limits = {name: getattr(args, name) for name in _LIMITS if getattr(args, name) is not None}
    document = {
        "language": args.language or source.language(args.source, code, default="python"),
        "code": code,
        "args": args.arg,
        "env": dict(_pair(item, "--env") for item in args.env),
        "files": [_file(item) for item in args.file],
        "collect": args.collect,
        "limits": limits,
        "output_keep": args.output_keep,
        "on_output_limit": args.on_output_limit,
        "analysis": {
            "mode": args.analysis,
            "block_at": None if args.block_at == "never" else args.block_at,
            "block": args.block,
            "allow": args.allow,
            "deny_capabilities": args.deny_capability,
            "accept": args.accept,
        },
        "launcher": args.launcher,
    }
    if args.stdin is not None:
        document |= {"stdin": _base64(source.read_bytes(args.stdin)), "stdin_encoding": "base64"}
    if args.writable_path is not None:
        document["writable_paths"] = args.writable_path
    return parse(ExecuteRequest, json.dumps(document).encode())


def _run(box: Sandbox, asked: ExecuteRequest, cancel: Cancel, chosen: Settings) -> ExecuteResponse:
    job = asked.job(box.ceilings, box.runtimes)
    box.vet(job)
    runtime = runtime_named(job.language, box.runtimes)
    analysed = None
    gate = permissions.gate_of(asked.analysis, ALL, chosen.analysis, runtime.name)
    if gate.mode is not AnalysisMode.OFF:
        from fumehood import analysis, readers

        with readers.pool(box, 1, chosen.analysis_seconds, enclosed=chosen.analysis_enclosed) as analyser:
            analysed = analysis.before_run(analyser, job, runtime, gate)
        if analysed.blocked_because is not None:
            return responses.never_ran("run", Status.BLOCKED, runtime.version, 0.0, analysed)
    return responses.ran("run", box.run(job, cancel=cancel), 0.0, analysed)


def _tell(told: ExecuteResponse, *, as_json: bool) -> None:
    if as_json:
        print(told.model_dump_json(indent=2))
        return
    # Past the text layer, which would translate line ends and depends on the locale.
    sys.stdout.flush()
    sys.stdout.buffer.write(told.stdout.encode())
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(told.stderr.encode())
    sys.stderr.buffer.flush()
    for note in _notes(told):
        print(f"fumehood: {note}", file=sys.stderr)


def _notes(told: ExecuteResponse) -> list[str]:
    """What the guest's own output does not say."""
    notes = []
    for name, truncated, total in (
        ("stdout", told.stdout_truncated, told.stdout_bytes),
        ("stderr", told.stderr_truncated, told.stderr_bytes),
    ):
        if truncated:
            notes.append(f"{name} is cut: it had {total} bytes (--output-bytes)")
    notes += [f"{skipped.path} was not collected: {skipped.reason}" for skipped in told.files_skipped]
    if told.analysis is not None:
        notes += [f"{item.line}:{item.column} {item.rule} {item.message}" for item in told.analysis.findings]
        if told.analysis.blocked_because:
            notes.append(f"not run: {told.analysis.blocked_because}")
    if told.status not in {Status.OK, Status.ERROR, Status.BLOCKED}:
        notes.append(f"{told.status}" + (f" ({told.signal})" if told.signal else ""))
    return notes


def _write_files(folder: Path, told: ExecuteResponse) -> None:
    """Put collected files below ``folder``. The guest chose their names: none is followed out of it or overwritten."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in told.files:
        parts = PurePosixPath(file.path).parts
        if not parts or file.path.startswith("/") or ".." in parts:
            raise JobRefused("collect", f"{file.path!r} would leave {folder}")
        place = folder
        for part in parts[:-1]:
            place /= part
            place.mkdir(exist_ok=True)
            if place.is_symlink():
                raise JobRefused("into", f"{place} is a link")
        content = base64.b64decode(file.content) if file.encoding == "base64" else file.content.encode()
        with (place / parts[-1]).open("xb") as written:  # "x" neither overwrites nor follows a link
            written.write(content)


def _file(item: str) -> dict[str, str]:
    inside, equals, path = item.partition("=")
    if not equals:
        inside, path = Path(item).name, item
    return {"path": inside, "content": _base64(source.read_bytes(path)), "encoding": "base64"}


def _pair(item: str, option: str) -> tuple[str, str]:
    name, equals, value = item.partition("=")
    if not equals:
        raise JobRefused(option, f"{item!r} is not NAME=VALUE")
    return name, value


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _number(name: str) -> int:
    try:
        return signal.Signals[name]
    except KeyError:  # a real-time signal, SIGRTMIN+n, or one of the C library's own, SIGn
        base, _, offset = name.partition("+")
        return signal.Signals[base] + int(offset) if offset else int(base.removeprefix("SIG"))


def _fail(message: str, code: int) -> int:
    for line in message.splitlines():
        print(f"fumehood: {line}", file=sys.stderr)
    return code
