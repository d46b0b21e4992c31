"""The part of the contract and attack suites that CI runs under user-mode Linux and in the image: ``pytest -p subset``.

All of it takes half an hour under the former. What is left out is the same behaviour again by another way. "The meter"
is the first of ``here.METERS``: control groups under user-mode Linux, the watch in a container, which has no groups.

=====================  ================================================================================================
the contract           by the meter and one of the launchers, turn and turn about, but the simplest ending of every
                       status by both and over HTTP
what programs are      a third of the long tables: of the program, of what it finds, of its output
payloads               all whose wall is the meter itself, and of every other layer and status two; each once by the
                       meter, turn and turn about cold and warm
controls               one for each way to let a payload through
every system call      cold, by the meter, and its control
odd jobs               but for those that are many at once, which take minutes on a slow kernel
=====================  ================================================================================================

Every status, launcher and layer that the whole has by this meter must be among what is chosen: where one is not, the
session ends before it begins.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Any

import pytest
from here import METERS

_ENDINGS = "test_a_run_ends_as_the_contract_says"
_SIMPLEST = ("nothing", "prints", "raises", "wall", "cpu", "memory", "processes", "disk", "output")
_MANY_AT_ONCE = ("test_fifty_at_once", "test_cancelled_at_any_moment", "test_a_flood_of_callers_gets_an_answer_each")
_OF_A_KIND = 2
_THIRDS = (
    "test_output_is_kept_as_the_contract_says",
    "test_the_guest_finds_what_the_contract_says",
    "test_a_snippet_is_a_program_like_any_other",
    "test_what_programs_need_is_there",
    "test_globs_match_as_pathlib_does",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose, once for all suites."""
    chosen = list(_chosen(items))
    _insist(items, chosen)
    left_out = set(items) - set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = chosen


def _chosen(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    launchers = _Launchers()
    ways_through: set[Hashable] = set()
    for item in items:
        said = _params(item)
        if "controlled" in said and "launcher" not in said:
            keep = _is_first(ways_through, said["controlled"])
        elif "controlled" in said or _runs_nothing(said):
            keep = True  # what runs every call is its own control
        else:
            keep = _is_meant(item, said, launchers)
        if keep:
            yield item


def _is_meant(item: pytest.Item, said: dict[str, Any], launchers: _Launchers) -> bool:
    name = getattr(item, "originalname", item.name)
    face, launcher, meter = _way(said)
    if meter not in ("", METERS[0]) or name in _MANY_AT_ONCE:
        return False
    if name == _ENDINGS and said["case"].name in _SIMPLEST:
        return True
    if name == "test_payload" and not launchers.wants(said["payload"]):
        return False
    return face != "http" and (not launcher or launcher == launchers.of(item, said))


class _Launchers:
    """What launcher a behaviour has here: of every test's behaviours the first is cold, the next warm, and so on.

    Of the long tables two of three have none.
    """

    def __init__(self) -> None:
        self._turns: dict[str, Iterator[str]] = defaultdict(lambda: itertools.cycle(("cold", "warm")))
        self._turns |= {name: itertools.cycle(("cold", "", "", "warm", "", "")) for name in _THIRDS}
        self._given: dict[Hashable, str] = {}
        self._alike: dict[tuple[str, str], list[str]] = defaultdict(list)

    def wants(self, payload: Any) -> bool:
        """Whether this payload is chosen at all."""
        layer = payload.said["wall"].partition(":")[0]
        alike = self._alike[layer, payload.said["expect"]]
        if payload.name not in alike and (layer == "meter" or len(alike) < _OF_A_KIND):
            alike.append(payload.name)
        return payload.name in alike

    def of(self, item: pytest.Item, said: dict[str, Any]) -> str:
        """Give the name."""
        indices = item.callspec.indices.items() if hasattr(item, "callspec") else ()
        rest = sorted(each for each in indices if each[0] not in ("runner", "launcher", "payload"))
        test, payload = item.nodeid.partition("[")[0], said["payload"].name if "payload" in said else ""
        behaviour = (test, payload, tuple(rest))
        if behaviour not in self._given:
            self._given[behaviour] = next(self._turns[getattr(item, "originalname", item.name)])
        return self._given[behaviour]


def _params(item: pytest.Item) -> dict[str, Any]:
    return dict(item.callspec.params) if hasattr(item, "callspec") else {}


def _runs_nothing(said: dict[str, Any]) -> bool:
    return "payload" in said and "launcher" not in said


def _way(said: dict[str, Any]) -> tuple[str, str, str]:
    """Give face, launcher and meter, each empty where the test knows none."""
    if "runner" in said:
        face, launcher, meter = said["runner"]
        return face, launcher.value, meter
    if "payload" in said:
        return "api", said["launcher"].value, said["payload"].meter
    return "", "", str(said.get("box", said.get("warm_box", "")))


def _is_first(ways_through: set[Hashable], payload: Any) -> bool:
    """Whether no payload before it by this meter is let through in the same way."""
    word, rest = payload.control
    layer = rest if word in ("without", "none") else "".join(sorted(payload.limits("control"))) if rest else ""
    if payload.meter != METERS[0] or (word, layer) in ways_through:
        return False
    ways_through.add((word, layer))
    return True


def _insist(every: list[pytest.Item], chosen: list[pytest.Item]) -> None:
    """See that nothing is lost with what was left out."""
    whole, part = _covered(every), _covered(chosen)
    for kind, words in whole.items():
        if lost := words - part[kind]:
            raise pytest.UsageError(f"the subset of {kind} lacks {', '.join(sorted(lost))}")


def _covered(items: list[pytest.Item]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for item in items:
        said = _params(item)
        face, launcher, meter = _way(said) if not _runs_nothing(said) else ("", "", "")
        if not launcher or meter != METERS[0]:
            continue
        if "payload" in said:
            found["the attacks' launchers"].add(launcher)
            found["the attacks' statuses"].add(said["payload"].said["expect"])
            found["the attacks' layers"].add(said["payload"].said["wall"].partition(":")[0])
        elif "case" in said:
            found["the contract's ways"].add(f"{face} {launcher}")
            found[f"the contract's statuses {launcher}"].add(said["case"].status.value)
    return found
