"""Comments by which an author takes a finding back, in the words of the tools that people know.

| comment | takes back |
|---|---|
| ``# nosec``, ``# noqa``, ``//nolint:gosec``, ``// #nosec``, ``# nosemgrep`` | everything on the line |
| ``# nosec B307``, ``# noqa: S307``, ``// #nosec G204``, ``# nosemgrep: eval-detected`` | what has that name |
| ``# fumehood: allow[FH101,B307] why`` | what has that name; the reason is required |

A marker counts on any line of the finding, and on the first and last line of the statement around it. Ours, nosemgrep's
and those of Go also count on a line of their own above. A finding that several tools know under several names loses
those that are named, and goes when its first goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from analyzers.model import Confidence, Severity, Span
from analyzers.patterns import lazy
from analyzers.rule import Hit, Label, Seen

_MARKERS = ("nosec", "noqa", "nolint", "nosemgrep", "fumehood:", "gosec:", "lint:", "shellcheck ")
_NOSEC = lazy(r"#\s*nosec(?![\w-])\s*:?([^#]*)")
_NOQA = lazy(r"#\s*noqa(?![\w-])(?:\s*:\s*((?:[A-Z]{1,8}[0-9]{1,5}[,\s]*)+))?", re.IGNORECASE)
_NOLINT = lazy(r"//\s*nolint(?![\w-])(?::([\w, -]*))?")
_SEMGREP = lazy(r"\bnosemgrep(?![\w-])(?:\s*:\s*([\w.,\s-]+))?")
_GOSEC = lazy(r"gosec:disable((?:[ \t]+G[0-9]{3}\b,?)*)")
_IGNORE = lazy(r"lint:ignore[ \t]+([\w,]+)[ \t]+\S")
_SHELLCHECK = lazy(r"shellcheck[ \t]+disable=([\w,]+)")
_ALLOW = lazy(r"fumehood:\s*allow\s*\[([^\]]*)\][ \t]*([^\n]*)")
_CODE = lazy(r"[A-Z]{1,4}[0-9]{2,5}", re.IGNORECASE)
_WORD = lazy(r"[A-Za-z][\w-]*")
_SECURITY_LINTERS = frozenset({"gosec", "gas", "all"})
_MAX_LINES = 1000
UNEXPLAINED = "FH005"
_EVERYTHING: frozenset[str] = frozenset({"*"})
_ALIASES = {"E722": ("BLE001",), **{f"FH20{last}": ("G101",) for last in range(1, 8)}}
_BANDIT_NAMES = {
    "B101": "assert_used",
    "B102": "exec_used",
    "B103": "set_bad_file_permissions",
    "B104": "hardcoded_bind_all_interfaces",
    "B105": "hardcoded_password_string",
    "B106": "hardcoded_password_funcarg",
    "B107": "hardcoded_password_default",
    "B108": "hardcoded_tmp_directory",
    "B110": "try_except_pass",
    "B112": "try_except_continue",
    "B113": "request_without_timeout",
    "B201": "flask_debug_true",
    "B202": "tarfile_unsafe_members",
    "B301": "pickle",
    "B302": "marshal",
    "B303": "md5",
    "B304": "ciphers",
    "B305": "cipher_modes",
    "B306": "mktemp_q",
    "B307": "eval",
    "B308": "mark_safe",
    "B310": "urllib_urlopen",
    "B311": "random",
    "B312": "telnetlib",
    "B313": "xml_bad_cElementTree",
    "B314": "xml_bad_ElementTree",
    "B315": "xml_bad_expatreader",
    "B316": "xml_bad_expatbuilder",
    "B317": "xml_bad_sax",
    "B318": "xml_bad_minidom",
    "B319": "xml_bad_pulldom",
    "B321": "ftplib",
    "B323": "unverified_context",
    "B324": "hashlib_insecure_functions",
    "B401": "import_telnetlib",
    "B402": "import_ftplib",
    "B403": "import_pickle",
    "B404": "import_subprocess",
    "B405": "import_xml_etree",
    "B406": "import_xml_sax",
    "B407": "import_xml_expat",
    "B408": "import_xml_minidom",
    "B409": "import_xml_pulldom",
    "B411": "import_xmlrpclib",
    "B412": "import_httpoxy",
    "B413": "import_pycrypto",
    "B415": "import_pyghmi",
    "B501": "request_with_no_cert_validation",
    "B502": "ssl_with_bad_version",
    "B503": "ssl_with_bad_defaults",
    "B504": "ssl_with_no_version",
    "B505": "weak_cryptographic_key",
    "B506": "yaml_load",
    "B507": "ssh_no_host_key_verification",
    "B508": "snmp_insecure_version",
    "B509": "snmp_weak_cryptography",
    "B601": "paramiko_calls",
    "B602": "subprocess_popen_with_shell_equals_true",
    "B603": "subprocess_without_shell_equals_true",
    "B604": "any_other_function_with_shell_equals_true",
    "B605": "start_process_with_a_shell",
    "B606": "start_process_with_no_shell",
    "B607": "start_process_with_partial_path",
    "B608": "hardcoded_sql_expressions",
    "B609": "linux_commands_wildcard_injection",
    "B610": "django_extra_used",
    "B611": "django_rawsql_used",
    "B612": "logging_config_insecure_listen",
    "B613": "trojansource",
    "B614": "pytorch_load",
    "B615": "huggingface_unsafe_download",
    "B701": "jinja2_autoescape_false",
    "B702": "use_of_mako_templates",
    "B703": "django_mark_safe",
    "B704": "markupsafe_markup_xss",
}


class Suppressions:
    """The markers of one source.

    Attributes:
        unexplained: A finding for each ``allow`` that gives no reason and so allows nothing.
    """

    def __init__(
        self,
        text: str,
        comments: Callable[[str], Iterable[tuple[int, str]]],
        line_of: Callable[[int], int],
        rule_names: frozenset[str],
    ) -> None:
        self.unexplained: list[Seen] = []
        self._by_line: dict[int, frozenset[str]] = {}
        # Words are found faster one by one than by a pattern that looks for any of them in either case.
        lowered = text.lower()
        if not any(word in lowered for word in _MARKERS):
            return
        for at, comment in comments(text):
            codes, reaches_down = _codes(comment, rule_names)
            line = line_of(at)
            if codes:
                self._add(line, codes)
                if reaches_down and not text[text.rfind("\n", 0, at) + 1 : at].strip():
                    self._add(line + 1, codes)
            elif _ALLOW.search(comment):
                self.unexplained.append(_unexplained(line, at - text.rfind("\n", 0, at), len(comment)))

    def __bool__(self) -> bool:
        return bool(self._by_line) or bool(self.unexplained)

    def _add(self, line: int, codes: frozenset[str]) -> None:
        self._by_line[line] = self._by_line.get(line, frozenset()) | codes

    def remaining(self, seen: Seen, statement_lines: Mapping[int, tuple[int, int]]) -> Seen | None:
        """Give what the markers leave of a finding: all of it, fewer names, or None."""
        for line in _lines(seen.hit.span, statement_lines):
            codes = self._by_line.get(line)
            if codes:
                left = _without(seen, codes)
                if left is None:
                    return None
                seen = left
        return seen


def _without(seen: Seen, codes: frozenset[str]) -> Seen | None:
    if "*" in codes or seen.label.id in codes or seen.label.name.upper() in codes:
        return None
    if any(code in codes for code in _ALIASES.get(seen.label.id, ())) or _shares_words(seen, codes):
        return None
    gone = [name for name in seen.also if not codes.isdisjoint(_spellings(name))]
    if not gone:
        return seen if codes.isdisjoint(_spellings(seen.label.id)) else None
    if seen.also[0] in gone or len(gone) == len(seen.also):
        return None
    return seen._replace(also=tuple(name for name in seen.also if name not in gone))


def _spellings(name: str) -> Iterator[str]:
    yield name
    if name.startswith("B") and name[1:].isdigit():
        yield f"S{name[1:]}"
        yield _BANDIT_NAMES.get(name, name).upper()
    yield from _ALIASES.get(name, ())


def _shares_words(seen: Seen, codes: frozenset[str]) -> bool:
    """Whether a rule of Semgrep's that is named speaks of the same thing: its ids are sentences, ours two words."""
    words = {word for code in codes if code.startswith("?") for word in code[1:].split("-")}
    return bool(words) and not words.isdisjoint(seen.label.name.upper().split("-"))


