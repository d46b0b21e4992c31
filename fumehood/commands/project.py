"""What a project has decided about its analysis: ``[tool.fumehood]`` of the nearest ``pyproject.toml`` that has one.

It is looked for upward from each file that is checked. A key that nobody knows is an error that names it: a misspelt
``ignore`` must not be taken for none.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache

from analyzers import Choice, Severity, engines
from analyzers.choice import ALL
from analyzers.named import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TABLE = "tool.fumehood"
_FILE = "pyproject.toml"
_ROOTS = frozenset({_FILE, "setup.py", "setup.cfg", ".git", ".hg"})
_MOST_FOLDERS = 8
# Paths are texts here: pathlib's import alone takes longer than to check a file.
_Path = str | os.PathLike[str]


class ConfigurationError(ValueError):
    """A ``[tool.fumehood]`` that cannot be followed; the text names the file, the key and the reason."""


class Project(NamedTuple):
    """The decisions of one file, and the folder that its patterns are relative to."""

    root: str = ""
    select: tuple[str, ...] = (ALL,)
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severity: tuple[tuple[str, Severity], ...] = ()
    fail_on: Severity | None = None
    engines: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def choice(self, path: _Path | None) -> Choice:
        """What is wanted of one file; None is standard input."""
        ignore = list(self.ignore)
        for pattern, selectors in self.per_file_ignores:
            if path is not None and self._fits(path, pattern):
                ignore += selectors
        return Choice(self.select, tuple(ignore), self.severity)

    def excludes(self, path: _Path) -> bool:
        """Whether a file below a folder is to be passed over."""
        return any(self._fits(path, pattern) for pattern in self.exclude)

    def _fits(self, path: _Path, pattern: str) -> bool:
        below = os.path.relpath(os.path.realpath(path), self.root)
        parts = below.split(os.sep)
        return parts[0] != os.pardir and any(fits(parts[:end], pattern) for end in range(1, len(parts) + 1))


def fits(names: Sequence[str], pattern: str) -> bool:
    """Whether the parts of a path, or the last of them where the pattern has no slash, fit a glob.

    ``**`` is any folders.
    """
    parts = pattern.strip("/").split("/")
    if len(parts) == 1 and not pattern.startswith("/"):
        return _is_like(names[-1], parts[0])
    return _fits(names, parts)


def _is_like(name: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern)


def _fits(names: Sequence[str], parts: Sequence[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        return any(_fits(names[at:], parts[1:]) for at in range(len(names) + 1))
    return bool(names) and _is_like(names[0], parts[0]) and _fits(names[1:], parts[1:])


def project_of(name: _Path) -> Project:
    """The decisions for one file or folder. Raises ConfigurationError."""
    place = os.path.realpath(name)
    return _project(place if os.path.isdir(place) else os.path.dirname(place))


def modules_beside(name: _Path) -> frozenset[str]:
    """The modules that a file can import from its own folder, and from those above up to the root of its project."""
    return _modules(os.path.dirname(os.path.realpath(name)), _MOST_FOLDERS)


@cache
def _modules(folder: str, most: int) -> frozenset[str]:
    try:
        with os.scandir(folder) as entries:
            names = frozenset(entry.name for entry in entries)
    except OSError:
        return frozenset()
    here = frozenset(name.partition(".")[0] for name in names if name.isidentifier() or name.endswith((".py", ".so")))
    above, own = os.path.split(folder)
    if own == "src" or not names.isdisjoint(_ROOTS) or most == 0 or folder == above:
        return here | (_modules(os.path.join(folder, "src"), 0) if "src" in names and own != "src" else frozenset())
    return here | _modules(above, most - 1)


@cache
def _project(folder: str) -> Project:
    file = os.path.join(folder, _FILE)
    try:
        with open(file, "rb") as stream:
            text = stream.read()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        text = b""
    # Most of these files are about other things, and reading TOML costs a start more than looking for a word.
    if b"fumehood" in text:
        decided = _read(file, text)
        if decided is not None:
            return decided
    above = os.path.dirname(folder)
    return Project() if folder == above else _project(above)


def _read(file: str, text: bytes) -> Project | None:
    import tomllib

    try:
        table = tomllib.loads(text.decode()).get("tool", {}).get("fumehood")
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{file}: {error}") from error
    if table is None:
        return None
    try:
        return _checked(os.path.dirname(file), table)
    except ValueError as error:
        raise ConfigurationError(f"{file}: {error}") from error


def _checked(root: str, table: Any) -> Project:  # noqa: ANN401 - TOML
    if not isinstance(table, dict):
        raise ValueError(f"{_TABLE}: a table is needed")  # noqa: TRY004 - told as every other mistake in the file
    known = {"select", "ignore", "per-file-ignores", "severity", "fail-on", "engines", "exclude"}
    for key in table:
        if key not in known:
            raise ValueError(f"{_TABLE}.{key}: no such key; known: {', '.join(sorted(known))}")
    return Project(
        root=root,
        select=_texts(table.get("select", [ALL]), "select"),
        ignore=_texts(table.get("ignore", []), "ignore"),
        per_file_ignores=tuple(
            (pattern, _texts(selectors, f"per-file-ignores.{pattern}"))
            for pattern, selectors in _table(table, "per-file-ignores").items()
        ),
        severity=tuple(
            (selector, _severity(value, f"severity.{selector}"))
            for selector, value in _table(table, "severity").items()
        ),
        fail_on=None if "fail-on" not in table else _severity(table["fail-on"], "fail-on"),
        engines=_engines(_texts(table.get("engines", []), "engines")),
        exclude=_texts(table.get("exclude", []), "exclude"),
    )


def _table(table: dict[str, Any], key: str) -> dict[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise ValueError(f"{_TABLE}.{key}: a table is needed")  # noqa: TRY004 - as above
    return value


def _texts(value: Any, key: str) -> tuple[str, ...]:  # noqa: ANN401 - TOML
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        raise ValueError(f"{_TABLE}.{key}: a list of texts is needed")
    return tuple(value)


def _severity(value: Any, key: str) -> Severity:  # noqa: ANN401 - TOML
    try:
        return Severity(value)
    except ValueError:
        raise ValueError(f"{_TABLE}.{key}: one of {', '.join(Severity)} is needed") from None


def _engines(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in engines():
            raise ValueError(f"{_TABLE}.engines: no engine {name!r}; known: {', '.join(engines())}")
    return names
