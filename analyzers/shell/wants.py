"""What a shell script wants to do: commands and redirections that reach the network, processes, files, variables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from analyzers import capabilities as can
from analyzers.capabilities import Wanted
from analyzers.shell.running import INTERPRETERS, SHELLS
from analyzers.shell.words import HOLE, Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from analyzers.shell.command import Command
    from analyzers.shell.script import Script

_BUILTINS = frozenset(
    "alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable "
    "eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd "
    "pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit umask "
    "unalias unset wait . : [".split()
)
# Whoever runs one of these talks to something beyond this machine.
_CLIENTS = frozenset(
    "curl wget fetch aria2c lynx links w3m http https xh nc ncat netcat telnet ftp lftp tftp ssh scp sftp mosh autossh "
    "sshpass ssh-copy-id ssh-keyscan ping ping6 traceroute tracepath mtr dig host nslookup whois nmap "
    "masscan rclone s3cmd aws gcloud gsutil az doctl gh glab kubectl helm terraform ansible ansible-playbook vault "
    "consul heroku flyctl vercel netlify redis-cli mongo mongosh psql mysql mariadb mysqldump pg_dump sendmail mail "
    "mutt swaks certbot ntpdate apt-add-repository add-apt-repository rpcinfo showmount smbclient ldapsearch "
    "mosquitto_pub mosquitto_sub grpcurl websocat yt-dlp youtube-dl".split()
)
_INSTALLERS = {
    "apt": "update install upgrade full-upgrade dist-upgrade source download",
    "apt-get": "update install upgrade dist-upgrade source download build-dep",
    "aptitude": "update install upgrade",
    "dnf": "install update upgrade makecache",
    "yum": "install update upgrade makecache",
    "apk": "add update upgrade fetch",
    "zypper": "install in update up refresh",
    "pacman": "-S -Sy -Syu -Syyu",
    "brew": "install update upgrade tap",
    "snap": "install refresh",
    "pip": "install download index",
    "pip3": "install download index",
    "pipx": "install run upgrade",
    "uv": "add sync pip lock",
    "poetry": "add install update lock",
    "conda": "install create update",
    "mamba": "install create update",
    "npm": "install i ci add update publish exec",
    "pnpm": "install i add update dlx",
    "yarn": "install add upgrade dlx",
    "npx": "",
    "gem": "install update",
    "bundle": "install update",
    "cargo": "install fetch update publish search",
    "go": "get install mod",
    "composer": "install require update",
    "git": "clone fetch pull push ls-remote submodule",
    "svn": "checkout co update up",
    "hg": "clone pull push",
    "docker": "pull push login run build search compose",
    "podman": "pull push login run build search",
    "rustup": "install update default",
    "openssl": "s_client",
    "busybox": "wget nc telnet",
}
"""Programs that reach the network for some of what they are asked for; for anything where nothing is named."""
_ASKED = {name: frozenset(subcommands.split()) for name, subcommands in _INSTALLERS.items()}
_REMOTE = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!\\)|rsync://")
_SERVERS = frozenset("sshd nginx httpd apache2 caddy redis-server mongod mysqld postgres dnsmasq vsftpd".split())
_MODULES_THAT_SERVE = frozenset({"http.server", "SimpleHTTPServer", "uvicorn", "gunicorn", "flask"})
_READERS = frozenset(
    "cat tac head tail less more sort uniq wc nl od xxd hexdump strings file stat ls find du tree cut paste join comm "
    "diff cmp md5sum sha1sum sha256sum sha512sum cksum b2sum realpath readlink column rev fold source .".split()
)
_SEARCHERS = frozenset("grep egrep fgrep rg sed awk gawk mawk perl jq yq".split())
"""Their first operand is a pattern or a program; the files come behind it."""
_WRITERS = frozenset(
    "touch mkdir rmdir rm unlink shred truncate chmod chown chgrp tee mkfifo mknod setfacl chattr split csplit "
    "unzip gunzip bunzip2 unxz gzip bzip2 xz zstd patch".split()
)
_WRITERS_TO_THE_LAST = frozenset("cp mv ln install rsync".split())
_WRITERS_SOMEWHERE = frozenset("mktemp wget zip make cmake gcc cc g++ rustc javac".split())
_MODES_FIRST = frozenset("chmod chown chgrp setfacl chattr".split())
# Words of a letter and its value, so that the value is taken for no operand.
_OPTIONS_WITH_VALUE = {
    "mkdir": "m",
    "touch": "drt",
    "head": "nc",
    "tail": "nc",
    "install": "mogt",
    "truncate": "sr",
    "cut": "dfcb",
    "sort": "kto",
    "grep": "mABC",
    "awk": "Fv",
}
_SHELLS_OWN = frozenset(
    "PWD OLDPWD RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME LINENO UID EUID GROUPS PPID IFS OPTARG OPTIND OPTERR "
    "REPLY PIPESTATUS FUNCNAME SHELLOPTS BASHOPTS SHLVL COLUMNS LINES HOSTNAME HOSTTYPE OSTYPE MACHTYPE DIRSTACK "
    "COMP_WORDS COMP_CWORD COMP_LINE COMP_POINT COMPREPLY MAPFILE COPROC PS3 PS4 TIMEFORMAT".split()
)
_VARIABLE = re.compile(rb"\$\{?[!#]?([A-Z][A-Z0-9_]*)")
_AS_IT_STANDS = frozenset({"raw_string", "comment", "ansi_c_string"})
_LISTENING_NC = re.compile(r"-[a-zA-Z]*l|--listen")
_SOCKET = re.compile(rb"[<>]&?\s{0,9}[\"']?/dev/(?:tcp|udp)/")
_MOST_SEARCHED = 2000
_SOCAT_PEER = re.compile(r"(?i)(?:tcp|udp|openssl|ssl|sctp)[46]?(?:-connect)?:")
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_TAR_WRITES = re.compile(r"-?[a-zA-Z]*[xc]|--(?:extract|create|get)")
_REMOTE_NAME = re.compile(r"-[a-zA-Z]*O$|--remote-name")
_OUTPUT = re.compile(r"-[a-zA-Z]*o$|--output$")
_TEXT = re.compile(r"-[a-z]*c")
_TEXT_OR_MODULE = re.compile(r"-[a-z]*[cme]")
_WRITING_SIGNS = (b">", b"&>")


def wanted(script: Script) -> Iterator[Wanted]:
    """Give what shows, as often as it shows."""
    for name, commands in script.by_name.items():
        for command in commands:
            line = _line(script, command.node)
            for capability in _of_command(script, name, command):
                yield Wanted(capability, line)
    for node in script.redirects:
        for capability in _of_redirect(script, node):
            yield Wanted(capability, _line(script, node))
    if script.substitutions or script.pipelines:
        first = min((*script.substitutions, *script.pipelines), key=lambda node: node.start_byte)
        yield Wanted(can.PROCESSES, _line(script, first))
    yield from _connections(script)
    yield from _variables(script)


def _line(script: Script, node: Node) -> int:
    return min(int(node.start_point[0]) + 1, len(script.source.lines))


def _of_command(script: Script, name: str, command: Command) -> Iterator[str]:
    words = command.effective()
    if len(words) < len(command.words):
        yield from _of_wrappers(command, words)
    if not name:
        if words:
            yield can.PROCESSES
        return
    if name in script.functions:
        return
    given = [word.text for word in words[1:]]
    if name not in _BUILTINS:
        yield can.PROCESSES
    if _reaches_out(name, given):
        yield can.OUTBOUND
    if _waits(name, given):
        yield can.LISTEN
    for files in _FILES:
        yield from files(script, name, words)
    if name in {"env", "printenv"} or (name in {"export", "declare", "set"} and not given):
        yield can.ENVIRONMENT
    if _runs_text(name, words, command):
        yield can.DYNAMIC


def _of_wrappers(command: Command, words: list[Word]) -> Iterator[str]:
    """``sudo`` and its like are programs themselves; ``env`` alone prints the environment."""
    wrapper = command.name
    if wrapper not in _BUILTINS:
        yield can.PROCESSES
    if wrapper == "env" and not words:
        yield can.ENVIRONMENT


def _reaches_out(name: str, given: list[str]) -> bool:
    if name in _CLIENTS:
        return not _is_asked_for_help(given) and not (name in {"nc", "ncat", "netcat"} and _waits(name, given))
    if name in _ASKED:
        return not _is_asked_for_help(given) and (not _ASKED[name] or any(text in _ASKED[name] for text in given[:6]))
    if name == "rsync":
        return any(_REMOTE.match(text) for text in given if not text.startswith("-"))
    if name == "socat":
        return any(_SOCAT_PEER.match(text) for text in given)
    if name in INTERPRETERS and "-m" in given[:-1]:
        return given[given.index("-m") + 1] == "pip" and any(text in _ASKED["pip"] for text in given)
    return False


def _is_asked_for_help(given: list[str]) -> bool:
    return len(given) == 1 and given[0] in {"--version", "-V", "--help", "-h", "version", "help"}


def _waits(name: str, given: list[str]) -> bool:
    if name in {"nc", "ncat", "netcat"}:
        return any(_LISTENING_NC.fullmatch(text) or text.startswith("-l") for text in given)
    if name == "socat":
        return any("-LISTEN" in text.upper() for text in given)
    if name in INTERPRETERS:
        module = given[given.index("-m") + 1] if "-m" in given[:-1] else ""
        return module in _MODULES_THAT_SERVE or (name == "php" and "-S" in given)
    return name in _SERVERS or name in {"uvicorn", "gunicorn", "hypercorn"}


def _operands(name: str, words: list[Word]) -> list[Word]:
    """Return a command's words that are neither options nor values of those that are known to take one."""
    takes = _OPTIONS_WITH_VALUE.get(name, "")
    found: list[Word] = []
    rest = iter(words[1:])
    for word in rest:
        text = word.text
        if text == "--":
            return [*found, *rest]
        if text.startswith("-") and len(text) > 1:
            if len(text) == 2 and text[1] in takes:  # noqa: PLR2004 - a dash and a letter
                next(rest, None)
        else:
            found.append(word)
    return found


