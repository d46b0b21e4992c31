"""API keys in the database."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, update

from fumehood.keys import ApiKey, Grants
from fumehood.store.tables import api_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fumehood.store.database import Database


def add(database: Database, key: ApiKey) -> None:
    """Keep a new key. Raises DatabaseError."""
    with database.write() as connection:
        connection.execute(
            api_keys.insert().values(
                id=key.id,
                label=key.label,
                digest=key.digest,
                admin=key.admin,
                grants=key.grants.model_dump(mode="json", exclude_defaults=True),
                created_at=key.created_at,
                expires_at=key.expires_at,
                revoked_at=key.revoked_at,
            )
        )


def change(database: Database, key_id: str, grants: Grants) -> None:
    """Let a key ask for this from now on. Raises DatabaseError."""
    with database.write() as connection:
        connection.execute(
            update(api_keys)
            .where(api_keys.c.id == key_id)
            .values(grants=grants.model_dump(mode="json", exclude_defaults=True))
        )


def revoke(database: Database, key_id: str, now: dt.datetime) -> bool:
    """Let a key be valid no more; False where there is none of that id. A second time changes nothing."""
    with database.write() as connection:
        done = connection.execute(
            update(api_keys).where(api_keys.c.id == key_id).values(revoked_at=func.coalesce(api_keys.c.revoked_at, now))
        )
        return done.rowcount == 1


def every(database: Database) -> tuple[ApiKey, ...]:
    """Every key there ever was, the oldest first. Raises DatabaseError."""
    with database.read() as connection:
        rows = connection.execute(select(api_keys).order_by(api_keys.c.created_at, api_keys.c.id)).mappings().all()
    return tuple(_key(row) for row in rows)


def _key(row: Mapping[Any, Any]) -> ApiKey:
    return ApiKey(
        id=row["id"],
        label=row["label"],
        digest=row["digest"],
        admin=row["admin"],
        grants=Grants.model_validate(row["grants"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
    )
