"""``fumehood run`` over a scripted engine: exit codes, what is passed through, and what is refused."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
from doubles import ScriptedBox, result

from analyzers import isolate
from fumehood import readers
from fumehood.cli import main
from fumehood.commands import run as command
from sandbox import (
    Cancel,
    Job,
    LayerMissing,
    Limits,
    OutputFile,
    Result,
    Sandbox,
    SetupError,
    SkippedFile,
    SkipReason,
    Status,
)

Run = Callable[..., tuple[int, str, str]]


class ContextBox(ScriptedBox):
    """The scripted engine, used as the real one is."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> ContextBox:
    """The engine that the command will find."""
    scripted = ContextBox()
    monkeypatch.setattr(command, "Sandbox", lambda _: scripted)
    return scripted


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Call the command with arguments and standard input; give exit code, stdout and stderr."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # the command sets them; put them back afterwards
        monkeypatch.setitem(_HANDLERS, number, signal.getsignal(number))

    def call(*argv: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        try:
            code = main(["run", *argv])
        finally:
            for number, handler in _HANDLERS.items():
                signal.signal(number, handler)
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return call


_HANDLERS: dict[signal.Signals, Any] = {}


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (result(), 0),
        (result(Status.ERROR, exit_code=3), 3),
        (result(Status.ERROR, exit_code=255), 255),
        (result(Status.SIGNALED, signal="SIGSEGV"), 139),
        (result(Status.SIGNALED, signal="SIGKILL"), 137),
        (result(Status.SIGNALED, signal="SIGRTMIN+2"), 128 + signal.SIGRTMIN + 2),
        (result(Status.SIGNALED, signal="SIG33"), 128 + 33),
        (result(Status.TIMEOUT, signal="SIGKILL"), 124),
        (result(Status.CPU_LIMIT, signal="SIGKILL"), 124),
        (result(Status.MEMORY_LIMIT, signal="SIGKILL"), 137),
        (result(Status.MEMORY_LIMIT, exit_code=1), 137),
        (result(Status.PROCESS_LIMIT, exit_code=1), 1),
        (result(Status.DISK_LIMIT, exit_code=5), 5),
        (result(Status.DISK_LIMIT, signal="SIGBUS"), 128 + signal.SIGBUS),
        (result(Status.OUTPUT_LIMIT, signal="SIGKILL"), 153),
        (result(Status.OUTPUT_LIMIT), 153),
        (result(Status.CANCELLED, signal="SIGKILL"), 130),
    ],
)
def test_the_exit_code_says_how_it_ended(box: ContextBox, run: Run, verdict: Result, code: int) -> None:
    """The guest's own code where it has one that says it best."""
    box.script = lambda _: verdict
    assert run("-", stdin=b"x")[0] == code
    told = json.loads(run("--json", "-", stdin=b"x")[1])
    assert told["status"] == verdict.status.value


def test_output_is_passed_through_as_it_is(box: ContextBox, run: Run) -> None:
    """Line ends, control characters and all, stdout to stdout and stderr to stderr."""
    box.script = lambda _: result(stdout="a\r\nb\x1b[1m\té", stderr="e\r", stdout_bytes=0)
    assert run("-", stdin=b"x") == (0, "a\r\nb\x1b[1m\té", "e\r")


def test_the_source_is_passed_on_as_it_is(box: ContextBox, run: Run, tmp_path: Path) -> None:
    """Byte order mark and line ends are the guest interpreter's affair."""
    source = tmp_path / "a.py"
    source.write_bytes("\ufeffprint('é')\r\n".encode())
    assert run(str(source))[0] == 0
    assert run(stdin=b"from standard input")[0] == 0
    assert [job.code for job in box.jobs] == ["\ufeffprint('é')\r\n", "from standard input"]


