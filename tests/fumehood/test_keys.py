"""API keys: how they are made and kept, whom they let in, and what they let him ask for."""

from __future__ import annotations

import datetime as dt
import hashlib
from typing import Any

import pytest
from doubles import RUNTIMES
from pydantic import ValidationError

from fumehood import keys
from fumehood.auth import ANYBODY, Caller, KeyRing, UnknownKeyError
from fumehood.keys import Grants, KeyLimits
from fumehood.permissions import check_limits, gate_of, permit
from fumehood.policies import AnalysisMode, AnalysisPolicy
from fumehood.problems import Problem
from fumehood.rates import Rates
from fumehood.refusals import Refusals
from fumehood.schemas import ExecuteRequest
from fumehood.store import keys as stored
from fumehood.store.database import Database
from sandbox import Limits

NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


def test_a_key_is_kept_without_its_secret() -> None:
    """The id is in the text, and what is kept is a hash of all of it."""
    key, text = keys.make("team", now=NOW)
    assert keys.id_in(text.encode()) == key.id
    assert key.digest == hashlib.sha256(text.encode()).hexdigest()
    assert text.rpartition("_")[2] not in repr(key)
    assert len(text) > 50
    assert keys.make("team", now=NOW)[1] != text


@pytest.mark.parametrize("text", [b"", b"x", b"fh_", b"fh_abc", b"fh_abc_", b"FH_abc_x", b"\xff\xfe"])
def test_what_is_no_key_has_no_id(text: bytes) -> None:
    """Whatever came in a header."""
    assert keys.id_in(text) is None


def test_keys_come_back_from_the_database(database: Database) -> None:
    """With all their grants; a revoked one stays, and stays revoked since the first time."""
    grants = Grants(concurrency=2, limits=KeyLimits(wall_seconds=1.5), languages=("python",), tools=(), launcher="cold")
    key, _ = keys.make("a", now=NOW, grants=grants, admin=True, expires_at=NOW + DAY)
    other, _ = keys.make("b", now=NOW + DAY)
    stored.add(database, other)
    stored.add(database, key)
    assert stored.every(database) == (key, other)
    assert stored.revoke(database, key.id, NOW + DAY)
    assert stored.revoke(database, key.id, NOW + 2 * DAY)
    assert not stored.revoke(database, "nobody", NOW)
    assert stored.every(database)[0].revoked_at == NOW + DAY


def ring(*made: keys.ApiKey, fixed: tuple[str, ...] = (), required: bool = False) -> KeyRing:
    """A ring with these."""
    found = KeyRing(fixed, required=required)
    found.replace(made)
    return found


def test_whoever_has_a_key_is_known_by_its_id() -> None:
    """With its grants; keys of the settings have all there are, under a name that tells nothing."""
    key, text = keys.make("a", now=NOW, grants=Grants(concurrency=1), admin=True)
    both = ring(key, fixed=("plain",))
    assert both.caller(text.encode()) == Caller(key.id, admin=True, grants=Grants(concurrency=1))
    plain = both.caller(b"plain")
    assert (plain.name[:4], plain.admin, plain.grants) == ("key-", False, Grants())
    assert "plain" not in plain.name


@pytest.mark.parametrize("change", ["", "x", "swap"])
def test_a_wrong_secret_is_not_known(change: str) -> None:
    """With the right id or without."""
    key, text = keys.make("a", now=NOW)
    wrong = text[:-1] if not change else text + change if change == "x" else text.swapcase()
    with pytest.raises(UnknownKeyError) as unknown:
        ring(key).caller(wrong.encode())
    assert not unknown.value.known


def test_what_has_expired_or_was_revoked_opens_nothing_and_keeps_the_door_shut() -> None:
    """It is told why, but only to whoever has the key; and nobody comes in because no key is valid any more."""
    past = dt.datetime.now(dt.UTC) - DAY
    for changed, words in (({"expires_at": past}, "expired"), ({"revoked_at": past}, "revoked")):
        key, text = keys.make("a", now=NOW)
        key = keys.ApiKey(**{**{name: getattr(key, name) for name in key.__slots__}, **changed})
        shut = ring(key)
        with pytest.raises(UnknownKeyError, match=words) as unknown:
            shut.caller(text.encode())
        assert unknown.value.known
        assert shut.locked
        with pytest.raises(UnknownKeyError):
            shut.caller(None)


