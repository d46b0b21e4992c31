"""How a text is read: as it is where it parses, else by the stages of :mod:`analyzers.python.reading.mending`."""

from __future__ import annotations

import ast

from analyzers.deadline import Deadline
from analyzers.model import Parse, ParseError
from analyzers.named import NamedTuple
from analyzers.python.tree import parse
from analyzers.source import Source, UndecodableError


class Reading(NamedTuple):
    """What was understood of a text.

    Attributes:
        module: The tree, if there is any.
        source: The text as it was sent; it knows where in it the places of the tree are.
        parse: How much was understood.
        error: Why the text as it was sent is no program.
        unparsed: First and last line of each stretch that was not understood.
    """

    module: ast.Module | None
    source: Source
    parse: Parse
    error: ParseError | None = None
    unparsed: tuple[tuple[int, int], ...] = ()


def read(source: Source, undecodable: UndecodableError | None, deadline: Deadline) -> Reading:
    """Read a text as far as it goes."""
    if undecodable is None:
        module = parse(source, source.text)
        if isinstance(module, ast.Module):
            return Reading(module, source, Parse.FULL)
        error = module
    else:
        error = ParseError(1, 1, str(undecodable)[:200])
    from analyzers.python.reading.mending import mend  # noqa: PLC0415 - most texts parse, and its patterns are many

    if undecodable is not None:
        # Which text it is is not known: what is seen of it as plain text is better than nothing, and no more.
        whole = ((1, max(len(source.lines), 1)),)
        return mend(source, error, deadline)._replace(parse=Parse.TEXT, unparsed=whole)
    return mend(source, error, deadline)
