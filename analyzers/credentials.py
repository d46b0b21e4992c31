"""Does this name, holding this value, hold a secret? Pure questions about two strings, the same in every language."""

from __future__ import annotations

import re
from itertools import pairwise

from analyzers.placeholders import is_placeholder, is_random, is_uuid, is_wordy, words

_MAX_NAME = 120


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names whose value is a secret whatever it looks like: people choose passwords.
_CHOSEN = _set(
    "password passwords passwd passwort passphrase pwd pass pswd pw contrasena contraseña motdepasse secret secrets "
    "secrete"
)
_CLEARLY_CHOSEN = _CHOSEN - _set("pass pw secret secrets")
# Names whose value is a secret when it looks made by a machine: the same names also hold words and labels.
_ISSUED = _set(
    "token jwt apikey accesskey secretkey authkey authtoken credential credentials creds cred bearer webhook pat "
    "authorization"
)
_ISSUED_PAIRS = _set(
    "api_key access_key account_key auth_key encryption_key signing_key private_key priv_key service_key shared_key "
    "master_key session_key storage_key subscription_key license_key deploy_key consumer_key client_key app_key "
    "admin_key aes_key hmac_key jwt_key crypto_key fernet_key cipher_key auth_header connection_string conn_str "
    "db_key database_key user_auth basic_auth secret_string"
)
# Words that names run together, ``CLIENTSECRET``: what they end in decides.
_CHOSEN_ENDINGS = ("password", "passwd", "passphrase", "secret")
_ISSUED_ENDINGS = ("apikey", "api_key", "accesskey", "secretkey", "privatekey", "authkey", "accesstoken", "authtoken",
                   "apitoken", "refreshtoken", "bottoken", "clienttoken")  # fmt: skip
