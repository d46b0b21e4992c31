"""Every system call number there is, made for real in a guest, against the allow-list, and with an open filter."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import bpf
import pytest
from campaign import LAUNCHERS, Attacks
from here import FILTERED, METERS
from payload import FOLDER, UML, Payload
from test_payloads import MACHINE, filtered_or_allowed

from sandbox import Result
from sandbox.confine.seccomp.machines import MACHINES
from sandbox.model import Launcher

ARGUMENTS = [(1 << 64) - 1] * 6
NAMES = {number: name for name, number in MACHINES[MACHINE].numbers.items()}
# Linux lets these two through past every filter (__secure_computing, since 6.14 and 6.18): they are a traced program's.
PAST_EVERY_FILTER = {"uretprobe", "uprobe"}
ALL_CALLS = Payload(FOLDER / "every_call.py", METERS[0])
CASES = [
    pytest.param(Payload(FOLDER / "every_call.py", meter), launcher, id=f"{meter}-{launcher}")
    for meter in METERS
    for launcher in LAUNCHERS
]


def answers(result: Result | str) -> dict[int, str]:
    """Give number -> answer of the machine's own calls."""
    assert isinstance(result, Result), result
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("NATIVE ")]
    return {int(number): answer for number, answer in json.loads(line.removeprefix("NATIVE ")).items()}


@pytest.mark.parametrize(("payload", "launcher"), CASES)
def test_what_is_not_on_the_list_is_refused(
    payload: Payload, launcher: Launcher, attacks: Attacks, engine_of: Callable[[str], None]
) -> None:
    """Each number is answered as the filters' data say where they refuse; where they do not, the kernel answers."""
    engine_of(payload.meter)
    (result,) = attacks.outcome(payload, launcher).results
    found = answers(result)
    assert found.keys() == set(range(520))
    wrong: dict[str, Any] = {}
    for number, answer in found.items():
        name = NAMES.get(number, str(number))
        wanted = filtered_or_allowed(number, ARGUMENTS, payload.meter)
        if wanted not in (bpf.ALLOW, answer) and name not in PAST_EVERY_FILTER:
            wrong[name] = (answer, wanted)
    assert wrong == {}
    doors = "x32 600 calls\nint 0x80 480 calls\n"
    assert doors in result.stdout or UML or MACHINE != "x86_64"  # type: ignore[union-attr]


@pytest.mark.parametrize(("payload", "launcher", "controlled"), [(ALL_CALLS, LAUNCHERS[0], ALL_CALLS)], ids=["open"])
def test_the_filter_is_what_refuses_and_nothing_else(
    payload: Payload,
    launcher: Launcher,
    controlled: Payload,
    attacks: Attacks,
    engine_of: Callable[[str], None],
    uncontrolled: dict[str, dict[str, str]],
) -> None:
    """With an open filter refused calls answer otherwise, but for those listed; allowed ones answer the same."""
    engine_of(payload.meter)
    (inside,) = attacks.outcome(payload, launcher).results
    (outside,) = attacks.control(controlled).results
    with_filter, without = answers(inside), answers(outside)
    changed, alike = {}, {}
    for number, answer in with_filter.items():
        name = NAMES.get(number, str(number))
        refused = filtered_or_allowed(number, ARGUMENTS, controlled.meter) != bpf.ALLOW
        if refused and answer == without[number] and name not in PAST_EVERY_FILTER:
            alike[name] = answer
        elif not refused and answer != without[number]:
            changed[name] = (answer, without[number])
    uncontrolled[controlled.name] = {name: answer for name, answer in alike.items() if not name.isdigit()}
    assert changed == {}
    assert len(uncontrolled[controlled.name]) < 60 or FILTERED
