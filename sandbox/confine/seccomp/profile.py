"""OCI ``linux.seccomp`` JSON -> :class:`Profile`, strictly."""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sandbox.confine.seccomp.machines import MACHINES
from sandbox.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

Answer = int | None
"""What becomes of a call: None lets it through, a number is the errno it fails with."""


class Operator(StrEnum):
    """How an argument, as an unsigned 64-bit number, is compared with ``value``."""

    NE = "SCMP_CMP_NE"
    LT = "SCMP_CMP_LT"
    LE = "SCMP_CMP_LE"
    EQ = "SCMP_CMP_EQ"
    GE = "SCMP_CMP_GE"
    GT = "SCMP_CMP_GT"
    MASKED_EQ = "SCMP_CMP_MASKED_EQ"
    """``argument & value == value_two``."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One condition on argument ``index`` (0-5) of a call."""

    index: int
    op: Operator
    value: int
    value_two: int = 0


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of the ``names`` calls when every condition of ``args`` holds; ``answer`` is an errno or None."""

    names: tuple[str, ...]
    answer: Answer
    args: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """One OCI ``linux.seccomp`` object; ``default`` answers the calls no rule speaks of: an errno, or None."""

    default: Answer
    architectures: tuple[str, ...]
    rules: tuple[Rule, ...]


_MAX_ERRNO = 4095
MAX_U64 = (1 << 64) - 1
_LAST_ARGUMENT = 5
_NAMES = frozenset(name for machine in MACHINES.values() for name in machine.numbers)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in which document we are, so that a complaint can say so: ``deny.json: syscalls.3.args.0``."""

    text: str

    def __truediv__(self, step: str | int) -> _Place:
        return _Place(f"{self.text}{'.' if ' ' in self.text else ': '}{step}")

    def broken(self, why: str) -> SetupError:
        return SetupError("seccomp profile", detail=f"{self.text}: {why}")

    def table(self, value: object, required: set[str], optional: set[str]) -> dict[str, object]:
        if not isinstance(value, dict):
            raise self.broken("must be an object")
        for key in value:
            if key not in required | optional:
                raise self.broken(f"unknown key {key!r}")
        for key in sorted(required - value.keys()):
            raise self.broken(f"missing key {key!r}")
        return cast("dict[str, object]", value)

    def items(self, value: object) -> Iterator[tuple[_Place, object]]:
        if not isinstance(value, list) or not value:
            raise self.broken("must be a list that is not empty")
        return ((self / place, item) for place, item in enumerate(value))

    def word(self, value: object, known: Collection[str]) -> str:
        if not isinstance(value, str) or value not in known:
            raise self.broken(f"unknown word {value!r}")
        return value

    def number(self, value: object, low: int, high: int) -> int:
        if type(value) is not int or not low <= value <= high:
            raise self.broken(f"must be a whole number between {low} and {high}, not {value!r}")
        return value


def load_profile(path: Path) -> Profile:
    """Read one OCI seccomp profile, strictly: what we would not compile faithfully is refused, not skipped.

    Only the actions ALLOW and ERRNO exist here (a killed guest would look like one that crashed).
    Raises SetupError naming the place in the document, or with the errno of a file that cannot be read.
    """
    try:
        document: object = json.loads(path.read_text("utf-8"), object_pairs_hook=_without_twins)
    except OSError as error:
        raise SetupError("seccomp profile", error.errno or 0, str(path)) from error
    except ValueError as error:
        raise SetupError("seccomp profile", detail=f"{path.name}: {error}") from error
    root = _Place(path.name)
    table = root.table(document, {"defaultAction", "architectures", "syscalls"}, {"defaultErrnoRet"})
    return Profile(
        default=_answer(root, table, "defaultAction", "defaultErrnoRet"),
        architectures=tuple(
            at.word(name, [machine.architecture for machine in MACHINES.values()])
            for at, name in (root / "architectures").items(table["architectures"])
        ),
        rules=tuple(_rule(at, item) for at, item in (root / "syscalls").items(table["syscalls"])),
    )


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError(f"a key is there twice among {[key for key, _ in pairs]}")
    return table


def _rule(at: _Place, value: object) -> Rule:
    table = at.table(value, {"names", "action"}, {"args", "errnoRet"})
    args = tuple(_comparison(*item) for item in (at / "args").items(table["args"])) if "args" in table else ()
    if len({arg.index for arg in args}) < len(args):
        # Runtimes disagree on it: some join such conditions with "or", and libseccomp refuses them.
        raise at.broken("one argument is compared twice")
    return Rule(
        names=tuple(place.word(name, _NAMES) for place, name in (at / "names").items(table["names"])),
        answer=_answer(at, table, "action", "errnoRet"),
        args=args,
    )


def _answer(at: _Place, table: Mapping[str, object], action: str, number: str) -> Answer:
    if (at / action).word(table[action], ("SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO")) == "SCMP_ACT_ERRNO":
        # Errno 0 would skip the call and tell the guest it worked.
        return (at / number).number(table.get(number, errno.EPERM), 1, _MAX_ERRNO)
    if number in table:
        raise (at / number).broken("an allowed call has no errno")
    return None


def _comparison(at: _Place, value: object) -> Comparison:
    table = at.table(value, {"index", "value", "op"}, {"valueTwo"})
    made = Comparison(
        index=(at / "index").number(table["index"], 0, _LAST_ARGUMENT),
        op=Operator((at / "op").word(table["op"], list(Operator))),
        value=(at / "value").number(table["value"], 0, MAX_U64),
        value_two=(at / "valueTwo").number(table.get("valueTwo", 0), 0, MAX_U64),
    )
    if made.op is not Operator.MASKED_EQ and "valueTwo" in table:
        raise at.broken("valueTwo belongs to SCMP_CMP_MASKED_EQ alone")
    if made.op is Operator.MASKED_EQ and (made.value == 0 or made.value_two & ~made.value):
        raise at.broken("the mask (value) is 0, or valueTwo has bits outside it: the answer would be constant")
    return made


def shipped_profiles() -> tuple[Profile, Profile]:
    """The allow-list and the deny-list that come with this package, from the wheel or from the source tree.

    Raises SetupError.
    """
    return load_profile(_folder() / "default.json"), load_profile(_folder() / "deny.json")


def shipped_watch_profile() -> Profile:
    """What is refused besides where only a watch bounds memory. Raises SetupError."""
    return load_profile(_folder() / "watch.json")


def shipped_init_profile() -> Profile:
    """What a run's init still may do when it has built the root. Raises SetupError."""
    return load_profile(_folder() / "init.json")


def _folder() -> Path:
    package = Path(__file__).resolve().parents[2]
    installed = package / "seccomp_profiles"
    return installed if installed.is_dir() else package.parent / "seccomp"
