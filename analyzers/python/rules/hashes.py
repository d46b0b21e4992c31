"""Rules about hash functions, and what passwords are hashed with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.patterns import lazy
from analyzers.python.interests import calls
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.values import argument, fold, is_false, keyword, text_of
from analyzers.rule import Hit, Rule

_HASHLIB = "hashlib.md5 hashlib.sha1 hashlib.sha hashlib.md4"
_PYCRYPTO = " ".join(
    f"{package}.Hash.{name}.new" for package in ("Crypto", "Cryptodome") for name in ("MD2", "MD4", "MD5", "SHA")
)
_HAZMAT = "cryptography.hazmat.primitives.hashes.MD5 cryptography.hazmat.primitives.hashes.SHA1"
_WEAK = frozenset({"md4", "md5", "md2", "sha", "sha1", "ripemd160"})
_PASSWORD = lazy(r"passw|passphrase|\bpwd\b|_pwd|pwd_|secret|token|credential", re.IGNORECASE)
_CRYPT_METHODS = frozenset(f"crypt.METHOD_{name}" for name in ("CRYPT", "MD5", "BLOWFISH"))
_MIN_ROUNDS = 100_000
_MIN_SCRYPT = 1 << 14
_MIN_BCRYPT = 10


def weak_hash(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """MD5, SHA-1 and older hashes: two texts with one hash can be made in seconds.

    For signatures and checks of integrity use ``hashlib.sha256``. For passwords no plain hash is enough: use
    ``hashlib.scrypt``, bcrypt or argon2. Where nothing depends on it (a cache key), say so with
    ``usedforsecurity=False``, and it is no finding.
    """
    names = origins(call.func, at)
    if "hashlib.new" in names:
        name = text_of(argument(call, 0, "name"), at)
        if name is None or name.lower() not in _WEAK:
            return
        also: tuple[str, ...] = ("B324",)
    elif any(name.startswith("hashlib.") for name in names):
        name = next(one.rpartition(".")[2] for one in names if one.startswith("hashlib."))
        also = ("B324", "B303")
    else:
        name, also = next(iter(names)).removesuffix(".new").rpartition(".")[2], ("B303",)
    if is_false(keyword(call, "usedforsecurity"), at):
        return
    severity = Severity.HIGH if _is_about_passwords(call, at) else None
    what = "for a password or secret" if severity else "for anything that matters"
    yield at.hit(call, f"{name} is too weak {what}", also=also, severity=severity)


def _is_about_passwords(call: ast.Call, at: Scope) -> bool:
    line = at.tree.source.lines[call.lineno - 1] if call.lineno <= len(at.tree.source.lines) else ""
    return bool(_PASSWORD.search(line[:500]) or _PASSWORD.search(getattr(at.node, "name", "")))


def weak_crypt(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """``crypt`` with a method that is broken or too fast to keep passwords.

    Use ``hashlib.scrypt``, bcrypt or argon2.
    """
    place = 1 if any(name.endswith(".crypt") for name in origins(call.func, at)) else 0
    method = argument(call, place, "salt" if place else "method")
    if method is not None and not _CRYPT_METHODS.isdisjoint(origins(method, at)):
        yield at.hit(call, "this method of crypt is too weak to keep passwords")


def fast_derivation(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A key is derived from a password with so little work that passwords can be guessed by the billion.

    PBKDF2 wants some hundred thousand rounds (OWASP: 600,000 with SHA-256), bcrypt a cost of 12, scrypt ``n=2**17``.
    """
    for name in origins(call.func, at):
        word = name.rpartition(".")[2]
        if word in {"pbkdf2_hmac", "PBKDF2", "PBKDF2HMAC", "pbkdf2"}:
            rounds = keyword(call, "iterations") or keyword(call, "count") or argument(call, 3)
            least = _MIN_ROUNDS
        elif word == "gensalt":
            rounds, least = argument(call, 0, "rounds"), _MIN_BCRYPT
        else:
            rounds, least = keyword(call, "n") or keyword(call, "N"), _MIN_SCRYPT
        count = fold(rounds, at)
        if isinstance(count, int) and not isinstance(count, bool) and count < least:
            yield at.hit(call, f"a work factor of {count} is too small; {least} is the least")
        return


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH401",
        name="weak-hash",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=327,
        check=weak_hash,
        on=(calls(f"{_HASHLIB} hashlib.new {_PYCRYPTO} {_HAZMAT}"),),
        also=("B324", "B303"),
        hits=(
            "import hashlib\nhashlib.md5(x)\n",
            "from hashlib import sha1 as s\ns(password.encode())\n",
            "import hashlib\nhashlib.new('MD5', x)\n",
            "from Crypto.Hash import MD5\nMD5.new()\n",
            "from cryptography.hazmat.primitives import hashes\nhashes.SHA1()\n",
        ),
        misses=(
            "import hashlib\nhashlib.sha256(x)\n",
            "import hashlib\nhashlib.md5(x, usedforsecurity=False)\n",
            "import hashlib\nhashlib.new('sha512', x)\n",
            "class A:\n    def md5(self): pass\nA().md5()\n",
        ),
    ),
    Rule(
        id="FH402",
        name="weak-crypt",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=916,
        check=weak_crypt,
        on=(calls("crypt.crypt crypt.mksalt"),),
        also=("B324",),
        hits=(
            "import crypt\ncrypt.crypt('x', salt=crypt.METHOD_MD5)\n",
            "import crypt\ncrypt.mksalt(crypt.METHOD_CRYPT)\n",
        ),
        misses=("import crypt\ncrypt.crypt('x', salt=crypt.METHOD_SHA512)\n", "import crypt\ncrypt.mksalt()\n"),
    ),
    Rule(
        id="FH403",
        name="fast-derivation",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=916,
        check=fast_derivation,
        on=(
            calls(
                "hashlib.pbkdf2_hmac hashlib.scrypt bcrypt.gensalt "
                "Crypto.Protocol.KDF.PBKDF2 Crypto.Protocol.KDF.scrypt "
                "cryptography.hazmat.primitives.kdf.pbkdf2.PBKDF2HMAC cryptography.hazmat.primitives.kdf.scrypt.Scrypt"
            ),
        ),
        hits=(
            "import hashlib\nhashlib.pbkdf2_hmac('sha256', p, s, 1000)\n",
            "import bcrypt\nbcrypt.gensalt(rounds=4)\n",
            "from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC as K\nK(algorithm=a, iterations=10)\n",
        ),
        misses=(
            "import hashlib\nhashlib.pbkdf2_hmac('sha256', p, s, 600_000)\n",
            "import bcrypt\nbcrypt.gensalt()\n",
            "import hashlib\nhashlib.scrypt(p, salt=s, n=2**17, r=8, p=1)\n",
        ),
    ),
)
