"""What a text is written in, from what it shows: its first line, its fences, its words. Nothing is parsed but JSON.

Where nothing tells, the answer is Python: what is not Python then fails to parse, and the report says so.
"""

from __future__ import annotations

import re

_INTERPRETERS = {
    "python": "python", "pypy": "python", "bash": "bash", "sh": "bash", "dash": "bash", "zsh": "bash", "ksh": "bash",
    "ash": "bash",
}  # fmt: skip
_SEEN = 20_000
"""So many characters are read: a text that is something else later on is told from its beginning."""
_FENCE = re.compile(r"^[ \t>]{0,12}(?:```|~~~)[ \t]{0,4}[\w+#.-]{0,30}[ \t]*\r?$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ ]\S[^\n]*\n(?:[ \t]*\n)", re.MULTILINE)
_GO = re.compile(
    r"^[ \t]*(?:package[ ]\w{1,60}[ \t]*$|import[ ](?:\(|\"[\w./-]+\")"
    r"|func[ ](?:\(\w{1,40}[ ]\*?\w{1,60}\)[ ])?\w{0,60}\("
    r"|type[ ]\w{1,60}[ ](?:struct|interface)\b|defer[ ]\w|go[ ]func\b|(?:var|const)[ ]\w{1,60}[ ][\w.*\[\]]+[ ]=)"
    r"|^[ \t]*\w[\w, \t]{0,80}:=[ ]|\bfmt\.(?:Print|Sprint|Errorf)|[ ]!= nil[ ]\{",
    re.MULTILINE,
)
_PYTHON = re.compile(
    r"^[ \t]*(?:def[ ]\w{1,80}\(|class[ ]\w{1,80}[(:]|import[ ]\w[\w.]{0,80}(?:[ ,]|$)|from[ ][.\w]{1,80}[ ]import[ ]"
    r"|(?:if|elif|while|for|with)[ ][^\n]{1,200}:[ \t]*(?:#[^\n]*)?$|(?:else|try|finally):|except\b[^\n]{0,100}:"
    r"|async[ ]def[ ]"
    r"|@\w[\w.]{0,60}(?:\(|$)|print\(|return[ ]\w|raise[ ]\w|assert[ ]|with[ ]open\(|lambda[ ])"
    r"|\bself\.\w|__name__|\bNone\b|[ ]not[ ]in[ ]|\bTrue\b|^[ \t]*\w[\w.]{0,60}[ ]=[ ][\w\"'\[({f]",
    re.MULTILINE,
)
_BASH = re.compile(
    r"^[ \t]*(?:(?:if|while|until)[ ](?:\[|\[\[|!|test|command|grep)[ ]|(?:then|fi|done|esac|do)[ \t]*(?:$|;)"
    r"|case[ ]\S+[ ]in$"
    r"|(?:echo|export|sudo|cd|rm|mkdir|cp|mv|chmod|chown|curl|wget|apt|apt-get|yum|dnf|apk|pip|pip3|npm|git|docker|kubectl"
    r"|set|source|ssh|scp|tar|grep|sed|awk|cat|ls|tee|touch|find|xargs|kill|systemctl|printf|read|trap|local|unset|shift|"
    r"eval|exec|nohup|nc|dd|mount)[ ][-\"'$./~\w]|[A-Za-z_]\w{0,60}=(?:[\"'$]|\S{0,60}$)|\w{1,60}\(\)[ \t]*\{)"
    r"|\$\{?\w|\$\(|[ ]\|\|?[ ]\w|[ ]&&[ ]\w|[ ]2>&1|<<-?['\"]?EOF",
    re.MULTILINE,
)
_SETTING = re.compile(r"[ \t]*(?:[-#;\[].*|[\"']?[\w.$/-]{1,80}[\"']?[ \t]*[:=].*|[\]}{][,]?)?")
_ASSIGNED = re.compile(r"^[ \t]*[A-Za-z_]\w*[ \t]+=[ \t]|^[A-Za-z_]\w*\(", re.MULTILINE)
_MANY_SETTINGS = 200


def detect(text: str) -> str:
    """Give the language: a program's, ``markdown``, ``notebook``, or ``text`` for settings and data."""
    beginning = text[:_SEEN].removeprefix("\ufeff")
    by_first_line = interpreter(beginning)
    if by_first_line:
        return by_first_line
    start = beginning.lstrip()
    if start.startswith("{") and '"cells"' in text and '"nbformat"' in text:
        return "notebook"
    if _FENCE.search(beginning):
        return "markdown"
    go, python, bash = (len(pattern.findall(beginning)) for pattern in (_GO, _PYTHON, _BASH))
    # ``return x`` and the like are written in both.
    if 2 * go > python and go > bash:
        return "go"
    if bash > python:
        return "bash" if not _is_data(beginning, start) else "text"
    if python and _ASSIGNED.search(beginning):
        return "python"
    if _is_data(beginning, start):
        return "text"
    if not python and _HEADING.search(beginning):
        return "markdown"
    return "python"


def interpreter(text: str) -> str:
    """Give the language of the ``#!`` line, or nothing."""
    first_line = text.partition("\n")[0]
    if not first_line.startswith("#!"):
        return ""
    # Options and assignments may stand between env and the program it starts.
    words = [word.rpartition("/")[2] for word in first_line[2:].split() if word[0] != "-" and "=" not in word]
    program = words[1] if words[:1] == ["env"] and len(words) > 1 else "".join(words[:1])
    return _INTERPRETERS.get(program.rstrip("0123456789."), "")


def _is_data(text: str, start: str) -> bool:
    """Whether a text is JSON, or every line of it sets something, as in YAML, INI and environment files."""
    if start[:1] in {"{", "["} and _is_json(start):
        return True
    if "(" in text and _ASSIGNED.search(text):
        return False
    lines = text.split("\n", _MANY_SETTINGS)[:_MANY_SETTINGS]
    return any(line.strip() for line in lines) and all(_SETTING.fullmatch(line) for line in lines)


def _is_json(start: str) -> bool:
    import json  # noqa: PLC0415 - few texts ask

    try:
        json.JSONDecoder().raw_decode(start)
    except (ValueError, RecursionError):
        # Cut off by us, or by whoever sent it: a first key is evidence enough.
        return re.match(r"[\[{\s]{0,40}\"[^\"\n]{0,200}\"[ \t]*:", start) is not None
    return True
