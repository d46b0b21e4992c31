"""``fumehood audit``: who ran what. A list for people, JSON lines or CSV for programs."""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import sys
from typing import TYPE_CHECKING

from fumehood import moments
from fumehood.cli import USAGE
from fumehood.commands.records import fail, with_database

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fumehood.records import ExecutionRecord
    from fumehood.store.database import Database
    from fumehood.store.executions import Filter

_SHOWN = 50
_SHORT_HASH = 12


def main(args: argparse.Namespace) -> int:
    """Print the records. 0, 1 where there is no database, 2 for usage."""
    now = dt.datetime.now(dt.UTC)
    try:
        since = moments.ago(args.since, now) if args.since else None
        until = moments.ago(args.until, now) if args.until else None
    except ValueError as wrong:
        return fail(str(wrong), USAGE)

    def show(database: Database) -> int:
        from fumehood.store.executions import Filter

        wanted = Filter(
            key_id=args.key,
            run_id=args.id,
            batch_id=args.batch,
            statuses=tuple(args.status),
            since=since,
            until=until,
        )
        found = _read(database, wanted, args)
        match args.format:
            case "jsonl":
                for record in found:
                    print(record.model_dump_json())
            case "csv":
                _write_csv(found)
            case _:
                for record in found:
                    print(_line(record))
        return 0

    return with_database(args.config, show)


def _read(database: Database, wanted: Filter, args: argparse.Namespace) -> Iterable[ExecutionRecord]:
    """The oldest first: all for a program, the newest of them for a person, unless a number is given."""
    from fumehood import records
    from fumehood.store import executions as stored

    limit = args.limit if args.limit is not None else _SHOWN if args.format == "text" else None
    if limit is None:
        return (records.told(row) for row in stored.oldest_first(database, wanted))
    return [records.told(row) for row in reversed(stored.page(database, wanted, before=None, limit=limit))]


def _line(record: ExecutionRecord) -> str:
    seconds = f"{record.usage.wall_seconds:.3f}s" if record.usage else "-"
    parts = [
        f"{record.accepted_at:%Y-%m-%d %H:%M:%S}",
        f"{record.status + (f' ({record.problem})' if record.problem else ''):<14}",
        f"{record.key_id:<16}",
        f"{record.language:<8}",
        f"{seconds:>9}",
        record.code_sha256[:_SHORT_HASH],
        record.id,
    ]
    return "  ".join(parts)


def _write_csv(found: Iterable[ExecutionRecord]) -> None:
    """One column for each value; what is nested has its names joined by a dot."""
    from fumehood.records import ExecutionRecord
    from fumehood.responses import LimitsOut, Usage

    names = [name for name in ExecutionRecord.model_fields if name not in {"limits", "usage"}]
    names += [f"limits.{name}" for name in LimitsOut.model_fields] + [f"usage.{name}" for name in Usage.model_fields]
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\r\n")  # as RFC 4180 has it
    writer.writeheader()
    for record in found:
        values = record.model_dump(mode="json")
        values["limits_hit"] = " ".join(values["limits_hit"] or ())
        for table in ("limits", "usage"):
            values |= {f"{table}.{name}": value for name, value in (values.pop(table) or {}).items()}
        writer.writerow({name: _safe(value) for name, value in values.items()})


def _safe(value: object) -> object:
    """Code may begin with what a spreadsheet takes for a formula, and is told as text."""
    return json.dumps(value) if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t", "\r"} else value
