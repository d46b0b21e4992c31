"""What a call of a function from elsewhere gives back, by what it is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from analyzers.golang import knowledge
from analyzers.golang.values import (
    A_NUMBER,
    EVERYWHERE,
    HOLE,
    NETWORK,
    NUMBER,
    REQUEST,
    UNKNOWN,
    Source,
    Value,
    cleaned,
    joined,
    passed,
)
from analyzers.golang.words import words

_VERB = re.compile(r"%[-+# 0]*(?:\[\d+\])?(?:\*|\d+)?(?:\.(?:\*|\d+)?)?(?:\[\d+\])?(.)", re.DOTALL)
_STRINGS = frozenset("svqT")
_QUOTED = frozenset({"log"})
_UNCHANGED = words(
    "strings.TrimSpace strings.Trim strings.TrimRight strings.TrimLeft strings.TrimSuffix "
    "strings.TrimPrefix strings.ToLower strings.ToUpper strings.Clone path/filepath.Clean path.Clean "
    "path/filepath.FromSlash path/filepath.ToSlash os/exec.LookPath html/template.HTML html/template.JS "
    "html/template.URL bytes.TrimSpace"
)
_JOINING = frozenset({"path/filepath.Join", "path.Join"})
_ROOTED = frozenset({"path/filepath.Clean", "path.Clean"})
_CLEANED = {name: frozenset({"tidied"}) for name in _ROOTED}
"""What ``Clean`` does is no protection against a path that leads upwards from the start, but it is care taken."""
_MAX_TEXT = 10_000


def result(name: str, receiver: Value | None, arguments: Sequence[Value], line: int) -> Value:
    """Return what is known of the first result of a call; ``name`` is as :class:`analyzers.golang.seen.Call` has it."""
    origin = knowledge.ORIGINS.get(name)
    if origin is not None:
        return Value(source=Source(*origin, line), type="string")
    if receiver is not None:
        return _method(name[1:], receiver, arguments, line)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(arguments)
    if name in knowledge.NUMBERS:
        return A_NUMBER
    return _function(name, arguments)


def reads_arguments(name: str) -> bool:
    """Whether the result depends on the arguments; where it does not nobody needs to find out about them."""
    if name.startswith("."):
        return name[1:] in _CHAINING
    path = name.rpartition(".")[0]
    return path in knowledge.PASSING or name in knowledge.PASSING or name in knowledge.CLEANERS or name in _SPECIAL


def may_carry(name: str) -> bool:
    """Whether a package's function can give back anything that comes from outside."""
    return name in knowledge.ORIGINS or reads_arguments(name)


def type_of(name: str) -> str:
    """Return the type of the first result of a package's function, as far as it is known."""
    return _type(name)


def _function(name: str, arguments: Sequence[Value]) -> Value:
    clean = knowledge.CLEANERS.get(name)
    type_ = _type(name)
    if clean is not None:
        return passed(arguments, clean, type_)
    path, _, member = name.rpartition(".")
    if any(word in member.lower() for word in knowledge.CLEANING_WORDS):
        return Value(clean=EVERYWHERE, type=type_)
    if path in knowledge.PASSING or name in knowledge.PASSING:
        return _passing(name, arguments, type_)
    return Value(type=type_)


def formatted(arguments: Sequence[Value]) -> Value:
    """Return what ``Sprintf`` makes of a format and its values."""
    if not arguments:
        return UNKNOWN
    form = arguments[0].text
    if form is None or HOLE in form or len(form) > _MAX_TEXT:
        return joined(arguments)
    given = iter(arguments[1:])
    parts: list[Value] = []
    at = 0
    for verb in _VERB.finditer(form):
        parts.append(_text(form[at : verb.start()]))
        at = verb.end()
        if verb[1] == "%":
            parts.append(_text("%"))
            continue
        argument = next(given, UNKNOWN)
        if verb[1] not in _STRINGS:
            argument = Value(text=NUMBER, number=True)
        parts.append(cleaned(argument, _QUOTED) if verb[1] == "q" else argument)
    parts.append(_text(form[at:]))
    return joined(part for part in parts if part.text != "" or part.source is not None)


