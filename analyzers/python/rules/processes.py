"""Rules about starting programs: through a shell, by a name that PATH resolves, on another machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.patterns import lazy
from analyzers.python.fixed import is_fixed
from analyzers.python.interests import calls, keywords, methods
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.values import argument, fold, is_false, is_true, keyword
from analyzers.rule import Hit, Rule

_SUBPROCESS = "subprocess.Popen subprocess.call subprocess.check_call subprocess.check_output subprocess.run"
_SHELLS = """
    os.system os.popen os.popen2 os.popen3 os.popen4 popen2.popen2 popen2.popen3 popen2.popen4 popen2.Popen3
    popen2.Popen4 commands.getoutput commands.getstatusoutput subprocess.getoutput subprocess.getstatusoutput
    asyncio.create_subprocess_shell asyncio.subprocess.create_subprocess_shell posix.system nt.system posix.popen
    get_ipython().system get_ipython().getoutput IPython.get_ipython().system
"""
_NO_SHELL = """
    os.execl os.execle os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe os.spawnl os.spawnle os.spawnlp
    os.spawnlpe os.spawnv os.spawnve os.spawnvp os.spawnvpe os.posix_spawn os.posix_spawnp os.startfile pty.spawn
    asyncio.create_subprocess_exec
"""
_KNOWN = frozenset(f"{_SUBPROCESS} {_SHELLS} {_NO_SHELL}".split())
_FULL_PATH = lazy(r"[A-Za-z]:|[\\/.]")
_GLOBBED = lazy(r"(?:^|[\s;&|/])(?:chown|chmod|tar|rsync)\s[^;&|]*\*")
_SHELL_NAMES = lazy(r"(?:.*/)?(?:ba|da|z|k|fi|a)?sh|(?:.*[\\/])?(?:cmd|powershell|pwsh)(?:\.exe)?", re.IGNORECASE)
_COMMAND_FLAGS = frozenset({"-c", "-lc", "-ic", "-xc", "-ec", "/c", "/C", "/k", "-Command", "-EncodedCommand"})
_MIN_SHELL_WORDS = 3


def shell_true(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A program is started through a shell, which reads the command as a program of its own.

    A space, quote, ``;`` or ``$()`` in any value that goes into the text starts what somebody else wants. Give a list
    of arguments and leave ``shell`` out: ``subprocess.run(["ls", "-l", path])``; where a shell is needed, quote every
    value with ``shlex.quote``.

    A command that stands in the source as a whole is reported with low severity. ``["sh", "-c", text]`` is a shell too.
    """
    command = argument(call, 0, "args")
    shell = keyword(call, "shell")
    if shell is None or is_false(shell, at):
        yield from _shell_by_hand(call, command, at)
        return
    also = ["B602"]
    confidence = None
    if not is_true(shell, at):
        also.append("B603")
        confidence = Confidence.LOW
    for hit in _shell(call, command, at, also, "shell=True", confidence):
        yield hit if confidence is None or hit.severity else hit._replace(severity=Severity.MEDIUM)


def _shell_by_hand(call: ast.Call, command: ast.expr | None, at: Scope) -> Iterator[Hit]:
    if not isinstance(command, (ast.List, ast.Tuple)) or len(command.elts) < _MIN_SHELL_WORDS:
        return
    program, flag, text = command.elts[:3]
    name = fold(program, at)
    if isinstance(name, str) and _SHELL_NAMES.fullmatch(name) and fold(flag, at) in _COMMAND_FLAGS:
        yield from _shell(call, text, at, ["B603"], f"{name} {fold(flag, at)}", None)


