"""Where a program is while its flow is followed: names, what has been checked, and the function it is in."""

from __future__ import annotations

from collections.abc import Iterable

from analyzers.python.flow.values import Key, Proofs, Value, baked, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

    from analyzers.python.scopes import Scope

Cleared = dict[Key, frozenset[str]]
_MOST_EXITS = 16


class Exhausted(Exception):
    """The text asks for more steps than it is given."""


class Frame:
    """One run through a function, or the module.

    Attributes:
        node: The function, None for the module.
        returned: What it returned, and what had been checked then.
        loops: For each loop that it is in, the states in which the loop was left.
        page: Whether what it returns is shown as HTML.
    """

    __slots__ = ("loops", "node", "page", "proofs", "returned")

    def __init__(self, node: ast.AST | None, *, page: bool = False) -> None:
        self.node = node
        self.returned: list[tuple[Value, Cleared]] = []
        self.proofs: list[Proofs | None] = []
        self.loops: list[list[State]] = []
        self.page = page


class State:
    """Names and what they are at one point of the program; changed in place along the way."""

    __slots__ = ("cleared", "depth", "frame", "names", "outer", "scope")

    def __init__(self, scope: Scope, frame: Frame, outer: State | None, depth: int = 0) -> None:
        self.scope = scope
        self.frame = frame
        self.outer = outer
        self.names: dict[str, Value] = {}
        self.cleared: Cleared = {}
        self.depth = depth

    def find(self, name: str) -> Value | None:
        """What a name is, here or in the functions around."""
        at: State | None = self
        while at is not None:
            found = at.names.get(name)
            if found is not None:
                return found
            at = at.outer
        return None

    def fork(self, proved: Cleared | None = None) -> State:
        """Begin a branch, in which something may have been proved."""
        made = State(self.scope, self.frame, self.outer, self.depth + 1)
        made.names = self.names.copy()
        made.cleared = self.cleared.copy()
        if proved:
            made.clear(proved)
        return made

    def clear(self, proved: Cleared) -> None:
        """Know from now on that sources were checked."""
        for key, kinds in proved.items():
            known = self.cleared.get(key)
            self.cleared[key] = kinds if known is None else known | kinds

    def become(self, branches: list[State]) -> None:
        """Go on as whichever of the branches was taken."""
        if len(branches) == 1:
            self.names, self.cleared = branches[0].names, branches[0].cleared
            return
        before = self.names
        names: dict[str, Value] = {}
        for name in dict.fromkeys(name for branch in branches for name in branch.names):
            was = before.get(name)
            some = [
                value if value is was else carried(value, branch.cleared)
                for branch in branches
                if (value := branch.names.get(name)) is not None
            ]
            names[name] = some[0] if all(one is some[0] for one in some) else joined(some)
        self.names = names
        self.cleared = common(branch.cleared for branch in branches)

    def leave_loop(self) -> None:
        """Note that a loop is left from here."""
        loops = self.frame.loops
        if loops and len(loops[-1]) < _MOST_EXITS:
            loops[-1].append(self.fork())


def carried(value: Value, cleared: Cleared) -> Value:
    """A value with what is known of its sources here."""
    if not cleared or not value.taints:
        return value
    taints = baked(value.taints, cleared)
    return value if taints == value.taints else value.with_taints(taints)


def common(several: Iterable[Cleared]) -> Cleared:
    """What was checked on all of several ways."""
    first, *others = several
    found = first
    for other in others:
        found = {key: kinds & other[key] for key, kinds in found.items() if key in other and kinds & other[key]}
    return dict(found)


def united(several: Iterable[Cleared]) -> Cleared:
    """What was checked on any of several ways, all of which were taken."""
    found: Cleared = {}
    for one in several:
        for key, kinds in one.items():
            found[key] = found.get(key, frozenset()) | kinds
    return found
