"""Does this name, holding this value, hold a secret? Pure questions about two strings, the same in every language."""

from __future__ import annotations

import re
from itertools import pairwise

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", re.ASCII)
_MAX_NAME = 120


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Names whose value is a secret whatever it looks like: people choose passwords.
_CHOSEN = _set(
    "password passwords passwd passwort passphrase pwd pass pswd contrasena motdepasse secret secrets secrete"
)
# Names whose value is a secret when it looks made by a machine: the same names also hold words and labels.
_ISSUED = _set("token jwt apikey accesskey secretkey authkey authtoken credential credentials creds bearer webhook pat")
_ISSUED_PAIRS = _set(
    "api_key access_key account_key auth_key encryption_key signing_key private_key service_key shared_key master_key "
    "session_key storage_key subscription_key license_key deploy_key consumer_key client_key app_key admin_key aes_key "
    "hmac_key jwt_key crypto_key fernet_key cipher_key auth_header connection_string conn_str"
)
# A last word that says the value only talks about a secret: where it is, what it is called, how it is checked.
_ABOUT = _set(
    "url uri path file filename dir directory name field label header type kind regex pattern prompt msg message error "
    "hint help text title description desc length len min max count ttl expiry expires timeout lifetime env var "
    "variable param parameter endpoint algorithm algo alg format prefix suffix class column template index id ids "
    "version policy strategy validator validators reset form input placeholder attr attribute location source "
    "provider manager store backend hasher hash hashed digest salt scheme realm mode status state hidden visible "
    "required enabled option flag arn ref selector xpath css element page view route key_name public"
)
_ABOUT_FIRST = _set(
    "next continuation page pagination csrf csrfmiddleware pad bos eos unk sep cls mask split stop special sync max "
    "min num no has is use show hide forgot reset change confirm invalid missing wrong expected public"
)
# A pass that is a round of work, not a word to get in; and what may follow the word without changing what is held.
_PASSES = _set("first second one two single multi forward backward render low high band by final last nth")
_VARIANTS = _set(
    "key value text plain plaintext str string default prod production dev test staging admin root user db bytes"
)
_PLACEHOLDER_WORDS = _set(
    "changeme changeit change replaceme replace placeholder example sample dummy fake redacted removed masked hidden "
    "todo tbd fixme insert your yours none null nil undefined empty unset string here foo bar baz enter "
    "xxx notset"
)
# With one of the words above these make a placeholder too (``my-password-here``); alone they are somebody's password.
_FILLING_WORDS = _set("my the a an api access auth db user password passwd pass pwd passphrase secret token key apikey")
_PLACEHOLDER_PARTS = (
    "your-", "your_", "yourapi", "yoursecret", "yourtoken", "yourkey", "yourpass", "-your", "_your", "changeme",
    "change-me", "change_me", "replaceme", "replace-me", "replace_me", "replace-with", "replace_with", "placeholder",
    "xxxx", "****", "....", "redacted", "insert-", "insert_", "dummy", "<your", "not-a-real", "not_a_real",
    "goes-here", "goes_here", "key-here", "key_here", "token-here", "token_here", "secret-here", "secret_here",
)  # fmt: skip
_FILLERS = frozenset("xX*.-_#?0")
_INTERPOLATION = re.compile(
    r"\{[^{}]{0,60}\}|^\$\w+$|\$\{|\$\(|%\(|%s|<[A-Za-z][^<>]{0,60}>|\{\{|\[[A-Za-z_ -]{2,40}\]"
)
# A word of its own: an issuer's documented sample that merely ends in EXAMPLE has the shape of a real one.
_EXAMPLE = re.compile(r"^example|(?:^|[^a-z0-9])example(?:[^a-z0-9]|$)")
_LOOKUP = re.compile(
    r"(?:os\.)?(?:environ|getenv|env|process\.env|secrets|vault|config|settings)[.\[(:]", re.IGNORECASE
)
_MIN_ISSUED = 8
_MIN_MIXED = 16


def is_placeholder(value: str) -> bool:
    """Whether a value only stands where a secret would: ``changeme``, ``<token>``, ``xxxx``, ``${TOKEN}``."""
    text = value.strip()
    lowered = text.lower()
    if not text or set(text) <= _FILLERS or _INTERPOLATION.search(text[:2000]) or _LOOKUP.match(text):
        return True
    if any(part in lowered[:2000] for part in _PLACEHOLDER_PARTS) or _EXAMPLE.search(lowered[:2000]):
        return True
    if len(text) > _MAX_NAME:
        return False
    words = _words(text)
    return any(word in _PLACEHOLDER_WORDS for word in words) and all(
        word in _PLACEHOLDER_WORDS or word in _FILLING_WORDS for word in words
    )


def holds_secret(name: str, value: str) -> bool:
    """Whether a variable, argument or key of this name and this literal value is a hard-coded secret."""
    if not value or len(name) > _MAX_NAME:
        return False
    words = _words(name)
    if not words or words[-1] in _ABOUT or words[0] in _ABOUT_FIRST or is_placeholder(value):
        return False
    if value.strip().lower() == name.lower() or _only_points(value):
        return False
    # A text with spaces is a prompt or a message more often than a passphrase.
    if _is_chosen(words) and not any(character.isspace() for character in value):
        return True
    if any(word in _CHOSEN or word in _ISSUED for word in words) or any(
        f"{left}_{right}" in _ISSUED_PAIRS for left, right in pairwise(words)
    ):
        return _looks_issued(value)
    return False


def _is_chosen(words: list[str]) -> bool:
    last = words[-1]
    if last == "pass" and len(words) > 1:
        return words[-2] not in _PASSES
    if last in _CHOSEN:
        return True
    return (last in _VARIANTS or last.isdigit()) and any(word in _CHOSEN for word in words)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


def _only_points(value: str) -> bool:
    """Whether the value is an address, a path, or the name of the thing rather than the thing."""
    if "://" in value[:24] or value.startswith(("/", "./", "../", "~/")):
        return True
    words = _words(value)
    return (
        len(words) > 1
        and value.isidentifier()
        and value.replace("_", "").isalpha()
        and any(word in _CHOSEN or word in _ISSUED for word in words)
        and not _mixed_within_words(value)
    )


def _mixed_within_words(value: str) -> bool:
    return bool(re.search(r"[a-z][A-Z]{2,}[a-z]|[A-Z][a-z][A-Z][a-z][A-Z]", value[:200]))


def _looks_issued(value: str) -> bool:
    if len(value) < _MIN_ISSUED or any(character.isspace() for character in value):
        return False
    letters = any(character.isalpha() for character in value)
    digits = any(character.isdigit() for character in value)
    if letters and digits:
        return True
    mixed = value.lower() != value and value.upper() != value
    return len(value) >= _MIN_MIXED and mixed and _mixed_within_words(value)
