"""Rules about what others on the machine may do with files, and about names that they can foresee."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule
from analyzers.shell.command import Command
from analyzers.shell.script import Script

_OPEN_MODE = re.compile(r"^0?[0-7]?[0-7]{2}[2367]$")
_GROUP_MODE = re.compile(r"^0?[0-7]?[0-7][2367][0-7]$")
_SETUID_MODE = re.compile(r"^0?[4-7][0-7]{3}$")
_OPEN_SYMBOLS = re.compile(r"^(?:[ug]*[oa][ugoa]*|)[+=][rx]*w[rwx]*(?:,.*)?$")
_SETUID_SYMBOLS = re.compile(r"^(?:[oa]*u[goa]*|a?)[+=][rwx]*s")


def open_permissions(script: Script) -> Iterator[Hit]:
    """Everybody on the machine may write a file or folder, or it runs with its owner's rights whoever starts it.

    What everybody may write anybody can replace: scripts that root runs, keys, logs. Give a group the right, or a mode
    such as 750 and 640. Set-user-ID programs need a reason.
    """
    for command in script.run("chmod"):
        modes = [word.literal for word in command.effective()[1:] if word.literal is not None]
        mode = next((text for text in modes if not re.fullmatch(r"-[a-zA-Z]+|--\w+", text)), "")
        yield from _mode(script, command, mode)
    for command in script.run("mkdir", "install", "mkfifo", "setfacl"):
        words = [word.literal or "" for word in command.effective()]
        at = next((index for index, text in enumerate(words) if text in {"-m", "--mode"} or text == "-m"), -1)
        joined = next((text.partition("=")[2] for text in words if text.startswith("--mode=")), "")
        joined = joined or next((text[2:] for text in words if re.fullmatch(r"-m0?[0-7]{3,4}", text)), "")
        yield from _mode(script, command, words[at + 1] if 0 <= at < len(words) - 1 else joined)
    for command in script.run("umask"):
        text = command.effective()[1].literal if len(command.effective()) > 1 else None
        if text is not None and re.fullmatch(r"0{1,4}", text):
            yield script.hit(command.node, "files made from now on may be written by everybody")


def _mode(script: Script, command: Command, mode: str) -> Iterator[Hit]:
    digits = mode.lstrip("0")
    sticky = len(digits) > 3 and digits.startswith(("1", "3"))  # noqa: PLR2004 - more than the three for rwx
    if _SETUID_MODE.match(mode) or _SETUID_SYMBOLS.match(mode):
        yield script.hit(command.node, f"mode {mode} makes a program run with its owner's rights")
    elif (_OPEN_MODE.match(mode) and not sticky) or (_OPEN_SYMBOLS.match(mode) and not mode.startswith("u")):
        yield script.hit(command.node, f"mode {mode} lets everybody write")
    elif _GROUP_MODE.match(mode) and not sticky:
        yield script.hit(command.node, f"mode {mode} lets the group write", severity=Severity.INFO)


_SHARED = re.compile(r"^(?:/tmp|/var/tmp|/dev/shm)/[^\0]")
_MAKERS = ("touch", "mkdir", "tee", "mkfifo", "install")


def predictable_temporary(script: Script) -> Iterator[Hit]:
    """A file of a name that others can foresee is written in a folder where everybody may write.

    Another user makes it first, as a link to a file that the script then overwrites; ``$$`` is easily guessed. Use
    ``mktemp`` and remove the file in a ``trap``.
    """
    if b"/tmp/" not in script.data and b"/dev/shm/" not in script.data:
        return
    for node in script.redirects:
        target = node.child_by_field_name("destination")
        sign = script.raw(node).lstrip(b"0123456789&{}")[:1]
        if target is not None and sign == b">" and _is_foreseen(script, script.word(target).text, script.raw(target)):
            yield script.hit(node, "others can make this file first; use mktemp")
    for command in script.run(*_MAKERS):
        words = command.effective()
        operands = [word for word in words[1:] if not word.text.startswith("-")]
        if any(_is_foreseen(script, word.text, script.raw(word.node)) for word in operands):
            yield script.hit(command.node, "others can make this file first; use mktemp")
    for command in script.run("curl", "wget"):
        words = command.effective()
        for at, word in enumerate(words[:-1]):
            if word.literal in {"-o", "-O", "--output", "--output-document"} and _SHARED.match(words[at + 1].text):
                yield script.hit(
                    command.node, "others can make this file first; use mktemp", confidence=Confidence.MEDIUM
                )
    for command in script.run("mktemp"):
        if any(word.literal in {"-u", "--dry-run"} for word in command.words):
            yield script.hit(command.node, "the name that is printed may be taken by others before it is used")


def _is_foreseen(script: Script, text: str, raw: bytes) -> bool:
    """Whether a path lies in a shared folder under a fixed name, or one that only holds the process's number."""
    text = text.replace("\0", "") if b"$$" in raw else text
    if not text.startswith("\0"):
        return _SHARED.match(text) is not None
    name = re.match(rb"[\"']?\$\{?(\w+)", raw)
    constant = script.constant(name[1].decode()) if name else None
    return constant is not None and _SHARED.match(constant + "x") is not None and "mktemp" not in constant


