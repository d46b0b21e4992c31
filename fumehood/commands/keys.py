"""``fumehood keys``: make, change, list and revoke API keys. A running service knows of it within seconds."""

from __future__ import annotations

import argparse
import dataclasses
import datetime as dt
import json
import sys
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from fumehood import moments
from fumehood.cli import USAGE
from fumehood.commands.records import FAILED, fail, with_database
from fumehood.keys import Grants, make

if TYPE_CHECKING:
    from fumehood.keys import ApiKey
    from fumehood.store.database import Database

_LONGEST_LABEL = 200


def main(args: argparse.Namespace) -> int:
    """Do it. 0, 1 where there is no such key or no database, 2 for usage."""
    match args.action:
        case "create":
            return _create(args)
        case "change":
            return _change(args)
        case "revoke":
            return with_database(args.config, lambda database: _revoke(database, args.id))
        case _:
            return with_database(args.config, lambda database: _list(database, as_json=args.json, every=args.all))


def _create(args: argparse.Namespace) -> int:
    now = dt.datetime.now(dt.UTC)
    try:
        grants = _changed(Grants(), args)
        expires_at = moments.from_now(args.expires, now) if args.expires else None
    except ValueError as wrong:
        return fail(_complaint(wrong), USAGE)
    if expires_at is not None and expires_at <= now:
        return fail("expires: that is over already", USAGE)
    if len(args.label) > _LONGEST_LABEL or not args.label.isprintable():
        return fail(f"label: at most {_LONGEST_LABEL} printable characters", USAGE)
    key, text = make(args.label, grants=grants, admin=args.admin, now=now, expires_at=expires_at)

    def keep(database: Database) -> int:
        from fumehood.store import keys as stored

        stored.add(database, key)
        if args.json:
            print(json.dumps({"key": text, **_told(key)}))
        else:
            # The key alone on stdout, so that a script can take it.
            print(text)
            print(f"fumehood: this is key {key.id}; it is shown this once and cannot be shown again", file=sys.stderr)
        return 0

    return with_database(args.config, keep)


def _change(args: argparse.Namespace) -> int:
    def change(database: Database) -> int:
        from fumehood.store import keys as stored

        now = dt.datetime.now(dt.UTC)
        found = {key.id: key for key in stored.every(database) if key.refused(now) is None}
        if args.id not in found:
            return fail(f"there is no valid key {args.id}; 'fumehood keys list' names those there are", FAILED)
        try:
            key = dataclasses.replace(found[args.id], grants=_changed(found[args.id].grants, args))
        except ValueError as wrong:
            return fail(_complaint(wrong), USAGE)
        stored.change(database, key.id, key.grants)
        print(json.dumps(_told(key)) if args.json else "  ".join([key.id, key.label, *_words(key)]))
        return 0

    return with_database(args.config, change)


def _changed(grants: Grants, args: argparse.Namespace) -> Grants:
    """The grants with what the command line names. Raises ValueError, of which a ValidationError is one."""
    values = grants.model_dump(mode="json", exclude_defaults=True)
    for name in getattr(args, "reset", ()):
        field = name.replace("-", "_")
        if field not in Grants.model_fields:
            msg = f"reset: {name!r} is none of {', '.join(Grants.model_fields)}"
            raise ValueError(msg)
        values.pop(field, None)
    limits = values.pop("limits", {})
    for item in args.limit:
        name, equals, value = item.partition("=")
        if not equals:
            msg = f"limit: {item!r} is not NAME=VALUE"
            raise ValueError(msg)
        limits[name.replace("-", "_")] = value.replace("_", "") or None
    named = {
        "concurrency": args.concurrency,
        "queue": args.queue,
        "rate_per_minute": args.rate_per_minute,
        "languages": _names(args.language),
        "networks": _names(args.network),
        "tools": _names(args.tool),
        "launcher": args.launcher,
        "analysis": args.analysis,
        "block_at": args.block_at,
    }
    return Grants(**{**values, "limits": limits, **{name: each for name, each in named.items() if each is not None}})


def _complaint(wrong: ValueError) -> str:
    if isinstance(wrong, ValidationError):
        return "\n".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in wrong.errors())
    return str(wrong)


def _names(given: list[str] | None) -> tuple[str, ...] | None:
    """None stands for all; an empty name alone for none at all."""
    return None if given is None else tuple(name for name in given if name)


def _revoke(database: Database, key_id: str) -> int:
    from fumehood.store import keys as stored

    if not stored.revoke(database, key_id, dt.datetime.now(dt.UTC)):
        return fail(f"there is no key {key_id}; 'fumehood keys list --all' names those there are", FAILED)
    print(f"fumehood: key {key_id} is revoked", file=sys.stderr)
    return 0


def _list(database: Database, *, as_json: bool, every: bool) -> int:
    from fumehood.store import keys as stored

    now = dt.datetime.now(dt.UTC)
    found = [key for key in stored.every(database) if every or key.refused(now) is None]
    if as_json:
        print(json.dumps([_told(key) for key in found], indent=2))
        return 0
    for key in found:
        print("  ".join([key.id, f"{_state(key, now):<20}", key.label, *_words(key)]))
    if not found:
        print("fumehood: there are no keys", file=sys.stderr)
    return 0


def _state(key: ApiKey, now: dt.datetime) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    if key.expires_at is None:
        return "valid"
    return f"{'expired' if key.expires_at <= now else 'until'} {key.expires_at:%Y-%m-%d %H:%M}"


def _words(key: ApiKey) -> list[str]:
    """What is special about it."""
    grants = key.grants.model_dump(mode="json", exclude_defaults=True)
    words = ["admin"] if key.admin else []
    return words + [f"{name}={json.dumps(value, separators=(',', ':'))}" for name, value in grants.items()]


def _told(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "label": key.label,
        "admin": key.admin,
        "grants": key.grants.model_dump(mode="json"),
        "created_at": _moment(key.created_at),
        "expires_at": _moment(key.expires_at),
        "revoked_at": _moment(key.revoked_at),
    }


def _moment(moment: dt.datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
