from __future__ import annotations

import pytest

from analyzers import analyze
from analyzers.fix import apply
from analyzers.python.look import FIXABLE, RULES

CASES = [
    ("FH101", "import ast\ny = eval(x)\n", "import ast\ny = ast.literal_eval(x)\n"),
    (
        "FH110",
        "import subprocess\nsubprocess.run(f'ls -l {name}', shell=True, check=True)\n",
        "import subprocess\nsubprocess.run(['ls', '-l', str(name)], check=True)\n",
    ),
    (
        "FH111",
        "import subprocess, os\nos.system('clear')\n",
        "import subprocess, os\nsubprocess.run(['clear'], check=False)\n",
    ),
    (
        "FH120",
        "c.execute(f\"SELECT * FROM t WHERE a = {a} AND b = '{b}'\")\n",
        'c.execute("SELECT * FROM t WHERE a = ? AND b = ?", (a, b))\n',
    ),
    ("FH132", "import jinja2\njinja2.Environment()\n", "import jinja2\njinja2.Environment(autoescape=True)\n"),
    (
        "FH133",
        "from mako.template import Template\nTemplate(text)\n",
        'from mako.template import Template\nTemplate(text, default_filters=["h"])\n',
    ),
    (
        "FH141",
        "from lxml import etree\netree.XMLParser(resolve_entities=True)\n",
        "from lxml import etree\netree.XMLParser(resolve_entities=False)\n",
    ),
    ("FH152", "import yaml\nyaml.load(f, Loader=yaml.Loader)\n", "import yaml\nyaml.safe_load(f)\n"),
    ("FH152", "import yaml\nyaml.load(f, yaml.Loader)\n", "import yaml\nyaml.safe_load(f)\n"),
    ("FH153", "import yaml\nyaml.unsafe_load(f)\n", "import yaml\nyaml.safe_load(f)\n"),
    ("FH154", "import torch\ntorch.load(p)\n", "import torch\ntorch.load(p, weights_only=True)\n"),
    (
        "FH156",
        "from transformers import AutoModel\nAutoModel.from_pretrained('a/b', trust_remote_code=True)\n",
        "from transformers import AutoModel\nAutoModel.from_pretrained('a/b', trust_remote_code=False)\n",
    ),
    ("FH201", "import os\nPASSWORD = 'correct-horse'\n", 'import os\nPASSWORD = os.environ["PASSWORD"]\n'),
    ("FH301", "try:\n    a()\nexcept:\n    b()\n", "try:\n    a()\nexcept Exception:\n    b()\n"),
    ("FH401", "import hashlib\nhashlib.md5(x)\n", "import hashlib\nhashlib.sha256(x)\n"),
    (
        "FH403",
        "import hashlib\nhashlib.pbkdf2_hmac('sha256', p, s, 1000)\n",
        "import hashlib\nhashlib.pbkdf2_hmac('sha256', p, s, 600_000)\n",
    ),
    (
        "FH407",
        "from Crypto.PublicKey import RSA\nRSA.generate(512)\n",
        "from Crypto.PublicKey import RSA\nRSA.generate(3072)\n",
    ),
    (
        "FH408",
        "import jwt\njwt.decode(t, options={'verify_signature': False})\n",
        "import jwt\njwt.decode(t, options={'verify_signature': True})\n",
    ),
    (
        "FH410",
        "import random, secrets\nimport secrets\ntoken = random.choice(letters)\n",
        "import random, secrets\nimport secrets\ntoken = secrets.choice(letters)\n",
    ),
    ("FH501", "import requests\nrequests.get(u, verify=False)\n", "import requests\nrequests.get(u, verify=True)\n"),
    ("FH502", "import ssl\nssl._create_unverified_context()\n", "import ssl\nssl.create_default_context()\n"),
    (
        "FH503",
        "import ssl\nc = ssl.SSLContext()\nc.verify_mode = ssl.CERT_NONE\n",
        "import ssl\nc = ssl.SSLContext()\nc.verify_mode = ssl.CERT_REQUIRED\n",
    ),
    (
        "FH503",
        "import ssl, urllib3\nurllib3.PoolManager(cert_reqs=ssl.CERT_NONE)\n",
        "import ssl, urllib3\nurllib3.PoolManager(cert_reqs=ssl.CERT_REQUIRED)\n",
    ),
    (
        "FH504",
        "from OpenSSL import SSL\nSSL.Context(method=SSL.SSLv23_METHOD)\n",
        "from OpenSSL import SSL\nSSL.Context(method=SSL.TLS_METHOD)\n",
    ),
    (
        "FH504",
        "import ssl\nssl.wrap_socket(ssl_version=ssl.PROTOCOL_SSLv3)\n",
        "import ssl\nssl.wrap_socket(ssl_version=ssl.PROTOCOL_TLS_CLIENT)\n",
    ),
    (
        "FH506",
        "import paramiko\nc = paramiko.SSHClient()\nc.set_missing_host_key_policy(paramiko.AutoAddPolicy())\n",
        "import paramiko\nc = paramiko.SSHClient()\nc.set_missing_host_key_policy(paramiko.RejectPolicy())\n",
    ),
    ("FH510", "s.bind(('0.0.0.0', 80))\n", 's.bind(("127.0.0.1", 80))\n'),
    (
        "FH512",
        "import requests\nrequests.get(\n    u,\n)\n",
        "import requests\nrequests.get(\n    u,\n    timeout=30,\n)\n",
    ),
    (
        "FH520",
        "from flask import Flask\napp = Flask(__name__)\napp.run(debug=True)\n",
        "from flask import Flask\napp = Flask(__name__)\napp.run(debug=False)\n",
    ),
    ("FH521", "r.set_cookie('session', v)\n", "r.set_cookie('session', v, secure=True, httponly=True)\n"),
    ("FH522", "SESSION_COOKIE_SECURE = False\n", "SESSION_COOKIE_SECURE = True\n"),
    ("FH523", "INSTALLED_APPS = []\nDEBUG = True\n", "INSTALLED_APPS = []\nDEBUG = False\n"),
    ("FH601", "import os\nos.chmod(p, 0o777)\n", "import os\nos.chmod(p, 0o700)\n"),
    (
        "FH604",
        "import tarfile\nt = tarfile.open(p)\nt.extractall()\n",
        'import tarfile\nt = tarfile.open(p)\nt.extractall(filter="data")\n',
    ),
    (
        "FH605",
        "import shutil\nshutil.unpack_archive(p)\n",
        'import shutil\nshutil.unpack_archive(p, filter="data")\n',
    ),
    ("FH606", "import os\nos.umask(0)\n", "import os\nos.umask(0o077)\n"),
]
SAFE = frozenset({"FH152", "FH301", "FH407", "FH410", "FH512"})


