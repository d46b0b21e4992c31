"""API keys, instances, executions, answers to idempotent calls."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Written out and never changed: what a step made must not follow the tables of a later release.
_TIME = sa.DateTime(timezone=True)
_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("label", sa.String(200), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, comment="SHA-256 of the key, in hexadecimal"),
        sa.Column("admin", sa.Boolean(), nullable=False),
        sa.Column("grants", _JSON, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("expires_at", _TIME),
        sa.Column("revoked_at", _TIME),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
    )
    op.create_table(
        "instances",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("started_at", _TIME, nullable=False),
        sa.Column("seen_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_instances"),
    )
    op.create_table(
        "executions",
        sa.Column("seq", _SERIAL, autoincrement=True, nullable=False),
        sa.Column("record_id", sa.String(32), nullable=False, comment="ours; makes writing it twice harmless"),
        sa.Column("run_id", sa.String(128), nullable=False),
        sa.Column("batch_id", sa.String(128)),
        sa.Column("request_id", sa.String(128)),
        sa.Column("key_id", sa.String(40), nullable=False),
        sa.Column("client", sa.String(64)),
        sa.Column("instance", sa.String(32), nullable=False),
        sa.Column("accepted_at", _TIME, nullable=False),
        sa.Column("finished_at", _TIME),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("problem", sa.String(64)),
        sa.Column("language", sa.String(64), nullable=False),
        sa.Column("code_sha256", sa.String(64), nullable=False),
        sa.Column("code", sa.Text()),
        sa.Column("limits", _JSON, nullable=False),
        sa.Column("network", sa.String(32), nullable=False),
        sa.Column("launcher", sa.String(16)),
        sa.Column("runtime", sa.String(200)),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("signal", sa.String(32)),
        sa.Column("stdout_bytes", sa.BigInteger()),
        sa.Column("stderr_bytes", sa.BigInteger()),
        sa.Column("usage", _JSON),
        sa.Column("limits_hit", _JSON),
        sa.PrimaryKeyConstraint("seq", name="pk_executions"),
        sa.UniqueConstraint("record_id", name="uq_executions_record_id"),
    )
    op.create_index("ix_executions_key_id_seq", "executions", ["key_id", "seq"])
    op.create_index("ix_executions_run_id", "executions", ["run_id"])
    op.create_index("ix_executions_accepted_at", "executions", ["accepted_at"])
    running = sa.text("status = 'running'")
    op.create_index("ix_executions_running", "executions", ["instance"], sqlite_where=running, postgresql_where=running)
    op.create_table(
        "idempotent_calls",
        sa.Column("key_id", sa.String(40), nullable=False),
        sa.Column("idempotency_key", sa.String(255), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False, comment="SHA-256 of path and body, in hexadecimal"),
        sa.Column("instance", sa.String(32), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("expires_at", _TIME, nullable=False),
        sa.Column("http_status", sa.Integer(), comment="null while the call is under way"),
        sa.Column("media_type", sa.String(100)),
        sa.Column("body_bytes", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), comment="compressed by zlib"),
        sa.PrimaryKeyConstraint("key_id", "idempotency_key", name="pk_idempotent_calls"),
    )
    op.create_index("ix_idempotent_calls_expires_at", "idempotent_calls", ["expires_at"])


def downgrade() -> None:
    """There is nothing before the first step."""
    for name in ("idempotent_calls", "executions", "instances", "api_keys"):
        op.drop_table(name)