def test_without_any_key_anybody_is_served_unless_one_is_required() -> None:
    """As before there were any."""
    assert ring().caller(None) is ANYBODY
    with pytest.raises(UnknownKeyError):
        ring(required=True).caller(None)


def asked(**fields: Any) -> ExecuteRequest:
    """A request."""
    return ExecuteRequest.model_validate({"code": "1", **fields}, strict=False)


def permitted(grants: Grants, **fields: Any) -> ExecuteRequest:
    """The request as a key with these grants has it."""
    return permit(asked(**fields), Caller("k", grants=grants), RUNTIMES)


def test_a_key_without_grants_changes_nothing() -> None:
    """Not even the object."""
    request = asked(language="bash")
    assert permit(request, ANYBODY, RUNTIMES) is request


@pytest.mark.parametrize("language", ["python", "py", "python3"])
def test_languages_count_by_their_names_and_aliases(language: str) -> None:
    """Whichever the key and the request use."""
    assert permitted(Grants(languages=("py",)), language=language).language == language
    with pytest.raises(Problem) as refused:
        permitted(Grants(languages=("sh",)), language=language)
    assert (refused.value.status, refused.value.extra["errors"][0]["path"]) == (403, "language")
    with pytest.raises(Problem):
        permitted(Grants(languages=()), language=language)


def test_a_language_that_is_not_here_is_the_engines_to_refuse() -> None:
    """422 and the list of those there are says more than 403."""
    assert permitted(Grants(languages=("python",)), language="cobol").language == "cobol"


def test_networks_are_granted_by_kind() -> None:
    """None of them is a kind too."""
    assert permitted(Grants(networks=("none",)))
    for kind in ("allowlist", "unrestricted"):
        with pytest.raises(Problem) as refused:
            permitted(Grants(networks=("none",)), network={"kind": kind})
        assert (refused.value.status, refused.value.extra["errors"][0]["path"]) == (403, "network.kind")


def test_a_key_can_demand_cold_runs() -> None:
    """Whatever the request says."""
    assert permitted(Grants(launcher="cold"), launcher="auto").launcher == "cold"


@pytest.mark.parametrize(
    ("grants", "analysis", "mode", "blocking"),
    [
        ({"analysis": "report"}, {}, "report", {}),
        ({"analysis": "report"}, {"mode": "block", "block_at": "low"}, "block", {"request": "low"}),
        ({"analysis": "block"}, {}, "block", {"key": "high"}),
        ({"analysis": "block", "block_at": "medium"}, {"mode": "report"}, "block", {"key": "medium"}),
        (
            {"analysis": "block", "block_at": "medium"},
            {"mode": "block", "block_at": "high"},
            "block",
            {"key": "medium", "request": "high"},
        ),
        ({}, {"mode": "block", "block_at": "low"}, "block", {"request": "low"}),
        ({}, {}, "off", {}),
    ],
)
def test_what_the_key_demands_is_asked_besides(
    grants: dict[str, Any], analysis: dict[str, Any], mode: str, blocking: dict[str, str]
) -> None:
    """The strictest mode holds, and every policy that blocks is one of the run's."""
    given = Grants.model_validate(grants)
    found = gate_of(AnalysisPolicy.model_validate(analysis), given, AnalysisPolicy(), "python")
    assert (found.mode, {whose: policy.block_at for whose, policy in found.blocking}) == (mode, blocking)


def test_a_report_that_cannot_be_made_keeps_nothing_from_running() -> None:
    """But a key or a service that demands blocking does: the request goes on to be refused for its language."""
    off, report, block = (AnalysisPolicy(mode=mode) for mode in AnalysisMode)
    assert gate_of(off, Grants(analysis=AnalysisMode.REPORT), report, "fortran").mode is AnalysisMode.OFF
    assert gate_of(off, Grants(analysis=AnalysisMode.BLOCK), off, "fortran").mode is AnalysisMode.BLOCK
    assert gate_of(off, Grants(), block, "fortran").mode is AnalysisMode.BLOCK
    assert gate_of(report, Grants(), off, "fortran").mode is AnalysisMode.REPORT


