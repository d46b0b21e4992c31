"""Rules about hashes, ciphers and random numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from analyzers.golang.program import Program
from analyzers.golang.seen import Call
from analyzers.golang.words import words
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

_HASHES = {
    "crypto/md5": ("MD5", ("G401", "G501")),
    "crypto/sha1": ("SHA-1", ("G401", "G505")),
    "golang.org/x/crypto/md4": ("MD4", ("G406", "G506")),
    "golang.org/x/crypto/ripemd160": ("RIPEMD-160", ("G406", "G507")),
}
_CIPHERS = {
    "crypto/des": ("DES", ("G405", "G502")),
    "crypto/rc4": ("RC4", ("G405", "G503")),
    "golang.org/x/crypto/blowfish": ("Blowfish", ()),
    "golang.org/x/crypto/cast5": ("CAST5", ()),
    "golang.org/x/crypto/tea": ("TEA", ()),
    "golang.org/x/crypto/xtea": ("XTEA", ()),
}
_CIPHER_MAKERS = ("NewCipher", "NewTripleDESCipher", "NewSaltedCipher", "NewCipherWithRounds")


def weak_hash(program: Program) -> Iterator[Hit]:
    """MD5, SHA-1, MD4 or RIPEMD-160 is used, for which two texts of one hash can be made.

    Use ``crypto/sha256``. For passwords use ``bcrypt``, ``scrypt`` or ``argon2``. Where the hash protects nothing, as
    in a cache's key, it may stay; say so in a comment.
    """
    return _of_packages(program, _HASHES, ("New", "Sum", "Sum160"), "is broken as a hash; use SHA-256")


def weak_cipher(program: Program) -> Iterator[Hit]:
    """DES, triple DES, RC4, Blowfish, CAST5 or TEA is used: their blocks or keys are too short, or they are broken.

    Use ``crypto/aes`` with ``cipher.NewGCM``, or ``chacha20poly1305``.
    """
    return _of_packages(program, _CIPHERS, _CIPHER_MAKERS, "is a weak cipher; use AES-GCM or ChaCha20-Poly1305")


def _of_packages(
    program: Program, packages: Mapping[str, tuple[str, tuple[str, ...]]], members: tuple[str, ...], what: str
) -> Iterator[Hit]:
    for path, (name, also) in packages.items():
        last = path.rsplit("/", 1)[-1]
        if last.encode() not in program.data:
            continue
        used = False
        for call in program.calls(*(f"{path}.{member}" for member in members)):
            used = True
            yield program.hit(
                call.node, f"{name} {what}", also=also, confidence=None if call.sure else Confidence.MEDIUM
            )
        for node in program.mentions(*(f"{path}.{member}" for member in members)):
            used = True
            yield program.hit(node, f"{name} {what}", also=also)
        if not used:
            for spec, node in program.seen.imports:
                if spec == path:
                    yield program.hit(node, f"{name} {what}", also=also, confidence=Confidence.MEDIUM)


_RANDOM = words(
    "Int Intn IntN Int31 Int31n Int32 Int32N Int63 Int63n Int64 Int64N Uint Uint32 Uint32N Uint64 Uint64N UintN N "
    "Float32 Float64 NormFloat64 ExpFloat64 Perm Shuffle Read"
)
_RANDOM_PACKAGES = ("math/rand", "math/rand/v2")
_SECRET = re.compile(
    rb"passw|secret|token|nonce|salt|session|\botp|csrf|api_?key|crypt|captcha|verif|cookie|\biv\b|private|auth|credential",
    re.IGNORECASE,
)


def weak_random(program: Program, call: Call) -> Iterator[Hit]:
    """``math/rand`` is asked for a number that others may be able to foresee.

    Its sequence follows from a few outputs. For keys, tokens, passwords and anything that must not be guessed use
    ``crypto/rand``. For games, tests and simulations it is right; the severity is low unless the names around the call
    speak of secrets.
    """
    if call.receiver is not None and program.receiver_type(call) not in {"math/rand.Rand", "math/rand/v2.Rand"}:
        return
    function = call.scope.function
    name = function.name.encode() if function is not None else b""
    secret = _SECRET.search(name) or _SECRET.search(program.line_text(call.node))
    yield program.hit(
        call.node,
        "math/rand can be foreseen; use crypto/rand for what must not be guessed",
        severity=Severity.HIGH if secret else None,
        confidence=Confidence.HIGH if secret and call.sure else Confidence.MEDIUM if call.sure else Confidence.LOW,
    )


_KEY_BITS = {"crypto/rsa.GenerateKey": 1, "crypto/rsa.GenerateMultiPrimeKey": 2}
_MIN_BITS = 2048


def short_rsa_key(program: Program, call: Call) -> Iterator[Hit]:
    """An RSA key of fewer than 2,048 bits is made; it can be factored.

    Use 3,072 bits or more, or Ed25519.
    """
    bits = program.argument(call, _KEY_BITS[call.name]).constant
    if isinstance(bits, int) and bits < _MIN_BITS:
        yield program.hit(call.node, f"an RSA key of {bits} bits is too short")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH820",
        name="go-weak-hash",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=328,
        check=weak_hash,
        also=("G401", "G406", "G501", "G505", "G506", "G507"),
        on=(b"md5", b"sha1", b"md4", b"ripemd160"),
        hits=(
            "h := md5.New()\n",
            "sum := sha1.Sum(data)\n",
            'import m "crypto/md5"\nvar x = m.Sum(nil)\n',
            "mac := hmac.New(sha1.New, key)\n",
            'import _ "golang.org/x/crypto/md4"\n',
        ),
        misses=(
            "h := sha256.New()\n",
            'import "example.org/md5"\nvar x = md5.New()\n',
            "func f(md5 Hasher) { md5.New() }\n",
            "size := md5.Size\n",
        ),
    ),
    Rule(
        id="FH821",
        name="go-weak-cipher",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=327,
        check=weak_cipher,
        also=("G405", "G502", "G503"),
        on=(b"des", b"rc4", b"blowfish", b"cast5", b"tea"),
        hits=("c, err := des.NewCipher(key)\n", "c, err := rc4.NewCipher(key)\n", 'import "crypto/des"\n'),
        misses=("c, err := aes.NewCipher(key)\n", "des := load()\ndes.NewCipher(key)\n"),
    ),
    Rule(
        id="FH822",
        name="go-weak-random",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=338,
        check=weak_random,
        also=("G404",),
        on=(
            *(f"{package}.{name}" for package in _RANDOM_PACKAGES for name in sorted(_RANDOM)),
            *(f".{name}" for name in sorted(_RANDOM)),
        ),
        hits=(
            'import "math/rand"\nfunc token() int { return rand.Intn(10) }\n',
            'import r "math/rand/v2"\nvar x = r.IntN(6)\n',
            "gen := rand.New(rand.NewSource(1))\nx := gen.Int63()\n",
            "n := rand.Intn(6) + 1\n",
        ),
        misses=(
            'import "crypto/rand"\nfunc f() { rand.Read(b) }\n',
            "n, err := rand.Int(rand.Reader, max)\n",
            "f.Read(b)\n",
            "x := big.Int(y)\n",
        ),
    ),
    Rule(
        id="FH824",
        name="go-short-rsa-key",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=326,
        check=short_rsa_key,
        also=("G403",),
        on=tuple(_KEY_BITS),
        hits=(
            "rsa.GenerateKey(rand.Reader, 1024)\n",
            "const bits = 512\nvar k, _ = rsa.GenerateKey(rand.Reader, bits*2)\n",
        ),
        misses=("rsa.GenerateKey(rand.Reader, 4096)\n", "rsa.GenerateKey(rand.Reader, bits)\n"),
    ),
)