def shell_started(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A function that always starts a shell: ``os.system``, ``os.popen``, ``subprocess.getoutput`` and their like.

    The shell reads the whole text, so that a space, quote, ``;`` or ``$()`` in any value that goes into it starts what
    somebody else wants. Use ``subprocess.run`` with a list of arguments.

    A command that stands in the source as a whole is reported with low severity.
    """
    name = next((one for one in origins(call.func, at) if one in _KNOWN), "a shell")
    yield from _shell(call, argument(call, 0, "cmd") or argument(call, 0, "command"), at, ["B605"], name, None)


def _shell(
    call: ast.Call, command: ast.expr | None, at: Scope, also: list[str], how: str, confidence: Confidence | None
) -> Iterator[Hit]:
    severity: Severity | None = None
    text: object = None
    if is_fixed(command, at):
        severity, what, text = Severity.LOW, "a fixed command", fold(command, at)
    else:
        what = "a command that is put together while the program runs"
    if _is_partial(command, at):
        also.append("B607")
    words = text if isinstance(text, str) else _first_texts(command)
    if _GLOBBED.search(words):
        also.append("B609")
        what += "; its * may become an option"
        severity = Severity.MEDIUM if severity is Severity.LOW else severity
    message = f"{how} gives a shell {what}"
    yield at.hit(call, message, severity=severity, confidence=confidence, also=tuple(also))


def _first_texts(command: ast.expr | None) -> str:
    if isinstance(command, (ast.List, ast.Tuple)):
        return " ".join(str(item.value) if isinstance(item, ast.Constant) else "x" for item in command.elts[:20])
    if isinstance(command, ast.BinOp):
        while isinstance(command, ast.BinOp):
            command = command.left
    if isinstance(command, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in command.values)
    return str(command.value) if isinstance(command, ast.Constant) else ""


def process_started(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A program is started without a shell: nothing to repair, but worth knowing when code is reviewed.

    Without a shell each argument stays one argument. What remains is which program runs: one that is named without a
    folder is looked for along ``PATH``, which whoever starts this program decides.
    """
    names = origins(call.func, at)
    command = argument(call, 0, "args")
    if any(name.startswith("subprocess.") for name in names):
        shell = keyword(call, "shell")
        if not (shell is None or is_false(shell, at)):
            return
        also = ["B603"]
    else:
        also = ["B606"]
        if not _is_text(command) and len(call.args) > 1:
            command = call.args[1]
    what = "a program"
    if _is_partial(command, at):
        also.append("B607")
        what = "a program that PATH decides about"
    yield at.hit(call, f"starts {what}, without a shell", also=tuple(also))


def _is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_partial(command: ast.expr | None, at: Scope) -> bool:
    if isinstance(command, (ast.List, ast.Tuple)):
        command = command.elts[0] if command.elts else None
    text = fold(command, at) if isinstance(command, (ast.Constant, ast.Name)) else None
    if isinstance(text, tuple):
        text = text[0] if text else None
    return isinstance(text, str) and bool(text) and not _FULL_PATH.match(text)


def shell_keyword(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A function of unknown origin is told ``shell=True``, and most likely starts a shell with what it is given.

    See what it does with its text. If it hands it to a shell, give it arguments as a list instead.
    """
    if _KNOWN.isdisjoint(origins(call.func, at)) and is_true(keyword(call, "shell"), at):
        severity = Severity.LOW if all(is_fixed(one, at) for one in call.args) else None
        yield at.hit(call, "shell=True for a function that probably starts a shell", severity=severity)


def remote_command(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A command goes to a shell on another machine.

    The far shell reads the text like any shell: quote every value with ``shlex.quote``.
    """
    known = any("SSHClient()" in name or "paramiko" in name or "fabric" in name for name in origins(call.func, at))
    if not known and not at.tree.imports("paramiko"):
        return
    fixed = is_fixed(argument(call, 0, "command"), at)
    severity = Severity.LOW if fixed else None
    yield at.hit(call, "a shell on another machine reads this command", severity=severity)


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH110",
        name="shell-true",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=78,
        check=shell_true,
        on=(calls(_SUBPROCESS),),
        also=("B602",),
        hits=(
            "import subprocess\nsubprocess.run(cmd, shell=True)\n",
            "import subprocess\nsubprocess.run(f'ls {name}', shell=1)\n",
            "from subprocess import Popen as p\np('ls', shell=True)\n",
            "import subprocess\nsubprocess.call(x, shell=flag)\n",
            "subprocess.check_output('ls ' + path, shell=True)\n",
            "import subprocess\nsubprocess.run(['bash', '-c', text])\n",
        ),
        misses=(
            "import subprocess\nsubprocess.run(['ls', path])\n",
            "import subprocess\nsubprocess.run(['ls', path], shell=False)\n",
            "import subprocess\nsubprocess.run(['ls', path], shell=None)\n",
            "def run(x, shell): pass\nrun(x, shell=True)\n",
            "import subprocess\nsubprocess.run(['bash', 'script.sh', text])\n",
        ),
    ),
    Rule(
        id="FH111",
        name="shell-started",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=78,
        check=shell_started,
        on=(calls(_SHELLS),),
        also=("B605",),
        hits=(
            "import os\nos.system('rm ' + path)\n",
            "import os\nos.system('clear')\n",
            "from os import popen\npopen(x)\n",
            "import subprocess\nsubprocess.getoutput(f'ls {x}')\n",
            "import os as o\no.system(x)\n",
            "__import__('os').system(x)\n",
            "import asyncio\nasync def f(x):\n    await asyncio.create_subprocess_shell(x)\n",
        ),
        misses=(
            "import platform\nplatform.system()\n",
            "system('x')\n",
            "import os\nos.getcwd()\n",
            "class A:\n    def system(self, x): pass\nA().system(y)\n",
        ),
    ),
    Rule(
        id="FH112",
        name="process-started",
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        cwe=78,
        check=process_started,
        on=(calls(_SUBPROCESS), calls(_NO_SHELL)),
        also=("B603", "B606", "B607"),
        hits=(
            "import subprocess\nsubprocess.run(['ls', path])\n",
            "import os\nos.execv('/bin/ls', args)\n",
            "import os\nos.spawnlp(os.P_WAIT, 'ls', 'ls')\n",
        ),
        misses=(
            "import subprocess\nsubprocess.run(x, shell=True)\n",
            "import os\nos.listdir(x)\n",
            "def run(x): pass\nrun(['ls'])\n",
        ),
    ),
    Rule(
        id="FH113",
        name="shell-keyword",
        severity=Severity.MEDIUM,
        confidence=Confidence.LOW,
        cwe=78,
        check=shell_keyword,
        on=(keywords("shell"),),
        also=("B604",),
        hits=("connection.run(command, shell=True)\n", "import invoke\ninvoke.execute(c, shell=1)\n"),
        misses=(
            "connection.run(command, shell=False)\n",
            "import subprocess\nsubprocess.run(x, shell=True)\n",
            "connection.run(command, shell='')\n",
        ),
    ),
    Rule(
        id="FH114",
        name="remote-command",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=78,
        check=remote_command,
        on=(methods("exec_command"),),
        also=("B601",),
        hits=(
            "import paramiko\nc = paramiko.SSHClient()\nc.exec_command(f'ls {x}')\n",
            "import paramiko\ndef f(client, x):\n    client.exec_command(x)\n",
        ),
        misses=("docker.exec_command(x)\n", "import paramiko\nc = paramiko.SSHClient()\nc.connect(h)\n"),
    ),
)
