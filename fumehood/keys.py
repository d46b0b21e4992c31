"""An API key: who holds it, until when, and what it may ask for.

A key is ``fh_<id>_<secret>``. The id is public: lists and logs show it. The secret has 256 random bits, and what is
kept is one SHA-256 of the whole key. A slow, salted hash protects what people choose, because that can be guessed;
2^256 values cannot be, with any hash, and no two keys are alike, so there is nothing for a salt to tell apart. A slow
hash would only let anybody make this service busy by sending wrong keys.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from analyzers import Severity
from fumehood.policies import AnalysisMode
from sandbox import Limits, NetworkKind

PREFIX = "fh_"
_ID_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # nothing that is misread
_ID_LENGTH = 12
_SECRET_BYTES = 32

Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]


class KeyLimits(BaseModel):
    """The most that runs of one key may ask for; what is None is as for everybody, and none goes above that."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    wall_seconds: Annotated[float, Field(gt=0)] | None = None
    cpu_seconds: Annotated[float, Field(gt=0)] | None = None
    memory_bytes: Annotated[int, Field(ge=16 << 20)] | None = None
    processes: Positive | None = None
    output_bytes: Count | None = None
    disk_bytes: Count | None = None
    inodes: Count | None = None
    open_files: Annotated[int, Field(ge=16)] | None = None
    cpus: Annotated[float, Field(gt=0)] | None = None

    def under(self, ceilings: Limits) -> Limits:
        """The lower of these and the service's, each."""
        values: dict[str, Any] = {}
        for each in fields(ceilings):
            most, own = getattr(ceilings, each.name), getattr(self, each.name)
            values[each.name] = most if own is None else min(own, most)
        return Limits(**values)


class Grants(BaseModel):
    """What a key may ask for. None means: whatever the service allows.

    ``concurrency`` and ``queue`` count runs in slots and in line; ``launcher`` ``cold`` makes every run cold;
    ``analysis`` is the least that is made before a run, and ``block_at`` the highest severity that may be let through
    where that is ``block``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    concurrency: Positive | None = None
    queue: Count | None = None
    rate_per_minute: Positive | None = None
    limits: KeyLimits = KeyLimits()
    languages: tuple[str, ...] | None = None
    networks: tuple[NetworkKind, ...] | None = None
    tools: tuple[str, ...] | None = None
    launcher: Literal["auto", "cold"] = "auto"
    analysis: AnalysisMode = AnalysisMode.OFF
    block_at: Severity = Severity.HIGH

    def allows_tool(self, name: str) -> bool:
        """Whether a tool of that name may be called."""
        return self.tools is None or name in self.tools


ALL = Grants()
"""All that the service allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as it is kept: all but its secret."""

    id: str
    label: str
    digest: str
    """SHA-256 of the whole key, in hexadecimal."""
    admin: bool = False
    grants: Grants = ALL
    created_at: dt.datetime
    expires_at: dt.datetime | None = None
    revoked_at: dt.datetime | None = None

    def refused(self, now: dt.datetime) -> str | None:
        """Why it is not valid at this moment; None where it is."""
        if self.revoked_at is not None:
            return "the key was revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "the key has expired"
        return None


def make(
    label: str,
    *,
    grants: Grants = ALL,
    admin: bool = False,
    now: dt.datetime,
    expires_at: dt.datetime | None = None,
) -> tuple[ApiKey, str]:
    """A new key, and the text that its holder sends: nobody will be able to tell it a second time."""
    key_id = "".join(secrets.choice(_ID_ALPHABET) for _ in range(_ID_LENGTH))
    text = f"{PREFIX}{key_id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    key = ApiKey(
        id=key_id,
        label=label,
        digest=digest(text.encode()).hex(),
        admin=admin,
        grants=grants,
        created_at=now,
        expires_at=expires_at,
    )
    return key, text


def id_in(presented: bytes) -> str | None:
    """The id in a key that looks like one of ours."""
    text = presented.decode("ascii", "replace")
    key_id, _, secret = text.removeprefix(PREFIX).partition("_")
    return key_id if text.startswith(PREFIX) and secret else None


def digest(key: bytes) -> bytes:
    """What is kept of a key."""
    return hashlib.sha256(key).digest()
