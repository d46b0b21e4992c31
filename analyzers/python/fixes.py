"""What to write instead, rule by rule. Safe means: a program that was right before still does what it did."""

from __future__ import annotations

import re
import shlex

import libcst

from analyzers.python.rewriting import (
    Expression,
    Place,
    Statement,
    Written,
    adding,
    argument,
    assigning,
    base_of,
    code,
    last_word,
    naming,
    renamed,
    setting,
    with_keyword,
    without_keyword,
)

_SHELL_SIGNS = frozenset("|&;<>()$`\\\"'*?[]#~=%!{}\n")
# Public exponents are smaller, or much larger.
_SOME_BITS, _LEAST_BITS = 300, 2048
_DEFAULT_TIMEOUT_SECONDS = "30"


def _literal_eval(node: libcst.BaseExpression, _: Place) -> Written | None:
    """``ast.literal_eval`` reads literals only: right only where literals come."""
    if not isinstance(node, libcst.Call) or last_word(node.func) != "eval" or len(node.args) != 1:
        return None
    if node.args[0].keyword is not None or node.args[0].star or not isinstance(node.func, libcst.Name):
        return None
    return Written(code(renamed(node, "ast.literal_eval")), safe=False, needs=("ast",))


def _no_shell(node: libcst.BaseExpression, _: Place) -> Written | None:
    """A command of plain words becomes a list of them, without a shell."""
    if not isinstance(node, libcst.Call) or not node.args or node.args[0].keyword is not None:
        return None
    words = _words(node.args[0].value)
    # With ``executable`` a shell other than the usual one was chosen, and would be run without its command.
    if words is None or argument(node, "shell") is None or argument(node, "executable") is not None:
        return None
    listed = libcst.parse_expression(f"[{', '.join(words)}]")
    args = [node.args[0].with_changes(value=listed), *node.args[1:]]
    safe = not isinstance(node.args[0].value, libcst.FormattedString)
    return Written(code(without_keyword(node.with_changes(args=args), "shell")), safe)


def _words(command: libcst.BaseExpression) -> list[str] | None:
    """The words of a command as expressions; None where a shell would do more than divide them."""
    if isinstance(command, libcst.SimpleString) and isinstance(command.evaluated_value, str):
        text = command.evaluated_value
        return None if not text.strip() or _SHELL_SIGNS.intersection(text) else [repr(one) for one in shlex.split(text)]
    if not isinstance(command, libcst.FormattedString):
        return None
    pieces: list[str] = []
    fields: list[str] = []
    for part in command.parts:
        if isinstance(part, libcst.FormattedStringText):
            if _SHELL_SIGNS.intersection(part.value):
                return None
            pieces.append(part.value)
        elif (
            isinstance(part, libcst.FormattedStringExpression) and part.format_spec is None and part.conversion is None
        ):
            pieces.append(f"\0{len(fields)}\0")
            fields.append(code(part.expression))
        else:
            return None
    words = []
    for word in "".join(pieces).split():
        number = word.strip("\0")
        if word.startswith("\0") and number.isdigit():
            words.append(f"str({fields[int(number)]})")
        elif "\0" in word:
            return None
        else:
            words.append(repr(word))
    return words or None


def _system(node: libcst.BaseExpression, place: Place) -> Written | None:
    """``os.system`` of plain words, whose result nobody uses, becomes ``subprocess.run`` of a list."""
    if not isinstance(node, libcst.Call) or len(node.args) != 1 or not place.line.strip().startswith(code(node)):
        return None
    words = _words(node.args[0].value)
    if words is None or not code(node.func).endswith("system"):
        return None
    return Written(f"subprocess.run([{', '.join(words)}], check=False)", safe=False, needs=("subprocess",))


def _safe_load(node: libcst.BaseExpression, _: Place) -> Written | None:
    """``yaml.safe_load`` without a loader."""
    if not isinstance(node, libcst.Call) or not base_of(node):
        return None
    word = last_word(node.func).removeprefix("unsafe_")
    asks_for_objects = "nsafe" in code(node)
    loaded = renamed(without_keyword(node, "Loader"), f"{base_of(node)}safe_{word}")
    positional = [one for one in loaded.args if one.keyword is None]
    if len(positional) > 1:
        loaded = loaded.with_changes(args=[loaded.args[0].with_changes(comma=libcst.MaybeSentinel.DEFAULT)])
    return Written(code(loaded), safe=not asks_for_objects)


