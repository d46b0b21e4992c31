"""Rules about keys, nonces and passwords, and how signatures are compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.golang.program import Program
from analyzers.golang.scopes import How
from analyzers.golang.seen import Call
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

if TYPE_CHECKING:
    from tree_sitter import Node

_NONCES: dict[str, int] = {
    **{
        f"crypto/cipher.{name}": 1
        for name in ("NewCBCEncrypter", "NewCFBEncrypter", "NewCTR", "NewOFB", "NewCFB8Encrypter")
    },
    ".Seal": 1,
    "golang.org/x/crypto/chacha20.NewUnauthenticatedCipher": 1,
}
_SEAL_ARGUMENTS = 4


def fixed_nonce(program: Program, call: Call) -> Iterator[Hit]:
    """A message is encrypted with a nonce or initialisation vector that is the same every time.

    Two messages under one key and nonce give away how they differ, and with GCM the key to forge others. Fill it from
    ``crypto/rand`` for every message and send it along.
    """
    if call.name == ".Seal" and (len(call.arguments) != _SEAL_ARGUMENTS or not _is_aead(program, call)):
        return
    at = _NONCES[call.name]
    if at < len(call.arguments) and _fixed(program, call, call.arguments[at]):
        yield program.hit(call.node, "the nonce or initialisation vector is the same every time")


def _is_aead(program: Program, call: Call) -> bool:
    return program.receiver_type(call) in {"", "crypto/cipher.AEAD"}


def _fixed(program: Program, call: Call, node: Node) -> bool:
    value = program.value(node)
    if value.known:
        return value.constants != (None,)
    made = value.node
    if made is not None and made.type == "composite_literal":
        return all(program.value(element).known for element in program.elements(made))
    if made is not None and made.type == "call_expression":
        maker = program.call_of.get(made.id)
        return maker is not None and maker.name == "make" and not _filled(program, call, node)
    return _fixed_by_callers(program, node)


def _filled(program: Program, call: Call, node: Node) -> bool:
    """Whether something else than an element was put into the slice: it was handed to some call before."""
    root = node
    while root.type in {"slice_expression", "parenthesized_expression"} and root.named_children:
        root = root.named_children[0]
    names = {program.text(root)} if root.type == "identifier" else set()
    for definition in program.names.reaching(program.text(root), node.start_byte) if names else ():
        value = definition.value
        if definition.how is How.SET and value is not None and value.type == "slice_expression":
            names.add(program.text(value.named_children[0]))
    if not program.afford(len(program.seen.calls)):
        return True
    for other in program.seen.calls:
        if other.node.start_byte >= call.node.start_byte:
            break
        if other.name not in {"len", "make", "cap"} and not other.name.startswith("crypto/aes."):
            for argument in other.arguments:
                if program.text(argument).partition("[")[0] in names:
                    return True
    return False


def _fixed_by_callers(program: Program, node: Node) -> bool:
    """Whether it is a parameter, perhaps converted, to which the text passes constants."""
    while node.type in {"type_conversion_expression", "call_expression"}:
        operand = node.child_by_field_name("operand")
        call = program.call_of.get(node.id)
        inner = operand or (
            call.arguments[0] if call is not None and call.name == "string" and call.arguments else None
        )
        if inner is None:
            return False
        node = inner
    if node.type != "identifier":
        return False
    name = program.text(node)
    declaration = program.names.declaration(name, node.start_byte)
    if declaration is None or declaration.how is not How.PARAMETER or declaration.scope.function is None:
        return False
    passed = program.passed_to(declaration.scope.function, name)
    return any(
        value.known or (value.node is not None and value.node.type == "composite_literal" and value.harmless)
        for value in passed
    )


_KEYS: dict[str, int] = {
    "crypto/aes.NewCipher": 0,
    "crypto/des.NewCipher": 0,
    "crypto/des.NewTripleDESCipher": 0,
    "crypto/rc4.NewCipher": 0,
    "crypto/hmac.New": 1,
    "golang.org/x/crypto/chacha20poly1305.New": 0,
    "golang.org/x/crypto/chacha20poly1305.NewX": 0,
    "golang.org/x/crypto/blowfish.NewCipher": 0,
    "github.com/gorilla/sessions.NewCookieStore": 0,
    "github.com/gorilla/sessions.NewFilesystemStore": 1,
    "github.com/gorilla/securecookie.New": 0,
    "github.com/gorilla/csrf.Protect": 0,
    "github.com/gin-contrib/sessions/cookie.NewStore": 0,
    ".SignedString": 0,
}


def hardcoded_key(program: Program, call: Call) -> Iterator[Hit]:
    """The key of a cipher, of a signature or of a session is a constant of the program.

    Whoever reads the program can decrypt and sign; and a key in the source is never changed. Read it from the
    environment or a secret store.
    """
    at = _KEYS[call.name]
    if at >= len(call.arguments):
        return
    node = call.arguments[at]
    value = program.value(node)
    made = value.node
    listed = (
        made is not None
        and made.type == "composite_literal"
        and bool(program.elements(made))
        and all(program.value(element).known for element in program.elements(made))
    )
    constant = value.constant
    if listed or (isinstance(constant, str) and constant):
        span = program.span(node)
        yield Hit(span=program.span(call.node), message="the key stands in the source", secret=span)


_PASSWORD = re.compile(rb"passw|\bpwd\b|passphrase", re.IGNORECASE)
_FAST = tuple(
    f"crypto/{package}.{name}"
    for package, names in {
        "sha256": ("Sum256", "Sum224"),
        "sha512": ("Sum512", "Sum384"),
        "md5": ("Sum",),
        "sha1": ("Sum",),
    }.items()
    for name in names
)
_COSTS = {"golang.org/x/crypto/bcrypt.GenerateFromPassword": (1, 10), "golang.org/x/crypto/pbkdf2.Key": (2, 100_000)}
"""Where the number of rounds stands, and the fewest that slow a guesser down (OWASP, Password Storage)."""


def cheap_password_hash(program: Program, call: Call) -> Iterator[Hit]:
    """A password is hashed so quickly that a stolen hash can be guessed.

    A graphics card makes billions of SHA-256 a second. Use ``bcrypt`` with a cost of 10 or more, ``argon2id``, or
    PBKDF2 with 600,000 rounds.
    """
    limit = _COSTS.get(call.name)
    if limit is None:
        if call.arguments and _PASSWORD.search(program.raw(call.arguments[0])[:200]):
            yield program.hit(call.node, "a password is hashed by a fast hash", confidence=Confidence.MEDIUM)
        return
    rounds = program.argument(call, limit[0]).constant
    if isinstance(rounds, int) and rounds < limit[1]:
        yield program.hit(call.node, f"{rounds} rounds are too few for a password")


_MAC = re.compile(rb"(?:\b|_|[a-z])(?:h?mac|HMAC|Hmac|MAC|Mac)(?:\b|_|Sum)|[sS]ignature|\b[sS]ig\b|[dD]igest")


def timing(program: Program, call: Call) -> Iterator[Hit]:
    """A signature is compared byte by byte, which takes longer the more of it is right.

    A guesser who measures that finds the signature piece by piece. Compare with ``hmac.Equal``.
    """
    if any(_MAC.search(program.raw(argument)[:80]) for argument in call.arguments[:2]):
        yield program.hit(call.node, "a signature is compared in a time that tells how much of it is right")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH825",
        name="go-fixed-nonce",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=1204,
        check=fixed_nonce,
        also=("G407",),
        on=tuple(_NONCES),
        hits=(
            'cipher.NewCTR(block, []byte("0123456789abcdef"))\n',
            "gcm, _ := cipher.NewGCM(b)\nnonce := make([]byte, 12)\ngcm.Seal(nil, nonce, text, nil)\n",
            "var iv = []byte{1, 2, 3}\nfunc f() { cipher.NewCBCEncrypter(b, iv) }\n",
            'func enc(iv []byte) { cipher.NewOFB(b, iv) }\nfunc main() { enc([]byte("0123456789abcdef")) }\n',
        ),
        misses=(
            "nonce := make([]byte, 12)\nrand.Read(nonce)\ngcm.Seal(nil, nonce, text, nil)\n",
            "nonce := make([]byte, 12)\nio.ReadFull(rand.Reader, nonce)\ngcm.Seal(nonce, nonce, text, nil)\n",
            "iv := data[:16]\ncipher.NewCTR(block, iv)\n",
            'box.Seal("a", "b")\n',
            "iv := make([]byte, 16)\ncopy(iv, header)\ncipher.NewCTR(block, iv)\n",
        ),
    ),
    Rule(
        id="FH826",
        name="go-hardcoded-key",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=321,
        check=hardcoded_key,
        also=("G101",),
        on=tuple(_KEYS),
        hits=(
            'aes.NewCipher([]byte("0123456789abcdef"))\n',
            'token.SignedString([]byte("my-secret"))\n',
            'const k = "0123456789abcdef"\nvar m = hmac.New(sha256.New, []byte(k))\n',
            "key := []byte{1, 2, 3, 4}\nrc4.NewCipher(key)\n",
        ),
        misses=(
            "aes.NewCipher(key)\n",
            'hmac.New(sha256.New, []byte(os.Getenv("KEY")))\n',
            "key := make([]byte, 32)\naes.NewCipher(key)\n",
            "token.SignedString(secret)\n",
        ),
    ),
    Rule(
        id="FH827",
        name="go-cheap-password-hash",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=916,
        check=cheap_password_hash,
        on=(*_FAST, *_COSTS),
        hits=(
            "sum := sha256.Sum256([]byte(password))\n",
            "bcrypt.GenerateFromPassword(p, 4)\n",
            "bcrypt.GenerateFromPassword(p, bcrypt.MinCost)\n",
            "pbkdf2.Key(p, salt, 1000, 32, sha256.New)\n",
        ),
        misses=(
            "sum := sha256.Sum256(data)\n",
            "bcrypt.GenerateFromPassword(p, bcrypt.DefaultCost)\n",
            "pbkdf2.Key(p, salt, 600000, 32, sha256.New)\n",
            "bcrypt.GenerateFromPassword(p, cost)\n",
        ),
    ),
    Rule(
        id="FH828",
        name="go-timing",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=208,
        check=timing,
        on=("bytes.Equal", "bytes.Compare", "reflect.DeepEqual"),
        hits=("if bytes.Equal(mac.Sum(nil), given) {\n}\n", "ok := bytes.Equal(signature, expected)\n"),
        misses=("bytes.Equal(a, b)\n", "hmac.Equal(mac, given)\n", "bytes.Equal(machine, x)\n"),
    ),
)
