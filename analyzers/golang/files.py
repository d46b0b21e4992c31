"""Rules about what others on the machine may do with the program's files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.golang.program import Program
from analyzers.golang.seen import Call
from analyzers.golang.values import Value
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

_FOLDERS = {"os.Mkdir": 1, "os.MkdirAll": 1, "io/ioutil.MkdirAll": 1, "syscall.Mkdir": 1}
_FILES: dict[str, tuple[int, str]] = {
    "os.Chmod": (1, "G302"),
    "os.OpenFile": (2, "G302"),
    "os.WriteFile": (2, "G306"),
    "io/ioutil.WriteFile": (2, "G306"),
    "syscall.Chmod": (1, "G302"),
    "syscall.Open": (2, "G302"),
    "syscall.Creat": (1, "G302"),
    ".Chmod": (0, "G302"),
}
_FOLDER_MODE, _FILE_MODE, _OTHERS_WRITE = 0o750, 0o600, 0o022
_MAX_MODE = 0o7777


def folder_permissions(program: Program, call: Call) -> Iterator[Hit]:
    """A folder is made with more permissions than its owner and group need (0750).

    Whoever may write in it can put a file or link in another's place. The umask may take something away, but is not
    the program's.
    """
    mode = _mode(program, call, _FOLDERS[call.name])
    if mode is not None and mode & ~_FOLDER_MODE & 0o777:
        yield _hit(program, call, mode, "folder", None)


def file_permissions(program: Program, call: Call) -> Iterator[Hit]:
    """A file is made, or changed, so that others than its owner may use it (more than 0600).

    Others who may write can change what the program reads next; who may read can copy secrets. A file that all may read
    and only its owner may write is an information.
    """
    at, also = _FILES[call.name]
    if call.name == ".Chmod" and program.receiver_type(call) != "os.File":
        return
    mode = _mode(program, call, at)
    if mode is None or not mode & ~_FILE_MODE & 0o777:
        return
    if call.name in {"os.OpenFile", "syscall.Open"} and b"CREAT" not in program.raw(call.node):
        return
    yield _hit(program, call, mode, "file", (also,))


def _mode(program: Program, call: Call, at: int) -> int | None:
    mode = program.argument(call, at).constant
    return mode if isinstance(mode, int) and not isinstance(mode, bool) and 0 <= mode <= _MAX_MODE else None


def _hit(program: Program, call: Call, mode: int, what: str, also: tuple[str, ...] | None) -> Hit:
    writable = bool(mode & _OTHERS_WRITE)
    may = "everybody may write" if mode & 0o002 else "others may write" if writable else "others may read"
    return program.hit(
        call.node,
        f"{may} this {what} ({mode:#o})",
        severity=None if writable else Severity.INFO,
        confidence=None if writable else Confidence.MEDIUM,
        also=also,
    )


_MODES = {**_FOLDERS, **{name: at for name, (at, _) in _FILES.items()}}
_DECIMAL = re.compile(rb"[1-7][0-7]{2}")


def decimal_mode(program: Program, call: Call) -> Iterator[Hit]:
    """A file mode is written in decimal: 644 is 01204 in octal, which is not what it looks like.

    Write ``0o644``.
    """
    at = _MODES[call.name]
    if at < len(call.arguments) and _DECIMAL.fullmatch(program.raw(call.arguments[at])):
        yield program.hit(call.arguments[at], "a file mode is octal; write 0o in front")


_MAKING = ("os.Create", "os.WriteFile", "io/ioutil.WriteFile", "os.OpenFile", "os.Mkdir", "os.MkdirAll")
_SHARED = re.compile(r"^(?:/tmp|/var/tmp|/usr/tmp|/dev/shm)/[^\0]")


def predictable_temporary(program: Program, call: Call) -> Iterator[Hit]:
    """A file of a fixed name is made in a folder where everybody may write.

    Another user can make it first, as a link to a file that the program then overwrites, or to read what is written.
    Use ``os.CreateTemp`` or ``os.MkdirTemp``, which choose a name that is not there.
    """
    if not call.arguments:
        return
    value = program.value(call.arguments[0])
    shared = _SHARED.match(value.pattern) or _below_temporary(program, call, value)
    exclusive = b"O_EXCL" in program.raw(call.node)
    if shared and not exclusive and not (call.name == "os.OpenFile" and b"CREAT" not in program.raw(call.node)):
        yield program.hit(call.node, "a fixed name in a folder where everybody may write")


def _below_temporary(program: Program, call: Call, value: Value) -> bool:
    if not any(program.by_name.get("os.TempDir", ())) or value.source is not None:
        return False
    text = program.raw(call.arguments[0])
    return b"os.TempDir()" in text and (b'"' in text or b"`" in text)


def open_umask(program: Program, call: Call) -> Iterator[Hit]:
    """The umask is set to zero: from now on files are made with all the permissions that are asked for.

    Set 0o077 while secrets are written, and leave it alone otherwise.
    """
    if program.argument(call, 0).constant == 0:
        yield program.hit(call.node, "files made from now on keep all permissions for others")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH860",
        name="go-folder-permissions",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=276,
        check=folder_permissions,
        also=("G301",),
        on=tuple(_FOLDERS),
        hits=('os.Mkdir("/srv/a", 0777)\n', "os.MkdirAll(dir, os.ModePerm)\n", "os.MkdirAll(dir, 0o755)\n"),
        misses=('os.Mkdir("/srv/a", 0700)\n', "os.MkdirAll(dir, 0o750)\n", "os.MkdirAll(dir, mode)\n"),
    ),
    Rule(
        id="FH861",
        name="go-file-permissions",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=732,
        check=file_permissions,
        also=("G302", "G306"),
        on=tuple(_FILES),
        hits=(
            'os.Chmod("a", 0777)\n',
            'os.OpenFile("a", os.O_CREATE|os.O_WRONLY, 0666)\n',
            'os.WriteFile("a", data, 0o644)\n',
            'const mode = 0o666\nvar err = os.WriteFile("a", nil, mode)\n',
            'f, _ := os.Create("a")\nf.Chmod(0o777)\n',
        ),
        misses=(
            'os.Chmod("a", 0600)\n',
            'os.OpenFile("a", os.O_RDONLY, 0644)\n',
            'os.WriteFile("a", data, 0o600)\n',
            'os.WriteFile("a", data, info.Mode())\n',
            "x.Chmod(0o777)\n",
        ),
    ),
    Rule(
        id="FH865",
        name="go-decimal-mode",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=732,
        check=decimal_mode,
        also=("SA9002",),
        on=tuple(_MODES),
        hits=('os.Chmod("a", 644)\n', "os.MkdirAll(d, 755)\n"),
        misses=('os.Chmod("a", 0644)\n', "os.MkdirAll(d, 0o700)\n", "os.MkdirAll(d, 0)\n"),
    ),
    Rule(
        id="FH862",
        name="go-predictable-temporary",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=377,
        check=predictable_temporary,
        also=("G303",),
        on=_MAKING,
        hits=(
            'os.Create("/tmp/app.log")\n',
            'os.WriteFile("/var/tmp/"+"x", nil, 0o600)\n',
            'os.WriteFile(filepath.Join(os.TempDir(), "x"), nil, 0o600)\n',
            'const p = "/tmp/a"\nvar f, _ = os.OpenFile(p, os.O_CREATE|os.O_RDWR, 0o600)\n',
        ),
        misses=(
            'os.CreateTemp("", "app-*.log")\n',
            'os.Create("/srv/tmp/a")\n',
            'os.OpenFile("/tmp/a", os.O_RDONLY, 0)\n',
            'os.WriteFile(filepath.Join(t.TempDir(), "x"), nil, 0o600)\n',
            'os.OpenFile("/tmp/a", os.O_CREATE|os.O_EXCL, 0o600)\n',
        ),
    ),
    Rule(
        id="FH864",
        name="go-open-umask",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=276,
        check=open_umask,
        on=("syscall.Umask", "golang.org/x/sys/unix.Umask"),
        hits=("syscall.Umask(0)\n",),
        misses=("syscall.Umask(0o077)\n", "old := syscall.Umask(mask)\n"),
    ),
)
