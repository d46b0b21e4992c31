"""Host facts -> the argv of bwrap, which gives a run its namespaces and an almost empty root, and starts init in it.

Nothing here depends on a job. Every mount point is a name of ours in a root that bwrap makes for this run alone, so no
path that a caller or a guest chose is ever followed (CVE-2026-87766); what the job asks for is built by init, inside.
Options: bwrap(1), version 0.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sandbox.model import Bind

HOST_NAME = "fumehood"
GUEST_ID = 1000
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def argv(
    bwrap: str, binds: Iterable[Bind], links: Iterable[tuple[str, str]], new_root: str, command: Iterable[str]
) -> tuple[str, ...]:
    """Give the whole command. ``links`` are (text, path); ``new_root`` is an empty folder where init builds its own.

    All capabilities are over the new namespaces only; init drops them before the guest exists. ``--as-pid-1`` because
    init is the reaper. ``--cap-add`` needs a bwrap that is not setuid, which is the only kind we accept.
    """
    words = [bwrap, *(f"--unshare-{name}" for name in ("user", "pid", "net", "ipc", "uts", "cgroup"))]
    words += ["--uid", str(GUEST_ID), "--gid", str(GUEST_ID), "--hostname", HOST_NAME]
    words += ["--cap-add", "ALL", "--as-pid-1", "--die-with-parent", "--new-session"]
    words += ["--setenv", "LANG", "C.UTF-8"]
    for bind in binds:
        words += ["--ro-bind", bind.source, bind.target]
    for text, path in links:
        words += ["--symlink", text, path]
    for device in _DEVICES:
        words += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    words += ["--proc", "/proc", "--dir", new_root, "--chdir", "/", "--"]
    return (*words, *command)
