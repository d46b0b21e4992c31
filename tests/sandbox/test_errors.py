"""The exceptions of the engine as values."""

from __future__ import annotations

import pickle

import pytest

from sandbox import JobRefused, LayerMissing, OverCeiling, SandboxError, SetupError


@pytest.mark.parametrize(
    "error",
    [
        JobRefused("files.0.path", "must be relative"),
        OverCeiling("limits.cpus", "may be at most 2"),
        LayerMissing("user", "refused", "allow it"),
        SetupError("run", 24, "descriptors"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_the_same_in_another_process(error: SandboxError) -> None:
    """Whoever runs jobs in worker processes sees what was raised there, with all its fields."""
    there = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert (type(there), str(there), there.__dict__) == (type(error), str(error), error.__dict__)
