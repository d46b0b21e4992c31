"""Every fuzz target for a moment, on the same examples each time; ``make fuzz`` is the longer one."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator

import fuzzing
import http_properties
import path_properties
import pytest
import wire_properties


@pytest.mark.parametrize(
    "one", [*wire_properties.PROPERTIES, *path_properties.PROPERTIES], ids=lambda one: one.__name__
)
def test_wire_and_paths(one: Callable[[], None]) -> None:
    """What the property says."""
    fuzzing.bounded(one, 100)


@pytest.fixture(scope="module")
def operations() -> Iterator[tuple[Callable[[], None], ...]]:
    """Give the properties of a live service."""
    with http_properties.properties() as those:
        yield those


def test_every_operation_answers_as_documented(operations: tuple[Callable[[], None], ...]) -> None:
    """Any call that the document allows, and any that is damaged from one."""
    assert len(operations) >= 12
    for one in operations:
        fuzzing.bounded(one, 6)


def test_the_analysers_take_any_text(need: Callable[[bool, str], None]) -> None:
    """By coverage: some hundred texts, each a change of one that led somewhere new."""
    need(importlib.util.find_spec("atheris") is not None, "atheris, which has no wheel for this machine or Python")
    done = fuzzing.analysers(
        "-runs=400", "-seed=1", "-max_len=512", "-timeout=10", "-artifact_prefix=/dev/", seconds=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Done 400 runs" in done.stderr


def test_a_target_that_fails_is_told() -> None:
    """The harness itself: a property that does not hold ends a long round, and a bounded one."""

    def wrong(number: int) -> None:
        assert number < 1000

    property_ = fuzzing.hypothesis.given(fuzzing.hypothesis.strategies.integers())(wrong)
    with pytest.raises(AssertionError):
        fuzzing.for_seconds([property_], 20, 1)
