"""Every payload of ``payloads/`` on every engine, by each meter and launcher; and each without its layer, as a control.

:mod:`payload` says what a payload's header means. Those that may run beside others start when the first test asks for
its result; those that are to run alone follow. A verdict, a canary or a leftover that is wrong names its payload.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import re
from collections.abc import Callable
from typing import Any

import bpf
import pytest
from campaign import LAUNCHERS, Attacks
from engines import Outcome
from here import FILTERED, METERS
from payload import FOLDER, LANGUAGES, WALLS, Payload, payloads

from sandbox import Result, Status
from sandbox.confine.seccomp import compile_filter, compile_filters, shipped_profiles, shipped_watch_profile
from sandbox.model import Launcher

MACHINE = os.uname().machine
FEWEST = 150
MOST_WITHOUT_CONTROL = 30
ALL = [each for meter in METERS for each in payloads(meter)]


def cases() -> list[Any]:
    """Give every payload with every launcher, those last that run alone."""
    every = [(payload, launcher) for payload in sorted(ALL, key=lambda each: each.alone) for launcher in LAUNCHERS]
    return [_case(f"{payload.name}-{payload.meter}-{launcher}", payload, launcher) for payload, launcher in every]


def controlled_cases() -> list[Any]:
    """Give what has a control to run."""
    return [_case(f"{each.name}-{each.meter}", each) for each in ALL if each.has_control]


def _case(name: str, payload: Payload, *others: Any) -> Any:
    why = payload.said.get("open") if others else None
    return pytest.param(payload, *others, id=name, marks=[pytest.mark.xfail(reason=why, strict=True)] if why else [])


def told(result: Result | str) -> str:
    """Say what a run gave, for whoever reads a failure."""
    if isinstance(result, str):
        return result
    status = f"{result.status} {result.limits_hit} {result.exit_code} {result.signal}"
    return f"{status}\n{result.stdout[:2000]}\n{result.stderr[-2000:]}"


def everything(result: Result) -> str:
    """Give all words that came out of a run."""
    return result.stdout + result.stderr + repr(result.files) + repr(result.files_skipped)


def check(result: Result, said: dict[str, str]) -> None:
    """Compare a verdict with what the header demands."""
    assert "ESCAPED" not in everything(result), told(result)
    assert said["expect"] in ("any", result.status.value), told(result)
    if "exit" in said:
        assert result.exit_code == int(said["exit"]), told(result)
    if "signal" in said:
        assert result.signal is not None, told(result)
        assert re.search(rf"{said['signal']}$", result.signal), told(result)
    if "hits" in said:
        assert list(result.limits_hit) == said["hits"].split(), told(result)
    if "files" in said:
        assert [file.path for file in result.files] == said["files"].split(), told(result)
    assert said.get("says", "") in everything(result), told(result)
    assert set(said.get("skipped", "").split()) <= {each.reason.value for each in result.files_skipped}, told(result)


@pytest.mark.parametrize(("payload", "launcher"), cases())
def test_payload(payload: Payload, launcher: Launcher, attacks: Attacks, engine_of: Callable[[str], None]) -> None:
    """It gets nothing, its verdict is true, nothing of it stays, and the next run is as if it had never been."""
    engine_of(payload.meter)
    outcome = attacks.outcome(payload, launcher)
    for result in outcome.results:
        assert isinstance(result, Result), result
        assert outcome.secret not in everything(result), told(result)
        check(result, payload.said)
        for name, number, arguments, answer in calls(result):
            assert answer == filtered(number, arguments, payload.meter), name
    if "differs" in payload.said:
        printed = [result.stdout for result in outcome.results if isinstance(result, Result)]
        assert len(set(printed)) == len(printed), printed
    assert launcher in {result.launcher for result in outcome.results if isinstance(result, Result)}
    assert outcome.touches == ()
    assert outcome.left == ""
    honest = outcome.honest
    assert isinstance(honest, Result), honest
    assert (honest.status, honest.stdout, honest.stderr, honest.limits_hit) == (Status.OK, "42\n", "", ())


@pytest.mark.parametrize("controlled", controlled_cases())
def test_its_control_gets_through(
    controlled: Payload, attacks: Attacks, uncontrolled: dict[str, dict[str, str]]
) -> None:
    """With the layer off that stops it, the same payload succeeds: so it can tell, and that layer is what stops it."""
    outcome = attacks.control(controlled)
    made = [call for result in outcome.results if isinstance(result, Result) for call in calls(result)]
    if made:
        same = {name: answer == filtered(number, words, controlled.meter) for name, number, words, answer in made}
        for name, number, words, answer in made:
            same[name] &= answer == filtered(number, words, controlled.meter)
        uncontrolled[controlled.name] = {name: answer for name, _, _, answer in made if same[name]}
        return
    word, text = controlled.freed
    if FILTERED and "seccomp" in controlled.control[1] and not any("ESCAPED" in told(each) for each in outcome.results):
        uncontrolled[controlled.name] = {"all": "our own filter refuses it too"}
        return
    shown = "\n".join(map(told, outcome.results))
    match word:
        case "says":
            assert any(isinstance(each, Result) and text in everything(each) for each in outcome.results), shown
        case "status":
            assert {each.status.value for each in outcome.results if isinstance(each, Result)} == {text}, shown
        case "left":
            assert outcome.left, shown
        case "failure":
            assert any(isinstance(each, str) for each in outcome.results), shown


def calls(result: Result) -> list[tuple[str, int, list[int], str]]:
    """Give the bare system calls that a payload has told of: name, number, arguments, answer."""
    lines = [line.removeprefix("CALL ") for line in result.stdout.splitlines() if line.startswith("CALL ")]
    return [(str(name), number, arguments, answer) for name, number, arguments, answer in map(json.loads, lines)]


def filtered(number: int, arguments: list[int], meter: str) -> str:
    """Give what the guest's filters answer to a call by their data; every call of a payload must be one they refuse."""
    answer = filtered_or_allowed(number, arguments, meter)
    assert answer != bpf.ALLOW, (number, arguments)
    return answer


