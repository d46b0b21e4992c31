"""``fumehood check`` with the real analyser."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from fumehood.arguments import parser_for
from fumehood.cli import main, parsed

CLEAN = "x = 1\n"
BARE = "try:\n    x = 1\nexcept:\n    x = 2\n"
UNVERIFIED = "import requests\n\nrequests.get('https://example.org', verify=False, timeout=5)\n"
EVAL = "eval(input())\n"
BROKEN = "x = (\n"
Check = Callable[..., tuple[int, str, str]]


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Check:
    """Call the command below a folder of its own; give exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*argv: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin.encode())))
        code = main(["check", *argv])
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    return call


def write(**sources: str) -> None:
    """Write ``name.py`` files into the working folder."""
    for name, text in sources.items():
        Path(f"{name}.py").write_text(text, encoding="utf-8")


def test_the_exit_code_is_a_gate(check: Check) -> None:
    """0 clean, 1 findings, 2 where the answer is not known."""
    write(clean=CLEAN, bare=BARE, broken=BROKEN)
    assert check("clean.py")[0] == 0
    assert check("bare.py")[0] == 1
    assert check("bare.py", "--fail-on", "medium")[0] == 0
    assert check("broken.py")[0] == 2
    assert check("clean.py", "bare.py")[0] == 1
    assert check("bare.py", "nowhere.py")[0] == 2
    assert check("--language", "perl", "clean.py")[0] == 2


def test_what_cannot_be_read_is_named(check: Check) -> None:
    """And the others are still analysed."""
    write(bare=BARE)
    code, out, err = check("nowhere.py", "bare.py")
    assert code == 2
    assert "nowhere.py: No such file" in err
    assert "FH301" in out


def test_standard_input_is_read(check: Check) -> None:
    """As ``-``, and where nothing is named."""
    assert check("-", stdin=EVAL)[0] == 1
    assert check(stdin=EVAL)[0] == 1
    assert check("-", stdin=CLEAN)[0] == 0


def test_folders_are_searched(check: Check) -> None:
    """For sources of known languages, not in hidden or foreign folders, each file once."""
    for folder in ("a/b", ".git", "__pycache__", "node_modules"):
        Path(folder).mkdir(parents=True)
        (Path(folder) / "x.py").write_text(EVAL, encoding="utf-8")
    Path("a/notes.txt").write_text(EVAL, encoding="utf-8")
    Path("a/run.sh").write_text("ls\n", encoding="utf-8")
    code, out, _ = check("--format", "json", ".", "a/b/x.py")
    assert code == 1
    assert sorted(report["file"] for report in json.loads(out)) == ["a/b/x.py", "a/run.sh"]


def test_a_language_without_an_analyser_is_not_passed(check: Check) -> None:
    """A program that was named and cannot be analysed is not clean."""
    Path("run.f90").write_text("end\n", encoding="utf-8")
    code, _, err = check("--language", "fortran", "run.f90")
    assert (code, "known: python" in err) == (2, True)


def test_every_format(check: Check) -> None:
    """Text for people, one JSON object or several, SARIF, annotations."""
    write(bare=BARE, clean=CLEAN)
    assert "bare.py:3:1" in check("bare.py")[1]
    assert json.loads(check("--format", "json", "bare.py")[1])["verdict"] == "fail"
    assert [one["file"] for one in json.loads(check("--format", "json", "bare.py", "clean.py")[1])] == [
        "bare.py",
        "clean.py",
    ]
    sarif = json.loads(check("--format", "sarif", "bare.py")[1])
    assert sarif["version"] == "2.1.0"
    assert sarif["runs"][0]["results"]
    assert "::warning file=bare.py,line=3" in check("--format", "github", "bare.py")[1]


def test_fix_writes_safe_fixes_back(check: Check) -> None:
    """In place, the file's mode kept; what has no safe fix is still reported, and a clean file is not touched."""
    write(bare=BARE, clean=CLEAN, eval=EVAL)
    Path("bare.py").chmod(0o755)
    before = Path("clean.py").stat().st_mtime_ns
    assert check("--fix", "bare.py", "clean.py")[0] == 0
    assert Path("bare.py").read_text(encoding="utf-8") == BARE.replace("except:", "except Exception:")
    assert Path("bare.py").stat().st_mode & 0o777 == 0o755
    assert Path("clean.py").stat().st_mtime_ns == before
    assert check("--fix", "eval.py")[0] == 1
    assert Path("eval.py").read_text(encoding="utf-8") == EVAL
    assert sorted(path.name for path in Path().iterdir()) == ["bare.py", "clean.py", "eval.py"]


