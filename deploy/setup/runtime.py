"""Build the guest's runtime: an interpreter and a data stack apart from the service's, readable by any uid.

``runtime.py --lock requirements/guest.txt --pip PYTHON`` builds one, or finds the one that the same lock, interpreter
and builder made before, and points ``python.json`` at it. Guests see it at /opt/python, whatever its path here; so its
scripts name that path. ``fumehood-runtime.json`` in it tells the service what it is.

The service's reading of that file:
  prefix             bound read-only at ``mounted_at``
  interpreter        relative to ``mounted_at``
  extra_read_only    host folders to bind at their own path besides /usr and the prefix
  environment        variables every guest gets
  links              symbolic links to lay in the guest's writable places before it starts: path -> target
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import interpreter
import places
from interpreter import Interpreter
from programs import ask, fail, install, run, timed

NAME = "python"
MOUNTED_AT = "/opt/python"
FACTS = "fumehood-runtime.json"
_MATPLOTLIB = "/tmp/.matplotlib"  # noqa: S108 - a path inside the guest, whose /tmp is its own
_CACHE = "share/fumehood/matplotlib"
_TESTS = ("numpy", "pandas", "matplotlib", "mpl_toolkits")


def build(lock: Path, pip: Sequence[str], named: Path | None = None) -> Path:
    """Give the runtime's folder, built now or found; concurrent calls wait for one another."""
    os.umask(0o022)
    root = places.runtimes()
    places.prepare(root)
    base = interpreter.choose(named)
    prefix = root / f"{NAME}-{_identity(lock, base)}"
    with places.locked(root, ".lock"):
        if not (prefix / FACTS).is_file():
            _sweep(root)
            _build(lock, pip, base, prefix)
        places.replace_text(root / f"{NAME}.json", (prefix / FACTS).read_text(encoding="utf-8"))
    return prefix


def _identity(lock: Path, base: Interpreter) -> str:
    """Hash everything the runtime is made of."""
    digest = hashlib.sha256(lock.read_bytes())
    for source in (Path(__file__), Path(interpreter.__file__)):
        digest.update(source.read_bytes())
    digest.update(f"{base.path} {base.version} {base.implementation} {platform.machine()}".encode())
    return digest.hexdigest()[:12]


def _sweep(root: Path) -> None:
    """Remove what builds that were killed left; the lock is ours, so none is under way."""
    for left in root.glob(f".{NAME}-*"):
        shutil.rmtree(left, ignore_errors=True)


def _build(lock: Path, pip: Sequence[str], base: Interpreter, prefix: Path) -> None:
    """Build in a folder beside the place, then move it there in one step."""
    place = Path(tempfile.mkdtemp(prefix=f".{prefix.name}-", dir=prefix.parent))
    try:
        _environment(place, base)
        with timed(f"guest runtime on Python {base.version} ({base.path}): packages"):
            onto = (*pip, "--python", os.fspath(place / "bin/python3"))
            install(onto, "--no-compile", "--require-hashes", "-r", lock, why="installing the guest's packages")
        with timed("guest runtime: scripts, font cache, byte code"):
            facts = _facts(base, prefix, place)
            _finish(place, base)
            facts["links"] = {
                f"{_MATPLOTLIB}/{path.name}": f"{MOUNTED_AT}/{_CACHE}/{path.name}"
                for path in (place / _CACHE).glob("fontlist-*.json")
            }
        places.replace_text(place / FACTS, json.dumps(facts, indent=2) + "\n")
        places.open_to_all(place)
        place.rename(prefix)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def _environment(place: Path, base: Interpreter) -> None:
    """Lay out a virtual environment on the system's interpreter, or a copy of another, which needs none.

    By hand, for ``venv`` may be missing and would write paths of this machine.
    """
    (place / "bin").mkdir()
    (place / "lib" / base.library / "site-packages").mkdir(parents=True)
    if base.in_sight:
        (place / "lib64").symlink_to("lib")
        (place / "bin" / base.library).symlink_to(base.path)
        config = f"home = {base.path.parent}\ninclude-system-site-packages = false\nversion = {base.version}\n"
        (place / "pyvenv.cfg").write_text(config, encoding="utf-8")
    else:
        with timed(f"guest runtime: copy of {base.prefix}"):
            interpreter.copy(base, place)
    for name in ("python", "python3"):
        (place / "bin" / name).symlink_to(base.library)


def _finish(place: Path, base: Interpreter) -> None:
    """Make it fit its place inside the guest, and spare the guest work it would otherwise do in every run."""
    site = place / "lib" / base.library / "site-packages"
    for name in _TESTS:  # two thirds of the modules, and nothing imports them
        for folder in [*(site / name).rglob("tests")]:
            shutil.rmtree(folder)
    for script in (place / "bin").iterdir():
        if script.is_file() and not script.is_symlink():
            script.write_bytes(_with_guest_path(script.read_bytes()))
    python = place / "bin/python3"
    nowhere = place / "nowhere"
    run(
        *(python, "-I", "-c", "import importlib.util as u; u.find_spec('matplotlib') and __import__('pylab')"),
        why="building the font cache",
        MPLCONFIGDIR=os.fspath(place / _CACHE),
        MPLBACKEND="agg",
        HOME=os.fspath(nowhere),
        XDG_DATA_HOME=os.fspath(nowhere),
    )
    for leftover in (place / _CACHE).glob("*lock*"):
        leftover.unlink()
    # Tracebacks and byte code name the files as the guest finds them.
    run(
        *(python, "-I", "-m", "compileall", "-q", "-f", "-j", str(len(os.sched_getaffinity(0)))),
        *("-s", os.fspath(place), "-p", MOUNTED_AT, site.parent),
        why="compiling the guest's packages",
    )


def _with_guest_path(script: bytes) -> bytes:
    """Let a script's first line name the interpreter as the guest sees it, in both shapes that pip writes."""
    line = f"#!{MOUNTED_AT}/bin/python3\n".encode()
    return re.sub(rb"\A#!(/bin/sh\n'''exec' .*\n' '''\n|[^\n]*python[^\n]*\n)", line, script)


def _facts(base: Interpreter, prefix: Path, place: Path) -> dict[str, object]:
    """Describe the runtime for the service."""
    listing = ask(
        *(place / "bin/python3", "-I", "-c"),
        "import json; from importlib.metadata import distributions\n"
        "print(json.dumps({d.name.lower(): d.version for d in distributions()}, sort_keys=True))",
    )
    if listing is None:
        fail(f"the guest's interpreter in {place} does not run.")
    return {
        "name": NAME,
        "version": base.version,
        "implementation": base.implementation,
        "interpreter": "bin/python3",
        "prefix": os.fspath(prefix),
        "mounted_at": MOUNTED_AT,
        "base_prefix": os.fspath(base.prefix) if base.in_sight else MOUNTED_AT,
        "extra_read_only": [],
        "environment": {"MPLCONFIGDIR": _MATPLOTLIB},
        "packages": json.loads(listing),
    }


def main() -> None:
    """Build from the command line; used for the image, where nothing else of set-up runs."""
    parser = argparse.ArgumentParser(description="Build the guest's Python runtime.")
    parser.add_argument("--lock", type=Path, required=True, help="hashed requirements")
    parser.add_argument("--pip", type=Path, default=Path(sys.executable), help="a Python that has pip")
    parser.add_argument("--base", type=Path, help="the interpreter to stand on, instead of the one set-up prefers")
    arguments = parser.parse_args()
    print(build(arguments.lock, (os.fspath(arguments.pip), "-I", "-m", "pip"), arguments.base))


if __name__ == "__main__":
    main()
