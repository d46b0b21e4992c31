"""``[tool.fumehood]`` of a project, and what is typed over it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from fumehood.cli import main
from fumehood.commands import project
from fumehood.commands.project import ConfigurationError, fits, project_of

EVAL = "eval(input())\n"
BARE = "try:\n    x = 1\nexcept:\n    x = 2\n"
Check = Callable[..., tuple[int, list[str], str]]


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Forget what earlier tests read: a process usually checks one state of the files."""
    project._project.cache_clear()
    yield
    project._project.cache_clear()


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Check:
    """Call ``check`` in a folder of its own; give exit code, the rules found and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*argv: str, stdin: str = "") -> tuple[int, list[str], str]:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin.encode())))
        code = main(["check", "--format", "json", *argv])
        out, err = capsysbinary.readouterr()
        told = json.loads(out or b"[]")
        reports = told if isinstance(told, list) else [told]
        return code, [finding["rule"] for report in reports for finding in report["findings"]], err.decode()

    return call


def write(text: str, **sources: str) -> None:
    """Write ``pyproject.toml`` and ``name.py`` files into the working folder."""
    Path("pyproject.toml").write_text(text, encoding="utf-8")
    for name, source in sources.items():
        Path(f"{name}.py").write_text(source, encoding="utf-8")


def test_a_project_decides(check: Check) -> None:
    """What is selected and ignored, for which files, how grave it is, and what fails."""
    write("[tool.fumehood]\nignore = ['bare-except']\n", a=EVAL + BARE)
    assert check("a.py")[:2] == (1, ["FH101"])
    write("[tool.fumehood]\nselect = ['FH3']\nfail-on = 'medium'\n", a=EVAL + BARE)
    project._project.cache_clear()
    assert check("a.py")[:2] == (0, ["FH301"])
    write("[tool.fumehood.severity]\nFH301 = 'high'\nCWE-95 = 'info'\n", a=EVAL + BARE)
    project._project.cache_clear()
    assert check("a.py", "--fail-on", "high")[0] == 1
    assert check("a.py", "--select", "FH1")[0] == 0


def test_files_can_be_told_apart(check: Check) -> None:
    """By patterns relative to the file that holds them, from whatever folder one calls."""
    Path("tests/deep").mkdir(parents=True)
    Path("tests/deep/t.py").write_text(EVAL, encoding="utf-8")
    write("[tool.fumehood.per-file-ignores]\n'tests/**' = ['FH101']\n", a=EVAL)
    assert check("a.py", "tests/deep/t.py")[1] == ["FH101"]
    assert check("tests/deep/t.py")[:2] == (0, [])
    write("[tool.fumehood]\nexclude = ['deep']\n", a="x = 1\n")
    project._project.cache_clear()
    assert check(".")[:2] == (0, [])
    assert check("tests/deep/t.py")[0] == 1


def test_the_nearest_file_with_the_table_counts(check: Check) -> None:
    """A ``pyproject.toml`` about other things hides none further up."""
    Path("inner").mkdir()
    Path("inner/pyproject.toml").write_text("[tool.other]\nname = 'fumehood'\n", encoding="utf-8")
    Path("inner/a.py").write_text(EVAL, encoding="utf-8")
    write("[tool.fumehood]\nignore = ['ALL']\n")
    assert check("inner/a.py")[0] == 0
    Path("inner/pyproject.toml").write_text("[tool.fumehood]\n", encoding="utf-8")
    project._project.cache_clear()
    assert check("inner/a.py")[0] == 1


def test_what_is_typed_wins(check: Check) -> None:
    """Over the project's decision, and all of it can be left alone; standard input has the working folder's."""
    write("[tool.fumehood]\nselect = ['FH1']\nignore = ['FH101']\nfail-on = 'high'\n", a=EVAL + BARE)
    assert check("a.py")[:2] == (0, [])
    assert check("a.py", "--select", "FH3,FH1", "--fail-on", "low")[:2] == (1, ["FH301"])
    assert check("a.py", "--no-project")[:2] == (1, ["FH101", "FH301"])
    assert check("-", stdin=EVAL)[:2] == (0, [])


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[tool.fumehood]\nignored = []\n", "tool.fumehood.ignored: no such key"),
        ("[tool.fumehood]\nper_file_ignores = {}\n", "tool.fumehood.per_file_ignores: no such key"),
        ("[tool.fumehood]\nignore = 'FH1'\n", "tool.fumehood.ignore: a list of texts"),
        ("[tool.fumehood]\nignore = [1]\n", "tool.fumehood.ignore: a list of texts"),
        ("[tool.fumehood]\nfail-on = 'grave'\n", "tool.fumehood.fail-on: one of high, medium, low, info"),
        ("[tool.fumehood]\nengines = ['perl']\n", "tool.fumehood.engines: no engine 'perl'"),
        ("[tool.fumehood]\nseverity = 'high'\n", "tool.fumehood.severity: a table"),
        ("[tool.fumehood.severity]\nFH1 = 3\n", "tool.fumehood.severity.FH1: one of"),
        ("[tool.fumehood.per-file-ignores]\n'a*' = 'FH1'\n", "tool.fumehood.per-file-ignores.a*: a list"),
        ("[tool]\nfumehood = 3\n", "tool.fumehood: a table"),
        ("[tool.fumehood\n", "pyproject.toml: "),
    ],
)
def test_a_mistake_is_an_error_that_names_the_key(check: Check, text: str, key: str) -> None:
    """Nothing is analysed under decisions that cannot be followed, and the file is named."""
    write(text, a="x = 1\n")
    code, rules, err = check("a.py")
    assert (code, rules) == (2, [])
    assert key in err
    assert "pyproject.toml" in err
    with pytest.raises(ConfigurationError):
        project_of(Path("a.py"))


@pytest.mark.parametrize(
    ("path", "pattern", "matches"),
    [
        ("a.py", "*.py", True), ("b/a.py", "*.py", True), ("b/a.py", "b/*.py", True), ("c/b/a.py", "b/*.py", False),
        ("c/b/a.py", "**/b/*.py", True), ("b/a.py", "**/b/*.py", True), ("c/b/a.py", "c/**", True),
        ("c/b/a.py", "/c/b/*", True), ("b/c/a.py", "/a.py", False), ("a.py", "/a.py", True),
        ("x/y/z.py", "x/**/z.py", True),
    ],
)  # fmt: skip
def test_globs(path: str, pattern: str, matches: bool) -> None:  # noqa: FBT001 - a table's column
    """A name anywhere, or a path from the root; ``**`` is any number of folders."""
    assert fits(path.split("/"), pattern) is matches
