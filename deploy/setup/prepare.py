"""Set up this clone: ``prepare.py service`` for serving, ``prepare.py dev`` for tests. Done work is not done again."""

from __future__ import annotations

import argparse
from pathlib import Path

import bubblewrap
import environment
import runtime

_CLONE = Path(__file__).resolve().parents[2]


def main() -> None:
    """Prepare the service's environment, then what guests need, which lies outside the clone."""
    parser = argparse.ArgumentParser(description="Prepare .venv and the guest's runtime.")
    parser.add_argument("level", choices=("service", "dev"))
    arguments = parser.parse_args()
    python = environment.prepare(_CLONE, arguments.level)
    pip = environment.pip(python)
    requirements = _CLONE / "requirements"
    runtime.build(requirements / "guest.txt", pip)
    bubblewrap.prepare(requirements / "bubblewrap.txt", python, pip)


if __name__ == "__main__":
    main()
