"""The languages there is an analyser for. What reads one is imported when the first text in it comes."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from functools import cache

from analyzers.deadline import Deadline
from analyzers.looking import Look
from analyzers.model import UnknownEngineError, UnknownLanguageError
from analyzers.named import NamedTuple
from analyzers.rule import Rule
from analyzers.source import Source, UndecodableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Reader(Protocol):
        """A module that reads one language."""

        RULES: tuple[Rule, ...]

        def look(
            self, source: Source, undecodable: UndecodableError | None, deadline: Deadline, *, engines: Collection[str]
        ) -> Look:
            """See what there is. Nothing that is wrong with the text, a rule or an engine raises."""


class Language(NamedTuple):
    """A language, the names it goes by, the module that reads it, and other tools that can be switched on for it."""

    name: str
    aliases: tuple[str, ...]
    module: str
    engines: tuple[str, ...] = ()


LANGUAGES = (
    Language("python", ("python3", "py"), "analyzers.python.look", engines=("bandit",)),
    Language("go", ("golang",), "analyzers.golang.look"),
    Language("bash", ("sh", "shell"), "analyzers.shell.look", engines=("shellcheck",)),
    Language("text", ("txt", "plain"), "analyzers.plain"),
    Language("markdown", ("md",), "analyzers.markdown"),
    Language("notebook", ("ipynb", "jupyter"), "analyzers.notebook"),
)
AUTO = "auto"
"""Any of the others, by what the text shows."""
_BY_NAME = {name: language for language in LANGUAGES for name in (language.name, *language.aliases)}


def languages() -> tuple[str, ...]:
    """Every language there is an analyser for, and ``auto``."""
    return (*(language.name for language in LANGUAGES), AUTO)


def engines() -> tuple[str, ...]:
    """Every other tool that can be switched on."""
    return tuple(sorted({engine for language in LANGUAGES for engine in language.engines}))


def language_named(language: str) -> str:
    """Return the language's own name for a name or alias of it. Raises UnknownLanguageError."""
    if language.lower() == AUTO:
        return AUTO
    found = _BY_NAME.get(language.lower())
    if found is None:
        raise UnknownLanguageError(language, languages())
    return found.name


def engines_named(names: Collection[str]) -> tuple[str, ...]:
    """Return the engines of these names, each once. Raises UnknownEngineError."""
    for name in names:
        if name not in (known := engines()):
            raise UnknownEngineError(name, known)
    return tuple(dict.fromkeys(names))


@cache
def reader_of(language: str) -> Reader:
    """Import what reads the language of this (own) name."""
    return importlib.import_module(_BY_NAME[language].module)