def _written(script: Script, name: str, words: list[Word]) -> Iterator[str]:
    if name in _WRITERS:
        for word in _operands(name, words)[1 if name in _MODES_FIRST else 0 :]:
            yield from _write(script, word)
    elif name in _WRITERS_TO_THE_LAST:
        operands = _operands(name, words)
        if name != "rsync" or not _REMOTE.match(operands[-1].text if operands else ""):
            yield from _write(script, operands[-1] if len(operands) > 1 else None)
        if name == "mv":
            for word in operands[:-1]:
                yield from _write(script, word)
    elif (
        name in _WRITERS_SOMEWHERE or (name in {"sed", "perl"} and _edits(words)) or (name == "tar" and _unpacks(words))
    ):
        yield can.WRITE
    elif name == "dd":
        for word in words[1:]:
            if word.text.startswith("of="):
                yield from _write(script, word._replace(text=word.text[3:]))
    elif name == "curl":
        yield from _downloaded(script, words)


def _edits(words: list[Word]) -> bool:
    return any(_IN_PLACE.match(word.text) for word in words[1:])


def _unpacks(words: list[Word]) -> bool:
    return any(_TAR_WRITES.match(word.text) for word in words[1:2])


def _downloaded(script: Script, words: list[Word]) -> Iterator[str]:
    for at, word in enumerate(words[1:], 1):
        if _REMOTE_NAME.match(word.text):
            yield can.WRITE
        elif _OUTPUT.match(word.text):
            yield from _write(script, words[at + 1] if at + 1 < len(words) else None)


