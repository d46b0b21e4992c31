"""One shell script as its rules see it: commands with their words and neighbours, and what the variables are set to."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

from analyzers.deadline import Deadline
from analyzers.model import Confidence, Severity, Span
from analyzers.rule import Hit
from analyzers.shell.command import Command
from analyzers.shell.words import HOLE, Expansion, Word, word
from analyzers.source import Source
from analyzers.syntax.grammar import Grammar, nodes
from analyzers.syntax.reading import Reader, Reading

if TYPE_CHECKING:
    from tree_sitter import Node

    from analyzers.shell.origins import Origin

GRAMMAR = Grammar("tree_sitter_bash")
_TOKENS = re.compile(
    rb"""(?<![^\s;&|(])\#[^\n]*+ | "(?:[^"\\]|\\.)*+"? | '[^']*+'? | \\. | [()\[\]{}]""",
    re.VERBOSE | re.DOTALL,
)
READER = Reader(GRAMMAR, frozenset({"bash", "sh", "shell", "zsh", "console", "shellsession", "shell-session"}), _TOKENS)

_CHECK_EVERY = 4096
_MAX_NODES = 2_000_000


class Assignment(NamedTuple):
    """``name=value``, or another way for a variable to get one."""

    name: str
    how: str
    """``set``, ``add`` (``+=``), ``read``, ``loop`` or ``declared``."""
    value: Node | None
    node: Node
    declared: bool = False
    """Whether ``local``, ``export`` or their like stand in front."""


