"""The pipes of one run."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from io import FileIO


@dataclass(frozen=True, slots=True)
class Pipes:
    """The four pipes of a run: stdin, stdout, stderr, gate; ``ours`` and the guest's ``theirs`` in that order."""

    ours: tuple[FileIO, FileIO, FileIO, FileIO]
    theirs: tuple[FileIO, FileIO, FileIO, FileIO]


def make(scope: contextlib.ExitStack, uid: int | None) -> Pipes:
    """Make the pipes; the scope closes what nobody closed before.

    They belong to the guest's uid, or it could not open them again as /dev/stdout: permissions of the opener count
    there as for any file (pipe(7), proc(5)).
    """
    pairs = []
    for name in ("stdin", "stdout", "stderr", "gate"):
        reader, writer = (
            scope.enter_context(FileIO(descriptor, mode)) for descriptor, mode in zip(os.pipe(), "rw", strict=True)
        )
        near, far = (reader, writer) if name in ("stdout", "stderr") else (writer, reader)
        os.set_blocking(near.fileno(), False)
        if uid is not None:
            os.fchown(far.fileno(), uid, uid)
        pairs.append((near, far))
    stdin, stdout, stderr, gate = pairs
    return Pipes((stdin[0], stdout[0], stderr[0], gate[0]), (stdin[1], stdout[1], stderr[1], gate[1]))
