"""Rules about work that cannot be stopped: contexts that nobody cancels, loops and goroutines that do not ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.golang.program import Program
from analyzers.golang.scopes import Function
from analyzers.golang.seen import Call
from analyzers.golang.words import words
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

if TYPE_CHECKING:
    from tree_sitter import Node

_MAKING = tuple(f"context.{name}" for name in ("WithCancel", "WithTimeout", "WithDeadline", "WithCancelCause"))


def lost_cancel(program: Program, call: Call) -> Iterator[Hit]:
    """A context is made whose cancel function is never called.

    Its timer and goroutine stay until the parent ends. ``defer cancel()`` right behind it.
    """
    target = _second_target(call.node) if program.afford(program.size // 100) else None
    if target is None:
        return
    text = program.text(target)
    if text == "_" or not _used(program, target, text):
        yield program.hit(call.node, "nobody can cancel this context")


def _second_target(node: Node) -> Node | None:
    """What the second result is assigned to."""
    statement = node.parent
    if statement is not None and statement.type == "expression_list":
        statement = statement.parent
    if statement is None:
        return None
    if statement.type == "var_spec":
        names = statement.children_by_field_name("name")
        return names[1] if len(names) > 1 else None
    left = statement.child_by_field_name("left")
    return left.named_children[1] if left is not None and left.named_child_count > 1 else None


_DISCARD = re.compile(rb"(?:^|[\n;{])[ \t]*_(?:[ \t]*,[ \t]*_)*[ \t]*=[^\n]*$")


def _used(program: Program, target: Node, text: str) -> bool:
    """Whether the cancel function is called, returned or handed on, wherever the text says its name."""
    if target.type == "selector_expression":
        return _field_used(program, text.rpartition(".")[2], target.start_byte)
    if target.type != "identifier":
        return True
    declaration = program.names.declaration(text, target.end_byte)
    if not program.afford(len(program.data) // 20):
        return True
    package = declaration is not None and declaration.scope.outer is None
    function = next(
        (item for item in reversed(program.names.functions) if item.start <= target.start_byte < item.end), None
    )
    start, end = (0, len(program.data)) if package or function is None else (function.start, function.end)
    for match in re.finditer(rb"(?<![\w.])" + re.escape(text.encode()) + rb"\b", program.data[start:end]):
        at = start + match.start()
        if at == target.start_byte or _is_declaration(program, at, at + len(text.encode())):
            continue
        if _counts(program, at):
            return True
    return False


def _is_declaration(program: Program, start: int, end: int) -> bool:
    """Whether the name is only declared or set there."""
    after = program.data[end : end + 80].lstrip(b" \t")
    line = program.data[program.data.rfind(b"\n", 0, start) + 1 : start]
    return (after.startswith((b":=", b"=")) and not after.startswith(b"==")) or (
        bool(re.fullmatch(rb"\s*(?:var\s+)?(?:\w+\s*,\s*)*", line)) and not after.startswith((b"(", b"."))
    )


def _counts(program: Program, start: int) -> bool:
    """Whether this use is one by which the function may come to be called."""
    line = program.data[program.data.rfind(b"\n", 0, start) + 1 : start]
    if _DISCARD.search(line):
        return False
    key = re.search(rb"(\w+)[ \t]*:[ \t]*$", line)
    field = re.search(rb"\.(\w+)[ \t]*=[ \t]*$", line)
    into = key or field
    if into is not None and not line.rstrip().endswith((b":=",)):
        return _field_used(program, into[1].decode(), start)
    copied = re.search(rb"(?<![\w.])(\w+)[ \t]*=[ \t]*$", line)
    if copied is not None and copied[1] != b"_":
        return bool(re.search(rb"(?<![\w.])" + re.escape(copied[1]) + rb"\(", program.data))
    return True


def _field_used(program: Program, field: str, at: int) -> bool:
    name = re.escape(field.encode())
    for match in re.finditer(rb"\." + name + rb"\b(?!\w)", program.data):
        rest = program.data[match.end() : match.end() + 20].lstrip(b" \t")
        if (
            not (rest.startswith(b"=") and not rest.startswith(b"=="))
            and not rest.startswith(b"!=")
            and match.start() != at
        ):
            return True
    return False


_WAITING = words(
    "time.Sleep net/http.Get net/http.Post net/http.Head net/http.PostForm os.ReadFile os.WriteFile os.Open "
    "os.OpenFile io.Copy io.ReadAll .Do .RoundTrip .Send .Recv .Query .QueryContext .QueryRow .Exec .ExecContext "
    ".Begin .BeginTx .Read .Write .ReadMessage .WriteMessage .Wait"
)
_LEAVING = re.compile(rb"\b(?:return|break|goto|panic\(|os\.Exit|log\.Fatal)")
_ASKING = re.compile(rb"\.(?:Done|Err)\(\)")


def deaf_loop(program: Program) -> Iterator[Hit]:
    """A loop without end works on although its function was given a context.

    Cancelling the context does not end it. Ask in every round: ``select { case <-ctx.Done(): return … }``.
    """
    for loop, scope in program.seen.loops:
        body = loop.child_by_field_name("body")
        if body is None or loop.named_child_count != 1 or not _has_context(program, scope.function):
            continue
        text = program.raw(body)
        if not program.afford(len(program.seen.calls) + len(text) // 20 + len(program.names.functions)):
            return
        if _ASKING.search(text) or _LEAVING.search(_without_functions(program, body)):
            continue
        if any(
            body.start_byte <= call.node.start_byte < body.end_byte and call.name in _WAITING
            for call in program.seen.calls
        ):
            yield program.hit(loop, "this loop does not end when its context does")


def _without_functions(program: Program, body: Node) -> bytes:
    """The text of a block without what function literals in it hold."""
    text = bytearray(program.raw(body))
    for function in program.names.functions:
        if not function.name and body.start_byte <= function.start < body.end_byte:
            start = function.start - body.start_byte
            text[start : function.end - body.start_byte] = b" " * (function.end - function.start)
    return bytes(text)


def _has_context(program: Program, function: Function | None) -> bool:
    return function is not None and any(
        type_ is not None and program.type_name(type_) == "context.Context" for _, type_ in function.parameters
    )


_FRESH = ("context.Background", "context.TODO")


def detached_goroutine(program: Program) -> Iterator[Hit]:
    """A goroutine starts from an empty context although the function that starts it has one.

    It then runs on when the request is over or the program is to end. Give it the context, or
    ``context.WithoutCancel(ctx)`` where it is meant to outlive the request.
    """
    fresh = program.calls(*_FRESH)
    if not fresh:
        return
    for node, scope in program.seen.goroutines:
        if not _knows_context(program, scope.function):
            continue
        call = program.call_of.get(node.named_children[0].id) if node.named_children else None
        started = _started(program, call) if call is not None else None
        if not program.afford(2 * len(fresh)):
            return
        for made in fresh:
            if started is not None and made.scope.function is started:
                yield program.hit(made.node, "this goroutine does not end when the context of its caller does")
        for argument in call.arguments if call is not None else ():
            value = program.value(argument).node
            if value is not None and any(value.id == made.node.id for made in fresh):
                yield program.hit(argument, "this goroutine does not end when the context of its caller does")


def _started(program: Program, call: Call) -> Function | None:
    if call.function.type == "func_literal":
        return program.seen.function_of.get(call.function.id)
    return program.named_function(call.name)


def _knows_context(program: Program, function: Function | None) -> bool:
    if _has_context(program, function):
        return True
    return function is not None and any(
        call.name == ".Context" and function.start <= call.node.start_byte < function.end
        for call in program.calls(".Context")
    )


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH876",
        name="go-lost-cancel",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=400,
        check=lost_cancel,
        also=("G118",),
        on=_MAKING,
        hits=(
            "func f(ctx context.Context) {\n\tc, _ := context.WithTimeout(ctx, time.Second)\n\tuse(c)\n}\n",
            "func f(ctx context.Context) {\n\t_, cancel := context.WithCancel(ctx)\n\t_ = cancel\n}\n",
            (
                "type W struct{ stop func() }\nfunc f(ctx context.Context) *W {\n"
                "\t_, cancel := context.WithCancel(ctx)\n\treturn &W{stop: cancel}\n}\n"
            ),
        ),
        misses=(
            (
                "func f(ctx context.Context) {\n\tc, cancel := context.WithTimeout(ctx, time.Second)\n"
                "\tdefer cancel()\n}\n"
            ),
            "func f(ctx context.Context) (context.Context, func()) { return context.WithCancel(ctx) }\n",
            (
                "type W struct{ stop func() }\nfunc (w *W) start(ctx context.Context) {\n"
                "\t_, cancel := context.WithCancel(ctx)\n\tw.stop = cancel\n}\nfunc (w *W) end() { w.stop() }\n"
            ),
            "func f(ctx context.Context) {\n\t_, cancel := context.WithCancel(ctx)\n\tkeep(cancel)\n}\n",
        ),
    ),
    Rule(
        id="FH878",
        name="go-deaf-loop",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=835,
        check=deaf_loop,
        also=("G118",),
        on=(b"ontext",),
        hits=("func f(ctx context.Context) {\n\tfor {\n\t\ttime.Sleep(time.Second)\n\t}\n}\n",),
        misses=(
            (
                "func f(ctx context.Context) {\n\tfor {\n\t\tselect {\n\t\tcase <-ctx.Done():\n\t\t\treturn\n"
                "\t\tcase <-time.After(time.Second):\n\t\t}\n\t}\n}\n"
            ),
            "func f() {\n\tfor {\n\t\ttime.Sleep(time.Second)\n\t}\n}\n",
            "func f(ctx context.Context) {\n\tfor i := 0; i < 3; i++ {\n\t\ttime.Sleep(time.Second)\n\t}\n}\n",
        ),
    ),
    Rule(
        id="FH879",
        name="go-detached-goroutine",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=400,
        check=detached_goroutine,
        also=("G118",),
        on=(b"go ",),
        hits=(
            "func f(ctx context.Context) {\n\tgo func() {\n\t\trun(context.Background())\n\t}()\n}\n",
            "func f(ctx context.Context) {\n\tgo func(c context.Context) { run(c) }(context.TODO())\n}\n",
        ),
        misses=(
            "func f(ctx context.Context) {\n\tgo func() {\n\t\trun(ctx)\n\t}()\n}\n",
            "func f() {\n\tgo func() {\n\t\trun(context.Background())\n\t}()\n}\n",
        ),
    ),
)
