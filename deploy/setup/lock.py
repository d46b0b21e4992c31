"""Make ``requirements/*.txt`` anew from ``*.in``: pinned, hashed, for every Python and platform, without addresses."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from programs import install, run

_REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"
_ORDER = ("lock", "service", "dev", "suites", "guest", "bubblewrap", "sbom")  # suites has pins of dev, dev of service


def main() -> None:
    """Compile every lock with a uv of its own."""
    parser = argparse.ArgumentParser(description="Make requirements/*.txt anew.")
    parser.add_argument("--upgrade", action="store_true", help="move the pins to the newest releases")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-I", "-m", "venv", folder, why="making an environment for uv")
        python = Path(folder) / "bin/python"
        pip = (str(python), "-m", "pip")
        install(pip, "--require-hashes", "-r", _REQUIREMENTS / "lock.txt", why="installing uv")
        for name in _ORDER:
            run(
                *(Path(folder) / "bin/uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"),
                *("--generate-hashes", "--no-header", "--no-annotate"),
                *(["--upgrade"] if arguments.upgrade else []),
                *(_REQUIREMENTS / f"{name}.in", "--output-file", _REQUIREMENTS / f"{name}.txt"),
                why=f"locking {name}.in",
            )


if __name__ == "__main__":
    main()
