"""A service with a database, and callers with keys of their own."""

from __future__ import annotations

import datetime as dt
from typing import Any

import httpx2
from serving import Live

from fumehood import keys
from fumehood.store import keys as stored
from fumehood.store.database import Database

NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)


class Keyed:
    """A service, its database, and callers with keys."""

    def __init__(self, live: Live, database: Database) -> None:
        self.live = live
        self.database = database

    def make(self, **how: Any) -> str:
        """Make a key as another program would, and give its text."""
        key, text = keys.make("test", now=NOW, **how)
        stored.add(self.database, key)
        return text

    def execute(self, key: str, **request: Any) -> httpx2.Response:
        """Run with a key."""
        return self.live.client.post("/v1/execute", json={"code": "1", **request}, headers={"X-API-Key": key})

    def get(self, key: str, path: str) -> httpx2.Response:
        """Read with a key."""
        return self.live.client.get(path, headers={"X-API-Key": key})
