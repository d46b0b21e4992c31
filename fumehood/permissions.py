"""What one caller may ask for: a request held against its key's grants, before the engine is asked about it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from analyzers import UnknownLanguageError, language_named
from fumehood.gate import Demand, Gate, gate
from fumehood.policies import AnalysisMode, AnalysisPolicy
from fumehood.problems import Kind, at_field
from sandbox import JobRefused, runtime_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fumehood.auth import Caller
    from fumehood.keys import Grants
    from fumehood.schemas import ExecuteRequest
    from sandbox import Limits, Runtime


def permit(asked: ExecuteRequest, caller: Caller, runtimes: Mapping[str, Runtime]) -> ExecuteRequest:
    """The request as this caller's key has it: colder, perhaps, than it asked for.

    Raises:
        Problem: 403 for a language or a kind of network that the key does not have.
    """
    grants = caller.grants
    name = _language(asked.language, runtimes)
    if grants.languages is not None and name is not None and name not in _canonical(grants.languages, runtimes):
        raise at_field(Kind.NOT_ALLOWED, "language", f"this key may run {_list(grants.languages)}")
    if grants.networks is not None and asked.network.kind not in grants.networks:
        raise at_field(Kind.NOT_ALLOWED, "network.kind", f"this key may have {_list(grants.networks)}")
    return asked.model_copy(update={"launcher": "cold"}) if grants.launcher == "cold" else asked


def gate_of(asked: AnalysisPolicy, grants: Grants, service: AnalysisPolicy, language: str) -> Gate:
    """What goes before a run in a language of this canonical name: what is asked for, and what is demanded besides."""
    key = AnalysisPolicy(mode=grants.analysis, block_at=grants.block_at)
    demanded = [Demand("service", service), Demand("key", key)]
    if not _is_read(language):
        # A report is a courtesy: it must not keep a language from running that nobody can read.
        demanded = [each for each in demanded if each.policy.mode is not AnalysisMode.REPORT]
    return gate((*demanded, Demand("request", asked)))


def languages(grants: Grants, runtimes: Mapping[str, Runtime]) -> tuple[Runtime, ...]:
    """The runtimes that a key with these grants may use."""
    if grants.languages is None:
        return tuple(runtimes.values())
    granted = _canonical(grants.languages, runtimes)
    return tuple(each for each in runtimes.values() if each.name in granted)


def check_limits(limits: Limits, ceilings: Limits) -> None:
    """Raise Problem 422 for what is above this caller's ceilings."""
    for each in fields(limits):
        most = getattr(ceilings, each.name)
        if getattr(limits, each.name) > most:
            raise at_field(Kind.OVER_CEILING, f"limits.{each.name}", f"may be at most {most}")


def _language(name: str, runtimes: Mapping[str, Runtime]) -> str | None:
    """The canonical name; None for a language that is not here, which the engine refuses."""
    try:
        return runtime_named(name, runtimes).name
    except JobRefused:
        return None


def _canonical(names: tuple[str, ...], runtimes: Mapping[str, Runtime]) -> set[str]:
    return {found for found in (_language(name, runtimes) for name in names) if found is not None}


def _is_read(language: str) -> bool:
    try:
        language_named(language)
    except UnknownLanguageError:
        return False
    return True


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"
