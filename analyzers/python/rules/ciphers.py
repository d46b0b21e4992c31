"""Rules about encryption: ciphers, modes, keys and signed tokens."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.python.interests import calls
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.values import argument, fold, is_false, keyword
from analyzers.rule import Hit, Rule

_WEAK = " ".join(
    (
        *(
            f"{package}.Cipher.{name}.new"
            for package in ("Crypto", "Cryptodome")
            for name in ("ARC2", "ARC4", "Blowfish", "DES", "DES3", "XOR", "CAST")
        ),
        *(
            f"cryptography.hazmat.{where}.{name}"
            for where in ("primitives.ciphers.algorithms", "decrepit.ciphers.algorithms")
            for name in ("ARC4", "Blowfish", "IDEA", "CAST5", "SEED", "TripleDES", "RC2")
        ),
    )
)
_ECB = "cryptography.hazmat.primitives.ciphers.modes.ECB"
_ECB_NAMES = frozenset(
    f"{package}.Cipher.{name}.MODE_ECB" for package in ("Crypto", "Cryptodome") for name in ("AES", "DES", "DES3")
)
_AES = "Crypto.Cipher.AES.new Cryptodome.Cipher.AES.new"
_VECTORS = " ".join(
    f"cryptography.hazmat.primitives.ciphers.modes.{name}" for name in ("CBC", "CTR", "CFB", "OFB", "GCM")
)
_ASYMMETRIC = "cryptography.hazmat.primitives.asymmetric"
_KEYS: dict[str, tuple[int, str]] = {
    f"{_ASYMMETRIC}.rsa.generate_private_key": (1, "key_size"),
    f"{_ASYMMETRIC}.dsa.generate_private_key": (0, "key_size"),
    f"{_ASYMMETRIC}.dsa.generate_parameters": (0, "key_size"),
    f"{_ASYMMETRIC}.dh.generate_parameters": (1, "key_size"),
    **{
        f"{package}.PublicKey.{kind}.generate": (0, "bits")
        for package in ("Crypto", "Cryptodome")
        for kind in ("RSA", "DSA")
    },
    "rsa.newkeys": (0, "nbits"),
}
_CURVES = f"{_ASYMMETRIC}.ec.generate_private_key"
_WEAK_CURVES = frozenset({"SECP192R1", "SECT163K1", "SECT163R2", "SECT233R1", "SECT233K1"})
_LEAST_BITS = 2048
_BROKEN_BITS = 1024
_EXPECTED_BANDIT = frozenset({"DES3", "CAST", "RC2"})


def weak_cipher(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A cipher that is broken, or whose blocks are so short that long messages give themselves away.

    Use AES in an authenticated mode, such as ``AESGCM`` of the ``cryptography`` package, or its ``Fernet``.
    """
    name = next((one for one in origins(call.func, at) if one in _WEAK_NAMES), "")
    word = name.removesuffix(".new").rpartition(".")[2]
    yield at.hit(call, f"{word} is broken or too weak", also=() if word in _EXPECTED_BANDIT else ("B304",))


_WEAK_NAMES = frozenset(_WEAK.split(" "))


