"""What a run printed: exact to the byte, whatever its size, its encoding and its end."""

from __future__ import annotations

import re
import time

import pytest
from cases import Case, bash, ended, error, python, signaled
from faces import Runner, Running

from sandbox import Job, Limits, OnOutputLimit, OutputKeep, Sandbox, Status

KIB, MIB = 1 << 10, 1 << 20
HEAD_TAIL = {"output_keep": OutputKeep.HEAD_TAIL}
KILL = {"on_output_limit": OnOutputLimit.KILL}
WRITE = "import sys\nfor _ in range({count}): sys.stdout.buffer.write(b'0123456789abcdef' * {size})"
MIXED = "aé€😀"  # characters of 1, 2, 3 and 4 bytes
SPEAKS = "import os, signal, time, sys\nprint('out'); print('err', file=sys.stderr); sys.stdout.write('rest')\n"
SPOKEN = {"stdout": "out\nrest", "stderr": "err\n"}


def pattern(size: int) -> str:
    """Give the first ``size`` characters of what WRITE writes."""
    return ("0123456789abcdef" * (size // 16 + 1))[:size]


SIZES = {
    0: "pass",
    1: "print('0', end='')",
    64 * KIB: WRITE.format(count=1, size=4096),
    MIB: WRITE.format(count=1, size=64 * KIB),
    100 * MIB: WRITE.format(count=100, size=64 * KIB),
}
BASH_SIZES = {
    0: ":",
    1: "printf 0",
    64 * KIB: "printf 0123456789abcdef%.0s {1..4096}",
    MIB: "head -c 1M < <(yes 0123456789abcdef | tr -d '\\n')",
}


@pytest.mark.parametrize("size", [0, 1, 64 * KIB, MIB, 100 * MIB])
@pytest.mark.parametrize("times_out", [False, True], ids=["ends", "times-out"])
def test_every_byte_is_counted_and_what_fits_is_kept(runner: Runner, size: int, times_out: bool) -> None:  # noqa: FBT001 - a parameter
    """Totals are true up to 100 MiB, also where the run never ends by itself."""
    code = SIZES[size] + ("\nsys.stdout.flush(); import time; time.sleep(60)" if times_out and size > 1 else "")
    code += "\nimport time; time.sleep(60)" if times_out and size <= 1 else ""
    wall = (0.4 if size <= MIB else 3.0) if times_out else 60.0
    result = runner.run(Job(code=code, limits=Limits(wall_seconds=wall, output_bytes=2 * MIB)))
    kept = min(size, 2 * MIB)
    assert result.status is (Status.TIMEOUT if times_out else Status.OK)
    assert result.stdout_bytes == size
    assert result.stdout_truncated == (size > kept)
    assert result.stdout == pattern(kept)
    assert (result.stderr, result.stderr_bytes, result.stderr_truncated) == ("", 0, False)
    assert ("output" in result.limits_hit) == (size > kept)


@pytest.mark.parametrize("size", BASH_SIZES)
def test_bash_output_is_exact(runner: Runner, size: int) -> None:
    """The same for what bash and its programs write."""
    result = runner.run(Job(code=BASH_SIZES[size], language="bash", limits=Limits(output_bytes=MIB)))
    assert (result.stdout_bytes, len(result.stdout), result.stdout_truncated) == (size, size, False)


def test_both_streams_at_once_are_each_exact(runner: Runner) -> None:
    """Neither waits for the other, and each has the whole limit for itself."""
    code = (
        "import sys, threading\n"
        "def write(stream, text):\n"
        "    for _ in range(1024): stream.buffer.write(text * 1024)\n"
        "t = threading.Thread(target=write, args=(sys.stderr, b'e'))\n"
        "t.start(); write(sys.stdout, b'o'); t.join()"
    )
    result = runner.run(Job(code=code, limits=Limits(output_bytes=MIB)))
    assert (result.status, result.limits_hit) == (Status.OK, ())
    assert result.stdout == "o" * MIB
    assert result.stderr == "e" * MIB


CUTS = (
    python("head", f"print({MIXED!r} * 9, end='')", limits={"output_bytes": 10}, stdout=MIXED, limits_hit=("output",)),
    *(
        python(
            f"head-{limit}",
            f"print({MIXED!r} * 9, end='')",
            limits={"output_bytes": limit},
            stdout=(MIXED * 9).encode()[:limit].decode(errors="ignore"),
            limits_hit=("output",),
        )
        for limit in range(12)
    ),
    *(
        python(
            f"head-tail-{limit}",
            f"print({MIXED!r} * 9, end='')",
            limits={"output_bytes": limit},
            options=HEAD_TAIL,
            stdout=(MIXED * 9).encode()[: limit - limit // 2].decode(errors="ignore")
            + (MIXED * 9).encode()[90 - limit // 2 :].decode(errors="ignore"),
            limits_hit=("output",),
        )
        for limit in range(24)
    ),
    python(
        "head-tail-keeps-the-error-that-stands-last",
        "print('x' * 10**6); import sys; sys.stdout.write('last word')",
        limits={"output_bytes": 18},
        options=HEAD_TAIL,
        stdout="x" * 9 + "last word",
        limits_hit=("output",),
    ),
    python(
        "head-tail-that-fits-is-whole",
        f"print({MIXED!r} * 2, end='')",
        limits={"output_bytes": 20},
        options=HEAD_TAIL,
        stdout=MIXED * 2,
    ),
    python("nothing-is-kept", "print('x')", limits={"output_bytes": 0}, limits_hit=("output",)),
    python(
        "not-utf-8",
        "import os; os.write(1, b'a\\xff\\xfeb\\xc3'); os.write(2, b'\\xe2\\x82|\\xed\\xa0\\x80')",
        stdout="a\ufffd\ufffdb\ufffd",
        stderr="\ufffd|\ufffd\ufffd\ufffd",
    ),
    python("nul-bytes", "print('a\\0b\\0', end='')", stdout="a\0b\0"),
    bash("nul-bytes", "printf 'a\\0b\\377'", stdout="a\0b\ufffd"),
    python("carriage-returns", "print('a\\r\\nb\\r', end='')", stdout="a\r\nb\r"),
)
ENDINGS = (
    python(
        "timeout", f"{SPEAKS}time.sleep(60)", limits={"wall_seconds": 0.4}, **SPOKEN, **ended(Status.TIMEOUT, "wall")
    ),
    python("cpu", f"{SPEAKS}while True: pass", limits={"cpu_seconds": 0.2}, **SPOKEN, **ended(Status.CPU_LIMIT, "cpu")),
    python("signal", f"{SPEAKS}os.kill(os.getpid(), signal.SIGSEGV)", **SPOKEN, **signaled("SIGSEGV")),
    python("killed", f"{SPEAKS}os.kill(os.getpid(), signal.SIGKILL)", **SPOKEN, **signaled("SIGKILL")),
    python("exit-at-once", f"{SPEAKS}os._exit(3)", **SPOKEN, **error(3)),
    python(
        "output-kill",
        f"{SPEAKS}sys.stdout.write('x' * 99); time.sleep(60)",
        limits={"output_bytes": 8},
        options=KILL,
        stdout="out\nrest",
        stderr="err\n",
        **ended(Status.OUTPUT_LIMIT, "output"),
    ),
    bash(
        "timeout",
        "echo out; echo err >&2; echo -n rest; sleep 60",
        limits={"wall_seconds": 0.4},
        **SPOKEN,
        **ended(Status.TIMEOUT, "wall"),
    ),
    python(
        "print-without-newline",
        "print('Name: ', end=''); import time; time.sleep(60)",
        limits={"wall_seconds": 0.4},
        stdout="Name: ",
        **ended(Status.TIMEOUT, "wall"),
    ),
    python("stdout-closed", "import os; print('x'); os.close(1); os.close(2)", stdout="x\n"),
    python(
        "written-by-path",
        "open('/dev/stdout', 'w').write('o'); open('/dev/stderr', 'w').write('e')",
        stdout="o",
        stderr="e",
    ),
    bash(
        "written-by-path",
        "echo o > /dev/stdout; echo e > /dev/stderr; echo p | tee /dev/stderr",
        stdout="o\np\n",
        stderr="e\np\n",
    ),
    python(
        "by-a-child", "import subprocess; print('a'); subprocess.run(['echo', 'b']); print('c')", stdout="a\nb\nc\n"
    ),
)


@pytest.mark.parametrize("case", [*CUTS, *ENDINGS], ids=str)
def test_output_is_kept_as_the_contract_says(runner: Runner, case: Case) -> None:
    """Cuts fall between characters, and no ending loses what was written before it."""
    case.check(runner.run(case.job))


def test_totals_are_beside_what_was_cut(runner: Runner) -> None:
    """The caller can tell how much is missing from either stream."""
    code = "import sys; print('x' * 999); print('y' * 99, file=sys.stderr)"
    result = runner.run(Job(code=code, limits=Limits(output_bytes=100)))
    assert (result.stdout_bytes, result.stdout_truncated, result.stdout) == (1000, True, "x" * 100)
    assert (result.stderr_bytes, result.stderr_truncated, result.stderr) == (100, False, "y" * 99 + "\n")


GRANDCHILDREN = (
    python("holds-stdout", "import subprocess; subprocess.Popen(['sleep', '60']); print('done')", stdout="done\n"),
    bash("holds-stdout", "sleep 60 & echo done", stdout="done\n"),
    bash(
        "keeps-writing",
        "yes >&2 & sleep 0.1; echo done",
        stdout="done\n",
        stderr=re.compile("^y"),
        limits_hit=("output",),
    ),
    python(
        "a-daemon",
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(0.3); print('late', flush=True); time.sleep(60)\n"
        "    os._exit(0)\n"
        "os.wait(); print('done')",
        stdout="done\n",
    ),
    bash("a-daemon", "setsid nohup sleep 60 > /dev/null 2>&1 < /dev/null & disown; echo done", stdout="done\n"),
)


@pytest.mark.parametrize("case", GRANDCHILDREN, ids=str)
def test_the_answer_waits_for_no_descendant(runner: Runner, case: Case) -> None:
    """The run ends with its main process; what descendants would print later is not awaited."""
    start = time.monotonic()
    case.check(runner.run(case.job))
    assert time.monotonic() - start < 3


def test_a_cancel_keeps_all_that_was_printed(runner: Runner) -> None:
    """Also more than a pipe holds."""
    code = "print('x' * 999_999); import time; time.sleep(60)"
    for delay in (0.3, 1.0, 5.0, 20.0):  # as long as it takes the guest to have printed
        running = Running(runner, Job(code=code, limits=Limits(output_bytes=MIB)))
        time.sleep(delay)
        running.cancel.set()
        result = running.result()
        assert result.status is Status.CANCELLED
        assert len(result.stdout) == result.stdout_bytes
        if result.stdout_bytes == 1_000_000:
            return
    pytest.fail("what was printed was never kept")


STDIN = (
    python(
        "all-of-it",
        "import sys; print(ascii(sys.stdin.read()))",
        options={"stdin": "é\r\n\0x".encode()},
        stdout="'\\xe9\\r\\n\\x00x'\n",
    ),
    python(
        "bytes",
        "import sys; print(sys.stdin.buffer.read())",
        options={"stdin": b"\xff\0\r\n"},
        stdout="b'\\xff\\x00\\r\\n'\n",
    ),
    python(
        "input",
        "print(input() + '|' + input('? ')); input()",
        options={"stdin": b"a\nb"},
        stdout="? a|b\n",
        stderr=re.compile("^EOFError: EOF when reading a line$", re.MULTILINE),
        **error(),
    ),
    python("empty", "import sys; print(repr(sys.stdin.read()))", stdout="''\n"),
    bash("read", "read a; read b; echo $a,$b; cat", options={"stdin": b"1\n2\n3\n4"}, stdout="1,2\n3\n4"),
    python(
        "closed-early",
        "import os, time; os.close(0); time.sleep(0.2); print('fine')",
        options={"stdin": bytes(MIB)},
        stdout="fine\n",
    ),
    python("never-read", "print('fine')", options={"stdin": bytes(MIB)}, stdout="fine\n"),
    bash("head-of-it", "head -c 3", options={"stdin": b"abcdef" * MIB}, stdout="abc"),
    python(
        "not-read-at-timeout",
        "import time; time.sleep(60)",
        options={"stdin": bytes(MIB)},
        limits={"wall_seconds": 0.3},
        **ended(Status.TIMEOUT, "wall"),
    ),
)


@pytest.mark.parametrize("case", STDIN, ids=str)
def test_stdin_is_what_was_given(runner: Runner, case: Case) -> None:
    """Exact, then end of file; a guest that does not read it holds nobody up."""
    case.check(runner.run(case.job))


def test_a_mebibyte_in_and_a_mebibyte_out_do_not_block_each_other(runner: Runner) -> None:
    """The guest echoes in small pieces, so both pipes are full again and again."""
    code = "import os\nwhile d := os.read(0, 7777): os.write(1, d)"
    data = bytes(range(32, 127)) * (MIB // 95)
    result = runner.run(Job(code=code, stdin=data, limits=Limits(output_bytes=2 * MIB)))
    assert result.stdout.encode() == data


def test_gigabytes_end_at_the_flood_ceiling(box: Sandbox) -> None:
    """A run that has written a gibibyte is ended whatever it asked for, and counted to there."""
    code = "import os\nx = bytes(1 << 20)\nwhile True: os.write(1, x)"
    result = box.run(Job(code=code, limits=Limits(wall_seconds=60, output_bytes=10)))
    assert (result.status, result.limits_hit) == (Status.OUTPUT_LIMIT, ("output",))
    assert 1 << 30 < result.stdout_bytes < (1 << 30) + (8 << 20)