def _read(script: Script, name: str, words: list[Word]) -> Iterator[str]:
    del script
    if name in _READERS:
        files = _operands(name, words)
    elif name in _SEARCHERS:
        files = _operands(name, words)[1:]
    elif name in {"cp", "mv"} or (name in {*SHELLS, *INTERPRETERS} and _is_given_a_file(words)):
        files = _operands(name, words)[:1]
    else:
        return
    if files or name in {"ls", "find", "du", "tree"}:
        yield can.READ


def _is_given_a_file(words: list[Word]) -> bool:
    return not any(_TEXT_OR_MODULE.fullmatch(word.text) for word in words[1:])


_FILES: tuple[Callable[[Script, str, list[Word]], Iterator[str]], ...] = (_written, _read)


def _write(script: Script, word: Word | None) -> Iterator[str]:
    capability = can.touched(can.WRITE, None if word is None else _path(script, word))
    if capability is not None:
        yield capability


def _path(script: Script, word: Word) -> str | None:
    """Return the one text that a word is, also through a variable that is set once."""
    if not word.expansions:
        return None if word.glob else word.text
    if word.text.startswith(HOLE) and len(word.expansions) == 1 and word.expansions[0].name:
        constant = script.constant(word.expansions[0].name)
        return None if constant is None else word.text.replace(HOLE, constant)
    return None


