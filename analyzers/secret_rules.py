"""The rules that need no parser: secrets known by their own shape, the same in every language."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.randomness import find_random
from analyzers.rule import Hit, Label, Rule, Seen
from analyzers.secrets import MASK
from analyzers.source import Source

_SHOWN_NAME = 60
_NAMED = Label("FH201", "hardcoded-secret", Severity.HIGH, Confidence.MEDIUM, 798)


def known_token(source: Source) -> Iterator[Hit]:
    """A token whose issuer can be recognised: AWS, GitHub, GitLab, Slack, Stripe, OpenAI, Anthropic, Google and more.

    Whoever can read the text can use the token, and histories and logs keep it. Revoke it, and read the next one from
    the environment or a secret store. Masks and placeholders are not reported.
    """
    return _of("FH202", source)


def private_key(source: Source) -> Iterator[Hit]:
    """A private key in PEM form stands in the text.

    The key belongs to whoever can read the text. Make a new one, and load it from a file outside the source.
    """
    return _of("FH203", source)


def url_password(source: Source) -> Iterator[Hit]:
    """A URL holds a user's password, as in ``postgres://user:password@host``.

    URLs end in logs, error messages and process lists. Put the password together with the URL when the program runs.
    """
    return _of("FH204", source)


def basic_header(source: Source) -> Iterator[Hit]:
    """A ready-made ``Basic`` authorization header: a user and a password, merely in base64.

    Build the header from values of the environment or a secret store.
    """
    return _of("FH205", source)


def command_password(source: Source) -> Iterator[Hit]:
    """A password or token stands among a command's arguments: ``curl -u user:password``, ``sshpass -p``, ``mysql -p``.

    Besides the source, histories and process lists show it. Let the command read it: ``curl --config``, ``~/.netrc``,
    ``SSHPASS`` with ``sshpass -e``, an option file of mysql.
    """
    return _of("FH207", source)


def random_text(source: Source) -> Iterator[Hit]:
    """A quoted text looks drawn at random: it may be a key, and nothing says what it is.

    A guess, for information only. A name (``fixture_digest``, ``public_key``) or a comment that says what it is helps
    readers as well. Hashes of the usual lengths, UUIDs and texts under a name that explains them are not reported, and
    neither are more than twenty of them: those are data.
    """
    known = source.secrets
    for start, end in find_random(source.text):
        if not any(secret.start < end and start < secret.end for secret in known):
            span = source.between(start, end)
            yield Hit(span=span, message=f"random-looking text; is it a key? ({MASK})", secret=span)


def named_secrets(source: Source, *, settings: bool = True) -> Iterator[Seen]:
    """What text without a tree shows of FH201: a telling name beside a value. ``settings`` as for ``find_pairs``."""
    from analyzers.pairs import find_pairs  # noqa: PLC0415 - its patterns cost a start, and a tree needs none of them

    for pair in find_pairs(source.text, settings=settings):
        span = source.between(pair.start, pair.end)
        message = f"{pair.name[-_SHOWN_NAME:]} is set to a secret in the source ({MASK})"
        confidence = Confidence.LOW if pair.bare else Confidence.MEDIUM
        hit = Hit(span=span, message=message, secret=span, confidence=confidence)
        yield Seen(_NAMED, hit, ("B105",))


def _of(rule: str, source: Source) -> Iterator[Hit]:
    for secret in source.secrets:
        if secret.rule == rule:
            span = source.between(secret.start, secret.end)
            yield Hit(span=span, message=f"{secret.kind} in the source ({MASK})", secret=span)


def _join(*parts: str) -> str:
    """Join the parts of a made-up secret, so that this file holds none in one piece."""
    return "".join(parts)


_HEX = "0f3a9c1b7e5d2468" * 4
_ALNUM = "a9Zk3Qw7Lm2Xv8Tn4Rb6Yc1Hd5Jf0GpSeUiOqWz3K7m9B2x4N6v8C1l5"
_PEM_SAMPLE = _join(
    "-----BEGIN RSA PRIVATE ", "KEY-----\n", "MIIEowIBAAKCAQEA" * 4, "\n-----END RSA PRIVATE ", "KEY-----"
)

_TOKENS = (
    _join("AK", "IA", "Z7Q2M5X3K6T4W2NB"),
    _join("AK", "IA", "IOSFODNN7EXAMPLE"),
    _join("gh", "p_", _ALNUM[:36]),
    _join("github", "_pat_", _ALNUM[:22], "_", _ALNUM[:56]),
    _join("gl", "pat-", _ALNUM[:20]),
    _join("xo", "xb-", "123456789012-1234567890123-", _ALNUM[:24]),
    _join("https://hooks.slack", ".com/services/", "T01234567/B01234567/", _ALNUM[:24]),
    _join("sk", "_live_", _ALNUM[:24]),
    _join("sk", "-", _ALNUM[:48]),
    _join("sk", "-proj-", _ALNUM[:48]),
    _join("sk", "-ant-", "api03-", _ALNUM[:56]),
    _join("AI", "za", "Sy", _ALNUM[:33]),
    _join("np", "m_", _ALNUM[:36]),
    _join("pypi", "-AgE", _ALNUM[:56], _ALNUM[:40]),
    _join("S", "G.", _ALNUM[:22], ".", _ALNUM[:43]),
    _join("S", "K", _HEX[:32]),
    _join("eyJ", "hbGciOiJIUzI1NiJ9", ".eyJ", "zdWIiOiIxMjM0NTY3ODkwIn0", ".", _ALNUM[:43]),
    _join("Account", "Key=", _ALNUM[:56], _ALNUM[:30], "=="),
    _join("h", "f_", "AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh"),
    _join("1234567890", ":AA", _ALNUM[:33]),
    _join("dop", "_v1_", _HEX),
    _join("glsa", "_", _ALNUM[:32], "_0a1b2c3d"),
    _join("Bearer ", _ALNUM[:40]),
)
_DISCORD = _join("MT", _ALNUM[:22], ".", "Gh3kZq", ".", _ALNUM[:38])

RULES: tuple[Rule, ...] = (
    Rule(
        id="FH202",
        name="known-token",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=798,
        check=known_token,
        hits=(
            *(f'value = "{token}"\n' for token in _TOKENS),
            f"# old one: {_TOKENS[1]}\n",
            f'client.run("{_DISCORD}")  # discord\n',
            f"connect(headers={{'Authorization': 'Bearer {_ALNUM[:40]}'}})\n",
        ),
        misses=(
            'key = "ghp_' + "x" * 36 + '"\n',
            'key = "sk-your-api-key-goes-here-0000"\n',
            'css = "sk-fading-circle-dot-inner"\n',
            'css = "task-4f3a9c1b7e5d2468"\n',
            'text = "ask-me-anything-about-2024"\n',
            'header = f"Bearer {token}"\n',
            'import os\nkey = os.environ["OPENAI_API_KEY"]\n',
            'name = "eyJhbGciOiJIUzI1NiJ9"\n',
            'digest = "' + _HEX + '"\n',
            'text = "npm_config_registry and github_pat_ and hf_hub_download"\n',
        ),
    ),
    Rule(
        id="FH203",
        name="private-key",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=798,
        check=private_key,
        hits=(
            f'key = """{_PEM_SAMPLE}"""\n',
            "key = '" + _PEM_SAMPLE.replace("\n", "\\n") + "'\n",
            "key = ('" + _PEM_SAMPLE.replace("\n", "\\n'\n       '") + "')\n",
        ),
        misses=(
            'if text.startswith("-----BEGIN RSA PRIVATE KEY-----"):\n    pass\n',
            'head, tail = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"\n',
            _PEM_SAMPLE.replace("PRIVATE", "PUBLIC").join(('key = """', '"""\n')),
        ),
    ),
    Rule(
        id="FH204",
        name="url-password",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=798,
        check=url_password,
        hits=(
            'url = "postgres://app:' + "s3cr3tpw" + '@db.internal/app"\n',
            'url = "https://bot:' + "hunter2" + '@git.company.io/repo.git"\n',
            'url = "redis://:' + "q8Zt7pLm" + '@cache:6379/0"\n',
        ),
        misses=(
            'url = "postgres://user:password@localhost/db"\n',
            'url = f"postgres://{user}:{password}@{host}/db"\n',
            'url = "postgres://user:<password>@host/db"\n',
            'url = "postgres://$USER:$PASSWORD@host/db"\n',
            'url = "postgres://postgres:postgres@localhost:5432/app"\n',
            'url = "http://host:8080/path@thing"\n',
            'url = "https://host/a:b@c"\n',
        ),
    ),
    Rule(
        id="FH205",
        name="basic-header",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=798,
        check=basic_header,
        hits=('headers = {"Authorization": "Basic ' + "YWRtaW46aHVudGVyMg==" + '"}\n',),
        misses=('headers = {"Authorization": "Basic " + encoded}\n', 'title = "Basic training materials"\n'),
    ),
    Rule(
        id="FH206",
        name="random-text",
        severity=Severity.INFO,
        confidence=Confidence.LOW,
        cwe=798,
        check=random_text,
        hits=(
            f'sign("{_ALNUM[:44]}")\n',
            f'blob = "{_ALNUM[:30]}+/{_ALNUM[30:44]}=="\n',
            'seed("0b9c41d7e82f5a6304b1c8d9e7f20a53")\n',
        ),
        misses=(
            f'digest = "{_HEX}"\n',
            f'public_key = "{_ALNUM[:44]}"\n',
            f'expected_sha256 = "{_ALNUM[:44]}"\n',
            'uid("5eb4223e-5008-46e5-be67-c7b8f2732305")\n',
            'use("subprocess_check_output_with_timeout_2")\n',
            'chars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"\n',
            "".join(f'check("{_ALNUM[at : at + 36]}{at}")\n' for at in range(21)),
        ),
    ),
    Rule(
        id="FH207",
        name="command-password",
        severity=Severity.HIGH,
        confidence=Confidence.MEDIUM,
        cwe=798,
        check=command_password,
        hits=(
            'os.system("curl -u admin:' + "hunter2" + ' https://api.internal/")\n',
            "os.system('curl --user \"admin:" + "s3cr3t!" + "\" https://api.internal/')\n",
            "os.system('curl -H \"X-Api-Token: " + "Zk94HG7f6KB" + "\" https://api.internal/')\n",
            'os.system("sshpass -p ' + "hunter2" + ' ssh root@db")\n',
            'os.system("mysql -u root -p' + "hunter2" + ' app")\n',
        ),
        misses=(
            'os.system("curl -u $USER:$PASSWORD https://api.internal/")\n',
            'os.system("curl -u <user>:<password> https://api.internal/")\n',
            "os.system('curl -H \"Authorization: Bearer $TOKEN\" https://api.internal/')\n",
            'os.system("mysql -u root -p app")\n',
            'os.system("sshpass -e ssh root@db")\n',
            'os.system("curl --user admin https://api.internal/")\n',
        ),
    ),
)