def test_unsafe_fixes_are_made_on_request(check: Check) -> None:
    """Never by ``--fix`` alone; and asking for them alone is a mistake that is told."""
    write(tls=UNVERIFIED)
    assert check("--fix", "tls.py")[0] == 1
    assert "verify=False" in Path("tls.py").read_text(encoding="utf-8")
    code, out, err = check("--unsafe-fixes", "tls.py")
    assert (code, out) == (2, "")
    assert "--fix" in err
    assert check("--fix", "--unsafe-fixes", "tls.py")[0] == 0
    assert "verify=False" not in Path("tls.py").read_text(encoding="utf-8")


def test_fix_mends_what_stands_in_other_texts(check: Check) -> None:
    """A block of Markdown and a cell of a notebook, and nothing around them."""
    text = f"# Look\n\n> ```py\n> {BARE.strip().replace(chr(10), chr(10) + '> ')}\n> ```\n"
    Path("a.md").write_text(text, encoding="utf-8")
    assert check("--fix", "a.md")[0] == 0
    assert Path("a.md").read_text(encoding="utf-8") == text.replace("except:", "except Exception:")
    cells = {"cells": [{"cell_type": "code", "source": BARE.splitlines(keepends=True)}], "nbformat": 4}
    Path("a.ipynb").write_text(json.dumps(cells), encoding="utf-8")
    assert check("--fix", "a.ipynb")[0] == 0
    mended = json.loads(Path("a.ipynb").read_text(encoding="utf-8"))
    assert "".join(mended["cells"][0]["source"]) == BARE.replace("except:", "except Exception:")


def test_texts_of_many_kinds_are_found_in_folders(check: Check) -> None:
    """Settings, Markdown and notebooks are searched as well as programs."""
    Path("a").mkdir()
    Path("a/app.yml").write_text("db:\n  password: hunter2!x\n", encoding="utf-8")
    Path("a/.env").write_text("API_KEY=a9Zk3Qw7Lm2Xv8Tn4Rb6\n", encoding="utf-8")
    Path("a/README.md").write_text("```py\neval(x)\n```\n", encoding="utf-8")
    Path("a/data.bin").write_bytes(b"eval(x)")
    code, out, _ = check("--format", "json", "a")
    told = {report["file"]: (report["language"], report["verdict"]) for report in json.loads(out)}
    assert code == 1
    assert told == {
        "a/.env": ("text", "fail"), "a/README.md": ("markdown", "fail"), "a/app.yml": ("text", "fail"),
    }  # fmt: skip


def test_fix_of_standard_input_prints_the_source(check: Check) -> None:
    """To stdout alone, ready to be piped on; the report stands on stderr."""
    code, out, err = check("--fix", "-", stdin=BARE + EVAL)
    assert (code, out) == (1, BARE.replace("except:", "except Exception:") + EVAL)
    assert "FH101" in err


def test_fix_through_a_link_keeps_the_link(check: Check) -> None:
    """The file it leads to is written."""
    write(bare=BARE)
    Path("link.py").symlink_to("bare.py")
    assert check("--fix", "link.py")[0] == 0
    assert Path("link.py").is_symlink()
    assert "except Exception:" in Path("bare.py").read_text(encoding="utf-8")


def test_check_loads_no_web_framework() -> None:
    """A commit hook pays for the analyser alone."""
    script = (
        "import sys; from fumehood.cli import main; code = main(['check', '/dev/null']); "
        "print(code, sorted({'fastapi', 'uvicorn', 'starlette', 'pydantic'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "0 []\n"


@pytest.mark.parametrize("words", [["check"], ["check", "-"], ["check", "a.py", "b"]])
def test_what_is_read_by_hand_is_what_the_parser_gives(words: list[str]) -> None:
    """The quick way to read a plain check knows every option's default."""
    assert vars(parsed(words)) == vars(parser_for(words).parse_args(words))