# Services whose keys need no further word beside their name: ``cloudflare: "…"``, ``HEROKU_KEY``, ``SONAR_LOGIN``.
_SERVICES = _set(
    "adafruit airtable algolia alibaba aliyun amplitude asana atlassian confluence jira auth0 aws azure beamer "
    "bitbucket bittrex brevo bugsnag buildkite circleci clickhouse clickup cloudant cloudflare cloudinary codacy "
    "codecov cohere coinbase confluent contentful coveralls databricks datadog deepgram deepl digitalocean discord "
    "docker dockerhub doppler droneci dropbox dynatrace easypost elastic etsy facebook fastly fcm figma finicity "
    "finnhub firebase flickr freshbooks freshdesk gitea github gitlab gitter gocardless grafana groq hashicorp "
    "heroku hetzner honeycomb hubspot huggingface ibm ifttt infura instagram intercom jfrog kaggle kraken kucoin "
    "langfuse launchdarkly linear linkedin linode lob logdna loggly looker mailchimp mailgun mailjet mandrill mapbox "
    "mattermost meraki messagebird mistral mixpanel mongodb mux netlify newrelic ngrok notion npm nuget nytimes okta "
    "openai openrouter openweather opsgenie pagerduty paypal paystack perplexity pinecone plaid postman postmark "
    "privateai pubnub pulumi pusher quay rapidapi razorpay readme replicate rollbar segment sendbird sendgrid "
    "sendinblue sentry shodan shopify slack smtp snyk softlayer sonar sonarcloud sonarqube sourcegraph spotify "
    "square squarespace stripe sumo sumologic supabase telegram tencent terraform todoist travis trello twilio "
    "twitch twitter typeform unsplash vault vercel virustotal vonage vultr wakatime weatherapi yandex zendesk zoho "
    "zoom cloud iam cos hmac sl"
)
# A last word that says the value only talks about a secret: where it is, what it is called, how it is checked.
_ABOUT = _set(
    "url urls uri path file filename dir directory name names field label header headers type kind regex pattern "
    "prompt msg message error hint help text title description desc length len min max count ttl expiry expires "
    "timeout lifetime env var variable param parameter endpoint algorithm algo alg format prefix suffix class column "
    "template index id ids version policy strategy validator validators reset form input placeholder attr attribute "
    "location source provider manager store backend hasher hash hashed digest checksum salt scheme realm mode status "
    "state hidden visible required enabled option flag arn ref selector xpath css element page view route public "
    "size chars charset alphabet domain host port region bucket namespace rules rule rev sha commit sum integrity"
)
_ABOUT_FIRST = _set(
    "next continuation page pagination csrf csrfmiddleware xsrf pad bos eos unk sep cls mask split stop special sync "
    "max min num no has is use show hide forgot reset change confirm invalid missing wrong expected public pub valid "
    "authenticity requestverification"
)
# Keys that open nothing: they sort, cache, join and name things.
_PLAIN_KEYS = _set(
    "primary foreign public pub cache sort partition bucket schema sequence idx natural hot row column hash group "
    "order map dict json lookup index idempotency routing registry object item node entry record session react shard "
    "dedupe keyboard event trigger translation i18n locale message metric feature setting config s3 redis state "
    "query unique composite cluster ssh_public hit down up left right pressed search filter tag answer"
)
# What is drawn at random without being secret.
_OPEN = _set(
    "sha sha1 sha256 sha512 md5 digest hash hashes checksum crc uuid guid commit rev revision integrity fingerprint "
    "etag public pub cert certificate signature nonce id version build data image svg png thumbprint expected"
)
# A pass that is a round of work, not a word to get in; and what may follow the word without changing what is held.
_PASSES = _set("first second one two single multi forward backward render low high band by final last nth")
_VARIANTS = _set(
    "key value text plain plaintext str string default prod production dev test staging admin root user db bytes"
)
# Texts rather than compiled: most starts never need them, and :mod:`re` keeps what it compiled.
_SCHEME = r"(?i:Basic|Bearer|Token|Api-Token|Api-Key|ApiKey|FlyV1)[ ]{1,3}(?=\S)"
_MIN_ISSUED = 8
_MIN_MIXED = 16
_MIN_KEY = 20
_MIN_BARE = 6
_MIN_BARE_ISSUED = 12
_CALL = r"[A-Za-z_]\w*[(\[]"
_CODE_PATH = r"[$&*]?[A-Za-z_][\w$]*(?:(?:\.|::|->)[A-Za-z_$]\w*)+[;,]?$"
_BRACKETS = {")": "(", "]": "[", "}": "{"}


def holds_secret(name: str, value: str) -> bool:
    """Whether a variable, argument or key of this name and this literal value is a hard-coded secret."""
    if not value or len(name) > _MAX_NAME:
        return False
    said = words(name)
    scheme = re.match(_SCHEME, value) if " " in value else None
    if scheme:
        value = value[scheme.end() :]
    if not said or said[-1] in _ABOUT or said[0] in _ABOUT_FIRST or is_placeholder(value):
        return False
    if value.strip().lower() == name.lower() or _only_points(value):
        return False
    # A text with spaces is a prompt or a message more often than a passphrase.
    if any(character.isspace() for character in value) or not any(character.isalnum() for character in value):
        return False
    if _is_chosen(said) or (_tells_of_password(said) and _is_complex(value)):
        return True
    return (_is_issued(said) and _looks_issued(value)) or _is_key(said, value)


def is_about(name: str) -> bool:
    """Whether a name says that its value is a hash, an identifier or a public thing, and no secret."""
    said = words(name)
    return bool(said) and (said[-1] in _ABOUT or said[0] in _ABOUT_FIRST or any(word in _OPEN for word in said))


def holds_bare_secret(name: str, value: str, *, is_setting: bool) -> bool:
    """Do as :func:`holds_secret` for a value without quotes, which in a program may be an expression.

    ``is_setting`` says that the line has the form of a setting, ``NAME=value`` or ``name: value`` and nothing else.
    """
    if len(value) < _MIN_BARE or value[0] in "$&*@<{[(/%!|\\" or re.match(_CODE_PATH, value) or _is_expression(value):
        return False
    if not holds_secret(name, value):
        return False
    said = words(name)
    if is_random(value, 10) or is_random(value.strip("-_"), 10):
        return True
    if not is_setting or not _is_complex(value):
        return False
    if _is_chosen(said) or _tells_of_password(said):
        return True
    return len(value) >= _MIN_BARE_ISSUED and not is_wordy(value)