def test_every_option_reaches_the_engine(box: ContextBox, run: Run, tmp_path: Path) -> None:
    """Limits, arguments, variables, files, standard input."""
    data = tmp_path / "data.bin"
    data.write_bytes(b"\xff\0")
    code, _, err = run(
        "-", "-l", "bash", "--arg=--x", "--arg", "", "--env", "A=b=c", "--stdin", str(data), "--file", str(data),
        "--file", f"in/d={data}", "--collect", "out/**", "--wall-seconds", "0.5", "--cpu-seconds", "2", "--cpus", "0.5",
        "--memory-bytes", "64M", "--output-bytes", "1k", "--disk-bytes", "1G", "--processes", "3", "--inodes", "9",
        "--open-files", "20", "--output-keep", "head_tail", "--on-output-limit", "kill", "--launcher", "cold",
        "--writable-path", "/srv", stdin=b"ls",
    )  # fmt: skip
    assert (code, err) == (0, "")
    job = box.jobs[0]
    assert (job.code, job.language, job.args, job.env, job.stdin) == (
        "ls",
        "bash",
        ("--x", ""),
        {"A": "b=c"},
        b"\xff\0",
    )
    assert [(file.path, file.content) for file in job.files] == [("data.bin", b"\xff\0"), ("in/d", b"\xff\0")]
    assert (job.collect, job.writable_paths) == (("out/**",), ("/srv",))
    assert job.limits == Limits(
        wall_seconds=0.5,
        cpu_seconds=2,
        cpus=0.5,
        memory_bytes=64 << 20,
        output_bytes=1024,
        disk_bytes=1 << 30,
        processes=3,
        inodes=9,
        open_files=20,
    )
    assert (job.output_keep, job.on_output_limit, job.launcher) == ("head_tail", "kill", "cold")


@pytest.mark.parametrize(
    ("name", "text", "language"),
    [
        ("a.py", "", "python"),
        ("a.sh", "", "bash"),
        ("a.BASH", "", "bash"),
        ("a", "", "python"),
        ("a", "#!/bin/bash\n", "bash"),
        ("a", "#! /usr/bin/env -S python3.11 -u\n", "python"),
        ("a", "#!/bin/sh -e\n", "bash"),
        ("a", "#!/usr/bin/perl\n", "python"),
        ("a.txt", "#!/usr/bin/env bash", "bash"),
    ],
)
def test_the_language_is_the_files(
    box: ContextBox, run: Run, tmp_path: Path, name: str, text: str, language: str
) -> None:
    """By suffix, else by its first line, else python."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert run(str(tmp_path / name))[0] == 0
    assert box.jobs[0].language == language


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("/no/such/file",), "/no/such/file: No such file"),
        (("-", "-l", "perl"), "language"),
        (("-", "--wall-seconds", "1000"), "limits.wall_seconds: may be at most 300"),
        (("-", "--env", "A"), "'A' is not NAME=VALUE"),
        (("-", "--arg", "a\0b"), "args.0"),
        (("-", "--file", "/no/such"), "/no/such: No such file"),
        (("-", "--stdin", "/no/such"), "/no/such: No such file"),
        (("-", "--config", "/no/such.toml"), "/no/such.toml: No such file"),
        (("-", "--analysis", "block", "--block", "FH1O1"), "analysis.block.0"),
    ],
)
def test_what_is_refused_is_a_usage_error(box: ContextBox, run: Run, argv: tuple[str, ...], words: str) -> None:
    """2, a sentence naming it, and nothing is run."""
    code, out, err = run(*argv, stdin=b"x")
    assert (code, out) == (2, "")
    assert words in err
    assert box.jobs == []


def test_a_source_that_is_not_utf8_is_refused(box: ContextBox, run: Run) -> None:
    """Code is text; guessing its encoding would run something else."""
    code, _, err = run(stdin=b"x = '\xff'")
    assert (code, "not UTF-8" in err) == (2, True)
    assert box.jobs == []


@pytest.mark.parametrize("failure", [SetupError("mount", 1), LayerMissing("user", "refused", "allow it")])
def test_our_own_failure_is_125(box: ContextBox, run: Run, failure: Exception) -> None:
    """Never the guest's code, and the step or layer is named."""

    def script(_: Job) -> Any:
        raise failure

    box.script = script
    code, out, err = run(stdin=b"x")
    assert (code, out) == (125, "")
    assert str(failure) in err


def test_what_the_output_cannot_say_stands_on_stderr(box: ContextBox, run: Run) -> None:
    """A cut, a file left behind, a limit: one line each, after the guest's own."""
    box.script = lambda _: result(
        Status.TIMEOUT,
        signal="SIGKILL",
        stdout_truncated=True,
        stdout_bytes=999,
        stderr="own\n",
        files_skipped=(SkippedFile(path="p", reason=SkipReason.SYMLINK),),
    )
    assert run(stdin=b"x")[2].splitlines() == [
        "own",
        "fumehood: stdout is cut: it had 999 bytes (--output-bytes)",
        "fumehood: p was not collected: symlink",
        "fumehood: timeout (SIGKILL)",
    ]


