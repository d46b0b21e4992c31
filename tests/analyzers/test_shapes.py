from __future__ import annotations

import random
import re
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers import analyze, pairs, secrets
from analyzers.issuers import INDEX, SHAPES
from analyzers.pairs import find_pairs
from analyzers.randomness import find_random
from analyzers.secrets import find
from analyzers.shapes import Shape

CLASS = re.compile(r"\[((?:\\.|[^\]])+)\]")
BAIT = (
    "a", "0", "-", "_", "=", ".", "/", ":", "://", "'", '"', "\\", "\\n", " ", "{", "{{", "${", "<", "(", "token",
    "password=", "key:", "secret = ", "curl ", "curl -u a:b ", "-H ", "mysql -p", "sshpass -p", "kind: Secret\n",
    "data:\n  a: ", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "Basic YWJj", "eyJ", "eyJhbGciOiJIUzI1NiJ9.", "a:b@",
    "https://a:", "https://a?key=", '"a" == ', "token,", "token(", "name: token value: ", "é", "İ", 'token "', "-us",
    "facebook |", "1234567890|", "123456:A", "sumo su", '"' + "aB3" * 10 + '"', "<add key='password' value='",
)  # fmt: skip


def drawn(shape: Shape, prefix: str) -> str:
    """Make a token of a shape: every class of its pattern is drawn from, as often as it has to be at least."""
    chance = random.Random(shape.kind + prefix)  # noqa: S311 - samples, and the same each time
    pattern = shape.regex
    body = pattern[pattern.index(r"\\[nrt]))") + len(r"\\[nrt]))") : pattern.rindex("(?![A-Za-z0-9_])")]
    return _sequence(re.sub(r"\(\?[=!<][^()]*(?:\([^()]*\)[^()]*)*\)", "", body), prefix, chance)


def _sequence(pattern: str, prefix: str, chance: random.Random) -> str:
    made, at = [], 0
    while at < len(pattern):
        if pattern[at] == "(":
            end = _closing(pattern, at)
            inner = pattern[at + 1 : end].removeprefix("?:")
            options = _split(inner)
            named = [option for option in options if re.sub(r"\\(.)", r"\1", option) == prefix]
            part, at = _sequence(named[0] if named else options[0], prefix, chance), end + 1
            make = [part]
        elif (match := CLASS.match(pattern, at)) is not None:
            allowed = [one for one in string.printable[:95] if re.fullmatch(match[0], one)]
            at, make = match.end(), allowed
        elif pattern[at] == "\\":
            make, at = [pattern[at + 1]], at + 2
        else:
            make, at = [pattern[at]], at + 1
        times = re.compile(r"\{(\d+)(?:,\d*)?\}|([?*])").match(pattern, at)
        count = 1
        if times:
            count, at = int(times[1] or 0), times.end()
        made += [chance.choice(make) for _ in range(count)]
    return "".join(made)


def _closing(pattern: str, at: int) -> int:
    depth, index = 0, at
    while True:
        if pattern[index] == "\\":
            index += 1
        elif pattern[index] in "()":
            depth += 1 if pattern[index] == "(" else -1
            if not depth:
                return index
        index += 1