def _is_chosen(said: list[str]) -> bool:
    last = said[-1]
    if last == "pass" and len(said) > 1:
        return said[-2] not in _PASSES
    if last in _CHOSEN or (len(last) > len("secret") and last.endswith(_CHOSEN_ENDINGS)):
        return last != "pw" or len(said) > 1
    return (last in _VARIANTS or last.isdigit()) and any(word in _CHOSEN for word in said)


def _tells_of_password(said: list[str]) -> bool:
    """``password_super_secure``, ``db_pass_new``: the word is there, and nothing says that it is only talked about."""
    return any(word in _CLEARLY_CHOSEN for word in said) or bool({"pass", "secret", "pw"} & {*said[:-1]} - _PASSES)


def _is_issued(said: list[str]) -> bool:
    return (
        any(word in _CHOSEN or word in _ISSUED or word.endswith(_ISSUED_ENDINGS) for word in said)
        or any(f"{left}_{right}" in _ISSUED_PAIRS or f"{left}{right}" in _ISSUED for left, right in pairwise(said))
        or (said[-1] == "auth" and len(said) > 1)
    )


def _is_key(said: list[str], value: str) -> bool:
    """A key by its last word, or a service's name, beside a value that only a machine would write."""
    service = any(word in _SERVICES for word in said) or f"{said[0]}{said[1:2] and said[1]}" in _SERVICES
    if said[-1] == "key" or (said[-1].endswith("key") and said[-1][:-3] in _SERVICES):
        if len(said) == 1 and said[0] == "key":
            return False
        if any(word in _PLAIN_KEYS for word in said[:-1]) and not service:
            return False
        return is_random(value, _MIN_KEY) and (service or not is_uuid(value))
    return (
        service and (said[-1] in _SERVICES or said[-1] == "login") and is_random(value, _MIN_KEY) and not is_uuid(value)
    )


def _only_points(value: str) -> bool:
    """Whether the value is an address, a path, or the name of the thing rather than the thing."""
    if "://" in value[:24] or value.startswith(("/", "./", "../", "~/", "file:")):
        return True
    said = words(value)
    return (
        len(said) > 1
        and value.isidentifier()
        and value.replace("_", "").isalpha()
        and any(word in _CHOSEN or word in _ISSUED for word in said)
        and not _mixed_within_words(value)
    )


def _mixed_within_words(value: str) -> bool:
    return bool(re.search(r"[a-z][A-Z]{2,}[a-z]|[A-Z][a-z][A-Z][a-z][A-Z]", value[:200]))


def _is_complex(value: str) -> bool:
    """Whether more than letters is in it, as a password policy would have it."""
    letters = any(character.isalpha() for character in value)
    return len(value) >= _MIN_BARE and letters and any(not (one.isalpha() or one in "-_. ") for one in value)


def _looks_issued(value: str) -> bool:
    if len(value) < _MIN_ISSUED:
        return False
    letters = any(character.isalpha() for character in value)
    digits = any(character.isdigit() for character in value)
    if letters and digits:
        return True
    symbols = any(character in "!@#$%^&*?~+{}[]()<>" for character in value)
    mixed = value.lower() != value and value.upper() != value
    return (letters and symbols) or (len(value) >= _MIN_MIXED and mixed and _mixed_within_words(value))


def _is_expression(value: str) -> bool:
    """Whether brackets show a call or a subscript. In a program they match; in a password they need not."""
    if not re.search(_CALL, value):
        return value.endswith(("(", "["))
    opened: list[str] = []
    for character in value:
        if character in "([{":
            opened.append(character)
        elif character in ")]}" and (not opened or opened.pop() != _BRACKETS[character]):
            return False
    return not opened or value[-1] in "([{,"
