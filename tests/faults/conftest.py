"""Engines and services to which faults are done."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox import Config
from sandbox.config import Preload, WarmConfig

_serials = itertools.count()


@pytest.fixture(scope="module")
def state_dir() -> Iterator[Path]:
    """Give a state folder that guests' uids can reach, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="fumehood-faults-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture(scope="module")
def configured(state_dir: Path, runtimes_dir: Path | None) -> Callable[..., Config]:
    """Give an engine's configuration: one small fork server with one child, unless it is changed."""

    def make(*, warm: bool = True, **changed: object) -> Config:
        values: dict[str, object] = {
            "state_dir": state_dir,
            "runtimes_dir": runtimes_dir,
            "may_lack": frozenset({"cgroup"}),
            "uid_base": 2_070_000_000 + next(_serials) * 64,
            "slots": 64,
            "warm": WarmConfig(enabled=warm, preloads=(Preload("bare", ()),), depth=1),
        }
        return Config(**{**values, **changed})  # type: ignore[arg-type]

    return make