def _model(node: libcst.BaseExpression, _: Place) -> Written | None:
    if not isinstance(node, libcst.Call):
        return None
    if argument(node, "allow_pickle") is not None:
        return Written(code(with_keyword(node, "allow_pickle", "False")), safe=False)
    if argument(node, "safe_mode") is not None:
        return Written(code(with_keyword(node, "safe_mode", "True")), safe=False)
    return Written(code(with_keyword(node, "weights_only", "True")), safe=False)


_RANDOM = {
    "choice": "secrets.choice",
    "random": "secrets.SystemRandom().random",
    "choices": "secrets.SystemRandom().choices",
    "sample": "secrets.SystemRandom().sample",
    "randint": "secrets.SystemRandom().randint",
    "randrange": "secrets.SystemRandom().randrange",
    "uniform": "secrets.SystemRandom().uniform",
    "getrandbits": "secrets.randbits",
    "randbytes": "secrets.token_bytes",
}


def _unpredictable(node: libcst.BaseExpression, place: Place) -> Written | None:
    """The same draw from the system's source; a program that seeds its numbers wants them again."""
    if not isinstance(node, libcst.Call) or place.finding.severity == "info":
        return None
    known = _RANDOM.get(last_word(node.func))
    return None if known is None else Written(code(renamed(node, known)), "seed(" not in place.text, needs=("secrets",))


def _stronger_hash(node: libcst.BaseExpression, _: Place) -> Written | None:
    if not isinstance(node, libcst.Call) or not base_of(node):
        return None
    if last_word(node.func) == "new" and node.args and isinstance(node.args[0].value, libcst.SimpleString):
        args = [node.args[0].with_changes(value=libcst.SimpleString('"sha256"')), *node.args[1:]]
        return Written(code(node.with_changes(args=args)), safe=False)
    word = last_word(node.func)
    if word in {"md5", "sha1"}:
        return Written(code(renamed(node, f"{base_of(node)}sha256")), safe=False)
    return Written(code(renamed(node, f"{base_of(node)}SHA256")), safe=False) if word in {"MD5", "SHA1"} else None


def _longer_key(node: libcst.BaseExpression, _: Place) -> Written | None:
    if not isinstance(node, libcst.Call):
        return None
    args = list(node.args)
    for index, one in enumerate(args):
        if isinstance(one.value, libcst.Integer) and _SOME_BITS < one.value.evaluated_value < _LEAST_BITS:
            args[index] = one.with_changes(value=libcst.Integer("3072"))
            return Written(code(node.with_changes(args=args)), safe=True)
    return None


def _more_rounds(node: libcst.BaseExpression, _: Place) -> Written | None:
    if not isinstance(node, libcst.Call):
        return None
    word = last_word(node.func)
    name, value = {"gensalt": ("rounds", "12"), "scrypt": ("n", "2**17")}.get(word, ("iterations", "600_000"))
    if argument(node, name) is not None:
        return Written(code(with_keyword(node, name, value)), safe=False)
    place = {"gensalt": 0, "pbkdf2_hmac": 3}.get(word)
    if place is None or len(node.args) <= place or node.args[place].keyword is not None:
        return None
    args = list(node.args)
    args[place] = args[place].with_changes(value=libcst.parse_expression(value))
    return Written(code(node.with_changes(args=args)), safe=False)


def _less_open(node: libcst.BaseExpression, _: Place) -> Written | None:
    """Take from a mode what it gives to others."""
    if not isinstance(node, libcst.Call) or not node.args:
        return None
    args = list(node.args)
    for index, one in enumerate(args):
        if isinstance(one.value, libcst.Integer):
            mode = one.value.evaluated_value
            # A program or a folder is left to its owner; a file may still be read by the group.
            mode &= 0o700 if mode & 0o011 else 0o640
            args[index] = one.with_changes(value=libcst.Integer(f"{mode:#o}"))
            return Written(code(node.with_changes(args=args)), safe=False)
    return None


def _certificates(node: libcst.BaseExpression, _: Place) -> Written | None:
    at = argument(node, "cert_reqs") if isinstance(node, libcst.Call) else None
    if not isinstance(node, libcst.Call) or at is None:
        return None
    better = re.sub(r"(?:\bCERT_)?NONE\b", "CERT_REQUIRED", code(node.args[at].value))
    return Written(code(with_keyword(node, "cert_reqs", better)), safe=False)


def _reject_policy(node: libcst.BaseExpression, _: Place) -> Written | None:
    if not isinstance(node, libcst.Call) or len(node.args) != 1:
        return None
    written = re.sub(r"\b(?:AutoAddPolicy|WarningPolicy)\b", "RejectPolicy", code(node.args[0].value))
    if "." not in written:
        return None
    args = [node.args[0].with_changes(value=libcst.parse_expression(written))]
    return Written(code(node.with_changes(args=args)), safe=False)