def _of_redirect(script: Script, node: Node) -> Iterator[str]:
    target = node.child_by_field_name("destination")
    if target is None:
        return
    word = script.word(target)
    if word.text.startswith(("/dev/tcp/", "/dev/udp/")):
        return
    sign = script.raw(node).lstrip(b"0123456789")
    if sign.startswith((b">&", b"<&")) and (word.text.isdigit() or word.text == "-"):
        return
    if sign.startswith(_WRITING_SIGNS) or sign.startswith(b"<>"):
        yield from _write(script, word)
    if sign.startswith(b"<") and can.touched(can.READ, word.text) is not None:
        yield can.READ


def _runs_text(name: str, words: list[Word], command: Command) -> bool:
    """Whether a text that is made while the script runs is read as commands."""
    if name == "eval":
        return any(word.expansions for word in words[1:])
    if name in {"source", "."}:
        return any(item.kind == "process" for word in words[1:2] for item in word.expansions)
    if name not in SHELLS:
        return False
    for at, word in enumerate(words[1:-1], 1):
        if _TEXT.fullmatch(word.text):
            return bool(words[at + 1].expansions)
    given = [word for word in words[1:] if not word.text.startswith("-")]
    piped = command.pipe[0] is not None and command.pipe[1] > 0 and (not given or "-s" in [w.text for w in words])
    return piped or any(item.kind == "process" for word in given for item in word.expansions)


def _connections(script: Script) -> Iterator[Wanted]:
    """Connections that the shell itself makes; the grammar does not know each redirection that can hold one."""
    for match in itertools.islice(_SOCKET.finditer(script.data), _MOST_SEARCHED):
        place = script.root.descendant_for_byte_range(*match.span())
        if place is not None and place.type not in _AS_IT_STANDS:
            yield Wanted(can.OUTBOUND, _line(script, place))
            return


def _variables(script: Script) -> Iterator[Wanted]:
    """The first variable that is read and that the script does not set; the shell's own are none of it."""
    for match in itertools.islice(_VARIABLE.finditer(script.data), _MOST_SEARCHED):
        name = match[1].decode()
        if name in _SHELLS_OWN or name.startswith("BASH") or name in script.assignments:
            continue
        place = script.root.descendant_for_byte_range(match.start(1), match.end(1))
        if place is not None and place.type not in _AS_IT_STANDS:
            yield Wanted(can.ENVIRONMENT, _line(script, place))
            return
