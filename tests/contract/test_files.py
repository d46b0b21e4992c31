"""Files in, files out, and the one quota behind every place that can be written."""

from __future__ import annotations

import hashlib
import json
import stat
import time

import pytest
from cases import Case, bash, error, python
from faces import Runner

from sandbox import InputFile, Job, Launcher, Limits, Result, SkipReason, Status

MIB = 1 << 20
BYTES = bytes(range(256)) * 300


def collected(runner: Runner, code: str, *globs: str, **more: object) -> Result:
    """Run bash and collect."""
    result = runner.run(Job(code=code, language="bash", collect=globs, **more))  # type: ignore[arg-type]
    assert result.stderr == ""
    return result


def names(result: Result) -> list[str]:
    """Give the paths of the collected files."""
    return [file.path for file in result.files]


def skips(result: Result) -> set[tuple[str, str]]:
    """Give what stayed behind."""
    return {(each.path, each.reason.value) for each in result.files_skipped}


def test_files_come_in_and_go_out_as_they_are(runner: Runner) -> None:
    """Nested, binary, empty, with any name; each with its size and digest."""
    files = (
        InputFile("a/b/c/bytes", BYTES),
        InputFile("a/empty", b""),
        InputFile("é 😀\n.txt", "é".encode()),
        InputFile(".dot", b"."),
        InputFile("-rf", b"x"),
    )
    result = runner.run(
        Job(
            code="import os; print(oct(os.stat('a/b').st_mode), oct(os.stat('-rf').st_mode))",
            files=files,
            collect=("**",),
        )
    )
    assert {file.path: file.content for file in result.files} == {file.path: file.content for file in files}
    assert all(file.sha256 == hashlib.sha256(file.content).hexdigest() for file in result.files)
    assert names(result) == sorted(names(result), key=lambda path: path.split("/"))
    assert result.stdout == f"{stat.S_IFDIR | 0o755:#o} {stat.S_IFREG | 0o644:#o}\n"
    assert result.files_skipped == ()


SHADOWED = ("json", "textwrap", "random", "numpy", "matplotlib")


@pytest.mark.parametrize("module", SHADOWED)
@pytest.mark.parametrize("path", ["{}.py", "{}/__init__.py"])
def test_a_file_goes_before_a_module_of_the_same_name(runner: Runner, module: str, path: str) -> None:
    """As for any program whose folder comes first, whatever a fork server has imported already."""
    code = f"import {module}\nprint({module}.who)\nimport calendar, math\nprint(calendar.MONDAY + math.floor(1.5))"
    files = (InputFile(path.format(module), b"who = 'mine'\n"),)
    assert runner.run(Job(code=code, files=files)).stdout == "mine\n1\n"
    assert "mine" not in runner.run(Job(code=f"import {module}; print({module}.__name__)")).stdout


def test_warm_and_cold_programs_find_the_same_modules(runner: Runner) -> None:
    """What is imported before a program that imports nothing is the same, so a file goes before the same modules."""
    code = "print(sorted({name.partition('.')[0] for name in __import__('sys').modules}))"
    cold = runner.box.run(Job(code=code, launcher=Launcher.COLD)).stdout
    assert runner.run(Job(code=code)).stdout == cold


FILES_IN = (
    python(
        "written-over",
        "open('a/x', 'a').write('2'); print(open('a/x').read())",
        options={"files": (InputFile("a/x", b"1"),)},
        stdout="12\n",
    ),
    python(
        "owned-by-the-guest",
        "import os; s = os.stat('a'); print(s.st_uid, s.st_gid, os.stat('a/x').st_uid)",
        options={"files": (InputFile("a/x", b""),)},
        stdout="1000 1000 1000\n",
    ),
    bash("removed", "rm -r a; ls -A", options={"files": (InputFile("a/x", b""),)}),
    python(
        "many",
        "import os; print(len(os.listdir('d')))",
        options={"files": tuple(InputFile(f"d/{n}", b"") for n in range(256))},
        stdout="256\n",
    ),
    python(
        "large",
        "import os; print(os.path.getsize('x'))",
        options={"files": (InputFile("x", bytes(8 * MIB)),)},
        stdout=f"{8 * MIB}\n",
    ),
)


@pytest.mark.parametrize("case", FILES_IN, ids=str)
def test_files_given_are_the_guests_own(runner: Runner, case: Case) -> None:
    """It may read, change and remove them."""
    case.check(runner.run(case.job))


TREE = "mkdir -p out/sub/.hid a.d; touch top.png .dot out/1.png out/.2 out/sub/3.png out/sub/.hid/4 a.d/x '[z]'"


