"""Pools of threads that are there before they are needed."""

from __future__ import annotations

import threading

import pytest

from fumehood.threads import started


def test_all_threads_are_there_from_the_start() -> None:
    """And each does its work."""
    before = threading.active_count()
    with started(5, "mine") as pool:
        assert threading.active_count() == before + 5
        names = {pool.submit(lambda: threading.current_thread().name).result() for _ in range(5)}
        assert all(name.startswith("mine") for name in names)
    assert threading.active_count() == before


def test_where_the_machine_gives_no_thread_none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure is at the start, where somebody hears of it."""
    start, before = threading.Thread.start, threading.active_count()
    begun: list[threading.Thread] = []

    def refuse(thread: threading.Thread) -> None:
        if len(begun) == 3:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="new thread"):
        started(5, "mine")
    for thread in begun:
        thread.join(5)
    assert threading.active_count() == before
