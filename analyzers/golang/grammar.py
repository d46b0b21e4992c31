"""The grammar of Go, how to read it, and the numbers of its fields."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from analyzers.syntax.grammar import Grammar
from analyzers.syntax.reading import Reader

GRAMMAR = Grammar("tree_sitter_go")
_TOKENS = re.compile(
    rb"""//[^\n]*+ | /\*.*?(?:\*/|\Z) | "(?:[^"\\\n]|\\.)*+"? | `[^`]*+`? | '(?:[^'\\\n]|\\.)*+'? | [()\[\]{}]""",
    re.VERBOSE | re.DOTALL,
)
READER = Reader(GRAMMAR, frozenset({"go", "golang"}), _TOKENS)


class Fields(NamedTuple):
    """Fields of the grammar by their numbers."""

    alias: int
    arguments: int
    field: int
    function: int
    left: int
    name: int
    operand: int
    operator: int
    parameters: int
    path: int
    receiver: int
    result: int
    right: int
    type: int
    value: int


@cache
def fields() -> Fields:
    """Return the numbers of the grammar's fields."""
    return Fields(*GRAMMAR.fields(*Fields._fields))
