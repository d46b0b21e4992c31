"""A rule about secrets that are written out with the object they stand in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.golang.program import Program
from analyzers.golang.seen import Call
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

if TYPE_CHECKING:
    from tree_sitter import Node

_FORMATS = {
    "encoding/json.Marshal": "json",
    "encoding/json.MarshalIndent": "json",
    "encoding/xml.Marshal": "xml",
    "encoding/xml.MarshalIndent": "xml",
    "gopkg.in/yaml.Marshal": "yaml",
    "go.yaml.in/yaml.Marshal": "yaml",
    "github.com/goccy/go-yaml.Marshal": "yaml",
    "sigs.k8s.io/yaml.Marshal": "json",
    "github.com/BurntSushi/toml.Marshal": "toml",
    ".Encode": "",
}
_ENCODERS = {
    "encoding/json.Encoder": "json",
    "encoding/xml.Encoder": "xml",
    "gopkg.in/yaml.Encoder": "yaml",
    "github.com/BurntSushi/toml.Encoder": "toml",
}
_SECRET = re.compile(
    r"^(?:.*[_-])?(?:pass(?:word|wd|phrase)?s?|pwd|secrets?|cred(?:ential)?s?|jwt)$|"
    r"(?:api|access|auth|bearer|client|oauth|private|refresh|session|secret|signing|encryption|jwt|csrf|id)[_-]?"
    r"(?:key|secret|token)s?$|(?:pass(?:word|wd|phrase)|secret)$",
    re.IGNORECASE,
)
_HINTS = (b"passw", b"pwd", b"secret", b"cred", b"jwt", b"key", b"token", b"passphrase")
_BARE = re.compile(r"^tokens?$", re.IGNORECASE)
_TEXTS = frozenset({"string", "[]byte", "[]string", "[]uint8", "json.RawMessage"})
_CUSTOM = {
    "json": ("MarshalJSON", "MarshalText"),
    "yaml": ("MarshalYAML",),
    "xml": ("MarshalXML",),
    "toml": ("MarshalTOML", "MarshalText"),
}
_MASKING = re.compile(rb"(?i)mask|redact|hide|hash|encrypt|obfusc|censor|\*\*\*")


def marshalled_secret(program: Program, call: Call) -> Iterator[Hit]:
    """An object is made into JSON, YAML, XML or TOML with a field that by its name holds a secret.

    What was meant for a database then goes to a browser or a log. Take the field out by ``json:"-"``, or give the type
    a ``MarshalJSON``. Fields that are filled by a masking function are not reported.
    """
    if not call.arguments or not program.seen.types or not any(word in program.lowered for word in _HINTS):
        return
    form = _FORMATS[call.name]
    if call.receiver is not None:
        form = _ENCODERS.get(program.receiver_type(call), "")
    if not form:
        return
    node = call.arguments[0]
    name = program.type_of(node).replace("[]", "").replace("map", "")
    struct = program.seen.types.get(name)
    if struct is None:
        return
    value = program.value(node)
    given = program.fields(value.node) if value.node is not None and value.node.type == "composite_literal" else {}
    if struct is None or any(
        item.receiver.lstrip("*") == name for hook in _CUSTOM[form] for item in program.seen.functions.get(hook, ())
    ):
        return
    for field, kind, tag in _fields(program, struct):
        shown = _shown(tag, form)
        if shown == "-" or not field[:1].isupper() or not _is_text(program, kind):
            continue
        if field in given and _MASKING.search(program.raw(given[field])):
            continue
        if any(_SECRET.search(word) or _BARE.match(word) for word in (field, shown) if word):
            yield program.hit(call.node, f"{name}.{field} is written out")
            return


def _fields(program: Program, struct: Node) -> Iterator[tuple[str, Node | None, str]]:
    listing = struct.named_children[0] if struct.type == "struct_type" and struct.named_children else None
    for item in listing.named_children if listing is not None else ():
        kind, tag = item.child_by_field_name("type"), item.child_by_field_name("tag")
        for name in item.children_by_field_name("name"):
            yield program.text(name), kind, program.text(tag) if tag is not None else ""


def _shown(tag: str, form: str) -> str:
    """Return the name under which a field is written; ``-`` if it is not."""
    match = re.search(rf'{form}:"([^"]*)"', tag)
    if match is None:
        return ""
    return match[1] if match[1] == "-" else match[1].partition(",")[0]


def _is_text(program: Program, kind: Node | None) -> bool:
    return kind is not None and program.text(kind).replace("*", "") in _TEXTS


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH880",
        name="go-marshalled-secret",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=499,
        check=marshalled_secret,
        also=("G117",),
        on=tuple(_FORMATS),
        hits=(
            "type C struct{ Password string }\nvar b, _ = json.Marshal(C{})\n",
            'type C struct{ Key []byte `json:"api_key"` }\nfunc f(c *C) { json.NewEncoder(w).Encode(c) }\n',
            "type C struct{ Safe, Secret string }\nvar b, _ = yaml.Marshal([]C{{}})\n",
        ),
        misses=(
            'type C struct{ Password string `json:"-"` }\nvar b, _ = json.Marshal(C{})\n',
            "type C struct{ password string }\nvar b, _ = json.Marshal(C{})\n",
            "type C struct{ MaxTokens int }\nvar b, _ = json.Marshal(C{})\n",
            "type C struct{ Password string }\nvar b, _ = json.Marshal(C{Password: mask(p)})\n",
            (
                "type C struct{ Password string }\nfunc (c C) MarshalJSON() ([]byte, error) { return nil, nil }\n"
                "var b, _ = json.Marshal(C{})\n"
            ),
        ),
    ),
)