def test_collected_files_are_written(box: ContextBox, run: Run, tmp_path: Path) -> None:
    """Below the folder that was named, bytes and all."""
    box.script = lambda _: result(
        files=(
            OutputFile(path="a/b.bin", content=b"\xff\0", sha256=""),
            OutputFile(path="c.txt", content="é\r\n".encode(), sha256=""),
        )
    )
    assert run("--into", str(tmp_path / "new"), stdin=b"x")[0] == 0
    assert (tmp_path / "new/a/b.bin").read_bytes() == b"\xff\0"
    assert (tmp_path / "new/c.txt").read_bytes() == "é\r\n".encode()


@pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../out", "link/out", "there"])
def test_collected_files_do_not_leave_or_overwrite(box: ContextBox, run: Run, tmp_path: Path, path: str) -> None:
    """The guest chose the names: no link is followed and nothing that exists is touched."""
    folder = tmp_path / "into"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    (folder / "there").write_text("mine", encoding="utf-8")
    box.script = lambda _: result(files=(OutputFile(path=path, content=b"x", sha256=""),))
    assert run("--into", str(folder), stdin=b"x")[0] == 2
    assert (folder / "there").read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "out").exists()


def test_analysis_can_block(box: ContextBox, run: Run, analyser: isolate.Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """126, the findings on stderr, and nothing is run."""
    monkeypatch.setattr(readers, "pool", lambda *_, **__: contextlib.nullcontext(analyser))
    code, out, err = run("--analysis", "block", stdin=b"eval(input())")
    assert (code, out) == (126, "")
    assert "FH101" in err
    assert "not run: FH101 eval-used in line 1 is high" in err
    assert run("--analysis", "block", "--block-at", "never", stdin=b"eval(input())")[0] == 0
    box.jobs.clear()
    for option, value in (("--block", "CWE-95"), ("--deny-capability", "dynamic.code")):
        code, out, err = run("--analysis", "block", "--allow", "FH1", option, value, stdin=b"eval(input())")
        assert (code, value in err) == (126, True)
    assert run("--analysis", "block", stdin=b" x = 1\n")[0] == 126
    assert box.jobs == []
    assert run("--analysis", "block", "--accept", "repaired", stdin=b" x = 1\n")[0] == 0
    box.jobs.clear()
    assert box.jobs == []
    code, out, err = run("--analysis", "report", stdin=b"eval(input())")
    assert (code, out) == (0, "42\n")
    assert "FH101" in err


def test_a_signal_to_us_cancels_the_run(box: ContextBox, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guest is ended in order, its output is told, and the code is 130."""
    run_of_box = ContextBox.run

    def interrupted(self: ContextBox, job: Job, *, cancel: Cancel | None = None) -> Result:
        os.kill(os.getpid(), signal.SIGTERM)
        return run_of_box(self, job, cancel=cancel)

    monkeypatch.setattr(ContextBox, "run", interrupted)
    assert run(stdin=b"wait")[:2] == (130, "part")
    assert len(box.ended) == 1


@pytest.mark.parametrize(
    ("options", "code", "exit_code", "out"),
    [
        ((), "print(40+2)", 0, "42\n"),
        ((), "import os; os.kill(os.getpid(), 11)", 139, ""),
        (("--cpu-seconds", "0.3"), "while True: pass", 124, ""),
        (("--memory-bytes", "64M"), "x = bytearray(1)\nwhile True: x += b'x' * (1 << 20)", 137, ""),
        (("--output-bytes", "10", "--on-output-limit", "kill"), "while True: print('x' * 100)", 153, "x" * 10),
        (("-l", "bash"), "kill -9 $$", 137, ""),
        (("-l", "bash"), "exit 9", 9, ""),
        (("--wall-seconds", "1000"), "1", 2, ""),
    ],
)
def test_over_the_real_engine(
    engine: Sandbox,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    code: str,
    exit_code: int,
    out: str,
) -> None:
    """What the engine says of real guests comes out as the code that was promised."""
    monkeypatch.setattr(command, "Sandbox", lambda _: contextlib.nullcontext(engine))
    assert run(*options, stdin=code.encode())[:2] == (exit_code, out)


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["tools"],
        ["mcp"],
        ["nonsense"],
        ["run", "--nonsense"],
        ["run", "--memory-bytes", "much"],
        ["run", "--wall", "3"],
        ["check", "--format", "xml"],
        ["check", "--fail-on", "all"],
        ["serve", "--port", "x"],
    ],
)
def test_what_is_not_there_is_a_usage_error(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Unknown and not yet built commands, options and values, and options cut short."""
    with pytest.raises(SystemExit) as refused:
        main(argv)
    assert refused.value.code == 2
    assert "usage: fumehood" in capsys.readouterr().err
