"""Who is calling: an API key, or anybody where none is configured (and then only loopback is bound)."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ANYBODY = "anybody"


class KeyRing:
    """The configured keys, kept as digests, so that neither a dump nor the time of a comparison tells one."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = tuple(_digest(key.encode()) for key in keys)

    @property
    def locked(self) -> bool:
        """Whether a key is needed at all."""
        return bool(self._digests)

    def caller(self, presented: bytes | None) -> str | None:
        """The caller's name, or None for a key that is missing or wrong. The name is not secret."""
        if not self._digests:
            return ANYBODY
        digest = _digest(presented or b"")
        # Every key is compared, so that the time says neither whether one matched nor which.
        matches = [known for known in self._digests if hmac.compare_digest(known, digest)]
        return f"key-{matches[0].hex()[:12]}" if matches and presented else None


def presented_key(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The key in ``Authorization: Bearer KEY`` or ``X-API-Key: KEY``; header names are lower case, as ASGI has them."""
    found = dict(headers)
    scheme, _, key = found.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and key.strip():
        return key.strip()
    return found.get(b"x-api-key")


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
