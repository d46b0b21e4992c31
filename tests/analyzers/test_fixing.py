"""Fixing a source as far as it goes, and leaving LibCST alone where nobody wants that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from analyzers import Applied, analyze
from analyzers.isolate import Pool

CODE = "import yaml\n\n\ndef load(text):\n    try:\n        return yaml.load(text)\n    except:\n        return 1\n"


def test_what_is_fixed_is_told_and_gone() -> None:
    """The text, each fix with the line it was made in, and a report on what is left, which is that of the new text."""
    report = analyze(CODE, apply_fixes=True, unsafe_fixes=True)
    assert report.fixed is not None
    assert "safe_load(text)" in report.fixed.code
    assert "except Exception:" in report.fixed.code
    assert sorted(one.line for one in report.fixed.applied) == [6, 7]
    assert all(isinstance(one, Applied) and one.message for one in report.fixed.applied)
    assert report.fixed.report == analyze(report.fixed.code, fixes=True)
    assert report._replace(fixed=None) == analyze(CODE, fixes=True)


def test_nothing_to_fix_is_the_text_as_it_was() -> None:
    """Line ends, marks and all; broken code too."""
    for code in ("\ufeffx = 1\r\ny = 2\r", "", "x = (", "'\ud800'"):
        report = analyze(code, apply_fixes=True)
        assert report.fixed is not None
        assert (report.fixed.code, report.fixed.applied) == (code, ())


def test_bytes_are_fixed_where_they_are_utf_8() -> None:
    """Others could not be written back as they were read."""
    fixed = analyze(CODE.encode(), apply_fixes=True).fixed
    assert fixed is not None
    assert "except Exception:" in fixed.code
    assert analyze(b"# coding: latin-1\ntry:\n    x = '\xe9'\nexcept:\n    raise\n", apply_fixes=True).fixed is None


def test_a_worker_fixes_as_the_library_does() -> None:
    """The fixed text comes through the pipe whole."""
    with Pool(1, seconds=20) as pool:
        ours = analyze(CODE, apply_fixes=True, unsafe_fixes=True)
        assert pool.analyze(CODE, apply_fixes=True, unsafe_fixes=True) == ours


def test_libcst_is_loaded_for_fixes_alone() -> None:
    """Neither by an analysis nor by a worker that is warm; the control is the fix that needs it."""
    asking = "import sys; from analyzers import analyze; analyze({!r}, {}); print('libcst' in sys.modules)"
    for options, loaded in (("", "False"), ("fixes=True", "True"), ("apply_fixes=True", "True")):
        words = [sys.executable, "-c", asking.format(CODE, options)]
        done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
        assert done.stdout.strip() == loaded
    with Pool(1, seconds=20) as pool:
        pool.analyze(CODE)
        maps = Path(f"/proc/{pool._idle[-1]._process.pid}/maps")  # type: ignore[attr-defined]
        assert "libcst" not in maps.read_text()
        pool.analyze(CODE, fixes=True)
        assert "libcst" in maps.read_text()