_PATHS = ("PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PERL5LIB", "MANPATH")
_LOOSE = re.compile(r"(?:^|:)(?:\.{0,2}|/tmp[^:]*|/var/tmp[^:]*|\.\.?/[^:]*)(?::|$)")


def loose_path(script: Script) -> Iterator[Hit]:
    """Programs or libraries are looked for in the current folder, or in one where everybody may write.

    Whoever can put a file there has it run in place of ``ls``. Name folders of the system, absolutely; an empty part,
    as in ``PATH=:$PATH``, is the current folder.
    """
    for name in _PATHS:
        for setting in script.assignments.get(name, ()):
            if setting.value is None or setting.how != "set":
                continue
            text = script.word(setting.value).text
            if name == "LD_PRELOAD":
                yield script.hit(setting.node, "a library is put in front of all others", severity=Severity.LOW)
            elif text and _LOOSE.search(text) and (name in {"PATH", "LD_LIBRARY_PATH"} or "/tmp" in text):  # noqa: S108
                yield script.hit(setting.node, f"{name} holds a folder that others may write, or the current one")


_PRIVATE = re.compile(r"/etc/(?:passwd|shadow|sudoers|crontab|cron\.|ssh/|pam\.|ld\.so)|authorized_keys")


def system_files(script: Script) -> Iterator[Hit]:
    """A script adds to the files that decide who may log in, become root, or run at set times.

    ``NOPASSWD: ALL`` in sudoers, a key in ``authorized_keys``, a line in ``crontab``: whoever writes the text has
    the machine. Check files for ``/etc/sudoers.d`` with ``visudo -c``.
    """
    for node in script.redirects:
        target = node.child_by_field_name("destination")
        if target is None or b"<" in script.raw(node)[:2]:
            continue
        text = script.word(target).text
        if _PRIVATE.search(text):
            yield script.hit(node, f"writes to {text.replace(chr(0), '…')[:60]}")
    for command in script.run("tee", "cp", "install", "sed"):
        words = command.effective()
        last = [word.text for word in words[1:] if not word.text.startswith("-")][-1:]
        edits = words[0].text.rpartition("/")[2] != "sed" or any(word.text.startswith("-i") for word in words)
        if edits and last and _PRIVATE.search(last[0]):
            yield script.hit(command.node, f"writes to {last[0].replace(chr(0), '…')[:60]}")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH707",
        name="sh-open-permissions",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=732,
        check=open_permissions,
        on=(b"chmod", b"-m", b"--mode", b"umask"),
        hits=(
            "chmod 777 /srv/app\n",
            "sudo chmod -R a+w /etc/app\n",
            "chmod 0666 file\n",
            "chmod u+s /usr/local/bin/x\n",
            "chmod 4755 x\n",
            "mkdir -m 777 d\n",
            "umask 000\n",
        ),
        misses=(
            "chmod 755 x\n",
            "chmod +x x\n",
            "chmod u+w x\n",
            "chmod 1777 /srv/tmp\n",
            "umask 077\n",
            "mkdir -m 750 d\n",
        ),
    ),
    Rule(
        id="FH708",
        name="sh-predictable-temporary",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=377,
        check=predictable_temporary,
        hits=(
            "date > /tmp/app.log\n",
            'echo x >> "/tmp/app.$$"\n',
            "out=/tmp/result\nsort a > $out\n",
            "touch /tmp/lock\n",
            "name=$(mktemp -u /tmp/x.XXXX)\n",
            "curl -o /tmp/x.sh https://example.org/x.sh\n",
        ),
        misses=(
            't=$(mktemp)\ndate > "$t"\n',
            "sort < /tmp/in\n",
            "date > /srv/tmp/app.log\n",
            'd=$(mktemp -d)\ndate > "$d/log"\n',
            "ls /tmp/x\n",
        ),
    ),
    Rule(
        id="FH715",
        name="sh-loose-path",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=426,
        check=loose_path,
        on=(b"PATH=", b"LD_PRELOAD=", b"PERL5LIB="),
        hits=("PATH=.:$PATH\n", 'export PATH="$PATH:"\n', "export LD_PRELOAD=/tmp/x.so\n", "PATH=/tmp/bin:$PATH\n"),
        misses=("PATH=/usr/local/bin:$PATH\n", 'export PATH="$HOME/bin:$PATH"\n', "MYPATH=.\n"),
    ),
    Rule(
        id="FH721",
        name="sh-system-files",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=284,
        check=system_files,
        on=(b"/etc/", b"authorized_keys"),
        hits=(
            'echo "me ALL=(ALL) NOPASSWD: ALL" >> /etc/sudoers\n',
            'echo "$KEY" >> ~/.ssh/authorized_keys\n',
            'echo "x" | sudo tee -a /etc/crontab\n',
        ),
        misses=("cat /etc/passwd\n", "grep x < /etc/crontab\n", "echo x >> /etc/motd\n"),
    ),
)
