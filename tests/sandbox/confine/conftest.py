"""Groups on the real kernel this runs on, whichever cgroup version it has."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from living import PLENTY, Child, fresh_name

from sandbox.confine import cgroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sandbox.meter import MeterLimits


@pytest.fixture(scope="module")
def hierarchy() -> Iterator[cgroup.Hierarchy]:
    """Give the machine's hierarchy; without one the tests are skipped, or fail where enforcement is a must."""
    found = cgroup.probe()
    if isinstance(found, cgroup.Unavailable):
        (pytest.fail if os.environ.get("FUMEHOOD_MUST_ENFORCE") == "1" else pytest.skip)(found.reason)
    yield found
    found.close()


@pytest.fixture
def start() -> Iterator[Callable[[str], Child]]:
    """Give a starter of children that do not outlive the test."""
    children: list[Child] = []

    def starter(code: str) -> Child:
        children.append(Child(code))
        return children[-1]

    yield starter
    for child in children:
        child.process.kill()
        child.process.communicate()


@pytest.fixture
def create(hierarchy: cgroup.Hierarchy) -> Iterator[Callable[..., Any]]:
    """Give a maker of groups that do not outlive the test."""
    made: list[Any] = []

    def maker(limits: MeterLimits = PLENTY) -> Any:
        made.append(hierarchy.create(fresh_name(), limits))
        return made[-1]

    yield maker
    for meter in made:
        meter.close()