def _split(pattern: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for index, character in enumerate(pattern):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "|" and not depth and pattern[index - 1] != "\\":
            parts.append(pattern[start:index])
            start = index + 1
    return [*parts, pattern[start:]]


def _samples() -> list[object]:
    return [
        pytest.param(shape, prefix, id=f"{prefix}-{shape.kind}")
        for shape in SHAPES
        for prefix in shape.prefixes
        if shape.kind != "JSON Web Token"
    ]


@pytest.mark.parametrize(("shape", "prefix"), _samples())
def test_a_token_of_every_shape_is_found(shape: Shape, prefix: str) -> None:
    """A token drawn by the pattern of its issuer is found in a text, whatever language it is, and never repeated."""
    for attempt in range(40):
        token = drawn(shape, prefix) if not attempt else _again(shape, prefix, attempt)
        text = f'{shape.context}\nx = "{token}"\n'
        found = [text[secret.start : secret.end] for secret in find(text)]
        if any(token in one or one in token for one in found):
            break
    else:
        pytest.fail(f"{shape.kind}: {token} is not found")
    report = analyze(text, "text")
    assert {"FH202", "FH204"} & {finding.rule for finding in report.findings}
    assert token not in repr(report)


def _again(shape: Shape, prefix: str, attempt: int) -> str:
    """Another draw, where chance made the first a poor sample (a token without a digit, say)."""
    return drawn(shape._replace(kind=f"{shape.kind}{attempt}"), prefix)


def test_an_index_misses_no_prefix() -> None:
    """Each prefix is noticed at the start, behind punctuation and behind an escaped newline."""
    for shape in SHAPES:
        for prefix in shape.prefixes:
            for before in ("", '"', "(", "=", "\\n", "\n\t", ","):
                text = f"{shape.context} {before}{prefix}Zk3Qw7Lm2Xv8Tn4Rb6Yc1Hd5Jf0"
                assert (prefix, shape) in list(INDEX.prefixes_in(text)), (prefix, before)


def test_a_word_that_only_contains_a_token_is_none() -> None:
    """A run of letters around what would be a token belongs to something else."""
    token = "AKIA" + "Z7Q2M5X3K6T4W2NB"
    assert find(token)
    for text in (f"x{token}", f"{token}x", f"my_{token}", f"{token}_id", f"{token}7"):
        assert not find(text)


@pytest.mark.parametrize(
    "token",
    [
        "gh" + "p_" + "x" * 36, "AK" + "IA" + "X" * 16, "AIza" + "a" * 35, "glpat" + "-XXXXXXXXXXX-XXXXXXXX",
        "hf_" + "requiredCharacteristicTypesForDisplayMetadata"[:34], "s." + "AcceptanceTimeoutSeconds",
        "AIzaSy" + "abcdefghijklmnopqrstuvwxyz" + "1234567", "sk-" + "your-api-key-goes-here-00",
        "pplx-" + "x" * 48, "sha256~" + "X" * 43, "eyJBB.eyJCC.eyJDDDD", "xoxb-" + "my-bot-token-for-slack",
    ],
)  # fmt: skip
def test_what_nobody_issued_is_no_token(token: str) -> None:
    """Masks, alphabets, names of functions and words are not taken for what they begin like."""
    assert find(f'x = "{token}"') == []


@pytest.mark.parametrize("bait", [*BAIT, *dict.fromkeys(prefix for shape in SHAPES for prefix in shape.prefixes)])
def test_time_grows_with_the_text_and_no_faster(bait: str) -> None:
    """Every search is linear: four times the bait takes about four times as long, and a quarter megabyte no minute."""

    def seconds(size: int) -> float:
        text = (bait * (size // len(bait) + 1))[:size]
        started = time.process_time()
        find(text)
        list(find_pairs(text))
        list(find_random(text))
        return time.process_time() - started

    small, large = 2_000, 8_000
    first = min(seconds(small) for _ in range(3))
    second = min(seconds(large) for _ in range(3))
    # The constant keeps the clock's grain and a busy machine out of the comparison.
    assert second <= 7 * first + 0.02


def test_the_curl_and_kubernetes_readers_stop_where_their_subject_does() -> None:
    """What follows a command on another line is not its argument, and only the data of a Secret is one."""
    assert find("curl https://x\n-notcurl -u admin:hunter2x\n") == []
    manifest = "kind: ConfigMap\ndata:\n  a: YWRtaW46cGFzc3dvcmQ=\n---\nkind: Secret\nmetadata:\n  a: YWRtaW46cGFz\n"
    assert find(manifest) == []
    (secret,) = find(manifest + "data:\n  b: YWRtaW46cGFzc3dvcmQ=\n")
    assert secret.kind == "value of a Kubernetes secret"


def test_secrets_module_keeps_one_mask() -> None:
    """The mask is what the documentation says."""
    assert secrets.MASK == "****"


HINTED = (
    "pass",
    "word",
    "phrase",
    "pwd",
    "key",
    "token",
    "_",
    ".",
    "-",
    "a",
    "motde",
    "auth",
    "pat",
    "pw",
    "login",
    "\n",
)


@given(st.lists(st.sampled_from(HINTED), max_size=30).map("".join))
def test_hints_are_found_wherever_the_pattern_finds_one(text: str) -> None:
    """Telling words are looked for one by one; the pattern says where they count."""
    past, found = 0, []
    for at in pairs._hints(text):
        match = pairs.HINTS.match(text, at) if at >= past else None
        if match:
            found.append(match.span())
            past = match.end()
    assert found == [match.span() for match in pairs.HINTS.finditer(text)]
