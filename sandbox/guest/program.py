"""Become the guest's program: a true ``__main__`` in this interpreter, or another program by exec.

``run_python`` returns only by raising or exiting as the interpreter itself would for ``python main.py``: exit codes,
tracebacks without a frame of ours, the shutdown of threads, ``atexit`` and a SIGINT death are all its own.
"""

from __future__ import annotations

import _signal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Any, NoReturn

_FRAMES_OF_OURS = 1  # the one exec() call below


def run_exec(command: list[str], path: str, args: list[str], env: dict[str, str]) -> NoReturn:
    """Replace this process. Raises OSError when that fails."""
    for number in (
        _signal.SIGPIPE,
        _signal.SIGXFSZ,
        _signal.SIGINT,
    ):  # the interpreter changed these; exec would pass it on
        _signal.signal(number, _signal.SIG_DFL)
    argv = [*command, path, *args]
    os.execve(argv[0], argv, env)


def run_python(path: str, args: list[str], env: dict[str, str], hidden: tuple[str, ...]) -> None:
    """Run the file at ``path`` as ``__main__``; module names in ``hidden`` are ours and vanish first."""
    main = _prepare(path, args, env, hidden)
    try:
        with open(path, "rb") as file:
            source = file.read()
        code: CodeType = compile(source, path, "exec", dont_inherit=True)
    except BaseException as error:  # noqa: BLE001 - whatever compile raises is the guest's SyntaxError to see
        _report(error, None)
        sys.exit(1)
    del source
    try:
        exec(code, main)  # noqa: S102 - running the guest's code is the point of this file
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - the last handler, as the interpreter's own is
        trace = error.__traceback__
        for _ in range(_FRAMES_OF_OURS):
            trace = trace.tb_next if trace else None
        interrupted = isinstance(error, KeyboardInterrupt)
        _report(error, trace)
    else:
        return
    if interrupted:
        _die_of_sigint()
    sys.exit(1)


def _prepare(path: str, args: list[str], env: dict[str, str], hidden: tuple[str, ...]) -> dict[str, Any]:
    os.environ.clear()
    os.environ.update(env)
    if "TZ" in env:
        import time

        time.tzset()
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    sys.argv = [path, *args]
    sys.orig_argv = [sys.executable, path, *args]
    for name in hidden:
        sys.modules.pop(name, None)
    main = sys.modules["__main__"].__dict__  # the empty module of ``python -c``
    for name in [name for name in main if not name.startswith("__")]:
        del main[name]
    from importlib.machinery import SourceFileLoader

    main.update(
        __file__=path, __cached__=None, __doc__=None, __loader__=SourceFileLoader("__main__", path), __package__=None
    )
    return main


def _report(error: BaseException, trace: TracebackType | None) -> None:
    """What PyErr_PrintEx does for an exception that nobody caught."""
    error.__traceback__ = trace
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    try:
        sys.excepthook(type(error), error, trace)
    except SystemExit:
        raise
    except BaseException as second:  # noqa: BLE001 - a guest's own hook may fail in any way
        sys.__excepthook__(type(second), second, second.__traceback__)
        sys.__excepthook__(type(error), error, trace)


def _die_of_sigint() -> None:
    """End as an interpreter that nobody's handler saved from Ctrl-C: by the signal, after the usual shutdown."""
    import atexit
    import threading

    threading._shutdown()  # noqa: SLF001 - there is no public name for what the interpreter does at its end
    atexit._run_exitfuncs()  # noqa: SLF001
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    os.kill(os.getpid(), _signal.SIGINT)
