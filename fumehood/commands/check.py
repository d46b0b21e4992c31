"""``fumehood check``: analyse files without running them. 0 clean, 1 findings at or above ``--fail-on``, 2 otherwise.

2 says that the answer is not known: a file that cannot be read, a language that no analyser reads, or a source that
could only be analysed in part and showed nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

from analyzers import Choice, Report, Severity, UnknownLanguageError, Verdict, analyze, languages
from analyzers.languages import AUTO
from fumehood.commands import source
from fumehood.commands.project import ConfigurationError, Project, modules_beside, project_of
from fumehood.terminal import wants_color

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

CLEAN, FOUND, UNKNOWN = 0, 1, 2
_SECONDS = 60.0
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages"})


def main(args: Namespace) -> int:
    """Print one report for each source and give the exit code."""
    if args.unsafe_fixes and not args.fix:
        print("fumehood: --unsafe-fixes belongs to --fix", file=sys.stderr)
        return UNKNOWN
    unread = 0
    reports = []
    try:
        names = list(_sources(args.paths, args))
    except ConfigurationError as error:
        print(f"fumehood: {error}", file=sys.stderr)
        return UNKNOWN
    for name in names:
        try:
            reports.append(_check(name, args))
        except ConfigurationError as error:
            print(f"fumehood: {error}", file=sys.stderr)
            return UNKNOWN
        except (OSError, UnknownLanguageError, UnwritableError) as error:
            unread += 1
            reason = error.strerror if isinstance(error, OSError) else error
            print(f"fumehood: {name}: {reason}", file=sys.stderr)
    # With --fix, what comes out for standard input is the fixed source; the report must not be mixed into it.
    stream = sys.stderr if args.fix and source.STDIN in args.paths else sys.stdout
    alone = len(args.paths) == 1 and not os.path.isdir(args.paths[0])
    stream.write(_render(reports, args, alone=alone, color=wants_color(stream, args.color)))
    if any(report.verdict is Verdict.FAIL for report in reports):
        return UNKNOWN if unread else FOUND
    incomplete = any(report.verdict is Verdict.INCOMPLETE for report in reports)
    return UNKNOWN if unread or incomplete else CLEAN


class UnwritableError(Exception):
    """The source cannot be written back as it was read."""


def _sources(paths: Iterable[str], args: Namespace) -> Iterator[str]:
    """Every file named, and in folders every file whose suffix is that of a language there is an analyser for."""
    seen = set()
    for path in paths:
        for name in _below(path, args) if path != source.STDIN and os.path.isdir(path) else (path,):
            if name not in seen:
                seen.add(name)
                yield name


def _below(folder: str, args: Namespace) -> Iterator[str]:
    known = languages()
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS)
        for name in sorted(files):
            path = os.path.join(place, name)
            read = source.readable(name) in known and os.path.isfile(path)
            if read and not _project(args, path).excludes(path):
                yield os.path.normpath(path)


def _project(args: Namespace, path: str) -> Project:
    return Project() if args.no_project else project_of(path)


def _choice(args: Namespace, project: Project, path: str | None) -> Choice:
    """What the project decided; what was typed wins."""
    decided = project.choice(path)
    select = tuple(selector for selectors in args.select or () for selector in selectors)
    ignore = tuple(selector for selectors in args.ignore or () for selector in selectors)
    return decided._replace(select=select or decided.select, ignore=(*decided.ignore, *ignore))


def _check(name: str, args: Namespace) -> Report:
    content = source.read_bytes(name)
    language = args.language or (name != source.STDIN and source.readable(name)) or AUTO

    path = None if name == source.STDIN else name
    project = _project(args, path or os.curdir)
    choice = _choice(args, project, path)

    report = analyze(
        content,
        language,
        threshold=Severity(args.fail_on or project.fail_on or Severity.LOW),
        filename=None if path is None else name,
        fixes=args.format == "sarif",
        engines=(*project.engines, *args.engine),
        seconds=_SECONDS,
        quotes=args.format == "text",
        choice=choice,
        modules=modules_beside(path or "-"),
        apply_fixes=args.fix,
        unsafe_fixes=args.unsafe_fixes,
    )
    return _write_fixed(name, content, report) if args.fix else report


def _write_fixed(name: str, content: bytes, report: Report) -> Report:
    """Write the fixed source where it belongs; give what is left to say about it."""
    fixed = report.fixed
    if fixed is None:
        raise UnwritableError("not fixed: only UTF-8 sources are written back")
    code = fixed.code.encode() if fixed.applied else content
    if name == source.STDIN:
        sys.stdout.buffer.write(code)
        sys.stdout.buffer.flush()
    elif code != content:
        _replace(name, code)
    return fixed.report


def _replace(name: str, content: bytes) -> None:
    """Put the new content in the file's place at once, so that no crash leaves half of it."""
    import shutil
    import tempfile
    from pathlib import Path

    path = Path(name).resolve()
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as new:
        try:
            new.write(content)
            new.flush()
            shutil.copymode(path, new.name)
            Path(new.name).replace(path)
        except BaseException:
            Path(new.name).unlink(missing_ok=True)
            raise


def _render(reports: list[Report], args: Namespace, *, alone: bool, color: bool) -> str:
    from analyzers import render

    one_or_many = reports[0] if alone and reports else reports
    match args.format:
        case "json":
            return render.to_json(one_or_many, indent=2) + "\n"
        case "compact":
            from analyzers.compact import to_compact

            return to_compact(one_or_many, max_findings=args.max_findings, max_bytes=args.max_bytes) + "\n"
        case "lines":
            from analyzers.compact import to_lines

            return to_lines(one_or_many, max_findings=args.max_findings, max_bytes=args.max_bytes)
        case "sarif":
            from analyzers.sarif import to_sarif
            from fumehood import __version__

            return to_sarif(one_or_many, version=__version__, indent=2) + "\n"
        case "junit":
            from analyzers.junit import to_junit

            return to_junit(one_or_many)
        case "github":
            return render.to_github(one_or_many)
        case _:
            return render.to_text(one_or_many, color=color)
