"""Records of runs, as callers may read them: their own, or everybody's with an admin's key."""

from __future__ import annotations

import base64
import datetime as dt
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fumehood import records
from fumehood.problems import Kind, Problem, at_field, from_validation
from fumehood.records import ExecutionPage, ExecutionRecord
from fumehood.store import executions as stored

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

    from fumehood.audit import Audit
    from fumehood.auth import Caller
    from fumehood.store.database import Database

_FLUSH_SECONDS = 2.0
"""How long a reader waits for what was answered a moment ago to be in the database."""
_MOST = 1000


class Question(BaseModel):
    """The query of ``GET /v1/executions``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: Annotated[int, Field(ge=1, le=_MOST)] = 50
    cursor: Annotated[str, Field(max_length=40)] | None = None
    key: Annotated[str, Field(max_length=40)] | None = None
    id: Annotated[str, Field(max_length=128)] | None = None
    batch: Annotated[str, Field(max_length=128)] | None = None
    status: tuple[Annotated[str, Field(max_length=32)], ...] = ()
    since: dt.datetime | None = None
    until: dt.datetime | None = None


def question(query: QueryParams) -> Question:
    """What is asked for. ``status`` may be repeated. Raises Problem 422 with the names of wrong parameters."""
    values: dict[str, object] = {}
    for name, value in query.multi_items():
        if name == "status":
            values[name] = (*values.get(name, ()), value)  # type: ignore[misc]
        elif name in values:
            raise at_field(Kind.INVALID_REQUEST, name, "may be given once")
        else:
            values[name] = value
    try:
        return Question.model_validate(values)
    except ValidationError as wrong:
        raise from_validation(wrong) from None


class History:
    """The records behind the audit log."""

    def __init__(self, database: Database, audit: Audit) -> None:
        self._database = database
        self._audit = audit

    async def page(self, caller: Caller, asked: Question) -> ExecutionPage:
        """Records that match, the newest first. Raises Problem 403 for another key's, 422 for a wrong cursor."""
        key_id = asked.key
        if not caller.admin:
            if key_id not in {None, caller.name}:
                raise at_field(Kind.NOT_ALLOWED, "key", "only an admin's key may see what others ran")
            key_id = caller.name
        wanted = stored.Filter(
            key_id=key_id,
            run_id=asked.id,
            batch_id=asked.batch,
            statuses=asked.status,
            since=_zoned(asked.since),
            until=_zoned(asked.until),
        )
        before = _sequence(asked.cursor) if asked.cursor else None

        def read() -> ExecutionPage:
            self._audit.flush(_FLUSH_SECONDS)
            rows = stored.page(self._database, wanted, before=before, limit=asked.limit + 1)
            more = len(rows) > asked.limit
            rows = rows[: asked.limit]
            return ExecutionPage(
                executions=tuple(records.told(row) for row in rows),
                next=_cursor(rows[-1]["seq"]) if more else None,
            )

        return await self._database.aside(read)

    async def one(self, caller: Caller, run_id: str) -> ExecutionRecord:
        """The newest run of that id. Raises Problem 404 where the caller may see none."""
        page = await self.page(caller, Question(id=run_id[:128], limit=1))
        if not page.executions or page.executions[0].id != run_id:
            raise Problem(Kind.UNKNOWN_RECORD, f"no execution with the id {run_id[:128]!r} is on record")
        return page.executions[0]


def _cursor(sequence: int) -> str:
    return base64.urlsafe_b64encode(str(sequence).encode()).decode().rstrip("=")


def _sequence(cursor: str) -> int:
    try:
        number = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        sequence = int(number) if number.isdecimal() else 0
    except ValueError:
        sequence = 0
    if not 0 < sequence < 1 << 63:
        raise at_field(Kind.INVALID_REQUEST, "cursor", "not one that this service gave")
    return sequence


def _zoned(moment: dt.datetime | None) -> dt.datetime | None:
    """A moment without a zone is UTC's."""
    return moment.replace(tzinfo=dt.UTC) if moment is not None and moment.tzinfo is None else moment
