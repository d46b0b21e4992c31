"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("sandbox", "analyzers", "fumehood")
LONGEST = 400
VAGUE = {"utils", "util", "common", "helpers", "helper", "manager", "base", "misc"}
# Facts about this clone alone: what a run of the service's own interpreter has loaded after an import.
LOADED = "import sys, {name}; print('\\n'.join(sorted(sys.modules)))"
SERVICE_ONLY = {"fastapi", "pydantic", "starlette", "uvicorn"}
HEAVY = {"bandit", "libcst"}


def sources(*folders: str) -> list[Path]:
    """Give every module of ours below ``folders``."""
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def imports(path: Path) -> Iterator[str]:
    """Give the full names that ``path`` imports, wherever in it the statement stands."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            folder = path.relative_to(ROOT).parts[:-1]
            above = folder[: len(folder) - node.level + 1] if node.level else ()
            origin = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def loaded_by(name: str) -> set[str]:
    """Give the top-level modules that importing ``name`` loads."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(name=name)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {module.partition(".")[0] for module in done.stdout.split()}


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_are_sorted_and_there(name: str) -> None:
    """What a package promises in ``__all__`` can be imported, and is listed as a person would look it up."""
    package = importlib.import_module(name)
    public = list(getattr(package, "__all__", ()))
    assert public == sorted(public)
    assert [missing for missing in public if not hasattr(package, missing)] == []


def test_modules_stay_short() -> None:
    """A file is read in one sitting."""
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in sources(*PACKAGES, "deploy", "tests", "benchmarks")
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_no_module_has_a_vague_name() -> None:
    """A name that says nothing collects what has no place."""
    assert [path for path in sources(*PACKAGES, "deploy") if path.stem in VAGUE or path.parent.name in VAGUE] == []


@pytest.mark.parametrize("name", PACKAGES)
def test_every_module_can_be_imported(name: str) -> None:
    """Importing starts nothing, so any module can be imported at any time."""
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


@pytest.mark.parametrize("path", sources("sandbox/guest"), ids=lambda path: path.name)
def test_what_runs_inside_imports_the_standard_library_alone(path: Path) -> None:
    """Inside the wall there is an interpreter and these files, and nothing else of ours."""
    foreign = {
        name
        for name in imports(path)
        if name.partition(".")[0] not in sys.stdlib_module_names and not name.startswith("sandbox.guest")
    }
    assert foreign == set()


def test_only_the_conversation_is_shared_with_what_runs_inside() -> None:
    """The engine imports ``wire`` of the guest's files; the others run inside and are handed over as files."""
    crossing = {
        (str(path.relative_to(ROOT)), name)
        for path in sources(*PACKAGES)
        if "guest" not in path.parts
        for name in imports(path)
        if name.startswith("sandbox.guest") and not name.startswith("sandbox.guest.wire")
    }
    assert crossing == set()


def test_what_runs_inside_can_be_imported_alone(tmp_path: Path) -> None:
    """The guest's files work from a copy, on a bare interpreter without site packages.

    The engine lays them out as a package ``guest`` with nothing of ``sandbox`` around it.
    """
    inside = tmp_path / "guest"
    shutil.copytree(ROOT / "sandbox/guest", inside, ignore=shutil.ignore_patterns("__pycache__"))
    names = [f"guest.{path.stem}" for path in sorted(inside.glob("*.py")) if path.stem != "__init__"]
    script = f"import sys; sys.path.insert(0, {os.fspath(tmp_path)!r}); import guest, {', '.join(names)}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


@pytest.mark.parametrize("name", ["sandbox", "analyzers"])
def test_libraries_do_not_load_the_service(name: str) -> None:
    """Whoever embeds the engine or the analyser pays for neither the web framework nor a parser he does not use."""
    assert loaded_by(name) & (SERVICE_ONLY | HEAVY) == set()


def test_libraries_are_strangers() -> None:
    """Each works without the other."""
    assert "analyzers" not in loaded_by("sandbox")
    assert "sandbox" not in loaded_by("analyzers")


@pytest.mark.parametrize("name", ["fumehood.cli", "fumehood.commands.run", "fumehood.commands.check", "fumehood.keys"])
def test_commands_that_need_no_database_do_not_load_one(name: str) -> None:
    """``check`` and ``run`` start in a fraction of what the database's libraries take to be imported."""
    assert loaded_by(name) & {"sqlalchemy", "alembic", "psycopg"} == set()


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.name)
def test_locks_are_pinned_hashed_and_name_no_address(lock: Path) -> None:
    """A lock says what, never where from: that is the installing machine's affair."""
    text = lock.read_text(encoding="utf-8")
    assert "://" not in text
    assert [line for line in text.splitlines() if line.startswith("-")] == []
    entries = text.replace("\\\n", " ").splitlines()
    assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []


def test_the_service_is_locked_alike_for_tests() -> None:
    """What is tested is what is served: the tests' lock repeats every pin of the service's."""
    service, dev = ((ROOT / "requirements" / name).read_text(encoding="utf-8") for name in ("service.txt", "dev.txt"))
    pins = [line for line in service.splitlines() if "==" in line]
    assert [pin for pin in pins if pin not in dev] == []
