"""The tables, as the newest migration leaves them. Times are UTC; JSON columns hold what the module beside says."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    }
)


class UtcTime(TypeDecorator[dt.datetime]):
    """A moment with its zone. SQLite has no zones and keeps text, so there it is written as UTC without one."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        """To the database."""
        if value is None or dialect.name != "sqlite":
            return value
        return value.astimezone(dt.UTC).replace(tzinfo=None)

    def process_result_value(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:  # noqa: ARG002 - the method it overrides
        """From the database."""
        if value is None:
            return None
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


def _json() -> TypeEngine[Any]:
    return JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def _serial() -> TypeEngine[int]:
    return BigInteger().with_variant(Integer(), "sqlite")  # SQLite counts up by itself for INTEGER alone


api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("label", String(200), nullable=False),
    Column("digest", String(64), nullable=False, comment="SHA-256 of the key, in hexadecimal"),
    Column("admin", Boolean, nullable=False),
    Column("grants", _json(), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime),
    Column("revoked_at", UtcTime),
)

instances = Table(
    "instances",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("started_at", UtcTime, nullable=False),
    Column("seen_at", UtcTime, nullable=False),
)

executions = Table(
    "executions",
    metadata,
    Column("seq", _serial(), primary_key=True, autoincrement=True),
    Column("record_id", String(32), nullable=False, unique=True, comment="ours; makes writing it twice harmless"),
    Column("run_id", String(128), nullable=False),
    Column("batch_id", String(128)),
    Column("request_id", String(128)),
    Column("key_id", String(40), nullable=False),
    Column("client", String(64)),
    Column("instance", String(32), nullable=False),
    Column("accepted_at", UtcTime, nullable=False),
    Column("finished_at", UtcTime),
    Column("status", String(32), nullable=False),
    Column("problem", String(64)),
    Column("language", String(64), nullable=False),
    Column("code_sha256", String(64), nullable=False),
    Column("code", Text),
    Column("limits", _json(), nullable=False),
    Column("network", String(32), nullable=False),
    Column("launcher", String(16)),
    Column("runtime", String(200)),
    Column("exit_code", Integer),
    Column("signal", String(32)),
    Column("stdout_bytes", BigInteger),
    Column("stderr_bytes", BigInteger),
    Column("usage", _json()),
    Column("limits_hit", _json()),
)
Index("ix_executions_key_id_seq", executions.c.key_id, executions.c.seq)
Index("ix_executions_run_id", executions.c.run_id)
Index("ix_executions_accepted_at", executions.c.accepted_at)
Index(
    "ix_executions_running",
    executions.c.instance,
    sqlite_where=text("status = 'running'"),
    postgresql_where=text("status = 'running'"),
)

idempotent_calls = Table(
    "idempotent_calls",
    metadata,
    Column("key_id", String(40), primary_key=True),
    Column("idempotency_key", String(255), primary_key=True),
    Column("fingerprint", String(64), nullable=False, comment="SHA-256 of path and body, in hexadecimal"),
    Column("instance", String(32), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    Column("http_status", Integer, comment="null while the call is under way"),
    Column("media_type", String(100)),
    Column("body_bytes", BigInteger, nullable=False),
    Column("body", LargeBinary, comment="compressed by zlib"),
)
Index("ix_idempotent_calls_expires_at", idempotent_calls.c.expires_at)
