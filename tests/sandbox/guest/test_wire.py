"""The conversation across the wall: what is sent arrives as it is, and nothing else is ever understood."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.guest import wire

TEXT = st.text(max_size=12) | st.binary(max_size=6).map(os.fsdecode)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False)
    | TEXT
    | st.binary(max_size=20)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)


def deep(levels: int) -> Any:
    """Nest a list that often."""
    value: Any = None
    for _ in range(levels):
        value = [value]
    return value


def feed(data: bytes, most: int = 1 << 20) -> list[Any]:
    """Read a whole stream."""
    return wire.Reader(most).feed(data)


@given(VALUES)
def test_a_value_arrives_as_it_was_sent(value: Any) -> None:
    """Also text that is not UTF-8 (surrogate escapes), and types are kept: True is not 1, bytes are not text."""
    try:
        frame = wire.encode(value)
        (got,) = feed(frame)
    except wire.WireError as error:
        assert "nested too deep" in str(error) or "number too long" in str(error)  # noqa: PT017 - only these two may be
        return
    assert got == value
    assert repr(got) == repr(value)


@given(st.lists(SCALARS, max_size=4), st.data())
def test_how_the_stream_is_cut_makes_no_difference(values: list[Any], data: st.DataObject) -> None:
    """One byte at a time, many frames at once, or anything between."""
    numbers = [value for value in values if not isinstance(value, int) or abs(value) < 10**60]
    stream = b"".join(map(wire.encode, numbers))
    reader = wire.Reader(1 << 20)
    got = []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        got += reader.feed(stream[:cut])
        stream = stream[cut:]
    assert got == numbers


@given(st.binary(max_size=64))
def test_any_bytes_are_a_value_or_a_wire_error(body: bytes) -> None:
    """No other exception, whatever a peer that was taken over sends."""
    try:
        value = wire.decode(body)
    except wire.WireError:
        return
    assert wire.decode(wire.encode(value)[4:]) == value or value != value  # noqa: PLR0124 - only NaN differs from itself


@given(VALUES, st.data())
def test_a_damaged_frame_is_a_value_or_a_wire_error(value: Any, data: st.DataObject) -> None:
    """One byte changed, dropped or added anywhere in the body."""
    body = bytearray(wire.encode(value)[4:])
    at = data.draw(st.integers(0, len(body) - 1))
    change = data.draw(st.integers(0, 255))
    for damaged in (body[:at] + bytes([change]) + body[at + 1 :], body[:at] + body[at + 1 :], body + bytes([change])):
        try:
            wire.decode(bytes(damaged))
        except wire.WireError:
            continue


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"x",
        b"nn",
        b"i",
        b"i\x01\0\0\0",
        b"i\x01\0\0\0x",
        b"i\0\0\0\0",
        b"i\x03\0\0\0 1 ",
        b"r\x03\0\0\0abc",
        b"i\x41\0\0\0" + b"1" * 65,
        b"s\xff\xff\xff\xff",
        b"b\xff\xff\xff\x7fabc",
        b"l\xff\xff\xff\xff",
        b"l\x02\0\0\0n",
        b"d\x01\0\0\0",
        b"d\x01\0\0\0n",
        b"d\x01\0\0\0ns",
        b"d\x01\0\0\0s\x01\0\0\0a",
        b"d\xff\xff\xff\xffs\x01\0\0\0an",
        b"l\x01\0\0\0" * 10_000,
        b"d\x01\0\0\0s\0\0\0\0" * 10_000,
    ],
    ids=lambda body: repr(bytes(body[:16])),
)
def test_what_is_no_value_is_refused_at_once(body: bytes) -> None:
    """Cut off, too long, too deep, or of no kind; a count that promises billions costs nothing."""
    start = time.monotonic()
    if body == b"i\x03\0\0\0 1 ":
        assert wire.decode(body) == 1  # blanks around a number are harmless
    else:
        with pytest.raises(wire.WireError):
            wire.decode(body)
    assert time.monotonic() - start < 1


def test_nesting_has_a_bound() -> None:
    """Neither side can be made to recurse further."""
    assert feed(wire.encode(deep(wire.MAX_DEPTH))) == [deep(wire.MAX_DEPTH)]
    with pytest.raises(wire.WireError, match="nested too deep"):
        feed(wire.encode(deep(wire.MAX_DEPTH + 1)))


def test_a_frame_has_a_bound() -> None:
    """Refused by its header alone, before any of it is held."""
    exact = wire.encode(b"x" * 95)
    assert len(exact) == 4 + 100
    assert feed(exact, 100) == [b"x" * 95]
    with pytest.raises(wire.WireError, match="too long"):
        feed(exact[:4], 99)


@pytest.mark.parametrize("value", [object(), {1: 2}, {None: 1}, {b"x": 1}, {1, 2}, 1j])
def test_what_has_no_wire_form_is_not_sent(value: Any) -> None:
    """A mistake of ours shows where it was made."""
    with pytest.raises((TypeError, AttributeError)):
        wire.encode(value)


def test_a_message_brings_its_descriptors() -> None:
    """They arrive close-on-exec, with a message of any size, and are given out once."""
    near, far = socket.socketpair()
    with near, far, open(os.devnull, "rb") as file:  # noqa: PTH123 - as short as it is
        wire.send(near, {"x": b"y" * 100_000}, descriptors=[file.fileno(), file.fileno()])
        inbox = wire.Inbox(far, 1 << 20)
        assert inbox.receive() == {"x": b"y" * 100_000}
        descriptors = inbox.descriptors()
        try:
            assert len(descriptors) == 2
            assert not any(map(os.get_inheritable, descriptors))
            assert all(os.path.sameopenfile(file.fileno(), each) for each in descriptors)
            assert inbox.descriptors() == []
        finally:
            for each in descriptors:
                os.close(each)


def test_messages_that_come_together_are_given_one_by_one() -> None:
    """A cold run's init finds stage and job in one read."""
    near, far = socket.socketpair()
    with near, far:
        for value in ("stage", {"job": 1}):
            wire.send_down(near, value)
        near.close()
        inbox = wire.Inbox(far, 1 << 10, wire.unpack)
        assert [inbox.receive(), inbox.receive(), inbox.receive()] == ["stage", {"job": 1}, None]


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff", b"\1\0\0\0x"], ids=["long", "nonsense"])
def test_what_is_no_message_leaves_no_descriptor(data: bytes) -> None:
    """A peer cannot fill our table of descriptors with what we refuse."""
    near, far = socket.socketpair()
    with near, far:
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
        socket.send_fds(near, [data], [0, 1, 2])
        inbox = wire.Inbox(far, 1 << 10)
        with pytest.raises(wire.WireError):
            inbox.receive()
        inbox.close()
        assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - a count


def test_the_end_of_the_stream_is_no_message() -> None:
    """Whether it comes at once or in the middle of one."""
    for sent in (b"", wire.encode("abc")[:5]):
        near, far = socket.socketpair()
        with near, far:
            near.sendall(sent)
            near.close()
            assert wire.Inbox(far, 100).receive() is None
