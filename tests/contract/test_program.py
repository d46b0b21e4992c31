"""The snippet is a program like any other: what it sees of itself, how it fails, how it ends, what it may use."""

from __future__ import annotations

import re

import pytest
from cases import Case, bash, error, python, signaled
from faces import Runner

from sandbox import InputFile


def trace(*lines: str) -> str:
    """Give a traceback as the interpreter prints it."""
    return "\n".join(("Traceback (most recent call last):", *lines, ""))


IDENTITY = (
    python("file", "print(__file__)", stdout="/run/job/main.py\n"),
    python("name", "print(__name__)", stdout="__main__\n"),
    python(
        "argv",
        "import sys; print(sys.argv)",
        options={"args": ("a", "", "é 😀", "--x")},
        stdout="['/run/job/main.py', 'a', '', 'é 😀', '--x']\n",
    ),
    bash(
        "argv",
        'printf "[%s]" "$0" "$@"; echo $#',
        options={"args": ("a", "", "é 😀", "-n *")},
        stdout="[/run/job/main.sh][a][][é 😀][-n *]4\n",
    ),
    python("path", "import sys; print(sys.path[0], '/run/fumehood' in sys.path)", stdout="/workspace False\n"),
    python(
        "main-is-itself",
        "import sys; print(sys.modules['__main__'].__dict__ is globals(), __builtins__, __spec__, "
        "__doc__, __package__)",
        stdout="True <module 'builtins' (built-in)> None None None\n",
    ),
    python(
        "nothing-of-ours-in-sight",
        "import sys; print([n for n in sys.modules if 'guest' in n or 'sandbox' in n], sorted(n for n "
        "in globals() if n[0] != '_'))",
        stdout="[] ['sys']\n",
    ),
    python("docstring", '"""Words."""\nprint(__doc__)', stdout="Words.\n"),
    python("annotations", "x: int = 1\nprint(__annotations__)", stdout="{'x': <class 'int'>}\n"),
    python(
        "imports-from-the-workspace",
        "import mine; print(mine.__file__)",
        options={"files": (InputFile("mine.py", b"x = 1"),)},
        stdout="/workspace/mine.py\n",
    ),
    python(
        "no-byte-code-is-left",
        "import mine, os; print(sorted(os.listdir()))",
        options={"files": (InputFile("mine.py", b"x = 1"),)},
        stdout="['mine.py']\n",
    ),
    python(
        "source",
        "import inspect\ndef f():\n    return 1  # one\nprint(inspect.getsource(f), end='')",
        stdout="def f():\n    return 1  # one\n",
    ),
    python(
        "pickle",
        "import pickle\nclass A: x = 1\na = pickle.loads(pickle.dumps(A()))\nprint(type(a) is A, a.__module__)",
        stdout="True __main__\n",
    ),
    python("executable", "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1)'])", stdout="1\n"),
    python(
        "cannot-change-itself",
        "open(__file__, 'a')",
        stderr=re.compile("OSError: .*Read-only|PermissionError"),
        **error(),
    ),
)
SOURCES = (
    python("bom", "\ufeffprint('é')", stdout="é\n"),
    python("cookie", "# -*- coding: latin-1 -*-\nprint(ascii('é'))", stdout="'\\xc3\\xa9'\n"),
    python("unknown-cookie", "# coding: nonsense\nprint(1)", stderr=re.compile("SyntaxError: .*nonsense"), **error()),
    python("crlf", "x = '''a\r\nb'''\r\nif x:\r\n    print(repr(x))\r\n", stdout="'a\\nb'\n"),
    python("no-newline-at-the-end", "print(1)", stdout="1\n"),
    python(
        "future",
        "from __future__ import annotations\ndef f(x: nosuch): pass\nprint(f.__annotations__)",
        stdout="{'x': 'nosuch'}\n",
    ),
    python(
        "not-compiled-under-our-future",
        "def f(x: int): pass\nprint(f.__annotations__)",
        stdout="{'x': <class 'int'>}\n",
    ),
    python(
        "deep-nesting", "(" * 500 + ")" * 500, stderr=re.compile("SyntaxError: too many nested parentheses"), **error()
    ),
    bash("crlf", "echo a\r\n", stdout="a\r\n"),
)
FAILURES = (
    python(
        "traceback",
        "def f():\n    return 1 / 0\n\nf()",
        stderr=trace(
            '  File "/run/job/main.py", line 4, in <module>',
            "    f()",
            '  File "/run/job/main.py", line 2, in f',
            "    return 1 / 0",
            "           ~~^~~",
            "ZeroDivisionError: division by zero",
        ),
        **error(),
    ),
    python(
        "syntax",
        "x = (1,\ny = 2",
        stderr="  File \"/run/job/main.py\", line 1\n    x = (1,\n        ^\nSyntaxError: '(' was never closed\n",
        **error(),
    ),
    python(
        "indentation",
        "if 1:\nprint(1)",
        stderr=re.compile('^  File "/run/job/main.py", line 2\n    print\\(1\\)\n    \\^\nIndentationError: '),
        **error(),
    ),
    python(
        "chained",
        "try:\n    1/0\nexcept Exception as e:\n    raise KeyError('x') from e",
        stderr=re.compile("ZeroDivisionError.*direct cause.*KeyError: 'x'\n\\Z", re.DOTALL),
        **error(),
    ),
    python(
        "group",
        "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
        stderr=re.compile(r"ExceptionGroup: g \(2 sub-exceptions\)"),
        **error(),
    ),
    python(
        "recursion",
        "def f(): f()\nf()",
        stderr=re.compile("\\[Previous line repeated .* more times\\]\nRecursionError"),
        **error(),
    ),
    python(
        "own-hook",
        "import sys\nsys.excepthook = lambda t, v, b: print('mine', t.__name__, b.tb_lineno)\n1/0",
        stdout="mine ZeroDivisionError 3\n",
        **error(),
    ),
    python(
        "broken-hook",
        "import sys\nsys.excepthook = lambda *a: 1/0\nraise KeyError",
        stderr=re.compile("Error in sys.excepthook:.*ZeroDivisionError.*Original exception was:.*KeyError", re.DOTALL),
        **error(),
    ),
    python("interrupt", "raise KeyboardInterrupt", stderr=re.compile("KeyboardInterrupt\n\\Z"), **signaled("SIGINT")),
    python(
        "sigint",
        "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(9)",
        stderr=re.compile("KeyboardInterrupt\n\\Z"),
        **signaled("SIGINT"),
    ),
    python(
        "sigint-caught",
        "import os, signal\ntry: os.kill(os.getpid(), signal.SIGINT); input()\n"
        "except KeyboardInterrupt: print('caught')",
        stdout="caught\n",
    ),
    python(
        "warning",
        "import warnings; warnings.warn('w')",
        stderr="/run/job/main.py:1: UserWarning: w\n  import warnings; warnings.warn('w')\n",
    ),
    bash(
        "syntax", "if true; then", stderr="/run/job/main.sh: line 2: syntax error: unexpected end of file\n", **error(2)
    ),
    bash("set-e", "set -e; false; echo no", **error()),
    bash("trap", "trap 'echo bye; exit 4' EXIT; false", stdout="bye\n", **error(4)),
)
EXITS = (
    python("fork-end", "import os\npid = os.fork()\nif pid: print(os.waitpid(pid, 0)[1])", stdout="0\n"),
    python("fork-exit", "import os, sys\nif os.fork() == 0: sys.exit(3)\nprint(os.wait()[1] >> 8)", stdout="3\n"),
    python(
        "fork-raise",
        "import os, sys\nif os.fork() == 0:\n    sys.stderr = None\n    1 / 0\nprint(os.wait()[1] >> 8)",
        stdout="1\n",
    ),
    python("own-exit", "import os\nos._exit = os.kill = os.getpid = lambda *_: None\nprint(1)", stdout="1\n"),
    python(
        "stopped",
        "import os, signal\nif os.fork():\n    os.kill(os.getpid(), signal.SIGSTOP)\n    print('on')\n"
        "else:\n    import time; time.sleep(0.2); os.kill(os.getppid(), signal.SIGCONT)",
        stdout="on\n",
    ),
    python("none", "import sys; sys.exit()"),
    python("text", "import sys; sys.exit('why')", stderr="why\n", **error()),
    python("256", "import sys; sys.exit(256)"),
    python("257", "import sys; sys.exit(257)", **error(1)),
    python("minus-one", "import sys; sys.exit(-1)", **error(255)),
    python("huge", "import sys; sys.exit(2**70)", **error(255)),
    python("object", "import sys; sys.exit([1])", stderr="[1]\n", **error()),
    python("quit", "quit(3)", **error(3)),
    python("raised-in-a-function", "def f(): raise SystemExit(4)\nf()", **error(4)),
    python(
        "atexit", "import atexit\nfor n in 'abc': atexit.register(print, n)\nprint('main')", stdout="main\nc\nb\na\n"
    ),
    python(
        "atexit-after-failure",
        "import atexit\natexit.register(print, 'bye')\n1/0",
        stdout="bye\n",
        stderr=re.compile("ZeroDivisionError"),
        **error(),
    ),
    python(
        "atexit-that-fails",
        "import atexit\natexit.register(print, 'bye')\n@atexit.register\ndef f(): 1/0",
        stdout="bye\n",
        stderr=re.compile("ZeroDivisionError"),
    ),
    python(
        "finalizer",
        "class A:\n    def __del__(self): print('gone', self is not None, print is not None)\na = A(); print('end')",
        stdout="end\ngone True True\n",
    ),
    python("finalizer-of-a-cycle", "class A:\n    def __del__(self): print('gone')\na = A(); a.a = a", stdout="gone\n"),
    *(
        python(
            f"finalizer-in-a-module-{name}",
            "import sys, types\nclass A:\n    def __del__(self): print('gone')\n"
            f"m = types.ModuleType('mine'); m.a = A(); sys.modules['mine'] = m; del m\n{then}",
            stdout="gone\n",
        )
        for name, then in (
            ("of-its-own", ""),
            ("before-main", "sys.modules['__main__'] = sys.modules.pop('__main__')"),
            ("without-main", "del sys.modules['__main__']"),
            ("in-the-place-of-another", "del sys.modules['io']"),
        )
    ),
    python(
        "modules-in-another-mapping",
        "import collections, sys\nsys.modules = collections.UserDict(sys.modules)\nprint('end')",
        stdout="end\n",
    ),
    python(
        "finalizer-that-fails",
        "class A:\n    def __del__(self): 1/0\na = A()",
        stderr=re.compile("Exception ignored in.*ZeroDivisionError", re.DOTALL),
    ),
    python(
        "weakref-finalize",
        "import weakref\nclass A: pass\na = A(); weakref.finalize(a, print, 'gone')",
        stdout="gone\n",
    ),
    python(
        "threads-are-joined",
        "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start(); print('main')",
        stdout="main\nthread\n",
    ),
    python(
        "threads-are-joined-after-failure",
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start(); 1/0",
        stdout="thread\n",
        stderr=re.compile("ZeroDivisionError"),
        **error(),
    ),
    python(
        "daemon-threads-are-not",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    ),
    python(
        "executor",
        "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor().submit(print, 'done')",
        stdout="done\n",
    ),
    python(
        "thread-that-fails",
        "import threading; threading.Thread(target=lambda: 1/0).start()",
        stderr=re.compile("Exception in thread Thread-1"),
    ),
    python(
        "buffered-file-is-flushed",
        "import os\nf = open('x', 'w'); f.write('kept')\nimport atexit\natexit.register(lambda: None)",
        options={"collect": ("x",)},
    ),
    python(
        "own-stdout-is-flushed",
        "import io, sys\nsys.stdout = open('/dev/stdout', 'w'); sys.stdout.write('kept')",
        stdout="kept",
    ),
    python(
        "lost-output",
        "import os, sys\nsys.stdout = open(1, 'w', closefd=False); sys.stdout.write('x'); os.close(1)",
        **error(120),
        stderr=None,
    ),
)


@pytest.mark.parametrize("case", [*IDENTITY, *SOURCES, *FAILURES, *EXITS], ids=str)
def test_a_snippet_is_a_program_like_any_other(runner: Runner, case: Case) -> None:
    """As if a person had saved it and started the interpreter on it."""
    case.check(runner.run(case.job))