@pytest.mark.parametrize(
    ("globs", "found"),
    [
        ((), []),
        (("nosuch",), []),
        (("top.png",), ["top.png"]),
        (("*.png",), ["top.png"]),
        (("*",), [".dot", "[z]", "top.png"]),
        ((".*",), [".dot"]),
        (("**",), [".dot", "[z]", "a.d/x", "out/.2", "out/1.png", "out/sub/.hid/4", "out/sub/3.png", "top.png"]),
        (("out/**",), ["out/.2", "out/1.png", "out/sub/.hid/4", "out/sub/3.png"]),
        (("**/*.png",), ["out/1.png", "out/sub/3.png", "top.png"]),
        (("out/**/*.png",), ["out/1.png", "out/sub/3.png"]),
        (("out/*",), ["out/.2", "out/1.png"]),
        (("*/*",), ["a.d/x", "out/.2", "out/1.png"]),
        (("out",), []),
        (("[[]z]",), ["[z]"]),
        (("[!.]*.png", "out/?.png"), ["out/1.png", "top.png"]),
        (("*.PNG",), []),
        (("**/.hid/**",), ["out/sub/.hid/4"]),
    ],
    ids=str,
)
def test_globs_match_as_pathlib_does(runner: Runner, globs: tuple[str, ...], found: list[str]) -> None:
    """Dotfiles included; a folder alone is no file; the order is that of the paths."""
    assert sorted(names(collected(runner, TREE, *globs))) == sorted(found)


def test_what_is_no_file_is_named_and_why(runner: Runner) -> None:
    """No link is followed, nothing special is opened, and nothing that matched is passed over in silence."""
    code = (
        "mkdir d; echo x > d/x; ln -s d/x link; ln -s /etc/passwd away; ln -s nowhere dangling\n"
        "ln -s d folder; mkfifo pipe\n"
        "ln -s loop loop; echo x > $'not\\xff'; echo x > closed; chmod 0 closed\n"
        "python3 -c \"import socket; socket.socket(1).bind('socket')\"\n"
    )
    result = collected(runner, code, "**")
    assert names(result) == ["d/x"]
    wanted = {
        ("link", "symlink"),
        ("away", "symlink"),
        ("dangling", "symlink"),
        ("folder", "symlink"),
        ("loop", "symlink"),
    }
    wanted |= {("pipe", "special"), ("socket", "special"), ("not\ufffd", "name"), ("closed", "unreadable")}
    assert skips(result) == wanted


def test_a_folder_that_cannot_be_opened_is_named(runner: Runner) -> None:
    """What lies in it cannot be told, so the folder is."""
    assert skips(collected(runner, "mkdir d; echo > d/x; chmod 0 d", "**")) == {("d", "unreadable")}


def test_too_many_and_too_large_are_told(runner: Runner) -> None:
    """A hundred files and sixteen mebibytes in all come back; the rest is named."""
    result = collected(runner, "for n in {100..219}; do : > $n; done", "*")
    assert names(result) == [str(number) for number in range(100, 200)]
    assert skips(result) == {(str(number), "too_many") for number in range(200, 220)}
    result = collected(runner, "truncate -s 10M a c; truncate -s 20M b; echo x > d", "*")
    assert names(result) == ["a", "d"]
    assert skips(result) == {("b", "too_large"), ("c", "too_large")}


def test_a_sparse_file_costs_no_more_than_it_may(runner: Runner) -> None:
    """Its size is what would be sent, whatever it takes on disk."""
    assert skips(collected(runner, "truncate -s 200M x", "x")) == {("x", "too_large")}


@pytest.mark.parametrize("ending", ["ok", "timeout", "killed", "memory"])
def test_files_are_collected_at_every_ending(runner: Runner, ending: str) -> None:
    """What was written before a run was ended is not lost with it."""
    code = {
        "ok": "",
        "timeout": "import time; time.sleep(60)",
        "killed": "import os; os.kill(os.getpid(), 9)",
        "memory": "x = []\nwhile True: x.append(b'x' * (1 << 20))",
    }
    limits = Limits(wall_seconds=0.5 if ending == "timeout" else 10, memory_bytes=64 * MIB)
    result = runner.run(Job(code=f"open('x', 'w').write('kept')\n{code[ending]}", collect=("x",), limits=limits))
    assert (result.status is Status.OK) == (ending == "ok")
    assert [file.content for file in result.files] == [b"kept"]


def test_files_a_descendant_still_changes_are_read_whole(runner: Runner) -> None:
    """Nobody writes any more when files are read: the content is one that was there at one moment."""
    code = (
        "import os\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    while True:\n"
        "        for c in b'ab':\n"
        "            with open('t', 'wb') as file: file.write(bytes([c]) * 100000)\n"
        "            os.rename('t', 'x'); os.symlink('/etc/passwd', 't'); os.rename('t', 'x')\n"
        "        open('y', 'w').close()\n"
        "while not os.path.exists('y'): pass"
    )
    for _ in range(3):
        result = runner.run(Job(code=code, collect=("x",)))
        assert result.status is Status.OK, result.stderr
        for file in result.files:
            assert file.content in (b"a" * 100_000, b"b" * 100_000)
        assert all(each.reason is SkipReason.SYMLINK for each in result.files_skipped)


