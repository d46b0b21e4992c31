"""Rules about what is lost: files removed by a path that may be another than was meant, and disks overwritten."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule
from analyzers.shell.command import Command
from analyzers.shell.script import Script
from analyzers.shell.words import HOLE, Word

_BELOW_ROOT = re.compile(
    r"^(?:/|/\*|/\.\*|~/?|~/\*|/(?:bin|boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|srv|sys|usr|var)/?\*?)$"
)
_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR][a-zA-Z]*|--recursive")
_DEVICE = re.compile(r"/dev/(?:sd[a-z]|nvme\d|vd[a-z]|hd[a-z]|mmcblk\d|mapper/|disk\d?|mem\b|kmem\b)")
_FORK_BOMB = re.compile(rb"\(\)\s{0,9}\{\s{0,9}([\w:.]{1,40})\s{0,9}\|\s{0,9}\1\s{0,9}&")


_TO_ROOT = re.compile(r"/?\*|/|/\.?\*+|/(?:bin|boot|dev|etc|home|lib|lib64|opt|root|sbin|srv|sys|usr|var)(?:/.*)?")
"""What behind an empty variable means the root, or a folder of the system."""
_SYSTEM_HOLE = re.compile(r"(/(?:bin|boot|etc|home|lib|lib64|opt|root|sbin|srv|usr|var)?/?)\0/?\**")


def _operands(command: Command) -> list[Word]:
    """The words that are no options."""
    found, options = [], True
    for word in command.effective()[1:]:
        if options and word.literal == "--":
            options = False
        elif not options or not word.text.startswith("-"):
            found.append(word)
    return found


def _is_recursive(command: Command) -> bool:
    return any(word.literal is not None and _RECURSIVE.fullmatch(word.literal) for word in command.effective()[1:])


def removed_variable(script: Script) -> Iterator[Hit]:
    """``rm -r`` is given a path that begins with a variable which may be empty.

    ``rm -rf "$dir/"*`` with an empty ``$dir`` removes everything from the root on. Write ``"${dir:?}"``, which ends the
    script where it is empty, or test it before.

    Variables that are set to a text, to what ``mktemp`` prints, or that a test asks about are left alone.
    """
    for command in script.run("rm"):
        if not _is_recursive(command):
            continue
        for word in _operands(command):
            hit = _may_be_empty(script, command, word)
            if hit is not None:
                yield hit
                break


def _may_be_empty(script: Script, command: Command, word: Word) -> Hit | None:
    below = _SYSTEM_HOLE.fullmatch(word.text)
    if below and not word.expansions[-1].guarded and not script.filled(word.expansions[-1].name):
        return script.hit(command.node, f"with an empty ${word.expansions[-1].name} this removes all of {below[1]}")
    if not word.text.startswith(HOLE) or not word.expansions:
        return None
    rest = word.text[1:]
    first = word.expansions[0]
    deep = _TO_ROOT.fullmatch(rest) is not None
    if first.number or first.guarded or (rest and not deep):
        return None
    if first.kind == "command":
        if first.quoted:
            return None
        what = "what a command prints decides what is removed"
        return script.hit(command.node, what, severity=Severity.MEDIUM, confidence=Confidence.LOW)
    if script.filled(first.name):
        return None
    if deep:
        return script.hit(command.node, f"with an empty ${first.name} this removes from the root on", also=("SC2115",))
    positional = first.name.isdigit() or first.name in {"@", "*"}
    return script.hit(
        command.node,
        f"${first.name} decides what is removed",
        severity=Severity.MEDIUM if positional or not first.quoted else Severity.LOW,
        confidence=Confidence.MEDIUM,
        also=(),
    )


def destroyed(script: Script) -> Iterator[Hit]:
    """A whole file system, home or disk is removed or overwritten, or the machine is filled with processes.

    ``rm -rf /``, ``dd of=/dev/sda``, ``mkfs``, ``> /dev/sda``, and the fork bomb ``:(){ :|:& };:``.
    """
    for command in script.run("rm", "chmod", "chown"):
        name = command.effective()[0].text.rpartition("/")[2]
        texts = [word.literal for word in _operands(command)]
        if _is_recursive(command) and any(text is not None and _BELOW_ROOT.match(text) for text in texts):
            done = "is removed" if name == "rm" else "is given to others"
            yield script.hit(command.node, f"a whole part of the system {done}")
    for command in script.run("find"):
        given = [word.text for word in command.effective()[1:]]
        if given[:1] and given[0] in {"/", "~"} and ("-delete" in given or "rm" in given):
            yield script.hit(command.node, f"everything below {given[0]} is removed")
    yield from _overwritten(script)
    for match in _FORK_BOMB.finditer(script.data):
        start = script.root.descendant_for_byte_range(match.start(), match.end())
        if start is not None and script.data[max(0, match.start() - 50) : match.start()].rstrip().endswith(match[1]):
            yield script.hit(start, "this starts processes until the machine stands still")


def _overwritten(script: Script) -> Iterator[Hit]:
    for command in script.run("dd", "mkfs", "shred", "wipefs", "mkswap", "fdisk", "sgdisk", "blkdiscard"):
        texts = [word.text for word in command.words]
        if any(_DEVICE.search(text) for text in texts[1:] if not text.startswith("if=")):
            yield script.hit(command.node, "a disk is overwritten")
    for command in script.commands:
        if command.name.startswith("mkfs.") and any(_DEVICE.search(word.text) for word in command.words):
            yield script.hit(command.node, "a disk is overwritten")
    for node in script.redirects:
        target = node.child_by_field_name("destination")
        if target is not None and _DEVICE.match(script.text(target)) and b"<" not in script.raw(node)[:2]:
            yield script.hit(node, "a disk is overwritten")


_MOVED_BY = frozenset({"rm", "mv", "cp", "tar", "chown", "chmod", "find", "git", "rsync", "unzip"})


def unchecked_cd(script: Script) -> Iterator[Hit]:
    """``cd`` may fail, and the commands behind it then work in the folder the script was in before.

    Write ``cd "$dir" || exit``, or ``set -e``. It is graver where the next commands remove or overwrite.
    """
    if "e" in script.options:
        return
    for index, command in enumerate(script.commands):
        words = command.effective()
        if not words or words[0].literal not in {"cd", "pushd"} or command.checked or command.pipe[0] is not None:
            continue
        target = words[1].literal or "\0" if len(words) > 1 else "~"
        if target.startswith(("..", "-")) or target in {"/", "/tmp", "~"}:  # noqa: S108
            continue
        following = script.commands[index + 1 : index + 4]
        names = {after.effective()[0].text.rpartition("/")[2] for after in following if after.effective()}
        if not names:
            continue
        removing = "rm" in names
        yield script.hit(
            command.node,
            "if this fails the next commands work in another folder",
            severity=Severity.MEDIUM if removing else Severity.LOW if names & _MOVED_BY else Severity.INFO,
        )


def leading_glob(script: Script) -> Iterator[Hit]:
    """A command is given ``*``, and a file whose name begins with ``-`` becomes an option of it.

    Whoever may make files there can so change what the command does (``tar``, ``chown``, ``rsync`` run programs by
    option). Write ``./*`` or put ``--`` in front.
    """
    for command in script.run("rm", "chown", "chmod", "tar", "rsync", "cp", "mv", "zip", "7z", "chgrp"):
        words = command.effective()[1:]
        texts = [word.text for word in words]
        if any(word.glob and word.text.startswith("*") for word in words) and "--" not in texts:
            name = command.effective()[0].text.rpartition("/")[2]
            runs = name in {"tar", "rsync", "zip", "7z", "chown", "chmod", "chgrp"}
            yield script.hit(
                command.node,
                "a file's name may become an option",
                severity=Severity.LOW if runs else Severity.INFO,
            )


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH704",
        name="sh-removed-variable",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=73,
        check=removed_variable,
        also=("SC2115",),
        on=(b"rm",),
        hits=(
            'rm -rf "$DIR/"*\n',
            "rm -rf $BUILD/*\n",
            'dir=$1\nsudo rm -r "$dir/"\n',
            'rm -rf "$1"\n',
            "rm -fr ${STEAMROOT}/\n",
        ),
        misses=(
            'rm -rf "${DIR:?}/"*\n',
            'dir=/srv/build\nrm -rf "$dir/"\n',
            'tmp=$(mktemp -d)\nrm -rf "$tmp"\n',
            'if [ -n "$d" ]; then rm -rf "$d/"; fi\n',
            'rm "$file"\n',
            'rm -rf "build/$name"\n',
        ),
    ),
    Rule(
        id="FH705",
        name="sh-destroyed",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=73,
        check=destroyed,
        also=("SC2114",),
        hits=(
            "rm -rf /\n",
            "sudo rm -rf /usr\n",
            "rm -rf ~\n",
            "dd if=/dev/zero of=/dev/sda bs=1M\n",
            "mkfs.ext4 /dev/sdb1\n",
            "cat x > /dev/sda\n",
            ":(){ :|:& };:\n",
            "chmod -R 777 /\n",
        ),
        misses=(
            "rm -rf /srv/app/build\n",
            "rm -rf ./tmp\n",
            "dd if=/dev/sda of=disk.img\n",
            "echo x > /dev/null\n",
            "chmod -R 750 /srv/app\n",
        ),
    ),
    Rule(
        id="FH741",
        name="sh-unchecked-cd",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=252,
        check=unchecked_cd,
        also=("SC2164",),
        on=(b"cd", b"pushd"),
        hits=('cd "$dir"\nrm -rf *\n', "cd build\nmake\n"),
        misses=(
            'cd "$dir" || exit 1\nrm -rf *\n',
            "set -e\ncd build\nmake\n",
            "if cd x; then make; fi\n",
            "cd ..\nls\n",
        ),
    ),
    Rule(
        id="FH724",
        name="sh-leading-glob",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=88,
        check=leading_glob,
        also=("SC2035",),
        on=(b"*",),
        hits=("rm -f *\n", "tar czf ../x.tgz *\n", "chown user *.txt\n"),
        misses=("rm -f ./*\n", "rm -- *\n", "ls *\n", "tar czf x.tgz dir/*\n"),
    ),
)