def filtered_or_allowed(number: int, arguments: list[int], meter: str) -> str:
    """Give the name of the filters' errno, as Python names it, or that they let it through."""
    answer = bpf.stacked(filters(meter), number, tuple(arguments), MACHINE)
    return answer if answer == bpf.ALLOW else errno.errorcode[getattr(errno, answer)]


@functools.cache
def filters(meter: str) -> tuple[bytes, ...]:
    """Compile what guests of this meter have."""
    deny_and_allow = compile_filters(*shipped_profiles(), MACHINE)
    watched = (compile_filter(shipped_watch_profile(), MACHINE),) if meter == "watch" else ()
    return (*watched, deny_and_allow.deny, deny_and_allow.allow)


def test_most_refused_calls_have_a_control_here(attacks: Attacks, uncontrolled: dict[str, dict[str, str]]) -> None:
    """Of the calls that payloads make, this kernel alone would answer most otherwise."""
    controls = [each for each in ALL if each.has_control and "from calls import" in each.code]
    if not controls or not attacks.runs_controls_of(controls):
        pytest.skip("only where all controls run")
    made = {(each.name, name) for each in controls for name, *_ in calls_of(attacks.control(each))}
    found = [name for payload in controls for name in uncontrolled.get(payload.name, ())]
    assert len(found) < len(made) / 3


def calls_of(outcome: Outcome) -> list[tuple[str, int, list[int], str]]:
    """Give the calls of all its results."""
    return [call for result in outcome.results if isinstance(result, Result) for call in calls(result)]


@pytest.mark.parametrize("payload", [each for each in ALL if each.meter == METERS[0]], ids=lambda each: each.name)
def test_payload_says_what_it_wants(payload: Payload) -> None:
    """Its aim, the wall it runs against, what must become of it, and what would let it through."""
    said = payload.said
    assert {"aim", "wall", "expect", "control"} <= said.keys()
    assert re.split(r"\W", said["wall"])[0] in WALLS, said["wall"]
    assert said["expect"] in {"any", *Status}
    word, rest = payload.control
    assert word in {"without", "limits", "twice", "given", "none"}
    assert bool(rest) == (word not in {"twice", "given"})


def test_there_are_enough_and_few_without_a_control() -> None:
    """One program a file, in two languages; what has no control is counted."""
    names = {path.name for path in FOLDER.iterdir() if path.suffix in LANGUAGES}
    assert len(names) >= FEWEST
    assert {path.suffix for path in FOLDER.iterdir() if path.is_file()} == set(LANGUAGES)
    assert len({each.name for each in ALL if each.control[0] == "none"}) <= MOST_WITHOUT_CONTROL
