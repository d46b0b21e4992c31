"""Rules about text that becomes commands: eval, shells given a text, and programs from the network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule
from analyzers.shell.command import Command
from analyzers.shell.origins import CALLER, COMMAND, NETWORK, Origin, downloads, of_word
from analyzers.shell.script import Script
from analyzers.shell.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

SHELLS = ("sh", "bash", "zsh", "ksh", "dash", "ash", "fish")
INTERPRETERS = ("python", "python2", "python3", "perl", "ruby", "node", "php")
_PRINTED_BY_TOOLS = re.compile(
    rb"^[\"']?(?:\$\(|`)\s*(?:command\s+|\S*/)?(?:ssh-agent|keychain|dircolors|brew|pyenv|rbenv|nodenv|goenv|jenv|direnv|conda|"
    rb"mamba|opam|starship|zoxide|thefuck|minikube|docker-machine|luarocks|perl\s+-I|register-python-argcomplete|"
    rb"lesspipe|resize|fnm|mise|asdf|kubectl|npm|gh|poetry|pip|atuin|rustup|systemctl|locale|getopt)\b"
)


def eval_used(script: Script) -> Iterator[Hit]:
    """``eval`` runs a text that is put together while the script runs.

    Whoever decides a part of it runs commands of their own: ``;``, ``$(…)`` and newlines are read once more. Call the
    command with an array of arguments, ``"${args[@]}"``; for a variable whose name is in another use ``${!name}``,
    ``declare -n`` or an associative array.

    A text without expansions, and what well-known tools print to be evaluated (``eval "$(ssh-agent)"``), stay.
    """
    for command in script.run("eval"):
        given = command.effective()[1:]
        if not any(word.expansions for word in given) or _is_tool(script, given):
            continue
        yield _text_run(script, command.node, "eval", _worst(script, given))


def _is_tool(script: Script, given: list[Word]) -> bool:
    return len(given) == 1 and _PRINTED_BY_TOOLS.match(script.raw(given[0].node)) is not None


def _worst(script: Script, given: list[Word]) -> Origin | None:
    found = [item for item in (of_word(script, word) for word in given) if item is not None]
    return max(found, key=lambda item: item.rank) if found else None


def _text_run(script: Script, node: Node, how: str, worst: Origin | None) -> Hit:
    if worst is None:
        return script.hit(
            node, f"{how} runs a text with values in it", severity=Severity.LOW, confidence=Confidence.LOW
        )
    far = worst.rank >= CALLER
    return script.hit(
        node,
        f"{worst.what} is read as commands by {how}",
        severity=Severity.HIGH if far else Severity.MEDIUM,
        confidence=Confidence.HIGH if far else Confidence.MEDIUM if worst.rank > COMMAND else Confidence.LOW,
    )


def shell_text(script: Script) -> Iterator[Hit]:
    """A shell or another interpreter is given a text that is put together while the script runs.

    ``bash -c "process $name"`` reads what ``$name`` holds as commands. Give it as an argument:
    ``bash -c 'process "$1"' _ "$name"``. The same goes for ``python -c``, ``ssh host "…"``, ``su -c``,
    ``find -exec sh -c`` with ``{}`` in the text, and a database's ``-e``.
    """
    for command in script.run(*SHELLS, *INTERPRETERS, "su", "watch", "script"):
        words = command.effective()
        hit = _after_flag(script, command, words, ("-c", "-e", "-r", "--command", "-lc", "-ic", "-xc", "-euc"))
        if hit is not None:
            yield hit
    for command in script.run("ssh"):
        words = [word for word in command.effective()[1:] if word.literal is None and " " in word.text]
        worst = _worst(script, words)
        if worst is not None and worst.rank >= CALLER:
            yield script.hit(
                command.node,
                f"{worst.what} is read as commands by the shell at the other end",
                severity=Severity.MEDIUM,
                confidence=Confidence.MEDIUM,
            )
    for command in script.run("mysql", "psql", "sqlite3", "mariadb", "mongo", "mongosh", "clickhouse-client"):
        words = [word for word in command.effective()[1:] if " " in word.text and word.expansions]
        worst = _worst(script, words)
        if worst is not None:
            yield script.hit(
                command.node,
                f"{worst.what} is put into the text of a statement",
                severity=Severity.HIGH if worst.rank >= CALLER else Severity.MEDIUM,
                confidence=Confidence.MEDIUM,
                also=(),
            )
    for command in script.run("find", "xargs", "parallel"):
        yield from _placeholders(script, command)


def _after_flag(script: Script, command: Command, words: list[Word], flags: tuple[str, ...]) -> Hit | None:
    for at, word in enumerate(words[1:-1], 1):
        if word.literal in flags:
            text = words[at + 1]
            if text.expansions and not _positional_only(text):
                return _text_run(script, command.node, str(words[0].literal), of_word(script, text))
    return None


def _positional_only(text: Word) -> bool:
    """Whether all that is expanded are numbers, or the word is one array of prepared arguments."""
    return all(expansion.number for expansion in text.expansions)


def _placeholders(script: Script, command: Command) -> Iterator[Hit]:
    words = command.effective()
    texts = [word.text for word in words]
    for at, text in enumerate(texts[:-2]):
        shell = text.rpartition("/")[2] in SHELLS
        if shell and re.fullmatch(r"-\w*c", texts[at + 1]) and "{}" in texts[at + 2]:
            yield script.hit(
                command.node,
                "a file's name is read as commands; hand it on behind the text, as $1",
                severity=Severity.MEDIUM,
                confidence=Confidence.HIGH,
                also=("SC2156",),
            )


def downloaded_code(script: Script) -> Iterator[Hit]:
    """What comes from the network is run as it comes: ``curl … | sh``.

    Whoever owns the address, or stands in between, decides what runs, and may send something else to a script than to a
    reader. Download to a file, compare its checksum or signature, then run it.
    """
    for pipeline in script.pipelines:
        parts = pipeline.named_children
        loading = next((at for at, part in enumerate(parts) if _loads(script, part)), -1)
        if loading < 0:
            continue
        for command in script.of_pipeline.get(pipeline.id, ()):
            if command.pipe[1] > loading and _reads_program(command):
                yield script.hit(pipeline, "what is downloaded is run unseen")
                break
    for command in script.run(*SHELLS, *INTERPRETERS, "source", ".", "eval", "exec", "su"):
        for word in command.effective()[1:]:
            if any(item.kind != "parameter" and downloads(script.raw(item.node)) for item in word.expansions):
                yield script.hit(command.node, "what is downloaded is run unseen")
                break
    for node in script.herestrings:
        if downloads(script.raw(node)) and b"$(" in script.raw(node):
            yield script.hit(node, "what is downloaded is run unseen", confidence=Confidence.MEDIUM)


_LOADERS = frozenset({"curl", "wget", "fetch", "http", "aria2c", "lynx"})


def _loads(script: Script, node: Node) -> bool:
    return (
        node.type in {"command", "redirected_statement"}
        and script.raw(node).split(b" ")[0].rpartition(b"/")[2].decode("utf-8", "replace") in _LOADERS
    ) or (node.type == "command" and re.match(rb"(?:sudo\s+)?(?:curl|wget)\b", script.raw(node)) is not None)


def _reads_program(command: Command) -> bool:
    """Whether the command is an interpreter that reads its program from the pipe."""
    words = command.effective()
    name = words[0].literal if words else None
    base = "" if name is None else name.rpartition("/")[2]
    if base in SHELLS:
        given = [word.literal for word in words[1:]]
        return (
            "-c" not in given and not any(text is not None and not text.startswith("-") for text in given[:1])
        ) or "-s" in given
    if base in INTERPRETERS:
        return len(words) == 1 or words[1].text == "-"
    return base in {"eval", "source"} or (
        base == "xargs" and any(word.literal in {*SHELLS, "eval"} for word in words[1:])
    )


_SAVING = {"curl": ("-o", "--output"), "wget": ("-O", "--output-document"), "fetch": ("-o",)}
_CHECKING = (
    "sha256sum",
    "sha512sum",
    "shasum",
    "gpg",
    "gpgv",
    "cosign",
    "minisign",
    "sha1sum",
    "md5sum",
    "openssl",
    "signify",
    "b2sum",
)


def run_download(script: Script) -> Iterator[Hit]:
    """A file is downloaded and then run, without its checksum or signature being looked at.

    Compare with a checksum that does not come from the same place (``sha256sum -c``), or check the signature.
    """
    if script.run(*_CHECKING):
        return
    saved: dict[str, Command] = {}
    for command in script.run(*_SAVING):
        target = _saved_as(command)
        if target:
            saved[target.removeprefix("./")] = command
    if not saved:
        return
    for command in script.commands:
        words = command.effective()
        if not words:
            continue
        name = words[0].text
        run = (
            words[1].text
            if name.rpartition("/")[2] in {*SHELLS, *INTERPRETERS, "source", "."} and len(words) > 1
            else name
        )
        before = saved.get(run.removeprefix("./"))
        if before is not None and before.node.start_byte < command.node.start_byte:
            yield script.hit(command.node, "a downloaded file is run without being checked")


def _saved_as(command: Command) -> str:
    words = command.effective()
    flags = _SAVING.get(words[0].text.rpartition("/")[2], ())
    for at, word in enumerate(words[:-1]):
        if word.literal in flags or (
            (word.literal or "").startswith("-")
            and (word.literal or "").endswith(flags[0][1:])
            and not (word.literal or "").startswith("--")
        ):
            return words[at + 1].text
    if words[0].text == "wget" or "-O" in {word.literal for word in words}:
        address = next(
            (word.literal for word in words[1:] if (word.literal or "").startswith(("http:", "https:", "ftp:"))), None
        )
        return (address or "").split("?")[0].rpartition("/")[2]
    return ""


def chosen_program(script: Script) -> Iterator[Hit]:
    """Which program runs is decided by an argument or by what was downloaded.

    ``$1 …`` runs whatever the caller names. Choose by ``case`` among the programs that are meant.
    """
    for command in script.commands:
        words = command.effective()
        if not words or words[0].literal is not None or not words[0].text.startswith("\0"):
            continue
        first = words[0].expansions[0]
        if first.kind == "parameter" and first.name in {"@", "*"} and len(words) == 1:
            continue  # a wrapper script hands its arguments on
        worst = of_word(script, words[0])
        if (worst is not None and worst.rank >= NETWORK) or (
            first.kind == "parameter" and first.name.isdigit() and worst
        ):
            yield script.hit(command.node, f"{worst.what} decides which program runs" if worst else "")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH701",
        name="sh-eval",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=95,
        check=eval_used,
        also=("SC2294",),
        on=(b"eval",),
        hits=('eval "$1"\n', 'eval "$cmd $args"\n', "read -r x\neval $x\n", 'sudo eval "echo $(cat list)"\n'),
        misses=("eval 'x=1'\n", 'eval "$(ssh-agent -s)"\n', "evaluate $1\n", 'echo "eval $1"\n', "# eval $1\n"),
    ),
    Rule(
        id="FH742",
        name="sh-shell-text",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=78,
        check=shell_text,
        hits=(
            'bash -c "process $1"\n',
            'sudo sh -c "echo $NAME >> /etc/hosts"\n',
            'python3 -c "print($expr)"\n',
            'read -r h\nssh host "rm $h"\n',
            "mysql -e \"SELECT * FROM t WHERE n = '$1'\"\n",
            "find . -name '*.c' -exec sh -c 'wc -l {}' \\;\n",
        ),
        misses=(
            'bash -c \'process "$1"\' _ "$1"\n',
            'bash -c "echo fixed"\n',
            'python3 script.py "$1"\n',
            'ssh host "uptime"\n',
            "find . -exec wc -l {} +\n",
            'bash "$file"\n',
        ),
    ),
    Rule(
        id="FH702",
        name="sh-downloaded-code",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=494,
        check=downloaded_code,
        on=(b"curl", b"wget", b"fetch", b"lynx", b"aria2c"),
        hits=(
            "curl -sSL https://example.org/install.sh | bash\n",
            "wget -qO- https://example.org/i | sudo sh -s -- -y\n",
            "bash <(curl -s https://example.org/i)\n",
            'eval "$(curl -fsSL https://example.org/i)"\n',
            "source <(wget -qO- https://example.org/i)\n",
            "curl https://example.org/x.py | tee x.py | python3 -\n",
        ),
        misses=(
            "curl -o install.sh https://example.org/install.sh\n",
            "curl -s https://example.org/a.json | jq .name\n",
            "cat install.sh | bash\n",
            "curl -s https://example.org/a | python3 parse.py\n",
            'echo "curl https://example.org | sh"\n',
        ),
    ),
    Rule(
        id="FH703",
        name="sh-run-download",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=494,
        check=run_download,
        on=(b"curl", b"wget", b"fetch"),
        hits=(
            "curl -fsSLo get.sh https://example.org/get.sh\nsh get.sh\n",
            "wget https://example.org/tool\nchmod +x tool\n./tool --install\n",
        ),
        misses=(
            "curl -o get.sh https://example.org/get.sh\nsha256sum -c get.sh.sha256\nsh get.sh\n",
            "curl -o data.json https://example.org/d\njq . data.json\n",
        ),
    ),
    Rule(
        id="FH731",
        name="sh-chosen-program",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=78,
        check=chosen_program,
        hits=("$1 --version\n", "cmd=$(curl -s https://example.org/c)\n$cmd\n"),
        misses=("ls $1\n", '"$@"\n', "EDITOR=vi\n$EDITOR file\n", '"$EDITOR" file\n'),
    ),
)
