"""What one language's analyser hands over: everything seen, how well the text was read, and what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from analyzers.capabilities import Wanted, collected
from analyzers.deadline import Deadline
from analyzers.model import Confidence, Finding, Fix, Parse, ParseError, Severity, Span
from analyzers.named import NamedTuple
from analyzers.rule import Hit, Label, Seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from analyzers.blocks import Block

Comments = Callable[[str], Iterable[tuple[int, str]]]
StatementLines = Mapping[int, tuple[int, int]]
_CHECK_EVERY = 256
_CUT_SHORT = "FH002"


def _no_statements() -> StatementLines:
    return {}


def _nothing() -> None:
    pass


def _no_fix(_: Finding) -> Fix | None:
    return None


_LESS = {Confidence.HIGH: Confidence.MEDIUM, Confidence.MEDIUM: Confidence.LOW, Confidence.LOW: Confidence.LOW}


def less_sure(seen: Seen) -> Seen:
    """Lower the confidence of what was seen in a text that had to be mended."""
    confidence = _LESS[seen.hit.confidence or seen.label.confidence]
    hit = seen.hit
    # A named tuple's own ``_replace`` takes three times as long, and here everything that was seen comes by.
    less = Hit(hit.span, hit.message, hit.also, confidence, hit.secret, hit.quoted_value, hit.severity, hit.cwe)
    return Seen(seen.label, less, seen.also)


class Import(NamedTuple):
    """A top-level module that is imported, and where. ``guarded`` says that the code goes on without it."""

    module: str
    span: Span
    guarded: bool = False


class Look:
    """Filled while a source is looked at; read once, by :mod:`analyzers.analyze`.

    Attributes:
        comments: Gives every comment of the text with its place in it.
        statement_lines: Gives the first and last line of the innermost statement around each line.
        fix: Offers edits for one finding.
        release: Frees what the look holds, when the report is made.
        parse: How much of the text was understood.
        parse_error: Why the text as it was sent is no program.
        unparsed: First and last line of each stretch that no parser understood.
        seen: What our rules saw.
        others: What another tool's rules saw; merged into ``seen``.
        masked: Places of secrets beyond those that the hits name.
        notes: What could not be looked at. A note cannot be suppressed, and makes the report incomplete.
        wanted: What the code would do if it ran, each capability once.
        imports: Modules of others that it imports.
        blocks: Programs of other languages that stand in it.
    """

    __slots__ = (
        "blocks", "comments", "fix", "imports", "masked", "notes", "others", "parse", "parse_error", "release", "seen",
        "statement_lines", "unparsed", "wanted",
    )  # fmt: skip

    def __init__(
        self,
        *,
        comments: Comments,
        statement_lines: Callable[[], StatementLines] = _no_statements,
        fix: Callable[[Finding], Fix | None] = _no_fix,
    ) -> None:
        self.comments = comments
        self.statement_lines = statement_lines
        self.fix = fix
        self.release: Callable[[], None] = _nothing
        self.parse = Parse.FULL
        self.parse_error: ParseError | None = None
        self.unparsed: tuple[tuple[int, int], ...] = ()
        self.seen: list[Seen] = []
        self.others: list[Seen] = []
        self.masked: list[Span] = []
        self.notes: list[Seen] = []
        self.wanted: tuple[Wanted, ...] = ()
        self.imports: list[Import] = []
        self.blocks: list[Block] = []

    def run(self, rule: str, check: Callable[[], Iterable[Seen]], deadline: Deadline) -> None:
        """Run one rule to its end or the deadline. If it raises, what it saw before is kept and a note says so."""
        if deadline.passed():
            if not any(note.label.id == _CUT_SHORT for note in self.notes):
                self.notes.append(cut_short(rule, 1))
            return
        try:
            for number, seen in enumerate(check()):
                self.seen.append(seen)
                if not number % _CHECK_EVERY and deadline.passed():
                    self.notes.append(cut_short(rule, seen.hit.span.line))
                    return
        except Exception as error:  # noqa: BLE001 - a rule meets hostile text; whatever it raises is told, not thrown
            self.notes.append(crashed(rule, 1, type(error).__name__))

    def want(self, search: Callable[[], Iterable[Wanted]]) -> None:
        """Keep what the code wants to do. A search that raises is told like a rule that does."""
        try:
            self.wanted = collected(search())
        except Exception as error:  # noqa: BLE001 - as above
            self.notes.append(crashed("the search for capabilities", 1, type(error).__name__))


def crashed(rule: str, line: int, reason: str) -> Seen:
    """Note that a rule raised."""
    return _note("FH001", "rule-crashed", f"{rule} could not look at all of this text: {reason}", line)


def cut_short(rule: str, line: int) -> Seen:
    """Note that time ran out."""
    return _note(_CUT_SHORT, "cut-short", f"time ran out in {rule}; later lines were not seen", line)


def missing(engine: str, reason: str) -> Seen:
    """Note that an engine is not installed."""
    return _note("FH003", "engine-missing", f"{engine} could not be loaded: {reason[:200]}", 1)


def unanswered(reason: str) -> Seen:
    """Note that the analyser itself gave no answer."""
    return _note("FH004", "no-answer", reason, 1)


def _note(id_: str, name: str, message: str, line: int) -> Seen:
    return Seen(Label(id_, name, Severity.INFO, Confidence.HIGH), Hit(span=Span(line, 1, line, 1), message=message))
