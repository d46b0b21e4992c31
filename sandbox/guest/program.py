"""Become the guest's program: a true ``__main__`` in this interpreter, or another program by exec.

``run_python`` ends the process as ``python main.py`` would end: exit codes, tracebacks without a frame of ours, joined
threads, ``atexit``, finalizers of what the program still held, a SIGINT death. It does what Py_FinalizeEx does as far
as a program can see, and leaves out what only frees memory: tearing the whole interpreter down touches every page that
the fork shared, which costs more than a small program's own work.
"""

from __future__ import annotations

import _signal
import atexit
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import mmap
    from types import CodeType, ModuleType, TracebackType
    from typing import Any, NoReturn

_exit, _getpid, _kill = os._exit, os.getpid, os.kill  # a program may put its own in their place
_FileLoader: Any = sys.modules["_frozen_importlib_external"].SourceFileLoader  # importlib.machinery costs an import
_FRAMES_OF_OURS = 1  # the one exec() call below
_EXIT_UNCAUGHT = 1
_ANNOUNCED = 0xE0
_LONG = 1 << 63
_EXIT_UNREPRESENTABLE = 255  # what a code that no C long holds becomes
_EXIT_LOST_OUTPUT = 120  # what the interpreter answers when it could not flush (sys.exit in the Python library manual)


def take_signals() -> None:
    """Let signals do what they do in a Python program that has just begun."""
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_IGN)
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def adopt_environment(env: dict[str, str]) -> None:
    """Let the environment be ``env``, touching only what differs."""
    for name in [name for name in os.environ if name not in env]:
        del os.environ[name]
    for name, value in env.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
            if name == "TZ":
                import time

                time.tzset()


def run_exec(command: list[str], path: str, args: list[str], env: dict[str, str]) -> NoReturn:
    """Replace this process. Raises OSError when that fails."""
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGINT):  # the interpreter changed these
        _signal.signal(number, _signal.SIG_DFL)
    argv = [*command, path, *args]
    os.execve(argv[0], argv, env)  # noqa: S606 - no shell unless the guest asked for one


def announced(last_word: mmap.mmap) -> int | None:
    """Give the wait status that a stopped process has announced for itself, None where it only stopped."""
    flag, code = last_word[0], last_word[1]
    return code << 8 if flag == _ANNOUNCED else None


def run_python(path: str, args: list[str], last_word: mmap.mmap) -> NoReturn:
    """Run the file at ``path`` as ``__main__``, after :func:`take_signals` and :func:`adopt_environment`.

    At its end it leaves the exit code in ``last_word`` and stops: whoever waits learns it before the kernel has taken
    the memory down, which with a data stack takes longer than the run. A guest that writes there itself gains what
    ``os._exit`` gives it.
    """
    sys.argv = [path, *args]
    sys.orig_argv = [sys.executable, path, *args]
    gc.freeze()  # what is here now is not the guest's: its collections need not walk it
    gc.enable()
    own = _getpid()
    _put_main_last()
    main = sys.modules["__main__"] = _main(path)  # only now: frozen, its globals would never be let go
    there = len(sys.modules)
    ending = _run(path, main.__dict__)
    del main
    _finish(there)
    if ending is _SIGINT:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        _kill(_getpid(), _signal.SIGINT)
    code = ending if _flush() else _EXIT_LOST_OUTPUT
    if _getpid() == own:  # and not a child that the program forked, whose parent waits for it
        last_word[0:2] = bytes((_ANNOUNCED, code))
        _kill(own, _signal.SIGSTOP)
    _exit(code)


_modules: set[str] = set()
"""The names of those that are there before any program."""


def note_modules() -> None:
    """Note what is imported by now. Once, before anything is forked: to see a name is to write to it."""
    _modules.update(sys.modules)
    _put_main_last()


def _put_main_last() -> None:
    if next(reversed(sys.modules)) != "__main__":
        sys.modules["__main__"] = sys.modules.pop("__main__")


