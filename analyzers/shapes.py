"""The shapes of well-known credentials: what an issuer prints into every token so that it can be recognised.

Every pattern starts with a fixed prefix and repeats one character class a bounded number of times, so matching is
linear in the text; the prefix is looked for first, and most texts hold none of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """One issuer's token. ``prefixes`` are looked for as plain text before ``pattern`` is tried at those places."""

    kind: str
    prefixes: tuple[str, ...]
    pattern: re.Pattern[str]
    back: int = 0
    """How many characters before the prefix the token begins."""
    context: str = ""
    """A word that has to stand somewhere in the text, for shapes whose prefix says little."""


def _shape(kind: str, prefixes: str, rest: str, *, back: int = 0, before: str = "", context: str = "") -> Shape:
    """Build a shape: one of the prefixes, then ``rest``, with no character of a longer word touching either end.

    The edge is also what keeps bait linear: inside one run of token characters only one place is ever tried.
    """
    words = tuple(prefixes.split())
    either = "|".join(re.escape(word) for word in words)
    # An escape such as \n before the token ends in a letter that does not belong to it.
    edge = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
    pattern = re.compile(rf"{edge}{before}(?:{either}){rest}(?![A-Za-z0-9_])", re.ASCII)
    return Shape(kind, words, pattern, back, context)


_B64URL = "[A-Za-z0-9_-]"

SHAPES: tuple[Shape, ...] = (
    _shape("Anthropic API key", "sk-ant-", rf"{_B64URL}{{16,200}}"),
    _shape("OpenAI API key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"{_B64URL}{{16,250}}"),
    _shape("OpenRouter API key", "sk-or-", rf"{_B64URL}{{16,200}}"),
    _shape("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_ whsec_", "[A-Za-z0-9+/]{16,250}={0,2}"),
    _shape("secret API key", "sk-live- sk-test- sk-", "[A-Za-z0-9][A-Za-z0-9_-]{15,200}"),
    _shape("AWS access key ID", "AKIA ASIA ABIA ACCA", "[A-Z2-7]{16}"),
    _shape("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", "[A-Za-z0-9]{36,255}"),
    _shape("GitHub fine-grained token", "github_pat_", "[A-Za-z0-9_]{22,255}"),
    _shape("GitLab token", "glpat- gldt- glrt- glptt- glcbt- glsoat- glft-", rf"{_B64URL}{{20,300}}"),
    _shape("Slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xapp-", "[A-Za-z0-9-]{10,250}"),
    _shape(
        "Slack webhook", "https://hooks.slack.com/services/", "T[A-Za-z0-9]{6,14}/B[A-Za-z0-9]{6,14}/[A-Za-z0-9]{16,40}"
    ),
    _shape(
        "Discord webhook",
        "https://discord.com/api/webhooks/ https://discordapp.com/api/webhooks/",
        rf"[0-9]{{15,21}}/{_B64URL}{{30,100}}",
    ),
    _shape("Google API key", "AIza", rf"{_B64URL}{{35}}"),
    _shape("Google OAuth client secret", "GOCSPX-", rf"{_B64URL}{{20,40}}"),
    _shape("Google OAuth token", "ya29.", rf"{_B64URL}{{20,500}}"),
    _shape("npm token", "npm_", "[A-Za-z0-9]{36}"),
    _shape("PyPI token", "pypi-AgE", rf"{_B64URL}{{50,500}}"),
    _shape("SendGrid API key", "SG.", rf"{_B64URL}{{16,32}}\.{_B64URL}{{16,64}}"),
    _shape("Twilio API key", "SK", "[0-9a-f]{32}"),
    _shape("Mailgun API key", "key-", "[0-9a-f]{32}"),
    _shape("Mailchimp API key", "-us", "[0-9]{1,2}", back=32, before="[0-9a-f]{32}"),
    _shape("JSON Web Token", "eyJ", rf"{_B64URL}{{8,4000}}\.eyJ{_B64URL}{{8,8000}}\.{_B64URL}{{16,2000}}"),
    _shape("Azure storage account key", "AccountKey=", "[A-Za-z0-9+/]{60,100}={0,2}"),
    _shape("Azure shared access key", "SharedAccessKey=", "[A-Za-z0-9+/]{32,100}={0,2}"),
    _shape("Azure client secret", "8Q~ 7Q~", r"[A-Za-z0-9_~.-]{31,34}", back=3, before="[A-Za-z0-9_~.]{3}"),
    _shape("Hugging Face token", "hf_ api_org_", "[A-Za-z]{34}"),
    _shape("Groq API key", "gsk_", "[A-Za-z0-9]{40,60}"),
    _shape("Perplexity API key", "pplx-", "[A-Za-z0-9]{40,60}"),
    _shape("xAI API key", "xai-", "[A-Za-z0-9]{60,100}"),
    _shape("Replicate token", "r8_", "[A-Za-z0-9]{36,40}"),
    _shape("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", "[0-9a-f]{64}"),
    _shape(
        "Discord bot token", "M N O", rf"[A-Za-z0-9]{{23,27}}\.{_B64URL}{{6}}\.{_B64URL}{{27,40}}", context="discord"
    ),
    _shape("Telegram bot token", ":AA", rf"{_B64URL}{{32,34}}", before="[0-9]{8,10}", back=10),
    _shape("Shopify token", "shpat_ shpca_ shppa_ shpss_", "[0-9a-fA-F]{32}"),
    _shape("Square token", "sq0atp- sq0csp- EAAA", rf"{_B64URL}{{22,60}}"),
    _shape("Databricks token", "dapi", "[0-9a-f]{32}(?:-[0-9])?"),
    _shape("HashiCorp Vault token", "hvs. hvb. hvr.", rf"{_B64URL}{{24,300}}"),
    _shape("Terraform Cloud token", ".atlasv1.", rf"{_B64URL}{{60,70}}", back=14, before="[A-Za-z0-9]{14}"),
    _shape("Linear API key", "lin_api_", "[A-Za-z0-9]{40}"),
    _shape("Notion token", "ntn_ secret_", "[A-Za-z0-9]{43,50}"),
    _shape("Postman API key", "PMAK-", "[0-9a-f]{24}-[0-9a-f]{34}"),
    _shape("New Relic key", "NRAK-", "[A-Z0-9]{27}"),
    _shape("Grafana token", "glsa_ glc_", "[A-Za-z0-9_]{32,400}={0,2}"),
    _shape("Docker Hub token", "dckr_pat_ dckr_oat_", rf"{_B64URL}{{27,40}}"),
    _shape("RubyGems key", "rubygems_", "[0-9a-f]{48}"),
    _shape("Doppler token", "dp.pt. dp.st. dp.ct.", r"[A-Za-z0-9._-]{40,80}"),
    _shape("PlanetScale secret", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[A-Za-z0-9_.=-]{32,64}"),
    _shape("Supabase key", "sbp_ sb_secret_", "[A-Za-z0-9_-]{30,64}"),
    _shape("Sentry token", "sntrys_ sntryu_", "[A-Za-z0-9_-]{40,400}={0,2}"),
    _shape("age secret key", "AGE-SECRET-KEY-1", "[0-9A-Z]{58}"),
    _shape("bearer token", "Bearer", r"[ ]{1,3}(?=[A-Za-z._~+/=-]{0,64}[0-9])[A-Za-z0-9._~+/=-]{20,2000}"),
)
