from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers import analyze
from analyzers.credentials import holds_secret
from analyzers.masking import Masker
from analyzers.placeholders import is_placeholder
from analyzers.render import to_github, to_json, to_text
from analyzers.sarif import to_sarif
from analyzers.secret_rules import RULES
from analyzers.secrets import find

# The first example of a process pays for imports.
UNHURRIED = settings(deadline=None)
VALUES = st.text(st.sampled_from("abcdefghkmnpqrstuvwzABCDEFGHKMNPQRSTUVWZ23456789"), min_size=10, max_size=24)
FORMS = (
    'password = "{0}"',
    'api_key = "{0}"; token = "{0}"',
    'f(password="{0}")',
    'config = {{"db_password": "{0}", "a": eval("{0}")}}',
    'def f(a, password="{0}"): return eval("{0}")',
    'if password == "{0}": pass',
    'secret = b"{0}"  # {0}',
    'url = "https://user:{0}@host.internal/"; exec("{0}")',
    'password = "{0}"\nif (',
    'password = (\n  "{0}"\n  ""\n)',
    'key = "sk-proj-{0}{0}"',
    'connect("h", auth=("me", "{0}"))  # nosec',
    'subprocess.call("mysql -p{0}", shell=True); password = "{0}"',
)


def renderings(code: str) -> str:
    """Give everything that is ever shown of a report."""
    report = analyze(code, engines=("bandit",))
    return "\n".join((to_text(report), to_json(report), to_sarif(report), to_github(report), repr(report)))


@UNHURRIED
@given(VALUES.filter(lambda value: any(c.isdigit() for c in value)), st.sampled_from(FORMS))
def test_a_secret_is_never_repeated(value: str, form: str) -> None:
    """However a secret is written and whatever else is found beside it, no rendering holds its value."""
    assert value not in renderings(form.format(value))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_value_of_every_sample_is_masked(rule: object) -> None:
    """No sample's secret is in any rendering of its report."""
    for sample in rule.hits:
        shown = renderings(sample)
        for secret in find(sample):
            assert sample[secret.start : secret.end] not in shown


def test_bandits_own_password_findings_are_masked() -> None:
    """A value that only Bandit takes for a password is quoted neither by its message nor by a snippet."""
    report = analyze('token = "NextToken"\nassert f(password="NextToken")\n', engines=("bandit",))
    assert {"B105", "B106"} <= {finding.rule for finding in report.findings}
    assert "NextToken" not in renderings('token = "NextToken"\n')


def test_a_masker_hides_what_reaches_into_the_quote() -> None:
    """A quote that begins or ends inside a secret shows nothing of it; the rest stays."""
    masker = Masker("before SECRETVALUE after SECRETVALUE", [(7, 18)])
    assert masker.quote(0, 36) == "before **** after ****"
    assert masker.quote(10, 20) == "**** a"
    assert masker.quote(0, 10) == "before ****"
    assert masker.quote(19, 24) == "after"


@pytest.mark.parametrize(
    "value",
    [
        "changeme", "your-api-key", "YOUR_API_KEY", "xxxxxxxx", "****", "<token>", "${TOKEN}", "$TOKEN", "{{ token }}",
        "{token}", "%s", "%(token)s", "os.environ[X]", "example-key", "REPLACE_ME",
        "my-example-password", "...", "insert-key",
        "[your key]", "", "   ", "todo", "api-key-here",
    ],
)  # fmt: skip
def test_placeholders(value: str) -> None:
    """What stands where a secret would be filled in is no secret."""
    assert is_placeholder(value)


@pytest.mark.parametrize(
    "value",
    [
        "hunter2",
        "P@$$w0rd",
        "secret",
        "passw0rd",
        "admin",
        "root",
        "123456",
        "qwerty",
        "Tr0ub4dor&3",
        "my-secret-value",
    ],
)
def test_weak_passwords_are_secrets(value: str) -> None:
    """A bad password is one all the same."""
    assert holds_secret("password", value)


@pytest.mark.parametrize("name", ["password", "DB_PASSWORD", "dbPassword", "userPwd", "x-secret", "passphrase", "PASS"])
def test_names_in_every_style(name: str) -> None:
    """Snake, kebab, camel and shouting case are one name."""
    assert holds_secret(name, "hunter2")


@pytest.mark.parametrize("name", ["compass", "passenger", "author", "keyboard", "monkey", "bypass", "tokenizer"])
def test_names_that_only_contain_a_telling_word(name: str) -> None:
    """A word is telling as a word, not as part of another."""
    assert not holds_secret(name, "a9Zk3Qw7Lm2Xv8Tn4Rb6")


@UNHURRIED
@given(st.text(max_size=400))
def test_finding_never_raises_and_never_overlaps(text: str) -> None:
    """Any text can be searched; what is found lies inside it, in order, apart."""
    at = 0
    for secret in find(text):
        assert at <= secret.start < secret.end <= len(text)
        at = secret.end