def _text(text: str) -> Value:
    return Value((text,), text)


def _type(name: str) -> str:
    known = knowledge.TYPES.get(name)
    if known is not None:
        return known
    path, _, member = name.rpartition(".")
    return f"{path}.{member.removeprefix('New') or 'New'}" if member.startswith("New") and path else ""


def _split(arguments: Sequence[Value]) -> Value:
    """One part of a text is as harmless as the whole."""
    return passed(arguments[:1])


def _passing(name: str, arguments: Sequence[Value], type_: str) -> Value:
    if name in _UNCHANGED and arguments:
        first = arguments[0]
        rooted = name in _ROOTED and (first.text or "").startswith("/") and len(first.text or "") > 1
        clean = first.clean | _CLEANED.get(name, frozenset()) | (frozenset({"path"}) if rooted else frozenset())
        return Value(first.constants, first.text, first.source, clean, first.type, number=first.number)
    if name in _JOINING and arguments:
        slash = Value(("/",), "/")
        return joined([part for argument in arguments for part in (slash, argument)][1:])
    return passed(arguments, type_=type_)


def _method(name: str, receiver: Value, arguments: Sequence[Value], line: int) -> Value:
    if receiver.type in knowledge.CONTEXTS:
        if name in knowledge.CONTEXT_READS:
            return Value(source=Source(REQUEST, "the request", line), type=_request_type(name))
        return UNKNOWN
    peer = knowledge.PEERS.get(receiver.type)
    if peer is not None and name.startswith(("Read", "Next")):
        return Value(source=Source(*peer, line))
    if name in knowledge.REQUEST_HARMLESS and receiver.source is not None and receiver.source.rank >= NETWORK:
        return UNKNOWN
    if any(word in name.lower() for word in knowledge.CLEANING_WORDS):
        return Value(clean=EVERYWHERE)
    if name in _SAME and receiver.text is not None:
        return receiver
    chains = name in _CHAINING or receiver.type in knowledge.BUILDERS
    type_ = receiver.type if chains else _METHOD_TYPES.get((receiver.type, name), "")
    if receiver.source is not None or receiver.clean:
        given = [argument for argument in arguments if argument.source is not None] if chains else []
        return passed([receiver, *given], type_=type_)
    return Value(type=type_)


def _request_type(name: str) -> str:
    return "net/http.Request" if name in {"Request", "Req"} else "string"


_SAME = frozenset({"String", "Bytes"})
_CHAINING = frozenset({"Parse", "Funcs", "Option", "Delims", "New", "Lookup", "Clone", "ParseFiles", "ParseGlob"})
"""Methods that give back what they are called on."""
_METHOD_TYPES = {
    ("database/sql.DB", "Begin"): "database/sql.Tx",
    ("database/sql.DB", "Prepare"): "database/sql.Stmt",
    ("database/sql.DB", "PrepareContext"): "database/sql.Stmt",
    ("database/sql.Tx", "Prepare"): "database/sql.Stmt",
    ("database/sql.DB", "BeginTx"): "database/sql.Tx",
    ("database/sql.DB", "Conn"): "database/sql.Conn",
    ("archive/zip.File", "Open"): "archive/zip.Entry",
    ("net/http.Request", "Cookie"): "net/http.Cookie",
    ("archive/tar.Reader", "Next"): "archive/tar.Header",
    ("net/http.Request", "FormFile"): "mime/multipart.File",
    ("net/http.Request", "MultipartReader"): "mime/multipart.Reader",
    ("math/rand.Rand", "Perm"): "[]int",
}
_SPECIAL: dict[str, Callable[[Sequence[Value]], Value]] = {
    "fmt.Sprintf": formatted,
    "fmt.Errorf": formatted,
    "fmt.Appendf": formatted,
    "fmt.Sprint": joined,
    "fmt.Sprintln": joined,
    "strings.Split": _split,
    "strings.Fields": _split,
    "strings.SplitN": _split,
    "strings.Cut": _split,
}