class Script:
    """A text that was read and walked."""

    def __init__(self, source: Source, reading: Reading, root: Node, deadline: Deadline) -> None:
        self.source = source
        self.data = reading.data
        self.root = root
        self.commands: list[Command] = []
        self.assignments: dict[str, list[Assignment]] = defaultdict(list)
        self.redirects: list[Node] = []
        self.pipelines: list[Node] = []
        self.loops: list[Node] = []
        self.tests: list[Node] = []
        self.functions: dict[str, Node] = {}
        self.substitutions: list[Node] = []
        self.herestrings: list[Node] = []
        self.comments: list[Node] = []
        self.cut_at = 0
        self.origins: dict[str, Origin | None] = {}
        """What :mod:`analyzers.shell.origins` found out about variables."""
        self._plain: dict[str, bool] = {}
        self._word_of: dict[int, Word] = {}
        self._pipes: dict[int, tuple[Node, int]] = {}
        self._checked: set[int] = set()
        self._walk(root, deadline)

    def _walk(self, root: Node, deadline: Deadline) -> None:
        handlers = _handlers()
        for count, node in enumerate(nodes(root)):
            kind = node.kind_id
            handler = handlers.get(kind)
            if handler is not None:
                getattr(self, handler)(node)
            if not count % _CHECK_EVERY and (deadline.passed() or count > _MAX_NODES):
                self.cut_at = node.start_point[0] + 1
                return

    # What the walk meets

    def _command(self, node: Node) -> None:
        pipe = self._pipes.get(node.id, (None, 0))
        self.commands.append(Command(self, node, pipe, checked=node.id in self._checked))
        name = next((child for child in node.named_children if child.type == "command_name"), None)
        if name is not None and self.text(name) in {"read", "mapfile", "readarray", "getopts", "printf"}:
            self._reads(node, self.text(name))

    def _reads(self, node: Node, name: str) -> None:
        arguments = [child for child in node.named_children if child.type == "word"]
        texts = [self.text(child) for child in arguments]
        if name == "printf":
            targets = texts[texts.index("-v") + 1 :][:1] if "-v" in texts else []
        elif name == "getopts":
            targets = ["OPTARG", *texts[1:2]]
        else:
            targets = [text for text in texts if text.isidentifier()]
        for target in targets:
            self.assignments[target].append(Assignment(target, "read" if name != "printf" else "set", None, node))

    def _pipeline(self, node: Node) -> None:
        self.pipelines.append(node)
        for index, child in enumerate(node.named_children):
            self._pipes[child.id] = (node, index)

    def _redirected(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        if body is not None:
            if node.id in self._pipes:
                self._pipes[body.id] = self._pipes[node.id]
            if node.id in self._checked:
                self._checked.add(body.id)

    def _list(self, node: Node) -> None:
        children = node.named_children
        for child in children[:-1]:
            self._checked.add(child.id)
        if node.id in self._checked and children:
            self._checked.add(children[-1].id)

    def _condition(self, node: Node) -> None:
        for condition in node.children_by_field_name("condition"):
            self._checked.add(condition.id)

    def _negated(self, node: Node) -> None:
        for child in node.named_children:
            self._checked.add(child.id)

    def _assignment(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None:
            text = self.text(name).partition("[")[0]
            added = self.data[name.end_byte : name.end_byte + 2] == b"+="
            declared = node.parent is not None and node.parent.type == "declaration_command"
            self.assignments[text].append(Assignment(text, "add" if added else "set", value, node, declared))

    def _for(self, node: Node) -> None:
        self.loops.append(node)
        variable = node.child_by_field_name("variable")
        if variable is not None:
            name = self.text(variable)
            values: list[Node | None] = [*node.children_by_field_name("value")]
            for value in values or [None]:
                self.assignments[name].append(Assignment(name, "loop", value, node))

    def _redirect(self, node: Node) -> None:
        self.redirects.append(node)

    def _herestring(self, node: Node) -> None:
        self.herestrings.append(node)

    def _test(self, node: Node) -> None:
        self.tests.append(node)

    def _function(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            self.functions.setdefault(self.text(name), node)

    def _substitution(self, node: Node) -> None:
        self.substitutions.append(node)

    def _comment(self, node: Node) -> None:
        self.comments.append(node)

    # Questions of the rules

    @cached_property
    def by_name(self) -> dict[str, list[Command]]:
        """Commands by what they run, behind ``sudo`` and its like."""
        found: dict[str, list[Command]] = defaultdict(list)
        for command in self.commands:
            words = command.effective()
            text = words[0].literal if words else None
            found["" if text is None else text.rpartition("/")[2]].append(command)
        return found

    @cached_property
    def of_pipeline(self) -> dict[int, list[Command]]:
        """The commands of each pipeline, by the id of its node."""
        found: dict[int, list[Command]] = defaultdict(list)
        for command in self.commands:
            if command.pipe[0] is not None:
                found[command.pipe[0].id].append(command)
        return found

    def run(self, *names: str) -> list[Command]:
        """Every command that runs one of these programs."""
        return [command for name in names for command in self.by_name.get(name, ())]

    def text(self, node: Node) -> str:
        """Return what stands there."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def raw(self, node: Node) -> bytes:
        """Return the bytes that stand there."""
        return self.data[node.start_byte : node.end_byte]

    def word(self, node: Node) -> Word:
        """Take a word apart."""
        known = self._word_of.get(node.id)
        if known is None:
            known = self._word_of[node.id] = word(self.data, node)
        return known

    def span(self, node: Node) -> Span:
        """Where a node stands, within the text as it was sent."""
        first, last = node.start_point, node.end_point
        lines = self.source.lines
        end = len(lines), len(lines[-1].encode("utf-8", "surrogatepass"))
        start = (first[0] + 1, first[1]) if first[0] < len(lines) else end
        stop = (last[0] + 1, last[1]) if last[0] < len(lines) else end
        return self.source.span(*start, *stop)

    def hit(
        self,
        node: Node,
        message: str,
        *,
        confidence: Confidence | None = None,
        severity: Severity | None = None,
        also: tuple[str, ...] | None = None,
    ) -> Hit:
        """Say that a rule saw something there. What is None is as the rule says in general."""
        return Hit(span=self.span(node), message=message, also=also, confidence=confidence, severity=severity)

    @cached_property
    def options(self) -> frozenset[str]:
        """Options that the script sets for itself, such as ``e``, ``u`` and ``pipefail``."""
        found: set[str] = set()
        first = self.source.lines[0]
        if first.startswith("#!"):
            for part in first.split()[1:]:
                found |= set(part[1:]) if part.startswith("-") else set()
        for command in self.run("set"):
            texts = [given.literal or "" for given in command.words[1:]]
            for at, text in enumerate(texts):
                if text.startswith("-") and not text.startswith("--"):
                    found |= set(text[1:])
                if text.startswith("-") and text.endswith("o"):
                    found |= set(texts[at + 1 : at + 2])
        return frozenset(found | ({"e"} if "errexit" in found else set()) | ({"u"} if "nounset" in found else set()))

    @cached_property
    def asked_about(self) -> frozenset[str]:
        """Variables whose being empty, or what they hold, a test or ``case`` asks about."""
        found: set[str] = set()
        for node in self.tests:
            found.update(match.decode() for match in _NAMED.findall(self.raw(node)))
        for command in self.run("test", "["):
            found.update(match.decode() for match in _NAMED.findall(self.raw(command.node)))
        for match in _GUARD.finditer(self.data):
            found.add(match[1].decode())
        return frozenset(found)

    def constant(self, name: str) -> str | None:
        """Return the one text that a variable is set to, where it is a literal and set once."""
        setting = self.assignments.get(name, ())
        if len(setting) != 1 or setting[0].how != "set" or setting[0].value is None:
            return None
        return self.word(setting[0].value).literal

    def plain(self, name: str) -> bool:
        """Whether a variable only ever holds one word: numbers, and texts without spaces and patterns."""
        known = self._plain.get(name)
        if known is None:
            self._plain[name] = False  # what a variable is made of cannot be itself
            setting = self.assignments.get(name, ())
            known = self._plain[name] = bool(setting) and all(self._is_plain(item) for item in setting)
        return known

    def _is_plain(self, setting: Assignment) -> bool:
        if setting.value is None or setting.how == "read":
            return False
        given = self.word(setting.value)
        if setting.how == "loop" and any(not item.quoted for item in given.expansions):
            return False
        plain = all(item.number or (item.kind == "parameter" and self.plain(item.name)) for item in given.expansions)
        return plain and bool(given.text) and not _SPLITTING.search(given.text)

    def filled(self, name: str) -> bool:
        """Whether a variable surely holds something: it is set to texts that are not empty, or asked about."""
        if name in self.asked_about or name in _ALWAYS_SET:
            return True
        setting = self.assignments.get(name, ())
        return bool(setting) and all(self._fills(item) for item in setting)

    def _fills(self, setting: Assignment) -> bool:
        if setting.how == "loop":
            return True
        if setting.value is None:
            return False
        given = self.word(setting.value)
        if given.text.replace(HOLE, "").strip("/"):
            return True
        made = [self._prints_always(item) for item in given.expansions]
        return any(made) or any(item.guarded for item in given.expansions)

    def _prints_always(self, expansion: Expansion) -> bool:
        return expansion.kind == "command" and bool(
            re.match(rb"[$(`\s]*(?:mktemp|pwd|dirname|date|whoami|id)\b", self.raw(expansion.node))
        )


_SPLITTING = re.compile(r"[\s*?\[]")
_NAMED = re.compile(rb"\$\{?([A-Za-z_]\w*)")
_GUARD = re.compile(rb"\$\{([A-Za-z_]\w*):?\?")
_ALWAYS_SET = frozenset({"HOME", "PWD", "USER", "BASH_SOURCE", "SHELL", "HOSTNAME", "0"})


@cache
def _handlers() -> dict[int, str]:
    """What to do with a node, by the number of its kind."""
    by_kind = {
        "command": "_command",
        "pipeline": "_pipeline",
        "redirected_statement": "_redirected",
        "list": "_list",
        "if_statement": "_condition",
        "elif_clause": "_condition",
        "while_statement": "_condition",
        "negated_command": "_negated",
        "variable_assignment": "_assignment",
        "for_statement": "_for",
        "file_redirect": "_redirect",
        "herestring_redirect": "_herestring",
        "test_command": "_test",
        "function_definition": "_function",
        "command_substitution": "_substitution",
        "process_substitution": "_substitution",
        "comment": "_comment",
    }
    return dict(zip(GRAMMAR.kinds(*by_kind), by_kind.values(), strict=True))
