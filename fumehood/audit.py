"""Who ran what, and how it ended: every accepted run has one record, whatever becomes of the run or of us.

Two steps, so that nobody waits for a database. The journal has a run before its guest starts and its end before it is
answered; that is one ``write``, in the thread that runs it. One thread of ours then writes what has come together to
the database, many records a transaction; a run that was over by then costs one row and no update.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fumehood.journal import Journal
from fumehood.recovery import dated, journal_folder, recover
from fumehood.store import executions as stored
from fumehood.store.database import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fumehood.settings import Settings
    from fumehood.store.database import Database

_log = logging.getLogger("fumehood.audit")

_GATHER_SECONDS = 0.05
"""How long records come together before they are written."""
_RETRY_SECONDS = 1.0
_BEAT_SECONDS = 15.0
_PRUNE_SECONDS = 3600.0
_CLOSE_SECONDS = 10.0
_MOST_A_BATCH = 500


class NotRecordedError(Exception):
    """A run cannot be put on record, so it must not be run."""


@dataclass(slots=True, eq=False)
class Entry:
    """One run on its way into the log. ``known`` holds the columns of its record, those of the code a moment later."""

    known: dict[str, Any]
    code: str | None
    journaled: bool = False
    ended: bool = False
    writing: threading.Lock = field(default_factory=threading.Lock)


@dataclass(slots=True, eq=False)
class _Note:
    """What is to be written: that a run was accepted, or (with an ``ending``) that it is over."""

    entry: Entry
    ending: dict[str, Any] | None
    journaled: bool = False


class Audit:
    """The log of one instance of the service. Made by :meth:`open`; safe for many threads."""

    def __init__(self, settings: Settings, database: Database, instance: str, book: Journal | None) -> None:
        self.instance = instance
        self._database = database
        self._journal = book
        self._keep_code = settings.audit.code
        self._retention_days = settings.audit.retention_days
        self._most_pending = settings.audit.pending
        self._guard = threading.Lock()
        """Held for a moment only, never over a write: the event loop takes it too."""
        self._pending: list[_Note] = []
        self._added = 0
        self._written = threading.Condition()
        self._done = 0
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._closing = False
        self._failing = False
        self._thread = threading.Thread(target=self._write_for_ever, name="audit", daemon=True)

    @classmethod
    def open(cls, settings: Settings, database: Database) -> Audit:
        """Take up what killed instances left, then begin.

        Raises:
            DatabaseError: the database cannot be written.
            OSError: the journal cannot be written.
        """
        instance = uuid.uuid4().hex
        folder = journal_folder(database)
        book = Journal.open(folder, instance) if folder else None
        audit = cls(settings, database, instance, book)
        try:
            stored.note_instance(database, instance, _now())
            recover(database)
        except BaseException:
            if book is not None:
                book.close(done=True)
            raise
        audit._thread.start()
        return audit

    @property
    def pending(self) -> int:
        """How many beginnings and endings are not in the database yet."""
        return len(self._pending)

    @property
    def behind(self) -> bool:
        """Whether that is so much that no further run may be accepted."""
        return self.pending >= self._most_pending

    def accept(self, code: str, **known: Any) -> Entry:  # noqa: ANN401 - columns of many types
        """Note a run that was accepted. Never waits. :meth:`end` must follow."""
        known |= {
            "record_id": uuid.uuid4().hex,
            "instance": self.instance,
            "accepted_at": time.time(),
            "status": stored.RUNNING,
        }
        entry = Entry(known, code)
        self._add(_Note(entry, None))
        return entry

    def begin(self, entry: Entry) -> None:
        """In the run's thread, before its guest starts: see that it is in the journal. Raises NotRecordedError."""
        try:
            self._journal_entry(entry)
        except OSError as error:
            _log.error("a run is refused, because the journal cannot be written: %s", error)
            raise NotRecordedError(error.strerror or str(error)) from error

    def end(self, entry: Entry, ending: dict[str, Any], *, here: bool) -> None:
        """Note how the run ended; a second ending is passed over.

        Args:
            entry: what :meth:`accept` gave.
            ending: the columns from ``status`` on.
            here: write it to the journal before this returns; else the log's thread does it within a moment.
        """
        with self._guard:
            if entry.ended:
                return
            entry.ended = True
        # Noted before it is journaled: a segment goes when all that was noted before it was closed is stored.
        note = _Note(entry, {**ending, "record_id": entry.known["record_id"], "finished_at": time.time()})
        self._add(note)
        if here:
            self._journal_note(note)

    def flush(self, seconds: float) -> bool:
        """Wait until everything that was noted up to now is in the database; False where that takes longer."""
        target = self._added
        self._hurry.set()
        self._wake.set()
        with self._written:
            return self._written.wait_for(lambda: self._done >= target, seconds)

    def close(self) -> None:
        """Write what is left. What cannot be written stays in the journal for the next start. Safe to call twice."""
        if self._closing:
            return
        self._closing = True
        self._hurry.set()
        self._wake.set()
        self._thread.join(_CLOSE_SECONDS)
        done = not self._thread.is_alive() and not self._pending
        if done:
            done = self._try(lambda: stored.bury(self._database, self.instance, _now()))
        if not done:
            _log.error("%d records are not in the database; the next start takes them up", self.pending)
        if self._journal is not None:
            self._journal.close(done=done)

    def _add(self, note: _Note) -> None:
        with self._guard:
            self._pending.append(note)
            self._added += 1
        if not self._wake.is_set():
            self._wake.set()

    def _journal_entry(self, entry: Entry) -> None:
        with entry.writing:
            if entry.journaled:
                return
            if entry.code is not None:
                # Hashing megabytes is not for the event loop. What is not kept is let go of.
                text = entry.code.encode("utf-8", "surrogatepass")
                code = entry.code if self._keep_code else None
                entry.known |= {"code_sha256": hashlib.sha256(text).hexdigest(), "code": code}
                entry.code = None
            if self._journal is not None:
                self._journal.append({"accepted": entry.known})
            entry.journaled = True

    def _journal_note(self, note: _Note) -> None:
        """Write it to the journal, if nobody has. The journal is the second of two keepers here: it may fail."""
        try:
            self._journal_entry(note.entry)
            with note.entry.writing:
                if note.ending is not None and not note.journaled and self._journal is not None:
                    self._journal.append({"ended": note.ending})
                note.journaled = True
        except OSError as error:
            _log.error("a record is not in the journal and only in memory until it is stored: %s", error)

    def _write_for_ever(self) -> None:
        prune = time.monotonic()
        beat = prune + _BEAT_SECONDS
        while True:
            self._wake.wait(max(min(beat, prune) - time.monotonic(), 0.0))
            if not self._closing:
                self._hurry.wait(_GATHER_SECONDS)
            self._wake.clear()
            self._hurry.clear()
            written = self._write_pending()
            if self._closing and written:
                return
            if not written:
                # While closing too: the database may come back within the time there is.
                self._hurry.wait(_RETRY_SECONDS)
                self._wake.set()
            if time.monotonic() >= beat:
                beat = time.monotonic() + _BEAT_SECONDS
                self._try(self._beat)
            if time.monotonic() >= prune:
                prune = time.monotonic() + _PRUNE_SECONDS
                self._try(self._prune)

    def _write_pending(self) -> bool:
        """Write all that is pending, a batch at a time. False where the database does not take it."""
        while True:
            mark = self._journal.mark() if self._journal is not None else 0
            with self._guard:
                batch = self._pending[:_MOST_A_BATCH]
                last = len(batch) == len(self._pending)
            for note in batch:
                if not note.journaled:
                    self._journal_note(note)
            if batch and not self._try(lambda batch=batch: self._store(batch)):  # type: ignore[misc]
                return False
            with self._guard:
                del self._pending[: len(batch)]
            with self._written:
                self._done += len(batch)
                self._written.notify_all()
            if last:
                if self._journal is not None:
                    self._journal.forget(mark)
                return True

    def _store(self, batch: Sequence[_Note]) -> None:
        begun: dict[str, dict[str, Any]] = {}
        ended: list[dict[str, Any]] = []
        for note in batch:
            record_id = note.entry.known["record_id"]
            if note.ending is None:
                begun[record_id] = note.entry.known
            elif record_id in begun:
                begun[record_id] = {**begun[record_id], **note.ending}
            else:
                ended.append(note.ending)
        stored.write(self._database, [dated(row) for row in begun.values()], [dated(row) for row in ended])

    def _beat(self) -> None:
        stored.note_instance(self._database, self.instance, _now())
        recover(self._database)

    def _prune(self) -> None:
        before = _now() - dt.timedelta(days=self._retention_days) if self._retention_days else None
        gone = stored.prune(self._database, before=before, now=_now())
        if gone:
            _log.info("%d records and kept answers were past their time and are gone", gone)

    def _try(self, step: Callable[[], object]) -> bool:
        """Do it, and say once when the database fails and once when it is there again."""
        try:
            step()
        except DatabaseError as error:
            if not self._failing:
                _log.error("the database does not take records, which wait: %s", error)
            self._failing = True
            return False
        if self._failing:
            _log.info("the database takes records again")
        self._failing = False
        return True


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
