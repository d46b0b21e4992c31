"""What every test may ask for: where the guest's runtime is, and a skip that cannot hide a missing wall."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

MUST_ENFORCE = os.environ.get("FUMEHOOD_MUST_ENFORCE") == "1"


@pytest.fixture(scope="session")
def runtimes_dir() -> Path | None:
    """The folder of the guest's runtimes: ``FUMEHOOD_RUNTIMES`` where it is set, else wherever set-up left them."""
    configured = os.environ.get("FUMEHOOD_RUNTIMES")
    return Path(configured) if configured else None


@pytest.fixture(scope="session")
def need() -> Callable[[bool, str], None]:
    """Skip a test whose condition this machine does not meet; where ``FUMEHOOD_MUST_ENFORCE`` is 1 it fails instead."""

    def demand(met: bool, what: str) -> None:  # noqa: FBT001 - reads as a sentence: need(os.geteuid() == 0, "root")
        if not met:
            (pytest.fail if MUST_ENFORCE else pytest.skip)(f"needs {what}")

    return demand
