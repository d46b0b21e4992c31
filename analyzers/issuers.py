"""The credentials that can be recognised by themselves: who prints them, and what they look like.

Formats are from the issuers' own documentation, as of 2026.
"""

from __future__ import annotations

import binascii
from itertools import pairwise

from analyzers.placeholders import bits, is_random
from analyzers.shapes import Index, Shape, shape

_B64URL = "[A-Za-z0-9_-]"
_B64 = "[A-Za-z0-9+/]"
_WORD = "[A-Za-z0-9]"
_UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_MIN_DIGITLESS = 23
_MAX_DASHES = 4
_MIN_BITS = 2.6


def _is_secret_key(token: str) -> bool:
    """``sk-`` also begins class names of style sheets: words joined by dashes, without a digit."""
    dashes = token.count("-")
    if any(character.isdigit() for character in token):
        return dashes < _MAX_DASHES
    return dashes == 1 and len(token) >= _MIN_DIGITLESS


def _has_digit(token: str) -> bool:
    return any(character.isdigit() for character in token)


def _is_mixed(token: str) -> bool:
    """Both cases and a digit: no word of a program looks like that for long."""
    body = token[token.find(".") + 1 :] if token[:2] == "s." else token
    return _has_digit(body) and body.lower() != body and body.upper() != body and bits(body) >= _MIN_BITS


def _is_often_upper(token: str) -> bool:
    """Long keys of both cases have far more than a tenth of them upper."""
    return sum(character.isupper() for character in token) * 10 >= len(token)


def _changes_case(token: str) -> bool:
    """A token of letters alone: its case changes often, where that of a name changes with its words."""
    body = token.rpartition("_")[2]
    return sum(one.islower() and other.isupper() for one, other in pairwise(body)) * 6 >= len(body)


def _is_jwt(token: str) -> bool:
    """A header that says how it is signed, and claims that are a JSON object."""
    header, claims, *_ = token.split(".")
    head = _decoded(header).strip()
    return b'"alg"' in head and head[-1:] == b"}" and _decoded(claims)[:1] == b"{"


def _is_encoded_jwt(token: str) -> bool:
    return b".eyJ" in _decoded(token)


_URL_SAFE = str.maketrans("-_", "+/")