def ecb_mode(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """ECB encrypts equal blocks equally, so that the pattern of a message shows through.

    Use an authenticated mode: ``AESGCM``, ``MODE_GCM``, or Fernet.
    """
    if any(name.endswith("modes.ECB") for name in origins(call.func, at)):
        yield at.hit(call, "ECB lets the pattern of the message show through", also=("B305",))
        return
    mode = argument(call, 1, "mode")
    if mode is not None and not _ECB_NAMES.isdisjoint(origins(mode, at)):
        yield at.hit(call, "ECB lets the pattern of the message show through", also=())


def fixed_vector(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """The initialisation vector or nonce of a cipher stands in the source, so every message has the same one.

    Equal messages then look equal, and in CTR and GCM two of them give each other away. Make a new one for every
    message with ``os.urandom`` or ``secrets.token_bytes``, and send it along.
    """
    if any(name.endswith("AES.new") for name in origins(call.func, at)):
        vector = argument(call, 2, "iv") or keyword(call, "nonce")
    else:
        vector = argument(call, 0)
    value = fold(vector, at)
    if (isinstance(value, (bytes, str)) and value) or (
        isinstance(vector, ast.BinOp) and isinstance(vector.op, ast.Mult) and isinstance(vector.left, ast.Constant)
    ):
        yield at.hit(call, "every message is encrypted with the same initialisation vector")


def short_key(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A public key that is too short: RSA, DSA and DH below 2048 bits, curves below 224.

    Use 3072 bits, or an elliptic curve such as ``SECP256R1`` or Ed25519.
    """
    names = origins(call.func, at)
    if _CURVES in names:
        curve = argument(call, 0, "curve")
        curve = curve.func if isinstance(curve, ast.Call) else curve
        words = set() if curve is None else {name.rpartition(".")[2] for name in origins(curve, at)}
        if words & _WEAK_CURVES:
            yield at.hit(call, "this curve is too small")
        return
    for name in names:
        if name in _KEYS:
            bits = fold(argument(call, *_KEYS[name]), at)
            if isinstance(bits, int) and bits < _LEAST_BITS:
                severity = Severity.HIGH if bits < _BROKEN_BITS else None
                yield at.hit(call, f"a key of {bits} bits is too short; {_LEAST_BITS} is the least", severity=severity)
            return


def token_unverified(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A JSON Web Token is read without checking its signature, so that anybody can write one.

    Give ``jwt.decode`` the key and the list of algorithms that you sign with, and never ``none``.
    """
    options = keyword(call, "options")
    unverified = is_false(keyword(call, "verify"), at)
    if isinstance(options, ast.Dict):
        for key, value in zip(options.keys, options.values, strict=True):
            if key is not None and fold(key, at) == "verify_signature" and is_false(value, at):
                unverified = True
    algorithms = fold(keyword(call, "algorithms") or keyword(call, "algorithm"), at)
    listed = algorithms if isinstance(algorithms, tuple) else (algorithms,)
    if unverified:
        yield at.hit(call, "the signature of the token is not checked")
    elif any(isinstance(one, str) and one.lower() == "none" for one in listed):
        yield at.hit(call, "the algorithm none means that nobody signed the token")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH404",
        name="weak-cipher",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=327,
        check=weak_cipher,
        on=(calls(_WEAK),),
        also=("B304",),
        hits=(
            "from Crypto.Cipher import DES\nDES.new(key, DES.MODE_CBC, iv)\n",
            "from Cryptodome.Cipher import ARC4 as a\na.new(key)\n",
            "from cryptography.hazmat.primitives.ciphers import algorithms\nalgorithms.Blowfish(key)\n",
        ),
        misses=("from Crypto.Cipher import AES\nAES.new(key, AES.MODE_GCM)\n", "DES = 1\nDES.new(key)\n"),
    ),
    Rule(
        id="FH405",
        name="ecb-mode",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=327,
        check=ecb_mode,
        on=(calls(f"{_ECB} {_AES}"),),
        also=("B305",),
        hits=(
            "from cryptography.hazmat.primitives.ciphers.modes import ECB\nECB()\n",
            "from Crypto.Cipher import AES\nAES.new(key, AES.MODE_ECB)\n",
        ),
        misses=("from Crypto.Cipher import AES\nAES.new(key, AES.MODE_GCM)\n", "ECB()\n"),
    ),
    Rule(
        id="FH406",
        name="fixed-vector",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=329,
        check=fixed_vector,
        on=(calls(f"{_VECTORS} {_AES}"),),
        hits=(
            "from Crypto.Cipher import AES\nAES.new(key, AES.MODE_CBC, b'0123456789abcdef')\n",
            "from Crypto.Cipher import AES\nAES.new(key, AES.MODE_CBC, iv=b'\\0' * 16)\n",
            "from cryptography.hazmat.primitives.ciphers import modes\niv = b'0' * 16\nmodes.CBC(iv)\n",
        ),
        misses=(
            "import os\nfrom Crypto.Cipher import AES\nAES.new(key, AES.MODE_CBC, os.urandom(16))\n",
            "from Crypto.Cipher import AES\nAES.new(key, AES.MODE_GCM)\n",
        ),
    ),
    Rule(
        id="FH407",
        name="short-key",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=326,
        check=short_key,
        on=(calls(" ".join((*_KEYS, _CURVES))),),
        also=("B505",),
        hits=(
            "from cryptography.hazmat.primitives.asymmetric import rsa\nrsa.generate_private_key(65537, 1024)\n",
            "from Crypto.PublicKey import RSA\nRSA.generate(512)\n",
            "from cryptography.hazmat.primitives.asymmetric import ec\nec.generate_private_key(ec.SECT163R2())\n",
        ),
        misses=(
            "from cryptography.hazmat.primitives.asymmetric import rsa\nrsa.generate_private_key(65537, 4096)\n",
            "from Crypto.PublicKey import RSA\nRSA.generate(bits)\n",
            "from cryptography.hazmat.primitives.asymmetric import ec\nec.generate_private_key(ec.SECP256R1())\n",
        ),
    ),
    Rule(
        id="FH408",
        name="token-unverified",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=347,
        check=token_unverified,
        on=(calls("jwt.decode jwt.encode jose.jwt.decode jose.jwt.encode"),),
        hits=(
            "import jwt\njwt.decode(t, options={'verify_signature': False})\n",
            "import jwt\njwt.decode(t, key, verify=False)\n",
            "import jwt\njwt.decode(t, key, algorithms=['none'])\n",
        ),
        misses=("import jwt\njwt.decode(t, key, algorithms=['HS256'])\n", "jwt2.decode(t, verify=False)\n"),
    ),
)
