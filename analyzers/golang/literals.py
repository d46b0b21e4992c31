"""Go's literals as values: numbers, characters and both kinds of strings."""

from __future__ import annotations

import re

_MAX_TEXT = 100_000
_BASES = {"0x": 16, "0o": 8, "0b": 2}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_LAST = 0x10FFFF


def number(text: str) -> int | float | None:
    """Return what a number's literal stands for; None for what is none (imaginary ones too)."""
    plain = text.replace("_", "").lower()
    try:
        if plain[:2] in _BASES:
            return int(plain[2:], _BASES[plain[:2]])
        if plain.isdigit():
            return int(plain, 8 if plain.startswith("0") and len(plain) > 1 else 10)
        return float(plain)
    except ValueError:
        return None


def string(text: str) -> str:
    """Return what a string's literal stands for; one that the text cuts off ends there."""
    if text.startswith("`"):
        return text[1:].removesuffix("`")
    inner = text[1:-1] if len(text) > 1 and text.endswith('"') else text[1:]
    return _ESCAPE.sub(_unescaped, inner) if "\\" in inner and len(inner) <= _MAX_TEXT else inner


def character(text: str) -> int | None:
    """Return the code point of a character's literal."""
    found = _ESCAPE.sub(_unescaped, text[1:-1])
    return ord(found) if len(found) == 1 else None


def _unescaped(match: re.Match[str]) -> str:
    if match[5] is not None:
        return _PLAIN.get(match[5], match[5])
    code = int(match[4], 8) if match[4] else int(match[1] or match[2] or match[3], 16)
    return chr(code) if code <= _LAST else ""