def _decoded(text: str) -> bytes:
    text = text.rstrip("=")
    if len(text) % 4 == 1:
        return b""
    try:
        return binascii.a2b_base64(text.translate(_URL_SAFE) + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""


def _is_drawn(token: str) -> bool:
    return is_random(token.rpartition("_")[2])


_AI = (
    shape("Anthropic API key", "sk-ant-", rf"{_B64URL}{{16,200}}", accepts=_is_often_upper),
    shape("OpenAI API key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"{_B64URL}{{16,250}}"),
    shape("OpenRouter API key", "sk-or-", rf"{_B64URL}{{16,200}}"),
    shape("Langfuse secret key", "sk-lf-", _UUID),
    shape("secret API key", "sk-live- sk-test- sk-", "[A-Za-z0-9][A-Za-z0-9_-]{15,200}", accepts=_is_secret_key),
    shape("Hugging Face token", "hf_", "(?:[A-Za-z]{34}|[A-Za-z0-9]{34,40})", accepts=_changes_case),
    shape("Hugging Face organization token", "api_org_", "[A-Za-z]{34}", accepts=_changes_case),
    shape("Groq API key", "gsk_", f"{_WORD}{{40,60}}"),
    shape("Perplexity API key", "pplx-", f"{_WORD}{{40,60}}"),
    shape("xAI API key", "xai-", f"{_WORD}{{60,100}}"),
    shape("Replicate token", "r8_", f"{_WORD}{{36,40}}"),
    shape("Together AI key", "tgp_v1_", rf"{_B64URL}{{40,60}}"),
    shape("Fireworks AI key", "fw_", f"{_WORD}{{22,28}}", accepts=_is_mixed),
    shape("Cerebras API key", "csk-", "[a-z0-9]{40,60}"),
    shape("Voyage AI key", "pa-", rf"{_B64URL}{{43}}", accepts=_is_mixed),
    shape("Jina AI key", "jina_", rf"{_B64URL}{{50,80}}"),
    shape("Tavily API key", "tvly-", rf"(?:dev-|prod-)?{_B64URL}{{28,40}}", accepts=_has_digit),
    shape("Pinecone API key", "pcsk_", rf"{_B64URL}{{50,90}}"),
    shape("LangSmith key", "lsv2_pt_ lsv2_sk_", "[0-9a-f]{32}_[0-9a-f]{10}"),
    shape("NVIDIA API key", "nvapi-", rf"{_B64URL}{{60,80}}"),
    shape("Firecrawl API key", "fc-", "[0-9a-f]{32}"),
    shape("RunPod API key", "rpa_", "[A-Z0-9]{30,50}"),
    shape("ElevenLabs API key", "sk_", "[0-9a-f]{48}"),
    shape("Apify token", "apify_api_", f"{_WORD}{{30,50}}"),
    shape("Kaggle token", "KGAT_", "[0-9a-f]{32}"),
    shape("Weights & Biases key", "wandb_v1_", rf"{_B64URL}{{40,100}}"),
)
_CLOUD = (
    shape("AWS access key ID", "AKIA ASIA ABIA ACCA", "[A-Z2-7]{16}"),
    shape("AWS access key ID", "A3T", "[A-Z0-9][A-Z2-7]{16}"),
    shape("Amazon Bedrock API key", "ABSK", f"{_B64}{{80,280}}={{0,2}}"),
    shape("Amazon Bedrock API key", "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t", f"{_B64}{{0,4000}}={{0,2}}"),
    shape("Azure storage account key", "AccountKey=", f"{_B64}{{60,100}}={{0,2}}"),
    shape("Azure shared access key", "SharedAccessKey=", f"{_B64}{{32,100}}={{0,2}}"),
    shape(
        "Azure client secret",
        "Q~",
        r"[A-Za-z0-9_~.-]{31,34}(?![~.-])",
        back=4,
        before=r"(?<![.~])[A-Za-z0-9_~.]{3}[0-9]",
    ),
    shape("Google API key", "AIza", rf"{_B64URL}{{35}}(?!-)"),
    shape("Google OAuth client secret", "GOCSPX-", rf"{_B64URL}{{20,40}}"),
    shape("Google OAuth token", "ya29.", r"[A-Za-z0-9._-]{20,500}"),
    shape("Firebase messaging key", ":APA91b", rf"{_B64URL}{{100,180}}", back=13, before=rf"{_B64URL}{{11}}"),
    shape("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", "[0-9a-f]{64}"),
    shape("Alibaba access key ID", "LTAI", f"{_WORD}{{16,22}}", accepts=_is_mixed),
    shape("Tencent secret ID", "AKID", f"{_WORD}{{32}}", accepts=_is_mixed),
    shape("Scaleway access key", "SCW", "[A-Z0-9]{17}", accepts=_has_digit),
    shape("Scalingo token", "tk-us- tk-eu-", rf"{_B64URL}{{48}}"),
    shape("Cloudflare origin CA key", "v1.0-", "[0-9a-f]{24}-[0-9a-f]{146}"),
    shape("Heroku API key", "HRKU-", rf"(?:AA{_B64URL}{{58}}|{_UUID})"),
    shape("Fly.io token", "fo1_", rf"{_B64URL}{{43}}"),
    shape("Fly.io token", "fm1r_ fm1a_ fm2_", f"{_B64}{{100,4000}}={{0,3}}"),
    shape("Render API key", "rnd_", f"{_WORD}{{32}}", accepts=_is_mixed),
    shape("Netlify token", "nfp_ nfc_ nfo_ nfu_", f"{_WORD}{{36,40}}"),
    shape("Vercel token", "vcp_ vci_ vca_ vcr_ vck_", f"{_WORD}{{24,60}}", accepts=_is_mixed),
    shape("Vercel blob token", "vercel_blob_rw_", "[A-Za-z0-9_]{30,80}"),
    shape("Supabase key", "sbp_", "[0-9a-f]{40}"),
    shape("Supabase key", "sb_secret_", rf"{_B64URL}{{20,64}}"),
    shape("PlanetScale secret", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[A-Za-z0-9_.=-]{32,64}"),
    shape("Neon API key", "napi_", f"{_WORD}{{60,80}}"),
    shape("MongoDB Atlas secret", "mdb_sa_sk_", rf"{_B64URL}{{32,64}}"),
    shape("ClickHouse Cloud key", "4b1d", f"{_WORD}{{38}}", accepts=_is_mixed),
    shape("Confluent Cloud secret", "cflt", f"{_B64}{{60}}"),
    shape("Databricks token", "dapi dkea dose dsapi", "[0-9a-f]{32}(?:-[0-9]{1,2})?"),
    shape("Terraform Cloud token", ".atlasv1.", r"[A-Za-z0-9_=-]{60,70}", back=14, before="[A-Za-z0-9]{14}"),
    shape("HashiCorp Vault token", "hvs. hvb. hvr.", rf"{_B64URL}{{24,300}}"),
    shape("HashiCorp Vault token", "s.", f"{_WORD}{{24}}", accepts=_is_mixed),
    shape("Doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[A-Za-z0-9._-]{40,80}"),
    shape("Infisical token", "st.", r"[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}"),
    shape("Pulumi token", "pul-", "[0-9a-f]{40}"),
    shape("1Password service account token", "ops_eyJ", f"{_B64}{{200,4000}}={{0,3}}"),
    shape(
        "1Password secret key",
        "A3-",
        "[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
        accepts=_has_digit,
    ),
    shape("Tailscale key", "tskey-", rf"(?:auth|api|client|webhook|scim)-{_WORD}{{10,30}}(?:-{_WORD}{{16,60}})?"),
    shape("OpenShift token", "sha256~", rf"{_B64URL}{{43}}(?!-)"),
    shape("Defined Networking key", "dnkey-", "[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}"),
    shape("Yandex IAM token", "t1.", r"[A-Za-z0-9_-]{1,400}={0,2}\.[A-Za-z0-9_-]{86}={0,2}"),
    shape("Yandex API key", "AQVN", rf"{_B64URL}{{35,38}}"),
    shape("Yandex OAuth token", "y0_", rf"{_B64URL}{{50,80}}"),
    shape("Infracost key", "ico-", f"{_WORD}{{32}}", accepts=_is_mixed),
    shape("Prefect API key", "pnu_ pnb_", f"{_WORD}{{36}}"),
    shape("SettleMint token", "sm_aat_ sm_pat_ sm_sat_", f"{_WORD}{{16}}"),
    shape(
        "Authress key",
        "sc_ ext_ scauth_ authress_",
        r"[a-zA-Z0-9]{5,30}\.[a-zA-Z0-9]{4,6}\.acc[_-][a-zA-Z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}",
    ),
)
_CODE = (
    shape("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", f"{_WORD}{{36,255}}"),
    shape("GitHub fine-grained token", "github_pat_", "[A-Za-z0-9_]{22,255}"),
    shape(
        "GitLab token",
        "glpat- gldt- glrt- glsoat- glft- glffct-",
        rf"(?:t[0-9]_)?{_B64URL}{{20,50}}(?:{_B64URL}{{0,250}}\.[0-9a-z]{{9}})?(?!-)",
    ),
    shape("GitLab runner token", "GR1348941", rf"{_B64URL}{{20,50}}(?!-)"),
    shape("GitLab job token", "glcbt-", rf"(?:{_WORD}{{1,5}}_)?{_B64URL}{{20}}(?!-)"),
    shape("GitLab mail token", "glimt-", rf"{_B64URL}{{25}}(?!-)"),
    shape("GitLab trigger token", "glptt-", rf"{_B64URL}{{40}}(?!-)"),
    shape("GitLab agent token", "glagent-", rf"{_B64URL}{{50,1024}}(?!-)"),
    shape("GitLab application secret", "gloas-", rf"{_B64URL}{{64}}(?!-)"),
    shape("GitLab session cookie", "_gitlab_session=", "[0-9a-z]{32}"),
    shape("Bitbucket app password", "ATBB", f"{_WORD}{{32}}"),
    shape("Atlassian API token", "ATATT3 ATCTT3", r"[A-Za-z0-9_=-]{160,220}"),
    shape("CircleCI token", "CCIPAT_ CCIPRJ_", rf"{_WORD}{{22}}_[0-9a-f]{{40}}"),
    shape("Buildkite token", "bkua_", "[0-9a-f]{40}"),
    shape("npm token", "npm_", f"{_WORD}{{36}}"),
    shape("PyPI token", "pypi-AgE", rf"{_B64URL}{{85,1000}}"),
    shape("RubyGems key", "rubygems_", "[0-9a-f]{48}"),
    shape("crates.io token", "cio", f"{_WORD}{{32}}", accepts=_is_mixed),
    shape("NuGet API key", "oy2", "[a-z0-9]{43}"),
    shape("Clojars token", "CLOJARS_ clojars_", "[a-z0-9]{60}"),
    shape("Docker Hub token", "dckr_pat_ dckr_oat_", rf"{_B64URL}{{27,40}}"),
    shape("Artifactory API key", "AKCp", f"{_WORD}{{55,75}}"),
    shape("Artifactory reference token", "cmVmd", f"{_WORD}{{59}}"),
    shape("Sourcegraph token", "sgp_", "(?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40}", accepts=_is_drawn),
    shape("Sonar token", "squ_ sqp_ sqa_", "[0-9a-zA-Z]{40}"),
    shape("Harness key", "pat. sat.", rf"{_B64URL}{{22}}\.{_WORD}{{24}}\.{_WORD}{{20}}"),
    shape("Octopus Deploy API key", "API-", "[A-Z0-9]{26}", accepts=_has_digit),
    shape("Postman API key", "PMAK-", "[0-9a-fA-F]{24}-[0-9a-fA-F]{34}"),
    shape("ReadMe API key", "rdme_", "[a-z0-9]{70}"),
    shape("Figma token", "figd_ figdr_ figor_", rf"{_B64URL}{{40,60}}"),
    shape("Linear API key", "lin_api_ lin_oauth_", f"{_WORD}{{40,64}}"),
    shape("Notion token", "ntn_", "[0-9]{11}[A-Za-z0-9]{35}"),
    shape("Notion token", "secret_", f"{_WORD}{{43}}", accepts=_is_mixed),
    shape("Airtable token", "pat", rf"{_WORD}{{14}}\.[0-9a-f]{{64}}"),
    shape("Typeform token", "tfp_", r"[A-Za-z0-9_.=-]{59}"),
    shape("Contentful token", "CFPAT-", rf"{_B64URL}{{43}}"),
    shape("dbt Cloud token", "dbtu_ dbtc_", r"[A-Za-z0-9+/=_-]{30,80}"),
    shape("Trello token", "ATTA", "[0-9a-f]{64,72}"),
    shape("LaunchDarkly key", "sdk- mob- api-", _UUID),
    shape("Snyk token", "snyk_uat. snyk_sat.", r"[0-9a-f]{8}\.[A-Za-z0-9._-]{20,400}"),
    shape("Freemius secret key", "sk_", r"[A-Za-z0-9~!@#$%^&*?.]{29}(?=[\"'])", context="freemius", accepts=_is_mixed),
    shape("Unkey root key", "unkey_", f"{_WORD}{{20,40}}", accepts=_is_mixed),
    shape("Logfire token", "pylf_v1_", f"[a-z]{{2}}_{_WORD}{{40,60}}"),
    shape("Frame.io token", "fio-u-", r"[A-Za-z0-9_=-]{64}"),
    shape("MaxMind license key", "_mmk", "", back=36, before=f"{_WORD}{{6}}_{_WORD}{{29}}"),
    shape("42 client secret", "s-s4t2ud- s-s4t2af-", "[0-9a-f]{64}"),
    shape(
        "Sidekiq credentials",
        "BUNDLE_ENTERPRISE__CONTRIBSYS__COM BUNDLE_GEMS__CONTRIBSYS__COM",
        r"[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"']?[0-9a-f]{8}:[0-9a-f]{8}",
    ),
)
_TALK = (
    shape(
        "Slack bot token", "xoxb-", r"(?:[0-9]{10,13}-[0-9]{10,13}[A-Za-z0-9-]{0,60}|[0-9]{8,14}-[A-Za-z0-9]{18,26})"
    ),
    shape("Slack user token", "xoxp- xoxe-", r"[0-9]{5,13}(?:-[0-9]{5,13}){2}-[A-Za-z0-9-]{18,40}"),
    shape("Slack token", "xoxo- xoxs-", r"[0-9]{3,14}-[0-9]{3,14}-[0-9]{3,14}-[0-9a-fA-F]{6,60}"),
    shape("Slack workspace token", "xoxa- xoxr-", r"(?:[0-9]-)?(?=[A-Za-z-]{0,24}[0-9])[0-9a-zA-Z-]{16,80}"),
    shape("Slack configuration token", "xoxe.xoxb- xoxe.xoxp-", "[0-9]-[A-Za-z0-9]{140,180}"),
    shape("Slack refresh token", "xoxe-", "[0-9]-[A-Za-z0-9]{140,160}"),
    shape(
        "Slack app token",
        "xapp-",
        r"(?:[0-9]-[A-Za-z0-9]{6,20}-[0-9]{6,20}-[A-Za-z0-9]{20,80}|[A-Za-z0-9-]{40,120})",
        accepts=_has_digit,
    ),
    shape(
        "Slack webhook",
        "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/",
        r"[TE][A-Za-z0-9]{5,14}/[A-Za-z0-9]{6,22}/[A-Za-z0-9/]{16,64}",
    ),
    shape(
        "Discord webhook",
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        rf"[0-9]{{15,21}}/{_B64URL}{{30,100}}",
    ),
    shape(
        "Discord bot token",
        "MD MT Mj Mz ND NT Nj Nz OD OT",
        rf"{_WORD}{{21,24}}\.{_B64URL}{{6}}\.{_B64URL}{{27,38}}",
        accepts=_is_mixed,
    ),
    shape(
        "Teams webhook",
        ".webhook.office.com/webhookb2/",
        rf"{_UUID}@{_UUID}/IncomingWebhook/[0-9a-z]{{32}}/{_UUID}",
        back=40,
        before="[a-z0-9]{2,40}",
    ),
    shape("Telegram bot token", ":A", rf"{_B64URL}{{34}}(?!-)", back=16, before="[0-9]{5,16}", accepts=_is_mixed),
    shape("Twilio API key", "SK", "[0-9a-fA-F]{32}"),
    shape("SendGrid API key", "SG.", rf"{_B64URL}{{16,32}}\.{_B64URL}{{16,64}}"),
    shape("Mailgun API key", "key-", "[0-9a-f]{32}"),
    shape("Mailchimp API key", "-us", "[0-9]{1,2}", back=32, before="[0-9a-f]{32}"),
    shape("Mandrill API key", "md-", rf"{_B64URL}{{22}}", accepts=_is_mixed),
    shape("Brevo API key", "xkeysib- xsmtpsib-", f"[0-9a-f]{{64}}-{_WORD}{{16}}"),
    shape("MailerSend token", "mlsn.", "[0-9a-f]{64}"),
    shape("Resend API key", "re_", f"{_WORD}{{8}}_{_WORD}{{24}}"),
    shape("HubSpot token", "pat-na1- pat-eu1- pat-na2- pat-ap1-", _UUID),
    shape("Facebook token", "EAAM EAAC EAAB EAAG EAAL EAAJ EAAD EAAE", f"{_WORD}{{100,400}}"),
    shape(
        "Facebook app token",
        "|",
        rf"{_B64URL}{{27,40}}",
        back=16,
        before="[0-9]{15,16}",
        context="facebook",
        accepts=_is_mixed,
    ),
    shape("Instagram token", "IGQ IGAA", rf"{_B64URL}{{100,300}}"),
    shape("Twitter bearer token", "AAAAAAAAAAAAAAAAAAAAA", "[A-Za-z0-9%]{60,120}", accepts=_is_mixed),
    shape("Dropbox token", "sl.", r"[A-Za-z0-9_=-]{130,1400}"),
    shape("Beamer token", "b_", "[A-Za-z0-9=_-]{44}", context="beamer", accepts=_is_mixed),
    shape("Sumo Logic access ID", "su", f"{_WORD}{{12}}(?=[\"'\\s]|$)", context="sumo", accepts=_is_mixed),
)
_MONEY = (
    shape("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_ whsec_", f"{_B64}{{16,250}}={{0,2}}"),
    shape("Square token", "sq0atp- sq0csp- EAAA", rf"{_B64URL}{{22,60}}"),
    shape("PayPal token", "access_token$production$", "[a-z0-9]{16}[$][0-9a-f]{32}"),
    shape("Razorpay key", "rzp_live_", f"{_WORD}{{14}}"),
    shape("Flutterwave key", "FLWSECK-", f"{_WORD}{{32}}-X"),
    shape("Flutterwave key", "FLWSECK_TEST- FLWPUBK_TEST-", f"(?:{_WORD}{{32}}-X|{_WORD}{{12}})"),
    shape("Plaid token", "access-sandbox- access-development- access-production-", _UUID),
    shape("GoCardless token", "live_", r"[A-Za-z0-9_=-]{40}", accepts=_is_mixed),
    shape("Lob API key", "live_ test_", "[0-9a-f]{35}"),
    shape("Shopify token", "shpat_ shpca_ shppa_ shpss_", "[0-9a-fA-F]{32}"),
    shape("EasyPost API key", "EZAK EZTK", f"{_WORD}{{54}}"),
    shape("Shippo token", "shippo_live_ shippo_test_", "[0-9a-f]{40}"),
    shape("Duffel token", "duffel_live_ duffel_test_", r"[A-Za-z0-9_=-]{43}"),
    shape("Klarna key", "klarna_live_", r"[A-Za-z0-9_=+/-]{40,200}"),
    shape("Xendit key", "xnd_production_", f"{_WORD}{{40,100}}"),
    shape("Adobe client secret", "p8e-", rf"{_B64URL}{{32}}"),
    shape("WorkOS key", "sk_live_ sk_test_", rf"{_B64URL}{{20,120}}", accepts=_is_mixed),
    shape("Stytch secret", "secret-live- secret-test-", rf"{_B64URL}{{32,60}}"),
)
_WATCH = (
    shape("New Relic key", "NRAK- NRAA-", f"{_WORD}{{27}}"),
    shape("New Relic browser key", "NRJS-", "[0-9a-f]{19}"),
    shape("New Relic insert key", "NRII-", rf"{_B64URL}{{32}}"),
    shape("Grafana API key", "eyJrIjoi", f"{_B64}{{60,400}}={{0,3}}"),
    shape("Grafana token", "glc_", f"{_B64}{{32,400}}={{0,3}}", accepts=_has_digit),
    shape("Grafana service account token", "glsa_", f"{_WORD}{{32}}_[0-9a-fA-F]{{8}}"),
    shape("Sentry token", "sntrys_", f"{_B64}{{40,400}}={{0,2}}_{_B64}{{43}}"),
    shape("Sentry token", "sntryu_", "[0-9a-f]{64}"),
    shape("Dynatrace token", "dt0c01. dt0s01. dt0s02. dt0s16.", rf"{_WORD}{{8,24}}\.{_WORD}{{64}}"),
    shape("Honeycomb key", "hcaik_", "[0-9a-z]{58}"),
    shape("PostHog personal key", "phx_", f"{_WORD}{{40,60}}"),
    shape("Mapbox secret token", "sk.eyJ", rf"{_B64URL}{{60,300}}\.{_B64URL}{{20,30}}"),
)
_PLAIN = (
    shape(
        "JSON Web Token",
        "eyJ",
        rf"{_B64URL}{{8,4000}}\.eyJ{_B64URL}{{6,8000}}(?:\.{_B64URL}{{0,2000}})?",
        accepts=_is_jwt,
    ),
    shape("JSON Web Token", "ZXlK", f"{_B64}{{60,16000}}={{0,2}}", accepts=_is_encoded_jwt),
    shape("age secret key", "AGE-SECRET-KEY-1", "[0-9A-Z]{58}"),
    shape("bearer token", "Bearer", r"[ ]{1,3}(?=[A-Za-z._~+/=-]{0,64}[0-9])[A-Za-z0-9._~+/=-]{20,2000}"),
)

SHAPES: tuple[Shape, ...] = (*_AI, *_CLOUD, *_CODE, *_TALK, *_MONEY, *_WATCH, *_PLAIN)
INDEX = Index(SHAPES)
