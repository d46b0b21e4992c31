"""Rules about results that nobody looks at, and ends that skip what was to be done."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.golang.program import Program
from analyzers.golang.seen import Call
from analyzers.golang.words import words
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

_GRAVE = words(
    "os.Chdir os.Chmod os.Chown os.Link os.Mkdir os.MkdirAll os.Rename os.Symlink os.Truncate os.WriteFile "
    "io/ioutil.WriteFile io.Copy io.CopyN io.ReadFull encoding/json.Unmarshal encoding/xml.Unmarshal "
    "gopkg.in/yaml.Unmarshal encoding/binary.Read encoding/binary.Write syscall.Setuid syscall.Setgid syscall.Chroot "
    "syscall.Exec os/exec.Run net/http.ListenAndServe net/http.ListenAndServeTLS net/smtp.SendMail"
)
_LIGHT = words("os.Remove os.RemoveAll os.Setenv os.Unsetenv")
_METHODS = {
    ".Run": "os/exec.Cmd",
    ".Start": "os/exec.Cmd",
    ".Wait": "os/exec.Cmd",
    ".Exec": "database/sql.",
    ".Commit": "database/sql.Tx",
    ".Ping": "database/sql.DB",
    ".Decode": "encoding/",
    ".Encode": "encoding/",
    ".Truncate": "os.File",
    ".Sync": "os.File",
    ".Chmod": "os.File",
    ".SetDeadline": "net.Conn",
}


def ignored_error(program: Program) -> Iterator[Hit]:
    """A function's error is not looked at: the program goes on as if it had succeeded.

    A file is then not written, rights are not dropped, or half of the input was read. Look at it, or write ``_ =`` to
    say that it does not matter. Reported are functions of the standard library whose failure matters, and functions of
    the snippet itself; closing and printing are left alone.
    """
    for call in program.seen.calls:
        if call.place != "statement":
            continue
        name = call.name
        if name in _GRAVE or _is_method(program, call) or _returns_error(program, call):
            yield program.hit(call.node, f"the error of {_short(name)} is not looked at")
        elif name in _LIGHT:
            yield program.hit(call.node, f"the error of {_short(name)} is not looked at", severity=Severity.INFO)


def _short(name: str) -> str:
    return name.rpartition("/")[2].lstrip(".")[:60]


def _is_method(program: Program, call: Call) -> bool:
    kind = _METHODS.get(call.name)
    return kind is not None and call.receiver is not None and program.receiver_type(call).startswith(kind)


def _returns_error(program: Program, call: Call) -> bool:
    """Whether it is a function of the text whose last result is an error."""
    function = None
    if call.receiver is None and "." not in call.name and call.name:
        function = program.named_function(call.name)
    elif call.receiver is not None and call.name[1:] in program.seen.functions:
        function = program.named_function(call.name[1:])
        function = function if function is not None and function.receiver else None
    if function is None or function.result is None:
        return False
    result = program.text(function.result).rstrip(")").rstrip()
    return result == "error" or result.endswith((" error", ",error", "(error"))


_WRITABLE = ("os.Create", "os.OpenFile", "os.CreateTemp")


def deferred_close(program: Program, call: Call) -> Iterator[Hit]:
    """A file that was written to is closed by ``defer``, so that the error of closing is lost.

    What was buffered may not have reached the disk. Close it before returning and look at the error, or call ``Sync``.
    """
    if call.place != "defer" or call.receiver is None or not program.calls(*_WRITABLE):
        return
    made = program.receiver(call).node
    maker = program.call_of.get(made.id) if made is not None and made.type == "call_expression" else None
    if maker is None or maker.name not in _WRITABLE:
        return
    if (
        maker.name == "os.OpenFile"
        and b"O_WRONLY" not in program.raw(maker.node)
        and b"O_RDWR" not in program.raw(maker.node)
    ):
        return
    function = call.scope.function
    end = function.end if function is not None else len(program.data)
    receiver = program.raw(call.receiver)
    if receiver + b".Sync(" not in program.data[call.node.start_byte : end]:
        yield program.hit(call.node, "the error of closing what was written is lost")


_ENDING = ("os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln", "syscall.Exit")


def abrupt_exit(program: Program, call: Call) -> Iterator[Hit]:
    """The whole program is ended from within: deferred functions do not run, and callers are not asked.

    After a ``defer`` in the same function what it was to clean up stays; in a function that is not ``main`` return an
    error and let the caller decide. In ``main`` it is only told: there it is the usual end, and untestable.
    """
    function = call.scope.function
    while function is not None and not function.name:
        function = function.outer
    exits = call.name in {"os.Exit", "syscall.Exit"}
    if function is None:
        if exits:
            yield program.hit(call.node, "this ends the whole program", severity=Severity.INFO)
        return
    if not program.afford(len(program.seen.calls)):
        return
    deferred = any(
        other.place == "defer" and other.scope.function is call.scope.function
        for other in program.seen.calls
        if function.start <= other.node.start_byte < call.node.start_byte
    )
    if deferred:
        yield program.hit(call.node, f"{_short(call.name)} skips what was deferred")
    elif exits:
        usual = function.name in {"main", "init", "TestMain", "Execute"}
        severity = Severity.INFO if usual else Severity.LOW
        yield program.hit(call.node, f"{function.name} ends the whole program", severity=severity)


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH871",
        name="go-ignored-error",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=703,
        check=ignored_error,
        also=("G104",),
        hits=(
            'func f() { os.WriteFile("a", nil, 0o600) }\n',
            "func a() error { return nil }\nfunc b() { a() }\n",
            'cmd := exec.Command("ls")\ncmd.Run()\n',
            "func f(tx *sql.Tx) { tx.Commit() }\n",
            "func (s *S) save() error { return nil }\nfunc f(s *S) { s.save() }\n",
        ),
        misses=(
            'func f() { _ = os.WriteFile("a", nil, 0o600) }\n',
            'func f() { err := os.Chdir("/") }\n',
            'func f() { fmt.Println("x") }\n',
            "func a() string { return x }\nfunc b() { a() }\n",
            "func f() { defer file.Close() }\n",
            "func f() { wg.Wait() }\n",
        ),
    ),
    Rule(
        id="FH872",
        name="go-deferred-close",
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        cwe=252,
        check=deferred_close,
        on=(".Close",),
        hits=('f, err := os.Create("a")\ndefer f.Close()\n',),
        misses=(
            'f, err := os.Open("a")\ndefer f.Close()\n',
            'f, err := os.Create("a")\ndefer f.Close()\nerr = f.Sync()\n',
            'f, err := os.Create("a")\nerr = f.Close()\n',
        ),
    ),
    Rule(
        id="FH877",
        name="go-abrupt-exit",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=382,
        check=abrupt_exit,
        also=("exitAfterDefer",),
        on=_ENDING,
        hits=(
            "func main() {\n\tdefer f.Close()\n\tos.Exit(1)\n}\n",
            "func load() {\n\tos.Exit(2)\n}\n",
            "func main() {\n\tdefer cancel()\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n}\n",
        ),
        misses=("func load() { log.Fatal(err) }\n", "func main() { fmt.Println(1) }\n"),
    ),
)
