"""What may keep code from running: a policy over what the analyser says of it, as callers and operators write it."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from analyzers import Severity, pages
from analyzers.capabilities import KNOWN, WRITE
from analyzers.choice import ALL

_OF_OTHERS = re.compile(r"(?!FH\d)[A-Z]{1,4}\d{1,5}")
_WEAKNESS = re.compile(r"CWE-\d{1,5}")
_MOST = 100
_LONGEST = 200


class AnalysisMode(StrEnum):
    """What a run's analysis decides: it is not made, it is told beside the result, or it can stop the run."""

    OFF = "off"
    REPORT = "report"
    BLOCK = "block"


class Gap(StrEnum):
    """Why a report may say too little: how the code had to be read, or a note of the analyser's."""

    REPAIRED = "repaired"
    PARTIAL = "partial"
    TEXT = "text"
    RULE_CRASHED = "rule-crashed"
    CUT_SHORT = "cut-short"
    ENGINE_MISSING = "engine-missing"
    NO_ANSWER = "no-answer"


def _selector(text: str) -> str:
    wanted = text.upper()
    fits = wanted == ALL or _OF_OTHERS.fullmatch(wanted) or _WEAKNESS.fullmatch(wanted)
    # One that is misspelt must not be taken for one that selects nothing.
    if not fits and not any(_names(wanted, page.id, page.name) for page in pages().values()):
        msg = f"{text[:40]!r} names no rule; `fumehood rules` lists them"
        raise ValueError(msg)
    return text


def _names(wanted: str, rule: str, name: str) -> bool:
    return wanted == name.upper() or (wanted.startswith("FH") and rule.startswith(wanted))


def _capability(text: str) -> str:
    kind, placed, place = text.partition(":")
    if kind not in KNOWN:
        msg = f"{text[:40]!r} is not one of: {', '.join(KNOWN)}"
        raise ValueError(msg)
    if placed and (kind != WRITE or not place.startswith("/")):
        msg = f"{text[:40]!r}: only {WRITE} has a place, which is an absolute path"
        raise ValueError(msg)
    return text


Selector = Annotated[str, Field(min_length=1, max_length=_LONGEST), AfterValidator(_selector)]
Capability = Annotated[str, Field(max_length=_LONGEST), AfterValidator(_capability)]


class AnalysisPolicy(BaseModel):
    """Whether code is analysed before it runs, and for what ``block`` stops it.

    A finding stops it that is at or above ``block_at`` (null: none for that alone) or that ``block`` selects, unless
    ``allow`` selects it: of several selectors that fit, the longest decides, of two of the same length the one that
    blocks. So does each of ``deny_capabilities`` that the code wants, and every gap in the report but those in
    ``accept``. Selectors are those of ``fumehood check --select``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: AnalysisMode = AnalysisMode.OFF
    block_at: Severity | None = Severity.HIGH
    block: tuple[Selector, ...] = Field((), max_length=_MOST)
    allow: tuple[Selector, ...] = Field((), max_length=_MOST)
    deny_capabilities: tuple[Capability, ...] = Field((), max_length=_MOST)
    accept: tuple[Gap, ...] = Field((), max_length=_MOST)
