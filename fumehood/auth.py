"""Who is calling: the holder of an API key, or anybody where none is known (and then only loopback is bound)."""

from __future__ import annotations

import datetime as dt
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fumehood import keys
from fumehood.keys import Grants

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fumehood.keys import ApiKey


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is behind a call. ``name`` is not secret: the id of a key, or what stands for it."""

    name: str
    admin: bool = False
    grants: Grants = keys.ALL


ANYBODY = Caller("anybody")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a call came from: who, under which request id, from which address."""

    caller: Caller
    request_id: str
    client: str | None


class UnknownKeyError(Exception):
    """The key is missing, wrong, or valid no more. ``known`` says that it is, or was, one of ours."""

    def __init__(self, reason: str, *, known: bool = False) -> None:
        super().__init__(reason)
        self.known = known


class KeyRing:
    """The keys of the settings, which may do all that the service allows, and those of the database.

    They are kept as digests, so that neither a dump nor the time of a comparison tells one.
    """

    def __init__(self, fixed: Iterable[str], *, required: bool = False) -> None:
        self._fixed = tuple(keys.digest(key.encode()) for key in fixed)
        self._required = required
        self._made: dict[str, ApiKey] = {}

    def replace(self, made: Iterable[ApiKey]) -> None:
        """Take these for the keys of the database, those that are valid no more included."""
        self._made = {key.id: key for key in made}

    @property
    def locked(self) -> bool:
        """Whether a key is needed. A key that was revoked or has expired keeps the door shut."""
        return self._required or bool(self._fixed) or bool(self._made)

    def caller(self, presented: bytes | None) -> Caller:
        """Who presents this. Raises UnknownKeyError."""
        if not self.locked:
            return ANYBODY
        if not presented:
            raise UnknownKeyError("send the key as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'")
        found = keys.digest(presented)
        made = self._made.get(keys.id_in(presented) or "")
        if made is not None and hmac.compare_digest(bytes.fromhex(made.digest), found):
            refused = made.refused(dt.datetime.now(dt.UTC))
            if refused is not None:
                raise UnknownKeyError(refused, known=True)
            return Caller(made.id, made.admin, made.grants)
        # Every key is compared, so that the time says neither whether one matched nor which.
        matches = [known for known in self._fixed if hmac.compare_digest(known, found)]
        if not matches:
            raise UnknownKeyError("the key is not known here")
        return Caller(f"key-{matches[0].hex()[:12]}")


def presented_key(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The key in ``Authorization: Bearer KEY`` or ``X-API-Key: KEY``; header names are lower case, as ASGI has them."""
    found = dict(headers)
    scheme, _, key = found.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and key.strip():
        return key.strip()
    return found.get(b"x-api-key")
