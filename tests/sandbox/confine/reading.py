"""The plain reading of an OCI profile that the compiled one must agree with: rule after rule, no cleverness."""

from __future__ import annotations

import errno
import itertools
import json
import operator
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).resolve().parents[3] / "seccomp"
ALLOW = "allow"
_LOW = (1 << 32) - 1
_ALL = (1 << 64) - 1
_COMPARE = {
    "SCMP_CMP_NE": operator.ne,
    "SCMP_CMP_LT": operator.lt,
    "SCMP_CMP_LE": operator.le,
    "SCMP_CMP_EQ": operator.eq,
    "SCMP_CMP_GE": operator.ge,
    "SCMP_CMP_GT": operator.gt,
}


def document(name: str) -> dict[str, Any]:
    """The JSON as it is shipped: ``default``, ``deny`` or ``container``."""
    read: dict[str, Any] = json.loads((SHIPPED / f"{name}.json").read_text())
    return read


def verdict(profile: dict[str, Any], name: str | None, args: tuple[int, ...] = ()) -> str:
    """``allow`` or the name of an errno; ``name`` None is a number without a name."""
    args = (*args, *(0,) * (6 - len(args)))
    hits = [rule for rule in profile["syscalls"] if name in rule["names"] and _holds(rule, args)]
    refusals = [rule for rule in hits if rule["action"] == "SCMP_ACT_ERRNO"]
    if refusals:
        return errno.errorcode[refusals[0]["errnoRet"]]
    if hits or profile["defaultAction"] == "SCMP_ACT_ALLOW":
        return ALLOW
    return errno.errorcode[profile["defaultErrnoRet"]]


def overlaps(profile: dict[str, Any], name: str, args: tuple[int, ...]) -> bool:
    """Whether rules of different answers hold at once, on which runtimes could differ."""
    args = (*args, *(0,) * (6 - len(args)))
    hits = [rule for rule in profile["syscalls"] if name in rule["names"] and _holds(rule, args)]
    return len({(rule["action"], rule.get("errnoRet")) for rule in hits}) > 1


def _holds(rule: dict[str, Any], args: tuple[int, ...]) -> bool:
    for arg in rule.get("args", []):
        value = args[arg["index"]]
        if arg["op"] == "SCMP_CMP_MASKED_EQ":
            if value & arg["value"] != arg["valueTwo"]:
                return False
        elif not _COMPARE[arg["op"]](value, arg["value"]):
            return False
    return True


def interesting_arguments(name: str) -> list[tuple[int, ...]]:
    """Arguments worth trying on ``name``: what rules compare with, neighbours, and the same with high bits set."""
    values: dict[int, set[int]] = {}
    for profile in map(document, ("default", "deny", "container")):
        for rule in profile["syscalls"]:
            for arg in rule.get("args", []) if name in rule["names"] else []:
                values.setdefault(arg["index"], {0, 1, _LOW, _ALL}).add(arg.get("valueTwo", arg["value"]))
    if len(values) == 1:
        values = {place: named | {value + 1 & _ALL for value in named} for place, named in values.items()}
    lists = []
    for chosen in itertools.product(*map(sorted, values.values())):
        for high in (0, 1 << 32):
            args = [0] * 6
            for place, value in zip(values, chosen, strict=True):
                args[place] = value | high
            lists.append(tuple(args))
    return lists