def test_ceilings_are_the_lower_of_the_keys_and_the_services() -> None:
    """Each by itself, and above one is 422 with its bound."""
    ceilings = KeyLimits(wall_seconds=1000, memory_bytes=64 << 20).under(Limits(wall_seconds=300))
    assert (ceilings.wall_seconds, ceilings.memory_bytes, ceilings.processes) == (300, 64 << 20, 64)
    check_limits(Limits(memory_bytes=64 << 20), ceilings)
    with pytest.raises(Problem) as refused:
        check_limits(Limits(memory_bytes=(64 << 20) + 1), ceilings)
    assert refused.value.extra["errors"] == [{"path": "limits.memory_bytes", "detail": f"may be at most {64 << 20}"}]


def test_tools_are_granted_by_name() -> None:
    """All of them unless some are named."""
    assert Grants().allows_tool("x")
    assert [Grants(tools=("x",)).allows_tool(name) for name in ("x", "y")] == [True, False]


@pytest.mark.parametrize("wrong", [{"concurrency": 0}, {"limits": {"wall": 1}}, {"networks": ["all"]}, {"x": 1}])
def test_wrong_grants_are_refused(wrong: dict[str, Any]) -> None:
    """When the key is made, not when it is used."""
    with pytest.raises(ValidationError):
        Grants.model_validate(wrong)


# --- Rates -----------------------------------------------------------------------------------------------------------


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def rated(per_minute: int) -> tuple[Rates, Caller, Clock]:
    """A caller with a rate."""
    clock = Clock()
    return Rates(clock), Caller("k", grants=Grants(rate_per_minute=per_minute)), clock


def test_a_rate_is_a_bucket_that_fills_evenly() -> None:
    """All at once or one after the other; what is over waits for as long as Retry-After says."""
    rates, caller, clock = rated(60)
    rates.take(caller, 60)
    with pytest.raises(Problem) as refused:
        rates.take(caller, 2)
    assert (refused.value.status, refused.value.headers["Retry-After"]) == (429, "2")
    clock.now += 2
    rates.take(caller, 2)
    with pytest.raises(Problem):
        rates.take(caller)
    clock.now += 3600
    rates.take(caller, 60)


def test_the_fields_say_what_is_left() -> None:
    """And when all of it is there again."""
    rates, caller, clock = rated(60)
    rates.take(caller, 45)
    clock.now += 5
    assert rates.headers(caller) == [
        (b"ratelimit-policy", b'"runs";q=60;w=60'),
        (b"ratelimit", b'"runs";r=20;t=40'),
    ]
    assert rates.headers(ANYBODY) == []


def test_more_at_once_than_a_minute_holds_is_refused_for_good() -> None:
    """Waiting would not help."""
    rates, caller, _ = rated(10)
    with pytest.raises(Problem) as refused:
        rates.take(caller, 11)
    assert refused.value.status == 422


def test_a_clock_that_goes_back_gives_nothing() -> None:
    """And takes nothing."""
    rates, caller, clock = rated(60)
    rates.take(caller, 60)
    clock.now -= 100
    with pytest.raises(Problem):
        rates.take(caller)


def test_full_buckets_are_forgotten() -> None:
    """A full one is what a new one would be."""
    rates, _, clock = rated(60)
    for number in range(3000):
        clock.now += 1.1
        rates.take(Caller(str(number), grants=Grants(rate_per_minute=60)))
    assert len(rates._buckets) <= 1100


def test_whoever_is_refused_over_and_over_is_told_so_at_a_steady_pace() -> None:
    """Ten at once, then ten a second, and none waits for ever; others and later calls do not wait."""
    clock = Clock()
    refusals = Refusals(clock)
    assert [refusals.delay_seconds("flood") for _ in range(11)] == [pytest.approx(0.0)] * 11
    delays = [refusals.delay_seconds("flood") for _ in range(200)]
    assert delays[0] == pytest.approx(0.1)
    assert delays[19] == pytest.approx(2.0)
    assert max(delays) == 5
    assert refusals.delay_seconds("other") == 0
    clock.now += 6
    assert refusals.delay_seconds("flood") == 0


def test_pacing_keeps_no_name_for_ever() -> None:
    """Keys come and go."""
    clock = Clock()
    refusals = Refusals(clock)
    for number in range(5000):
        clock.now += 0.01
        refusals.delay_seconds(str(number))
    assert len(refusals._due) <= 1100
