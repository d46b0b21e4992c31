"""Settings of operation, by table: the audit log, idempotent calls, the patience with clients, and where data lies."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

_SHARED = Path("/var/lib/fumehood/data")
_OWN = ".local/share/fumehood/data"
_FILE = "fumehood.db"
SCHEMES = ("sqlite", "postgresql", "postgresql+psycopg")


class Table(BaseModel):
    """What every table is: closed, frozen, and of numbers that are numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Audit(Table):
    """The audit log. ``retention_days`` 0 keeps all; ``pending`` bounds what is not in the database yet."""

    code: bool = False
    retention_days: float = Field(90.0, ge=0)
    pending: int = Field(10_000, ge=1)


class Idempotency(Table):
    """Answers that are kept for calls with an ``Idempotency-Key``; ``calls`` and ``bytes`` are for each API key."""

    seconds: float = Field(86_400.0, gt=0)
    calls: int = Field(10_000, ge=1)
    bytes: int = Field(256 << 20, ge=1)


class Clients(Table):
    """How long a client may take over sending its head, sending its body, and reading what it was sent."""

    header_seconds: float = Field(10.0, gt=0)
    body_seconds: float = Field(60.0, gt=0)
    read_seconds: float = Field(60.0, gt=0)


def data_folder(configured: Path | None) -> Path:
    """Where records are kept: the configured folder, else one that suits the user we run as."""
    if configured is not None:
        return configured
    return _SHARED if os.geteuid() == 0 else Path(pwd.getpwuid(os.geteuid()).pw_dir) / _OWN


def database_url(configured: str | None, folder: Path) -> str:
    """The configured database, else a file in the folder."""
    return configured or f"sqlite:///{folder.absolute() / _FILE}"


def wrong_url(url: str) -> str | None:
    """What is wrong with a database's URL, as far as its form tells; the URL itself may hold a password."""
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in SCHEMES:
        return "a URL that begins with sqlite:/// or postgresql:// is needed"
    return None


def shown_url(url: str) -> str:
    """A database's URL without its password."""
    scheme, separator, rest = url.partition("://")
    user, at, place = rest.rpartition("@")
    return f"{scheme}{separator}{user.partition(':')[0]}{at}{place}" if at else url
