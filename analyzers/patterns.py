"""Regular expressions that are compiled when they are first used: most texts need few of them."""

from __future__ import annotations

import re

_METHODS = frozenset(
    ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn", "pattern", "flags")
)


class _Lazy:
    """Compiles at the first question, and then answers with the compiled pattern's own methods."""

    def __init__(self, regex: str, flags: int) -> None:
        self._regex = regex
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self._regex, self._flags)
        for method in _METHODS:
            # From now on found on the instance, without coming here.
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy(regex: str, flags: int = 0) -> re.Pattern[str]:
    """Give a pattern that is compiled when it is first used."""
    return _Lazy(regex, flags)  # type: ignore[return-value]