def fixed(rule: str, code: str) -> str:
    """Apply the fixes that are offered for one rule."""
    return apply(
        code,
        [found.fix for found in analyze(code, fixes=True).findings if found.rule == rule and found.fix],
        unsafe=True,
    )


@pytest.mark.parametrize(("rule", "before", "after"), CASES)
def test_a_fix_writes_what_a_person_would(rule: str, before: str, after: str) -> None:
    """Only the words at fault change, and the finding is gone."""
    assert fixed(rule, before) == after
    assert rule not in [finding.rule for finding in analyze(after).findings]


@pytest.mark.parametrize(("rule", "before", "after"), CASES)
def test_a_fix_says_whether_the_program_stays_the_same(rule: str, before: str, after: str) -> None:
    """Only what cannot break a program that was right is made without being asked."""
    fix = next(found.fix for found in analyze(before, fixes=True).findings if found.rule == rule)
    assert fix is not None
    assert fix.safe == (rule in SAFE), after


def test_every_rule_that_has_a_fix_is_tried_here() -> None:
    """And there are enough of them."""
    assert {rule for rule, _, _ in CASES} == FIXABLE
    assert len(FIXABLE) >= 25


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.id in FIXABLE], ids=lambda rule: rule.id)
def test_no_offered_fix_leaves_its_finding(rule: object) -> None:
    """On each sample that a rule has: what is offered, made alone, leaves fewer findings of the rule and parses."""
    tried = 0
    for code in rule.hits:  # type: ignore[attr-defined]
        report = analyze(code, fixes=True)
        for finding in report.findings:
            if finding.fix is not None:
                tried += 1
                after = analyze(apply(code, [finding.fix], unsafe=True))
                counts = [[one.rule for one in each.findings].count(finding.rule) for each in (report, after)]
                assert counts[1] < counts[0], (code, finding)
    assert tried


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess\nsubprocess.run('ls | wc', shell=True)\n",
        "import subprocess\nsubprocess.run('ls', shell=True, executable='/bin/bash')\n",
        "import subprocess\nsubprocess.run(f'ls {a}{b}', shell=True)\n",
        "import os\nx = os.system('ls')\n",
        "c.execute(f'SELECT * FROM {table}')\n",
        "INSTALLED_APPS = []\nALLOWED_HOSTS = ['*']\n",
        "import random\nrandom.seed(1)\nsecrets = 3\ntoken = random.choice(letters)\n",
    ],
)
def test_nothing_is_offered_where_it_would_be_wrong(code: str) -> None:
    """Where a shell does more than divide words, a result is used, or a name means something else."""
    report = analyze(code, fixes=True)
    assert report.findings
    assert [finding.fix for finding in report.findings] == [None] * len(report.findings)


def test_a_program_that_seeds_its_numbers_is_not_changed_unasked() -> None:
    """It wants the same numbers again."""
    code = "import random, secrets\nimport secrets\nrandom.seed(1)\ntoken = random.choice(letters)\n"
    fixes = [finding.fix for finding in analyze(code, fixes=True).findings if finding.fix]
    assert [fix.safe for fix in fixes] == [False]
