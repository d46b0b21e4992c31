"""What only stands where a secret would: fill-in words, templates, look-ups, and values that nobody drew at random."""

from __future__ import annotations

import binascii
import math
import re

from analyzers.patterns import lazy

_WORDS = lazy(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", re.ASCII)
_MOST = 2000
_MAX_WORDY = 120


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_FILL_IN_WORDS = _set(
    "changeme changeit change replaceme replace placeholder example sample dummy fake redacted removed masked hidden "
    "todo tbd fixme insert your yours none null nil undefined empty unset string here foo bar baz enter put real "
    "xxx notset fakekey afakekey somefakekey mykey mytoken mysecret mypassword"
)
# With one of the words above these make a placeholder too (``my-password-here``); alone they are somebody's password.
_FILLING_WORDS = _set(
    "my the a an api access auth db user username password passwd pass pwd passphrase secret token key apikey some "
    "in not too short tooshort long enough"
)
_PARTS = (
    "your-", "your_", "yourapi", "yoursecret", "yourtoken", "yourkey", "yourpass", "-your", "_your", "changeme",
    "change-me", "change_me", "replaceme", "replace-me", "replace_me", "replace-with", "replace_with", "placeholder",
    "xxxx", "****", "####", "....", "redacted", "insert-", "insert_", "dummy", "<your", "not-a-real", "not_a_real",
    "goes-here", "goes_here", "key-here", "key_here", "token-here", "token_here", "secret-here", "secret_here",
    "put_your", "putyour", "stringhere", "tokenhere",
)  # fmt: skip
_FILLERS = frozenset("xX*.-_#?0")
# Texts rather than compiled: most starts never need them, and :mod:`re` keeps what it compiled.
_FIELD = (
    r"\{\{[^{}]{0,200}\}\}|\$\{[^{}]{0,200}\}|\$\([^()]{0,200}\)|\{[A-Za-z_0-9.!:\[\]]{0,60}\}"
    r"|%\([A-Za-z_]\w{0,60}\)[sdr]|%[sdrvq](?![\w%])|%[A-Za-z_]{3,60}%|@[A-Z_]{3,60}@|<[A-Za-z%=@][^<>]{0,60}>"
    r"|\[[A-Za-z_ -]{2,40}\]|^\$\w{1,60}$"
)
# A word of its own: an issuer's documented sample that merely ends in EXAMPLE has the shape of a real one.
_EXAMPLE = r"^example|(?:^|[^a-z0-9])(?:example|fake)(?:[^a-z0-9]|$)"
_LOOKUP = r"(?i:(?:os\.)?(?:environ|getenv|env|process\.env|secrets|vault|config|settings)[.\[(:])"
# Both checksums of each, so that no list of keys stands here.
_PUBLISHED = frozenset((
    (908569220, 888512741), (2495321337, 3216902383), (4292727177, 2482614072), (1633266832, 1816664047),
    (2057380053, 2652298429), (1783592992, 1975103614), (4223955489, 1119394183), (137970471, 4234660168),
    (2951282494, 3905166954), (1801906344, 207216267), (1546223926, 157952950), (523603134, 24508080),
    (1804887032, 3908851340), (539969167, 3363124407), (1012760538, 600233312), (1008177051, 4036911863),
))  # fmt: skip
_HEX = r"[0-9a-f]+|[0-9A-F]+"
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_DRAWN = r"[A-Za-z0-9+/=_.~-]+"
_SEQUENCES = ("abcdefgh", "ABCDEFGH", "klmnopqr", "mnopqrst", "KLMNOPQR", "MNOPQRST", "qwertyui")
_PIECES = r"[-_.+/=~]+"
_MIN_LETTER_SHARE = 4
_LEAST_BITS = 3.0
_LONG = 16
_DULL_BITS = 2.0
_LEAST_HEX_BITS = 2.6
_LEAST_HEX = 20
_MAX_WORD_DIGITS = 4


def words(text: str) -> list[str]:
    """Split an identifier of any style into its words, in lower case."""
    return [word.lower() for word in _WORDS.findall(text)]


def is_placeholder(value: str) -> bool:
    """Whether a value only stands where a secret would: ``changeme``, ``<token>``, ``xxxx``, ``${TOKEN}``."""
    text = value.strip()[:_MOST]
    lowered = text.lower()
    if (
        not text
        or set(text) <= _FILLERS
        or re.match(_LOOKUP, text)
        or _is_template(text)
        or text.endswith(("...", "…"))
    ):
        return True
    if len(text) >= _LONG and (bits(text) < _DULL_BITS or is_published(text)):
        return True
    if len(text) >= _MIN_LETTER_SHARE and len(set(lowered)) == 1:
        return True
    if any(part in lowered for part in _PARTS) or re.search(_EXAMPLE, lowered):
        return True
    if len(text) > _MAX_WORDY:
        return False
    said = words(text)
    return any(word in _FILL_IN_WORDS for word in said) and all(
        word in _FILL_IN_WORDS or word in _FILLING_WORDS for word in said
    )


def _is_template(text: str) -> bool:
    """Whether what remains beside its fields is next to nothing. Braces that do not match make no template."""
    rest, fields = re.subn(_FIELD, "", text)
    if not fields or "{" in rest or "}" in rest:
        return False
    return not is_random(rest)


def is_published(value: str) -> bool:
    """Whether a value is one that its owner published: keys in Google's Firebase samples, Yarn's search key."""
    raw = value.encode("utf-8", "replace")
    return (binascii.crc32(raw), binascii.crc32(raw[::-1])) in _PUBLISHED


def bits(text: str) -> float:
    """Shannon entropy of a text's own characters, in bits a character."""
    size = len(text)
    if not size:
        return 0.0
    # Quicker than a Counter for what is as short as a token.
    shares = [text.count(character) / size for character in set(text)]
    return -sum([share * math.log2(share) for share in shares])


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID in its usual form."""
    return re.fullmatch(_UUID, text) is not None


def is_hex(text: str) -> bool:
    """Whether a text is hexadecimal digits of one case, letters among them."""
    return re.fullmatch(_HEX, text) is not None and not text.isdigit()


def is_random(text: str, least: int = 15) -> bool:
    """Whether a text looks drawn by a machine: long enough, of token characters, mixed, and not made of words."""
    if len(text) < least or not re.fullmatch(_DRAWN, text):
        return False
    if is_uuid(text):
        return True
    if is_hex(text):
        return len(text) >= min(least, _LEAST_HEX) and bits(text) >= _LEAST_HEX_BITS
    if any(sequence in text for sequence in _SEQUENCES):
        return False
    digits = sum(character.isdigit() for character in text)
    if not digits or digits == len(text) or bits(text) < _LEAST_BITS:
        return False
    return not is_wordy(text)


def is_wordy(text: str) -> bool:
    """Whether words and small numbers, joined by dashes and the like, are all there is."""
    pieces = [piece for piece in re.split(_PIECES, text) if piece]
    return all(piece.isalpha() or piece.isdigit() or _is_numbered_word(piece) for piece in pieces)


def _is_numbered_word(piece: str) -> bool:
    """``prod5``, ``Level2``, ``v1``: one word with a number before or behind it."""
    word = piece.strip("0123456789")
    return word.isalpha() and len(piece) - len(word) <= _MAX_WORD_DIGITS and (word[1:].islower() or word.isupper())