_SIGINT = -1  # no exit code: ended by an interrupt that nobody caught


def _main(path: str) -> ModuleType:
    main: ModuleType = type(sys)("__main__")
    main.__dict__.update(
        __annotations__={},
        __builtins__=sys.modules["builtins"],
        __cached__=None,
        __file__=path,
        __loader__=_FileLoader("__main__", path),
    )
    return main


def rehearse(last_word: mmap.mmap) -> None:
    """Begin and end an empty program, and leave no trace: what that writes to is this process's own from then on."""
    sys.argv, sys.orig_argv = sys.argv, sys.orig_argv
    gc.freeze()
    _run(os.devnull, _main(os.devnull).__dict__)
    _flush()
    _brought_in(len(sys.modules))
    gc.collect()
    last_word[0:2] = bytes(2)


def _run(path: str, namespace: dict[str, Any]) -> int:
    """Give the exit code that the program's end means."""
    try:
        with open(path, "rb") as file:
            source = file.read()
        code: CodeType = compile(source, path, "exec", dont_inherit=True)
    except BaseException as error:  # noqa: BLE001 - whatever compile raises is the guest's SyntaxError to see
        return _uncaught(error, None)
    del source
    try:
        exec(code, namespace)  # noqa: S102 - running the guest's code is the point of this file
    except BaseException as error:  # noqa: BLE001 - the last handler, as the interpreter's own is
        trace = error.__traceback__
        for _ in range(_FRAMES_OF_OURS):
            trace = trace.tb_next if trace else None
        return _uncaught(error, trace)
    return 0


def _uncaught(error: BaseException, trace: TracebackType | None) -> int:
    """What PyErr_PrintEx does with an exception that nobody caught."""
    if isinstance(error, SystemExit):
        return _exit_code(error.code)
    error.__traceback__ = trace
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    try:
        sys.excepthook(type(error), error, trace)
    except SystemExit as second:
        return _exit_code(second.code)
    except BaseException as second:  # noqa: BLE001 - a guest's own hook may fail in any way
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(second), second, second.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, trace)
    return _SIGINT if isinstance(error, KeyboardInterrupt) else _EXIT_UNCAUGHT


def _exit_code(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -_LONG <= code < _LONG else _EXIT_UNREPRESENTABLE
    print(code, file=sys.stderr)
    return _EXIT_UNCAUGHT


def _finish(there: int) -> None:
    """Wait for threads, run ``atexit``, flush, then let go of every module that the program brought in.

    ``there`` is how many modules there were when it began, ``__main__`` the last of them.
    """
    threading = sys.modules.get("threading")
    if threading is not None:
        _quietly(threading._shutdown)  # noqa: SLF001 - what the interpreter itself calls
    atexit._run_exitfuncs()  # noqa: SLF001 - likewise; it reports what a callback raises and goes on
    _flush()
    for name in _brought_in(there):
        sys.modules.pop(name, None)
    sys.last_type = sys.last_value = sys.last_traceback = None
    gc.collect()


def _brought_in(there: int) -> list[str]:
    """Give the names of the program's modules, its own included.

    A dict keeps its order, so they stand behind all that were there. Those are not looked at, where the program left
    them alone: each look would copy a page, and a data stack has modules by the thousand.
    """
    if type(sys.modules) is dict:  # and not what a program has put in its place
        names = []
        for name in reversed(sys.modules):
            names.append(name)
            if name == "__main__":
                break
        if len(sys.modules) - len(names) + 1 == there:
            return names
    return [name for name in sys.modules if name not in _modules or name == "__main__"]


def _quietly(work: Any) -> None:
    """Do it; an exception is printed and goes no further, as at any interpreter's end."""
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - nothing is left to catch it
        sys.__excepthook__(type(error), error, error.__traceback__)


def _flush() -> bool:
    flushed = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException:  # noqa: BLE001 - a guest may have put anything there
            flushed = stream is not sys.stdout and flushed
    return flushed