def _lines(span: Span, statement_lines: Mapping[int, tuple[int, int]]) -> Iterator[int]:
    yield from range(span.line, min(span.end_line, span.line + _MAX_LINES) + 1)
    yield from statement_lines.get(span.line, ())


def _codes(comment: str, rule_names: frozenset[str]) -> tuple[frozenset[str], bool]:
    """What a comment names, and whether it also speaks of the line below."""
    found: frozenset[str] = frozenset()
    below = False
    for match in _NOSEC.finditer(comment):
        words = _WORD.findall(match[1].partition("--")[0])
        codes = {word.upper() for word in words if _is_name(word, rule_names)}
        found |= codes or _EVERYTHING  # prose after the marker is a reason, not a list
        below |= comment.startswith("//")
    for match in _NOQA.finditer(comment):
        found |= {code.upper() for code in _CODE.findall(match[1] or "")} or _EVERYTHING
    for match in _NOLINT.finditer(comment):
        linters = {name.strip() for name in (match[1] or "all").split(",")}
        if linters & _SECURITY_LINTERS:
            found, below = found | _EVERYTHING, True
    for match in _SEMGREP.finditer(comment):
        rules = [name.strip().rpartition(".")[2].upper() for name in (match[1] or "").split(",") if name.strip()]
        found, below = found | (frozenset(f"?{name}" for name in rules) or _EVERYTHING), True
    for match in _GOSEC.finditer(comment):
        found, below = found | (frozenset(re.findall(r"G[0-9]{3}", match[1])) or _EVERYTHING), True
    for pattern in (_IGNORE, _SHELLCHECK):
        for match in pattern.finditer(comment):
            found, below = found | frozenset(code.upper() for code in match[1].split(",")), True
    for match in _ALLOW.finditer(comment):
        if match[2].strip(" -:"):
            found |= {name.strip().upper() for name in match[1].split(",") if name.strip()}
            below = True
    return found, below


def _is_name(word: str, rule_names: frozenset[str]) -> bool:
    return bool(_CODE.fullmatch(word)) or "_" in word or word in rule_names


def _unexplained(line: int, column: int, length: int) -> Seen:
    label = Label(UNEXPLAINED, "allow-unexplained", Severity.INFO, Confidence.HIGH)
    message = "allows nothing: a reason has to follow, as in allow[FH101] the text is our own"
    return Seen(label, Hit(span=Span(line, column, line, column + length), message=message))
