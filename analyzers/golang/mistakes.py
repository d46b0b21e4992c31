"""Rules about slips that compile and do not do what was meant; staticcheck knows them too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.golang.program import Program
from analyzers.golang.scopes import How
from analyzers.golang.seen import Call
from analyzers.golang.values import PARAMETER
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

if TYPE_CHECKING:
    from tree_sitter import Node

_FORMATS = {
    "fmt.Printf": 0,
    "fmt.Sprintf": 0,
    "fmt.Errorf": 0,
    "fmt.Fprintf": 1,
    "log.Printf": 0,
    "log.Fatalf": 0,
    "log.Panicf": 0,
}


def variable_format(program: Program, call: Call) -> Iterator[Hit]:
    """A text that is not constant is used as a format, with nothing to put into it.

    A ``%`` in it becomes ``%!d(MISSING)``, and who writes the text changes what is printed. Use ``Print``, or ``"%s"``.
    """
    at = _FORMATS[call.name]
    if len(call.arguments) != at + 1 or not program.may_carry(call.arguments[at]):
        return
    value = program.value(call.arguments[at])
    if not value.known and (value.source is not None or not value.harmless):
        outside = value.source is not None and value.source.rank > PARAMETER
        yield program.hit(
            call.node,
            "a text that is not constant is used as a format",
            severity=Severity.LOW if outside else None,
            confidence=Confidence.HIGH if outside else None,
        )


def spaced_command(program: Program, call: Call) -> Iterator[Hit]:
    """A program's name has spaces in it: there is no shell here that would split it into name and arguments.

    Give the arguments one by one: ``exec.Command("ls", "-l")``.
    """
    name = program.argument(call, 0).constant
    if (
        len(call.arguments) == 1
        and isinstance(name, str)
        and " " in name.strip()
        and "/" not in name
        and "\\" not in name
    ):
        yield program.hit(call.node, f"there is no program called {name[:40]!r}")


_MANY_NANOSECONDS = 120


def short_sleep(program: Program, call: Call) -> Iterator[Hit]:
    """A plain number is given where a duration is meant: ``time.Sleep(5)`` sleeps for five nanoseconds.

    Write the unit: ``5 * time.Second``.
    """
    given = call.arguments[0] if call.arguments else None
    if given is not None and given.type == "int_literal":
        number = program.value(given).constant
        if isinstance(number, int) and 0 < number <= _MANY_NANOSECONDS:
            yield program.hit(call.node, f"this is {number} nanoseconds")


def signals(program: Program, call: Call) -> Iterator[Hit]:
    """A signal is waited for that never comes, or on a channel where it may be lost.

    SIGKILL and SIGSTOP cannot be caught. ``signal.Notify`` does not wait for a reader, so the channel needs room
    for one: ``make(chan os.Signal, 1)``.
    """
    for node in call.arguments[1:]:
        if program.raw(node) in {b"os.Kill", b"syscall.SIGKILL", b"syscall.SIGSTOP", b"unix.SIGKILL", b"unix.SIGSTOP"}:
            yield program.hit(node, "this signal cannot be caught")
    made = program.argument(call, 0).node
    maker = program.call_of.get(made.id) if made is not None else None
    if call.name.endswith(".Notify") and maker is not None and maker.name == "make" and len(maker.arguments) == 1:
        yield program.hit(call.node, "a signal is lost while nobody reads from this channel")


def late_add(program: Program) -> Iterator[Hit]:
    """A goroutine adds itself to the group that waits for it: the wait may be over before.

    Call ``Add`` before ``go``.
    """
    for node, _ in program.seen.goroutines:
        started = program.call_of.get(node.named_children[0].id) if node.named_children else None
        function = program.seen.function_of.get(started.function.id) if started is not None else None
        if function is None:
            continue
        if not program.afford(len(program.calls(".Add"))):
            return
        for call in program.calls(".Add"):
            waits = call.receiver is not None and program.type_of(call.receiver) in {"sync.WaitGroup", ""}
            name = program.raw(call.receiver) if call.receiver is not None else b""
            if call.scope.function is function and waits and re.search(rb"(?i)wg|wait|group", name):
                yield program.hit(call.node, "the group may be waited for before this is called")


_LOCKS = {".Lock": b"Unlock", ".RLock": b"RUnlock"}


def lock_slips(program: Program, call: Call) -> Iterator[Hit]:
    """A lock is taken for nothing (``Lock``, ``Unlock``), or twice (``defer mu.Lock()`` behind ``mu.Lock()``).

    The first waits for itself for ever, the second protects nothing.
    """
    if call.receiver is None:
        return
    if not program.afford(program.size // 100):
        return
    statement = call.node.parent
    following = statement.next_named_sibling if statement is not None else None
    if call.place != "statement" or following is None:
        return
    after = program.raw(following)
    name = program.raw(call.receiver)
    if after == b"defer " + name + call.name.encode() + b"()":
        yield program.hit(following, f"this waits for ever; {_LOCKS[call.name].decode()} is meant")
    elif after == name + b"." + _LOCKS[call.name] + b"()":
        yield program.hit(following, "nothing is done under this lock", severity=Severity.INFO)


def nil_map(program: Program) -> Iterator[Hit]:
    """An element is set in a map that was declared and never made: the program ends there.

    ``m := map[string]int{}`` or ``make(map[string]int)``.
    """
    for node, _ in program.seen.subscripts:
        operand = node.child_by_field_name("operand")
        if not program.afford(program.size // 1000):
            return
        statement = node.parent.parent if node.parent is not None else None
        if operand is None or operand.type != "identifier" or statement is None:
            continue
        if statement.type != "assignment_statement" or statement.child_by_field_name("left") != node.parent:
            continue
        reaching = program.names.reaching(program.text(operand), node.start_byte)
        setting = [definition for definition in reaching if definition.how is not How.WRITTEN]
        if len(setting) == 1 and setting[0].how is How.NONE and setting[0].scope.outer is not None:
            kind = setting[0].type
            if kind is not None and kind.type == "map_type":
                yield program.hit(node, "this map is nil")


_FAILING = (
    "os.Open",
    "os.Create",
    "os.OpenFile",
    "net/http.Get",
    "net/http.Post",
    "net.Dial",
    "net.Listen",
    "database/sql.Open",
)


def early_close(program: Program, call: Call) -> Iterator[Hit]:
    """What may not have been opened is closed by ``defer`` before the error was looked at.

    Where opening failed there is a nil, and with some types the program ends. Look at ``err`` first.
    """
    if call.place != "defer" or call.receiver is None or not program.calls(*_FAILING):
        return
    if not program.afford(program.size // 100):
        return
    statement = call.node.parent
    before = statement.prev_named_sibling if statement is not None else None
    if before is None or before.type not in {"short_var_declaration", "assignment_statement"}:
        return
    left, right = before.child_by_field_name("left"), before.child_by_field_name("right")
    if left is None or right is None or left.named_child_count < 2 or not right.named_children:  # noqa: PLR2004
        return
    made = program.call_of.get(right.named_children[0].id)
    root = program.text(call.receiver).partition(".")[0]
    ignored = program.text(left.named_children[1]) == "_"
    if made is not None and made.name in _FAILING and program.text(left.named_children[0]) == root and not ignored:
        yield program.hit(call.node, f"close {root} after looking at the error")


def looped_defer(program: Program, call: Call) -> Iterator[Hit]:
    """Something is put off in a loop until the function ends: files and locks pile up.

    Put the body of the loop into a function, or close at the end of each round.
    """
    if call.place != "defer":
        return
    scope = call.scope
    if not program.afford(len(program.seen.loops)):
        return
    while scope.outer is not None and scope.function is call.scope.function:
        for loop, inside in program.seen.loops:
            if inside is scope and loop.start_byte < call.node.start_byte:
                yield program.hit(call.node, "this is done when the function ends, not at the end of the round")
                return
        scope = scope.outer


_COMPARING = frozenset({"==", "!=", "<", ">", "<=", ">=", "&&", "||", "-"})


def same_operands(program: Program) -> Iterator[Hit]:
    """Both sides of a comparison are the same, so it is always true or always false: a name was mistyped.

    A number compared with itself asks whether it is NaN; ``math.IsNaN`` says so.
    """
    for branch in program.seen.branches:
        condition = branch.node.child_by_field_name("condition")
        for node in _binary(condition):
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            sign = node.child_by_field_name("operator")
            if left is None or right is None or sign is None or sign.type not in _COMPARING:
                continue
            plain = left.type in {"identifier", "selector_expression"}
            if plain and program.raw(left) == program.raw(right):
                yield program.hit(node, f"both sides of {sign.type} are the same")


def _binary(node: Node | None) -> Iterator[Node]:
    pending = [node] if node is not None else []
    for _ in range(50):
        if not pending:
            return
        current = pending.pop()
        if current.type == "binary_expression":
            yield current
        if current.type in {"binary_expression", "parenthesized_expression", "unary_expression"}:
            pending += current.named_children


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH881",
        name="go-variable-format",
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        cwe=134,
        check=variable_format,
        also=("SA1006",),
        on=tuple(_FORMATS),
        hits=("fmt.Printf(os.Args[1])\n", "func f(s string) { log.Printf(s) }\n", "fmt.Fprintf(w, message)\n"),
        misses=(
            'fmt.Printf("hi")\n',
            "fmt.Printf(form, x)\n",
            'const s = "a"\nvar t = fmt.Sprintf(s)\n',
            "fmt.Print(s)\n",
        ),
    ),
    Rule(
        id="FH883",
        name="go-spaced-command",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=628,
        check=spaced_command,
        also=("SA1005",),
        on=("os/exec.Command",),
        hits=('exec.Command("ls -l").Run()\n',),
        misses=('exec.Command("ls", "-l").Run()\n', 'exec.Command("/opt/My App/run").Run()\n', "exec.Command(name)\n"),
    ),
    Rule(
        id="FH882",
        name="go-short-sleep",
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        cwe=683,
        check=short_sleep,
        also=("SA1004",),
        on=("time.Sleep", "time.After", "time.NewTimer"),
        hits=("time.Sleep(5)\n",),
        misses=("time.Sleep(5 * time.Second)\n", "time.Sleep(0)\n", "time.Sleep(delay)\n"),
    ),
    Rule(
        id="FH884",
        name="go-signals",
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        cwe=364,
        check=signals,
        also=("SA1016", "SA1017"),
        on=("os/signal.Notify", "os/signal.Ignore", "os/signal.Reset"),
        hits=("c := make(chan os.Signal)\nsignal.Notify(c, os.Interrupt)\n", "signal.Notify(c, syscall.SIGKILL)\n"),
        misses=(
            "c := make(chan os.Signal, 1)\nsignal.Notify(c, os.Interrupt)\n",
            "signal.Notify(c, syscall.SIGTERM)\n",
        ),
    ),
    Rule(
        id="FH885",
        name="go-late-add",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=362,
        check=late_add,
        also=("SA2000",),
        on=(b".Add(",),
        hits=("var wg sync.WaitGroup\ngo func() {\n\twg.Add(1)\n\tdefer wg.Done()\n}()\n",),
        misses=(
            "var wg sync.WaitGroup\nwg.Add(1)\ngo func() {\n\tdefer wg.Done()\n}()\n",
            "go func() {\n\tset.Add(1)\n}()\n",
        ),
    ),
    Rule(
        id="FH886",
        name="go-lock-slips",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=667,
        check=lock_slips,
        also=("SA2001", "SA2003"),
        on=tuple(_LOCKS),
        hits=("mu.Lock()\ndefer mu.Lock()\n", "s.mu.RLock()\ns.mu.RUnlock()\n"),
        misses=("mu.Lock()\ndefer mu.Unlock()\n", "mu.Lock()\nn++\nmu.Unlock()\n"),
    ),
    Rule(
        id="FH888",
        name="go-nil-map",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=476,
        check=nil_map,
        also=("SA5000",),
        on=(b"map[",),
        hits=('func f() {\n\tvar m map[string]int\n\tm["a"] = 1\n}\n',),
        misses=(
            'func f() {\n\tvar m map[string]int\n\tm = load()\n\tm["a"] = 1\n}\n',
            'func f() {\n\tm := map[string]int{}\n\tm["a"] = 1\n}\n',
            'func f(m map[string]int) { m["a"] = 1 }\n',
        ),
    ),
    Rule(
        id="FH889",
        name="go-early-close",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=476,
        check=early_close,
        also=("SA5001",),
        on=(".Close",),
        hits=("r, err := http.Get(u)\ndefer r.Body.Close()\nif err != nil {\n}\n",),
        misses=(
            "r, err := http.Get(u)\nif err != nil {\n}\ndefer r.Body.Close()\n",
            "f, _ := os.Open(p)\ndefer f.Close()\n",
        ),
    ),
    Rule(
        id="FH891",
        name="go-looped-defer",
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        cwe=772,
        check=looped_defer,
        also=("SA5003", "SA9001"),
        on=(".Close", ".Unlock", ".RUnlock", ".Stop"),
        hits=("func f() {\n\tfor _, p := range ps {\n\t\tf, _ := os.Open(p)\n\t\tdefer f.Close()\n\t}\n}\n",),
        misses=(
            "func f() {\n\tfor _, p := range ps {\n\t\tfunc() {\n\t\t\tdefer mu.Unlock()\n\t\t}()\n\t}\n}\n",
            "func f() {\n\tdefer g.Close()\n\tfor {\n\t}\n}\n",
        ),
    ),
    Rule(
        id="FH893",
        name="go-same-operands",
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        cwe=570,
        check=same_operands,
        also=("SA4000",),
        on=(b"if ",),
        hits=("if a == a {\n}\n", "if x.id != x.id || y {\n}\n"),
        misses=("if a == b {\n}\n", "if f() == f() {\n}\n", "if x.id == y.id {\n}\n"),
    ),
)
