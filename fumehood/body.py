"""Reading a request's body: JSON under a limit that holds while it streams, and a watch for a caller who leaves."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, TypeVar

from fumehood.problems import Kind, Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

Answer = TypeVar("Answer")

INLINE_BYTES = 1 << 16
"""A body up to this size is parsed where it is read; a larger one in a thread, so that other calls go on."""


async def read(request: Request, limit_bytes: int, seconds: float) -> bytes:
    """The whole body.

    Raises:
        Problem: 413 as soon as it is known to be over ``limit_bytes``; 415 for a call without a body and type; 408
            where it is not there after ``seconds``.
    """
    if "content-type" not in request.headers:
        raise Problem(Kind.UNSUPPORTED_MEDIA_TYPE, "there is no body and no Content-Type header")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit_bytes:
        raise _too_large(limit_bytes)
    chunks: list[bytes] = []
    total = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                total += len(chunk)
                if total > limit_bytes:
                    raise _too_large(limit_bytes)
                chunks.append(chunk)
    except TimeoutError:
        detail = f"the body was not there after {seconds:g} seconds"
        raise Problem(Kind.REQUEST_TIMEOUT, detail, headers={"Connection": "close"}) from None
    return b"".join(chunks)


async def aside(work: Callable[[], Answer], size_bytes: int) -> Answer:
    """Do the work here where it is small, else in a thread."""
    return work() if size_bytes <= INLINE_BYTES else await asyncio.to_thread(work)


@contextlib.asynccontextmanager
async def watch_for_leaving(request: Request, on_leaving: Callable[[], None]) -> AsyncIterator[None]:
    """Call ``on_leaving`` if the caller closes the connection while the block runs. The body must have been read."""

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        on_leaving()

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def _too_large(limit_bytes: int) -> Problem:
    return Problem(Kind.BODY_TOO_LARGE, f"a body may have {limit_bytes} bytes", limit_bytes=limit_bytes)
