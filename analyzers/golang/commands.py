"""Rules about programs that are started and code that is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.golang.program import Program
from analyzers.golang.seen import Call
from analyzers.golang.values import LOCAL, NETWORK, PARAMETER, Value
from analyzers.golang.words import words
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

if TYPE_CHECKING:
    from tree_sitter import Node

_PROGRAM_AT = {
    "os/exec.Command": 0,
    "os/exec.CommandContext": 1,
    "golang.org/x/sys/execabs.Command": 0,
    "golang.org/x/sys/execabs.CommandContext": 1,
    "github.com/cli/safeexec.Command": 0,
    "os.StartProcess": 0,
    "syscall.Exec": 0,
    "syscall.ForkExec": 0,
    "syscall.StartProcess": 0,
    "golang.org/x/sys/unix.Exec": 0,
}
_SHELLS = words("sh bash zsh ksh dash ash fish csh tcsh cmd powershell pwsh")
_INTERPRETERS = words("python python3 perl ruby node php lua awk osascript")
_SCRIPT_FLAG = re.compile(r"-[a-z]*[ce]|/[cCkK]|-(?:Encoded)?[Cc]ommand|-e")
_WRAPPERS = words("env sudo nohup nice timeout xargs busybox setsid stdbuf time doas")
"""Programs that start the program their arguments name."""
_LOADING = (
    "plugin.Open",
    "github.com/robertkrimen/otto.Run",
    ".RunString",
    ".RunScript",
    ".EvalPath",
    ".DoString",
    ".Run",
    ".Eval",
)


def command_injection(program: Program, call: Call) -> Iterator[Hit]:
    """A program is started whose name, or the text of whose shell script, the snippet does not decide by itself.

    With ``sh -c`` every character of the text counts: ``;``, ``$(`` and quotes start further commands. A program's
    name from outside starts any program there is, and an argument from a request may be an option that does more than
    was meant (``--upload-pack=…``).

    Start the program itself with a fixed name and a list of arguments, put ``--`` before what comes from outside, and
    take choices from a fixed table. Names and arguments that are constants, or chosen from constants, are not reported;
    nor is a name that every caller in the snippet passes as a constant.
    """
    at = _PROGRAM_AT[call.name]
    if at >= len(call.arguments):
        return
    given = _arguments(program, call.arguments[at + 1 :])
    name = program.argument(call, at)
    while any(base in _WRAPPERS for base in _base(name)) and given and given[0][1].known:
        name, given = given[0][1], given[1:]
    hit = _name(program, call, call.arguments[at], name) or (
        _script(program, call, name, given) if _runs_scripts(name) else _argument(program, call, given)
    )
    if hit is not None:
        yield hit


def _arguments(program: Program, nodes: list[Node]) -> list[tuple[Node, Value]]:
    """Return the arguments, those of a literal list one by one."""
    found: list[tuple[Node, Value]] = []
    for node in nodes:
        value = program.value(node)
        if value.node is not None and value.node.type == "composite_literal" and value.bindings is None:
            found += [(node, program.value(element)) for element in program.elements(value.node)]
        else:
            found.append((node, value))
    return found


def _base(name: Value) -> list[str]:
    return [
        re.split(r"[/\\]", constant)[-1].lower().removesuffix(".exe")
        for constant in name.constants or ()
        if isinstance(constant, str)
    ]


def _runs_scripts(name: Value) -> bool:
    return any(base in _SHELLS or base in _INTERPRETERS for base in _base(name))


def _name(program: Program, call: Call, node: Node, name: Value) -> Hit | None:
    if name.harmless or name.is_clean("shell"):
        return None
    source = name.source
    if source is not None and source.rank >= LOCAL:
        return program.hit(call.node, f"{source.what} (line {source.line}) decides which program is started")
    if source is not None and _only_constants(program, node):
        return None
    return program.hit(
        call.node,
        f"which program is started is decided by {source.what if source else 'what is not known here'}",
        severity=Severity.MEDIUM if source else Severity.LOW,
        confidence=Confidence.MEDIUM if source else Confidence.LOW,
    )


def _only_constants(program: Program, node: Node) -> bool:
    """Whether it is a parameter to which the snippet itself passes constants, and passes some."""
    if node.type != "identifier":
        return False
    name = program.text(node)
    declaration = program.names.declaration(name, node.start_byte)
    function = declaration.scope.function if declaration is not None else None
    passed = program.passed_to(function, name) if function is not None else []
    return bool(passed) and all(value.known for value in passed)


def _script(program: Program, call: Call, name: Value, given: list[tuple[Node, Value]]) -> Hit | None:
    flagged = False
    for _, value in given:
        text = value.constant
        if isinstance(text, str) and _SCRIPT_FLAG.fullmatch(text):
            flagged = True
        elif flagged and not value.harmless and not value.is_clean("shell"):
            shell = "/".join(_base(name)[:1])
            source = value.source
            if source is None:
                return program.hit(
                    call.node, f"{shell} runs a text that is put together here", confidence=Confidence.MEDIUM
                )
            sure = Confidence.HIGH if source.rank > PARAMETER else Confidence.MEDIUM
            return program.hit(
                call.node, f"{source.what} (line {source.line}) reaches a script that {shell} runs", confidence=sure
            )
    return _argument(program, call, given)


def _argument(program: Program, call: Call, given: list[tuple[Node, Value]]) -> Hit | None:
    for _, value in given:
        source = value.from_outside("shell", NETWORK)
        if source is not None:
            return program.hit(
                call.node,
                f"{source.what} (line {source.line}) becomes an argument of a program; it may be an option",
                severity=Severity.MEDIUM,
                confidence=Confidence.MEDIUM,
            )
    return None


def command_literal(program: Program) -> Iterator[Hit]:
    """An ``exec.Cmd`` is put together by hand from what the snippet does not decide by itself.

    As with FH801: a shell's script and a program's name must not come from outside.
    """
    for literal, _ in program.literals("os/exec.Cmd", "golang.org/x/sys/execabs.Cmd"):
        fields = program.fields(literal)
        name = program.value(fields["Path"]) if "Path" in fields else None
        if name is not None and not name.harmless:
            source = name.source
            yield program.hit(
                literal,
                f"which program is started is decided by {source.what if source else 'what is not known here'}",
                severity=None if source is not None and source.rank >= LOCAL else Severity.MEDIUM,
                confidence=None if source is not None and source.rank >= LOCAL else Confidence.MEDIUM,
            )
            continue
        given = _arguments(program, [fields["Args"]]) if "Args" in fields else []
        texts = [value.constant for _, value in given]
        shell = any(isinstance(text, str) and text.rpartition("/")[2] in _SHELLS for text in texts[:2])
        shell = shell or (name is not None and _runs_scripts(name))
        source = next((value.source for _, value in given if value.source is not None and not value.harmless), None)
        if shell and source is not None:
            yield program.hit(literal, f"{source.what} (line {source.line}) reaches a script that a shell runs")


def dynamic_code(program: Program, call: Call) -> Iterator[Hit]:
    """Code is loaded or interpreted that the snippet does not hold: a plugin, or a script in an embedded language.

    ``plugin.Open`` runs the plugin's ``init``, and an interpreter such as otto, goja, yaegi or gopher-lua runs whatever
    text it is given. Load from a fixed path that only administrators write, or run it in a sandbox.
    """
    value = program.argument(call, 0)
    if not call.arguments or value.known or (call.receiver is not None and not _is_interpreter(program, call)):
        return
    source = value.from_outside("*")
    yield program.hit(
        call.node,
        f"{source.what} (line {source.line}) is run as code" if source else "code from elsewhere is run",
        severity=Severity.HIGH if source else Severity.MEDIUM,
        confidence=Confidence.HIGH if source else Confidence.MEDIUM,
    )


def _is_interpreter(program: Program, call: Call) -> bool:
    kind = program.receiver_type(call)
    return any(word in kind for word in ("otto", "goja", "yaegi", "lua", "interp", "starlark"))


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH801",
        name="go-command-injection",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=78,
        check=command_injection,
        also=("G204", "G702"),
        on=tuple(_PROGRAM_AT),
        hits=(
            'exec.Command("sh", "-c", os.Args[1]).Run()\n',
            'func f(r *http.Request) {\n\texec.Command("bash", "-c", "ls "+r.FormValue("d")).Run()\n}\n',
            'func f(cmd string) { exec.Command("/bin/sh", []string{"-c", cmd}...).Run() }\n',
            "func f(name string) error { return exec.Command(name).Run() }\n",
            (
                'args := []string{"-c", fmt.Sprintf("tar xf %s", os.Getenv("F"))}\n'
                'exec.CommandContext(ctx, "sh", args...)\n'
            ),
            'func f(r *http.Request) { exec.Command("git", "clone", r.URL.Query().Get("u")).Run() }\n',
            'import e "os/exec"\nfunc f() { e.Command(os.Getenv("EDITOR"), "x").Run() }\n',
            "syscall.Exec(os.Args[1], os.Args[1:], os.Environ())\n",
            'func f(c *gin.Context) { exec.Command("cmd", "/C", c.Query("q")) }\n',
        ),
        misses=(
            'exec.Command("git", "rev-parse", "HEAD").Run()\n',
            'name := "ls"\nexec.Command(name, "-l").Run()\n',
            'exec.Command("sh", "-c", "ls | wc -l").Run()\n',
            'func run(name string) { exec.Command(name).Run() }\nfunc main() { run("ls") }\n',
            'path, err := exec.LookPath("git")\nexec.Command(path, "status")\n',
            'm := map[string]string{"a": "ls", "b": "ps"}\nexec.Command(m[key]).Run()\n',
            'exec.Command("sleep", strconv.Itoa(n)).Run()\n',
            'exec.Command("tar", "xf", os.Args[1]).Run()\n',
            'const shell = "sh"\nexec.Command(shell, "-c", fmt.Sprintf("sleep %d", n))\n',
            'func f(cmd *cobra.Command) { cmd.Command("x", os.Args[1]) }\n',
        ),
    ),
    Rule(
        id="FH800",
        name="go-command-literal",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=78,
        check=command_literal,
        also=("G204", "G702"),
        on=(b"exec.Cmd{", b"exec.Cmd {"),
        hits=(
            "func f(p string) { c := &exec.Cmd{Path: p} }\n",
            'func f(s string) { c := exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", s}} }\n',
        ),
        misses=(
            'c := &exec.Cmd{Path: "/bin/ls", Args: []string{"ls", "-l"}}\n',
            'func f(s string) { c := &exec.Cmd{Path: "/bin/ls", Args: []string{"ls", s}} }\n',
        ),
    ),
    Rule(
        id="FH815",
        name="go-dynamic-code",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=94,
        check=dynamic_code,
        on=_LOADING,
        hits=(
            "plugin.Open(os.Args[1])\n",
            "func f(path string) { plugin.Open(path) }\n",
            'vm := goja.New()\nvm.RunString(os.Getenv("JS"))\n',
        ),
        misses=(
            'plugin.Open("/usr/lib/app/mine.so")\n',
            'vm := goja.New()\nvm.RunString("1+1")\n',
            "q.RunString(x)\n",
        ),
    ),
)
