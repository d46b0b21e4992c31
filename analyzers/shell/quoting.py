"""Rules about values that become several words, or none, and failures that nobody sees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule
from analyzers.shell.command import Command
from analyzers.shell.origins import CALLER, of_word
from analyzers.shell.script import Script
from analyzers.shell.words import HOLE, Expansion, Word

if TYPE_CHECKING:
    from tree_sitter import Node

_GRAVE = frozenset(
    {
        "rm",
        "mv",
        "cp",
        "chmod",
        "chown",
        "ln",
        "mkdir",
        "rmdir",
        "tar",
        "rsync",
        "dd",
        "ssh",
        "scp",
        "git",
        "find",
        "kill",
    }
    | {
        "source",
        ".",
        "bash",
        "sh",
        "sed",
        "curl",
        "wget",
        "mount",
        "umount",
        "docker",
        "kubectl",
        "systemctl",
        "useradd",
    }
    | {"usermod", "passwd", "touch", "cat", "tee", "grep", "awk", "unzip", "openssl", "mysql", "psql", "cd", "xargs"}
)
_SPLITS_ON_PURPOSE = re.compile(
    r"(?i)(?:^|_)(?:opts?|options?|args?|flags?|params?|cmd|command|list|files|dirs|paths|pkgs|packages)\d*$|FLAGS$"
)
_HARMLESS = re.compile(rb"^(?:\$\(|`)\s*(?:nproc|id|pgrep|pidof|date|wc|stat|seq|expr|echo\s+\$\(\()")


_QUOTED_INSIDE = re.compile(rb"^\$\{[\w@*\[\]]+:?\+[\"']")
"""``${1+"$1"}``: quoted where it matters."""


def unquoted(script: Script) -> Iterator[Hit]:
    """A value stands unquoted among a command's words, where spaces and ``*`` in it make several words of one.

    A file called ``a b`` becomes two, ``*`` becomes all files, an empty value no word at all. Write ``"$x"``. Numbers,
    constants without spaces, and variables that by their name hold several words are left alone.

    It is graver where the command changes or removes files, or runs what it is given, and the value comes from outside.
    """
    for command in script.commands:
        words = command.effective()
        name = words[0].literal if words else None
        base = "" if name is None else name.rpartition("/")[2]
        if base in {"export", "local", "declare", "readonly", "typeset", "let", "[["}:
            continue
        for word in command.words[1:]:
            split = _split(script, word)
            if split is not None:
                yield _unquoted(script, word, split, base)
                break


def _split(script: Script, word: Word) -> Expansion | None:
    """The first expansion in the word that may split it."""
    for expansion in word.expansions:
        if expansion.quoted or expansion.number or expansion.kind in {"process", "arithmetic"}:
            continue
        if expansion.kind == "command":
            if not _HARMLESS.match(script.raw(expansion.node)):
                return expansion
            continue
        if _SPLITS_ON_PURPOSE.search(expansion.name) or script.raw(expansion.node).startswith((b"${#", b"${!")):
            continue
        if script.plain(expansion.name) or _QUOTED_INSIDE.search(script.raw(expansion.node)):
            continue
        return expansion
    return None


def _unquoted(script: Script, word: Word, split: Expansion, base: str) -> Hit:
    worst = of_word(script, word)
    far = worst is not None and worst.rank >= CALLER
    grave = base in _GRAVE
    shown = f"${split.name}" if split.name else "what a command prints"
    return script.hit(
        split.node,
        f"{shown} is split into words here; quote it",
        severity=Severity.LOW if grave and far else Severity.INFO,
        confidence=Confidence.HIGH if far else Confidence.MEDIUM,
        also=("SC2086",) if split.name else ("SC2046",),
    )


def unquoted_test(script: Script) -> Iterator[Hit]:
    """A value stands unquoted in ``[ … ]``: empty, the test is another; with spaces, it fails.

    ``[ $x = yes ]`` with an empty ``$x`` is the test ``[ = yes ]``. Write ``[ "$x" = yes ]``, or ``[[ … ]]`` in bash.
    """
    for node in script.tests:
        if script.raw(node).startswith(b"[["):
            continue
        for child in _test_words(node):
            word = script.word(child)
            if _split(script, word) is not None:
                yield _in_test(script, word)
                break
    for command in script.run("test"):
        for word in command.effective()[1:]:
            if _split(script, word) is not None:
                yield _in_test(script, word)
                break


def _in_test(script: Script, word: Word) -> Hit:
    worst = of_word(script, word)
    far = worst is not None and worst.rank >= CALLER and word.text == HOLE
    return script.hit(
        word.node,
        "this value may be empty or several words; quote it",
        severity=Severity.LOW if far else Severity.INFO,
        also=("SC2046",) if any(item.kind == "command" for item in word.expansions) else ("SC2086",),
    )


_TEST_OPERANDS = frozenset({"simple_expansion", "expansion", "command_substitution", "concatenation"})


def _test_words(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        current = pending.pop()
        for child in current.named_children:
            if child.type in _TEST_OPERANDS:
                yield child
            elif child.type in {
                "binary_expression",
                "unary_expression",
                "parenthesized_expression",
                "negation_expression",
            }:
                pending.append(child)


_LISTING = re.compile(rb"^[$(`\s]*(?:ls|find|cat|grep|git\s+ls-files)\b")


def split_loop(script: Script) -> Iterator[Hit]:
    """A loop goes over what ``ls``, ``find`` or ``cat`` prints, word by word.

    Names with spaces become several, and ``*`` in one becomes others. Go over a pattern, ``for f in ./*``, or read
    lines: ``while IFS= read -r line; do … done``.
    """
    for loop in script.loops:
        for value in loop.children_by_field_name("value"):
            word = script.word(value)
            for expansion in word.expansions:
                if expansion.kind == "command" and not expansion.quoted and _LISTING.match(script.raw(expansion.node)):
                    listed = script.raw(expansion.node).lstrip(b"$(` ")
                    also = (
                        ("SC2045",)
                        if listed.startswith(b"ls")
                        else ("SC2044",)
                        if listed.startswith(b"find")
                        else ("SC2013",)
                    )
                    yield script.hit(value, "names with spaces fall apart here", also=also)


def masked_failure(script: Script) -> Iterator[Hit]:
    """With ``set -e``, a failure that the script was meant to end at is hidden.

    ``local x=$(cmd)`` and ``export x=$(cmd)`` succeed whatever ``cmd`` did: declare and set in two lines. In a pipeline
    only the last command counts unless ``set -o pipefail`` is given.
    """
    if "e" not in script.options:
        return
    for settings in script.assignments.values():
        for setting in settings:
            if not setting.declared or setting.value is None:
                continue
            word = script.word(setting.value)
            if any(item.kind == "command" for item in word.expansions):
                yield script.hit(setting.node, "set -e does not see this command fail", also=("SC2155",))
    if "pipefail" not in script.options:
        for pipeline in script.pipelines:
            first = script.raw(pipeline).split(b" ")[0].rpartition(b"/")[2]
            if first in {b"curl", b"wget", b"mysqldump", b"pg_dump", b"openssl", b"gpg", b"tar", b"ssh"}:
                yield script.hit(
                    pipeline, "set -e does not see the first command fail; set -o pipefail", also=("SC2312",)
                )


def early_trap(script: Script) -> Iterator[Hit]:
    """A ``trap`` in double quotes takes the values that variables have now, not those at the end.

    Where the variable is set later, the trap removes nothing, or something else. Use single quotes.
    """
    for command in script.run("trap"):
        words = command.words
        if len(words) > 1 and any(item.quoted for item in words[1].expansions):
            yield script.hit(words[1].node, "expanded now, not when the signal comes")


def _is_root_call(command: Command) -> bool:
    return command.name in {"sudo", "doas"}


def run_as_root(script: Script) -> Iterator[Hit]:
    """A command runs as root, which the rest of the script need not.

    An information, once for each script: what follows may change the whole machine. Where a password is given to
    ``sudo -S`` by a pipe it stands in the script or its history.
    """
    told = False
    for command in script.commands:
        if not _is_root_call(command):
            continue
        texts = [word.literal or "" for word in command.words[1:]]
        if command.pipe[1] > 0 and any(re.fullmatch(r"-[A-Za-z]*S", text) for text in texts):
            yield script.hit(command.node, "the password is given by a pipe", severity=Severity.MEDIUM)
        elif not told:
            told = True
            yield script.hit(command.node, "this runs as root")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH706",
        name="sh-unquoted",
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        cwe=88,
        check=unquoted,
        also=("SC2086", "SC2046"),
        on=(b"$", b"`"),
        hits=("rm $1\n", "cp $src $dst\n", "chown root `cat list`\n", "x=$(ls)\nmv $x /srv\n"),
        misses=('rm "$1"\n', "n=3\nhead -n $n f\n", "kill $!\n", "make $MAKEFLAGS\n", "sleep $((a + 1))\n", "x=$y\n"),
    ),
    Rule(
        id="FH722",
        name="sh-unquoted-test",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=88,
        check=unquoted_test,
        also=("SC2086", "SC2046"),
        on=(b"[", b"test "),
        hits=("if [ $x = yes ]; then ls; fi\n", "test $a = b\n", "[ -n $x ]\n"),
        misses=('[ "$x" = yes ]\n', "[[ $x = yes ]]\n", "[ $# -gt 0 ]\n", "x=1\n[ $x = 1 ]\n"),
    ),
    Rule(
        id="FH713",
        name="sh-split-loop",
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        cwe=88,
        check=split_loop,
        also=("SC2045", "SC2044", "SC2013"),
        on=(b"for ",),
        hits=("for f in $(ls *.txt); do rm $f; done\n", "for l in `cat list`; do echo $l; done\n"),
        misses=('for f in *.txt; do rm "$f"; done\n', "for i in $(seq 3); do echo $i; done\n"),
    ),
    Rule(
        id="FH723",
        name="sh-masked-failure",
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        cwe=252,
        check=masked_failure,
        also=("SC2155", "SC2312"),
        hits=(
            "set -e\nexport X=$(cat f)\n",
            "#!/bin/bash -e\nf() { local x=$(cmd); }\n",
            "set -e\npg_dump db | gzip > x\n",
        ),
        misses=("export X=$(cat f)\n", "set -e\nx=$(cmd)\nexport x\n", "set -euo pipefail\npg_dump db | gzip > x\n"),
    ),
    Rule(
        id="FH725",
        name="sh-early-trap",
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        cwe=665,
        check=early_trap,
        also=("SC2064",),
        on=(b"trap",),
        hits=('trap "rm -f $tmp" EXIT\n',),
        misses=("trap 'rm -f \"$tmp\"' EXIT\n", 'trap "echo done" EXIT\n'),
    ),
    Rule(
        id="FH709",
        name="sh-run-as-root",
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        cwe=250,
        check=run_as_root,
        on=(b"sudo", b"doas"),
        hits=("sudo apt-get update\n", 'echo "$PW" | sudo -S ls\n'),
        misses=("apt-get update\n", "echo sudo\n"),
    ),
)
