"""The journal of one instance: whole lines, segments that go, and who takes up what was left."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fumehood import journal
from fumehood.journal import Journal


def lines(folder: Path) -> list[dict[str, Any]]:
    """Give everything that lies in journals."""
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]


def test_segments_go_when_they_are_done_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal of a busy service does not grow for ever."""
    monkeypatch.setattr(journal, "_SEGMENT_BYTES", 100)
    book = Journal.open(tmp_path, "me")
    for number in range(20):
        book.append({"number": number})
    first = book.mark()
    book.append({"number": 20})
    assert len(lines(tmp_path)) == 21
    book.forget(first)
    assert lines(tmp_path) == [{"number": 20}]
    assert book.mark() == first
    book.close(done=True)
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_failed_halfway_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next entry begins a line of its own."""
    book = Journal.open(tmp_path, "me")
    write = os.write
    calls = 0

    def short(descriptor: int, text: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, text[:5] if calls == 1 else text)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", short)
        with pytest.raises(OSError, match="No space"):
            book.append({"a": 1})
    book.append({"b": 2})
    assert lines(tmp_path) == [{"b": 2}]
    book.close(done=False)
    with pytest.raises(OSError, match="Bad file"):
        book.append({"late": 1})


def test_only_one_takes_up_what_was_abandoned(tmp_path: Path) -> None:
    """And nobody what lives."""
    book = Journal.open(tmp_path, "me")
    book.append({"a": 1})
    assert list(journal.abandoned(tmp_path)) == []
    assert journal.living(tmp_path) == {"me"}
    book.close(done=False)
    (left,) = journal.abandoned(tmp_path)
    assert list(journal.abandoned(tmp_path)) == []
    assert list(left.entries()) == [{"a": 1}]
    left.remove()
    left.release()
    assert list(tmp_path.iterdir()) == []


def test_an_entry_is_there_before_the_call_returns(tmp_path: Path) -> None:
    """In the kernel's hands: a process that is killed in the next moment has written it."""
    script = (
        "import os, sys, pathlib; from fumehood.journal import Journal;"
        "Journal.open(pathlib.Path(sys.argv[1]), 'me').append({'a': 1}); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert done.returncode == -9
    (left,) = journal.abandoned(tmp_path)
    assert list(left.entries()) == [{"a": 1}]
    left.release()
