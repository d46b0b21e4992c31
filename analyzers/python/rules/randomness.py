"""Rules about numbers that must not be guessed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.patterns import lazy
from analyzers.python.interests import calls
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.rule import Hit, Rule

_FUNCTIONS = (
    "random Random randrange randint choice choices uniform triangular randbytes sample getrandbits shuffle gauss "
    "normalvariate betavariate expovariate"
)
_BANDIT = frozenset(
    "random Random randrange randint choice choices uniform triangular randbytes sample getrandbits".split(" ")
)
_OTHERS = "numpy.random.randint numpy.random.choice numpy.random.rand numpy.random.random numpy.random.bytes"
_SECRET = lazy(
    r"passw|passphrase|secret|token|\botp|_otp|otp_|api_?key|_key\b|\bkey\b|\bsalt|nonce|session_?id|csrf|captcha|"
    r"\bpin\b|_pin\b|verification|reset_?code|auth|voucher|coupon|invite|credential|\biv\b|crypt|\bcookie",
    re.IGNORECASE,
)


def predictable(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """``random`` makes numbers that can be foretold by whoever has seen enough of them.

    For tokens, passwords, keys and codes use the ``secrets`` module (``secrets.token_urlsafe()``,
    ``secrets.choice(letters)``, ``secrets.randbelow(n)``) or ``random.SystemRandom``. For games, tests and simulations
    ``random`` is right: there this is information alone. A line or function that speaks of a token, password or key
    makes it a finding.
    """
    names = origins(call.func, at)
    known = next((name for name in names if name.startswith(("random.", "numpy."))), "random")
    also = ("B311",) if known.rpartition(".")[2] in _BANDIT and known.startswith("random.") else ()
    if _is_secret(call, at):
        message = f"{known} can be foretold; secrets makes what nobody can guess"
        yield at.hit(call, message, also=also, severity=Severity.MEDIUM)
    elif also:
        yield at.hit(call, f"{known} can be foretold: not for tokens, passwords or keys", also=also)


def _is_secret(call: ast.Call, at: Scope) -> bool:
    lines = at.tree.source.lines
    line = lines[call.lineno - 1][:500] if call.lineno <= len(lines) else ""
    code = line.partition("#")[0].replace("random", "")
    if _SECRET.search(code):
        return True
    scope: Scope | None = at
    while scope is not None:
        if _SECRET.search(getattr(scope.node, "name", "")):
            return True
        scope = scope.parent
    return False


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH410",
        name="predictable-random",
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        cwe=330,
        check=predictable,
        on=(calls(" ".join((*(f"random.{name}" for name in _FUNCTIONS.split(" ")), _OTHERS))),),
        also=("B311",),
        hits=(
            "import random\ntoken = ''.join(random.choice(letters) for _ in range(16))\n",
            "import random as r\nr.randint(1, 6)\n",
            "from random import sample\ndef make_password():\n    return sample(letters, 8)\n",
        ),
        misses=(
            "import secrets\ntoken = secrets.token_hex()\n",
            "import random\nrandom.SystemRandom().choice(x)\n",
            "import random\nrandom.seed(1)\n",
            "def random(): pass\nrandom()\n",
        ),
    ),
)
