"""Where the cgroup hierarchies are mounted and where a process sits in them. Pure parsing; nothing is changed.

The two files are described in the kernel's Documentation/filesystems/proc.rst (3.5, mountinfo) and cgroups(7).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One cgroup mount: ``version`` 1 or 2, ``root`` the group shown at ``point``; ``controllers`` are v1's only."""

    version: int
    root: str
    point: str
    controllers: frozenset[str]

    def directory(self, group: str) -> str | None:
        """Return the directory of ``group``, a path as in ``/proc/self/cgroup``; None where this mount hides it."""
        if self.root == "/":
            return (self.point + group).rstrip("/")
        if group == self.root or group.startswith(self.root + "/"):
            return self.point + group[len(self.root) :]
        return None

    def below(self, path: str) -> str:
        """Return the directory of a group that an operator names by its path from the top of what is mounted."""
        return f"{self.point}/{path.strip('/')}".rstrip("/")


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """Return the cgroup mounts in the text of ``/proc/self/mountinfo``, in its order. Other lines are passed over."""
    mounts = []
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        left, right = before.split(" "), after.split(" ")
        if not dash or right[0] not in {"cgroup", "cgroup2"}:
            continue
        options = frozenset(right[2].split(",")) if right[0] == "cgroup" else frozenset[str]()
        mounts.append(
            Mount(
                version=1 if right[0] == "cgroup" else 2,
                root=_unescape(left[3]),
                point=_unescape(left[4]),
                controllers=options - {"rw", "ro"},
            )
        )
    return tuple(mounts)


def parse_own_groups(text: str) -> dict[str, str]:
    """Map each v1 controller, and ``""`` for v2, to our group in it, from the text of ``/proc/self/cgroup``."""
    groups = {}
    for line in text.splitlines():
        _number, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            groups[controller] = path
    return groups


def _unescape(word: str) -> str:
    """Undo the octal escapes that mountinfo uses for blanks and backslashes."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), word)