def _verified_token(node: libcst.BaseExpression, _: Place) -> Written | None:
    if not isinstance(node, libcst.Call):
        return None
    changed = without_keyword(node, "verify")
    at = argument(changed, "options")
    if at is not None:
        options = re.sub(r"(['\"]verify_signature['\"]\s*:\s*)False", r"\1True", code(changed.args[at].value))
        changed = with_keyword(changed, "options", options)
    return Written(code(changed), safe=False)


def _from_environment(text: str, _: Place) -> Written | None:
    """``NAME = "secret"`` becomes ``NAME = os.environ["NAME"]``."""
    match = re.fullmatch(r"([A-Za-z_]\w*)(\s*(?::[^=]+)?=\s*)[rbu]{0,2}(['\"]).*\3", text, re.DOTALL)
    if match is None:
        return None
    return Written(f'{match[1]}{match[2]}os.environ["{match[1].upper()}"]', safe=False, needs=("os",))


def _parameters(node: libcst.BaseExpression, place: Place) -> Written | None:
    """``execute(f"… {value}")`` hands its values over beside the statement, with ``?`` in their place."""
    if not isinstance(node, libcst.FormattedString) or f"execute({code(node)})" not in place.line:
        return None
    texts: list[str] = []
    values: list[str] = []
    for part in node.parts:
        if isinstance(part, libcst.FormattedStringText):
            texts.append(part.value)
        elif isinstance(part, libcst.FormattedStringExpression) and part.format_spec is None:
            if not re.search(r"(?:=|<|>|like|,|\()\s*'?$", texts[-1] if texts else "", re.IGNORECASE):
                return None  # a table or a column cannot be handed over
            texts.append("?")
            values.append(code(part.expression))
    statement = "".join(texts).replace("'?'", "?")
    ending = "," if len(values) == 1 else ""
    quoted = f"{node.start[node.start.lower().index('f') + 1 :]}{statement}{node.end}"
    return Written(f"{quoted}, ({', '.join(values)}{ending})", safe=False)


EXPRESSIONS: dict[str, Expression] = {
    "FH101": _literal_eval,
    "FH110": _no_shell,
    "FH111": _system,
    "FH120": _parameters,
    "FH132": adding("autoescape", "True"),
    "FH133": adding("default_filters", '["h"]'),
    "FH141": lambda node, place: (
        setting("resolve_entities load_dtd huge_tree dtd_validation", "False")(node, place)
        or setting("no_network", "True")(node, place)
    ),
    "FH152": _safe_load,
    "FH153": _safe_load,
    "FH154": _model,
    "FH156": setting("trust_remote_code", "False"),
    "FH401": _stronger_hash,
    "FH403": _more_rounds,
    "FH407": _longer_key,
    "FH408": _verified_token,
    "FH410": _unpredictable,
    "FH501": setting("verify verify_ssl ssl_verify verify_certs validate_certs ssl", "True"),
    "FH502": naming({"": "create_default_context"}),
    "FH503": _certificates,
    "FH504": naming({"_METHOD": "TLS_METHOD", "": "PROTOCOL_TLS_CLIENT"}),
    "FH506": _reject_policy,
    "FH510": lambda node, _: Written('"127.0.0.1"', safe=False) if isinstance(node, libcst.SimpleString) else None,
    "FH512": adding("timeout", _DEFAULT_TIMEOUT_SECONDS, safe=True),
    "FH520": setting("debug", "False"),
    "FH521": lambda node, _: (
        Written(code(with_keyword(with_keyword(node, "secure", "True"), "httponly", "True")), safe=False)
        if isinstance(node, libcst.Call)
        else None
    ),
    "FH601": _less_open,
    "FH604": adding("filter", '"data"'),
    "FH605": adding("filter", '"data"'),
    "FH606": lambda node, _: (
        Written(code(node.with_changes(args=[node.args[0].with_changes(value=libcst.Integer("0o077"))])), safe=False)
        if isinstance(node, libcst.Call) and node.args
        else None
    ),
}
STATEMENTS: dict[str, Statement] = {
    "FH201": _from_environment,
    "FH501": assigning({"False": "True"}),
    "FH503": assigning({"CERT_NONE": "CERT_REQUIRED"}),
    "FH522": assigning({"False": "True"}),
    "FH523": assigning({"True": "False"}),
}
