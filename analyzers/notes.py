"""The pages of the notes: what could not be looked at."""

from __future__ import annotations

from analyzers.model import Confidence, Severity
from analyzers.rule import Page

PAGES = (
    Page(
        "FH001",
        "rule-crashed",
        Severity.INFO,
        Confidence.HIGH,
        text="A rule or an engine raised on this text; what it saw before is kept, and the others ran.\n\n"
        "The report is incomplete. Please tell us about the text.",
    ),
    Page(
        "FH002",
        "cut-short",
        Severity.INFO,
        Confidence.HIGH,
        text="The time was over before everything was seen.\n\n"
        "The report is incomplete. Send less, or allow more time.",
    ),
    Page(
        "FH003",
        "engine-missing",
        Severity.INFO,
        Confidence.HIGH,
        text="An engine that was switched on could not be loaded.\n\n"
        "The report is incomplete. Install it, or switch it off.",
    ),
    Page(
        "FH004",
        "no-answer",
        Severity.INFO,
        Confidence.HIGH,
        text="The analyser ran out of memory, died or was stopped.\n\nNothing is known about this text.",
    ),
    Page(
        "FH005",
        "allow-unexplained",
        Severity.INFO,
        Confidence.HIGH,
        text="A comment of ours would take a finding back, and says no reason.\n\n"
        "It takes nothing back. Write why behind it: ``# fumehood: allow[FH101] the text is our own``.",
    ),
)