def test_a_folder_a_thousand_deep_delays_nobody(runner: Runner) -> None:
    """What can be named is returned, what cannot is said to be unreadable."""
    code = (
        "import os\n"
        "for n in range(1000):\n"
        "    os.mkdir('d'); os.chdir('d')\n"
        "    if n == 499: open('half', 'w').write('x')\n"
        "open('x', 'w').close()"
    )
    start = time.monotonic()
    result = runner.run(Job(code=code, collect=("**",)))
    assert result.status is Status.OK, result.stderr
    assert time.monotonic() - start < 10
    assert names(result) == ["d/" * 1000 + "x", "d/" * 500 + "half"]
    names_of_200 = code.replace("'d'", "'d' * 200").replace("== 499", "== 9")
    result = runner.run(Job(code=names_of_200, collect=("**",)))
    assert names(result) == ["/".join(["d" * 200] * 10) + "/half"]
    assert [each.reason for each in result.files_skipped] == [SkipReason.UNREADABLE]


WRITE_EVERYWHERE = """
import errno, json, os, sys
places = []
for folder, below, _ in os.walk('/'):
    below[:] = [name for name in below if os.path.join(folder, name) not in ('/proc', '/usr', '/sys')]
    try:
        open(os.path.join(folder, '.probe'), 'w').close()
    except OSError:
        continue
    os.unlink(os.path.join(folder, '.probe'))
    places.append(folder)
for top in ('/proc/self', '/proc/1', '/proc/sys'):
    assert not os.access(top, os.W_OK), top
written = made = 0
for place in places:
    try:
        for number in range(10**6):
            with open(f'{place}/{number}', 'wb', 0) as file:
                made += 1
                while %s:
                    written += file.write(bytes(1 << 16))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG):
            raise
print(json.dumps([places, written, made]))
"""


@pytest.mark.parametrize("paths", [("/tmp",), ("/tmp", "/srv/data", "/home/user")], ids=len)
def test_all_that_can_be_written_has_one_quota_of_bytes(runner: Runner, paths: tuple[str, ...]) -> None:
    """A program that fills every folder it can find gets disk_bytes in all, and nearly that."""
    limits = Limits(disk_bytes=8 * MIB, wall_seconds=60)
    result = runner.run(Job(code=WRITE_EVERYWHERE % "True", writable_paths=paths, limits=limits))
    places, written, _ = json.loads(result.stdout)
    laid = {place for place in places if place.startswith("/tmp/.")}
    assert set(places) - laid == {"/workspace", "/mnt/data", "/tmp", "/dev/shm", *paths}
    assert 0.9 * 8 * MIB < written <= 8 * MIB
    assert result.limits_hit == ("disk",)


def test_all_that_can_be_written_has_one_quota_of_inodes(runner: Runner) -> None:
    """The same for a program that makes empty files."""
    limits = Limits(inodes=500, wall_seconds=60)
    result = runner.run(Job(code=WRITE_EVERYWHERE % "False", writable_paths=("/srv",), limits=limits))
    _, _, made = json.loads(result.stdout)
    assert 0.9 * 500 < made <= 500 + 2  # the two opens that were refused are counted too
    assert result.limits_hit == ("disk",)


WRITABLE = (
    bash(
        "own-place",
        "echo x > /srv/data/f; cat /srv/data/f; pwd -P",
        options={"writable_paths": ("/srv/data",)},
        stdout="x\n/workspace\n",
    ),
    bash(
        "nested-in-nothing",
        "touch /a/b/c/d; touch /a/b/x",
        options={"writable_paths": ("/a/b/c",)},
        stderr="touch: cannot touch '/a/b/x': Read-only file system\n",
        **error(),
    ),
    bash("without-tmp-it-is-there", "echo x > /tmp/f; cat /tmp/f", options={"writable_paths": ()}, stdout="x\n"),
    bash("any-name", "touch '/é 😀/x'; ls /é*", options={"writable_paths": ("/é 😀",)}, stdout="x\n"),
    bash(
        "sticky",
        "stat -c '%a %U' /tmp /dev/shm /workspace /srv",
        options={"writable_paths": ("/srv",)},
        stdout="1777 user\n1777 user\n755 user\n755 user\n",
    ),
)


@pytest.mark.parametrize("case", WRITABLE, ids=str)
def test_writable_paths_are_writable_and_nothing_else_is(runner: Runner, case: Case) -> None:
    """A path the job names is a folder of the run's own."""
    case.check(runner.run(case.job))
