"""What holds of the conversation across the wall for any bytes, however they are cut, forged or damaged."""

from __future__ import annotations

import math
import os
import socket
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from sandbox.guest import wire

_MOST_BYTES = 1 << 12
_COUNTS = st.integers(0, 4) | st.sampled_from((0xFF, 0x7FFF_FFFF, 0xFFFF_FFFF))
TEXT = st.text(max_size=8) | st.binary(max_size=6).map(os.fsdecode)
SCALARS = st.none() | st.booleans() | st.integers(-(10**60), 10**60) | st.floats() | TEXT | st.binary(max_size=20)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=10
)
# Bytes of our encoding's own making, each part of which may lie.
FORGED = st.lists(
    st.sampled_from(b"ntfirsbld").map(lambda tag: bytes([tag]))
    | _COUNTS.map(lambda count: count.to_bytes(4, "little"))
    | st.sampled_from((b"nan", b"inf", b"-0", b"1_0", b" 1", b"1e999", b"\xff", b"\xed\xa0\x80"))
    | st.binary(max_size=6),
    max_size=24,
).map(b"".join)  # fmt: skip


def _same(one: Any, other: Any) -> bool:
    """Whether two values are one, where NaN is itself."""
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return isinstance(other, dict) and list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    return type(one) is type(other) and one == other


@given(st.binary(max_size=200) | FORGED)
def any_bytes_are_a_value_or_a_wire_error(body: bytes) -> None:
    """No other exception; and what was understood can be said again."""
    try:
        value = wire.decode(body)
    except wire.WireError:
        return
    assert _same(wire.decode(wire.encode(value)[4:]), value)


@given(VALUES, st.data())
def a_value_arrives_however_its_stream_is_cut(value: Any, data: st.DataObject) -> None:
    """As it was sent, types included; or it is nested deeper than may be."""
    frame = wire.encode(value) * 2
    reader, got = wire.Reader(_MOST_BYTES), []
    while frame:
        cut = data.draw(st.integers(1, len(frame)))
        try:
            got += reader.feed(frame[:cut])
        except wire.WireError as error:
            assert str(error) in {"nested too deep", "frame too long"}  # noqa: PT017 - only these two may be
            return
        frame = frame[cut:]
    assert _same(got, [value, value])


@given(VALUES, st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=3)), min_size=1, max_size=4))
def damage_is_refused_or_understood(value: Any, damage: list[tuple[int, bytes]]) -> None:
    """In the header or the body, one place or several."""
    frame = bytearray(wire.encode(value))
    for at, put in damage:
        frame[at % len(frame) : at % len(frame) + 1] = put or b"\0"
    try:
        wire.Reader(_MOST_BYTES).feed(bytes(frame))
    except wire.WireError:
        return


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=40) | FORGED, st.integers(0, 3)), max_size=6))
def no_stream_leaves_a_descriptor(pieces: list[tuple[bytes, int]]) -> None:
    """Whatever comes with whatever descriptors, closing the inbox closes all of them."""
    pieces = [piece for piece in pieces if piece[0]]
    assume(pieces)
    near, far = socket.socketpair()
    with near, far:
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count
        for sent, count in pieces:
            socket.send_fds(near, [sent], [0] * count)
        near.shutdown(socket.SHUT_WR)
        inbox = wire.Inbox(far, _MOST_BYTES)
        try:
            while inbox.receive() is not None:
                pass
        except wire.WireError:
            pass
        inbox.close()
        assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - a count


PROPERTIES = (
    any_bytes_are_a_value_or_a_wire_error,
    a_value_arrives_however_its_stream_is_cut,
    damage_is_refused_or_understood,
    no_stream_leaves_a_descriptor,
)
