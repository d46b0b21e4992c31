from __future__ import annotations

import functools
import io
import logging
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

from analyzers import analyze as analyze_without
from analyzers.python import bandit_plugins
from analyzers.quiet import no_warnings
from analyzers.source import Source

with no_warnings():
    from bandit.core import config, manager

analyze = functools.partial(analyze_without, engines=("bandit",))
ROOT = Path(__file__).parents[2]
# One source or more for each family of Bandit's plugins; written for this test.
SAMPLES = {
    "asserts": "def f(x):\n    assert x, 'no'\n    return x\n",
    "exec": "exec('x = 1')\nexec(code, {})\n",
    "permissions": "import os, stat\nos.chmod('/etc/x', 0o777)\nos.chmod(p, stat.S_IXOTH)\n",
    "interfaces": "HOST = '0.0.0.0'\nserver.bind(('0.0.0.0', 80))\n",
    "passwords": (
        "password = 'hunter2'\nd = {'password': 'hunter3', 'a': 1}\nd['passwd'] = 'x9'\nself.token = 'abc'\n"
        "if password == 'root': pass\nf(secret='s', token=t)\ndef g(user, pwd='Admin'): pass\n"
        "token = ''\npassword = 'changeme'\nf(**kw)\n"
    ),
    "temporary": "f = open('/tmp/x', 'w')\npaths = ['/var/tmp/y', '/dev/shm/z']\n",
    "swallowed": (
        "for i in y:\n    try:\n        a()\n    except:\n        pass\n    try:\n        b()\n"
        "    except Exception:\n        continue\n"
    ),
    "requests": "import requests\nrequests.get(u)\nrequests.post(u, timeout=None, verify=False)\n",
    "flask": "from flask import Flask\napp = Flask('x')\napp.run(debug=True)\n",
    "archives": "import tarfile\nt = tarfile.open(x)\nt.extractall()\nt.extractall(members=m)\n",
    "hashes": (
        "import hashlib\nhashlib.md5(x)\nhashlib.new('sha1', x)\nhashlib.md5(x, usedforsecurity=False)\n"
        "import crypt\ncrypt.crypt('a', crypt.METHOD_DES)\n"
    ),
    "blacklisted calls": (
        "import pickle, marshal, random, tempfile, ssl, telnetlib, ftplib\npickle.loads(x)\nmarshal.load(f)\n"
        "random.random()\ntempfile.mktemp()\nssl._create_unverified_context()\ntelnetlib.Telnet(h)\nftplib.FTP(h)\n"
        "eval(x)\nimport urllib.request\nurllib.request.urlopen(u)\nfrom django.utils.safestring import mark_safe\n"
        "mark_safe(x)\nimport xml.etree.ElementTree as ET\nET.parse(f)\n"
    ),
    "blacklisted imports": (
        "import subprocess\nfrom xml.dom import minidom\nimport Crypto.Cipher\nimport pyghmi\n"
        "__import__('pickle')\nimport importlib\nimportlib.import_module('telnetlib')\nfrom . import pickle\n"
    ),
    "ciphers": (
        "from cryptography.hazmat.primitives.ciphers import Cipher, modes\nfrom cryptography.hazmat.primitives.ciphers"
        " import algorithms\nCipher(algorithms.ARC4(k), modes.ECB())\nfrom Crypto.PublicKey import RSA\n"
        "RSA.generate(bits=1024)\n"
    ),
    "shells": (
        "import subprocess as sp\nimport os\nfrom subprocess import Popen, call as c\nsp.call('ls ' + x, shell=True)\n"
        "Popen(['ls'], shell=False)\nc('/bin/ls')\nos.system('rm ' + x)\nos.popen(x)\nos.execl('/bin/x', 'x')\n"
        "f(shell=True)\nsp.run(\n    x,\n    shell=True,\n)\nos.system('chmod a *')\n"
    ),
    "sql": (
        "q = 'SELECT * FROM t WHERE a = ' + x\ncur.execute('DELETE FROM t WHERE a = %s' % x)\n"
        "cur.execute(f'SELECT a FROM t WHERE b = {x}')\ncur.execute('INSERT INTO t VALUES ({})'.format(x))\n"
        "cur.execute('''\nSELECT a\nFROM t WHERE b = '%s'\n''' % x)\n"
    ),
    "yaml": "import yaml\nyaml.load(x)\nyaml.load(x, Loader=yaml.SafeLoader)\nyaml.load(x, yaml.Loader)\n",
    "templates": (
        "import jinja2\njinja2.Environment(loader=l)\njinja2.Environment(autoescape=False)\nfrom mako.template import"
        " Template\nTemplate(x)\nfrom markupsafe import Markup\nMarkup(f'{x}')\n"
    ),
    "django": (
        "from django.db.models.expressions import RawSQL\nUser.objects.annotate(v=RawSQL('select %s' % x, []))\n"
        "User.objects.extra(where=['a = %s' % x])\nfrom django.utils import safestring\n"
        "def f(s):\n    safestring.mark_safe(s)\n    s = '<b>'\n    return safestring.mark_safe(s)\n"
    ),
    "tls": (
        "import ssl\nssl.wrap_socket()\nssl.wrap_socket(ssl_version=ssl.PROTOCOL_SSLv3)\n"
        "def f(v=ssl.PROTOCOL_TLSv1): pass\n"
    ),
    "ssh": (
        "import paramiko\nfrom paramiko import client\nc = client.SSHClient()\n"
        "c.set_missing_host_key_policy(client.AutoAddPolicy)\nc.exec_command(x)\n"
    ),
    "snmp": "from pysnmp.hlapi import CommunityData as C, UsmUserData as U\nC('public', mpModel=0)\nU('user')\n",
    "logging": "import logging.config\nlogging.config.listen(9999)\n",
    "models": "import torch\ntorch.load(x)\nfrom transformers import AutoModel\nAutoModel.from_pretrained('a/b')\n",
    "direction": "# fine\naccess = 'user'\nif access != 'none\u202e\u2066': # admin\u2069\n    pass\n",
    "odd calls": (
        "f()()\n(lambda: 1)()\na[0](shell=True)\nx = [*y]\nprint(*a, **b)\nasync def f(password='hunter2'): pass\n"
    ),
    "classes": (
        "class A:\n    password: str = 'hunter2'\n    secret = 'x'\n    @property\n    def f(self, *, token='t9'):\n"
        "        return eval(\n            self.x)\n"
    ),
}


def bandit(code: str) -> list[tuple[str, int]]:
    """Give what Bandit's own manager reports: id and line."""
    own = manager.BanditManager(config.BanditConfig(), "file", ignore_nosec=True)
    own._parse_file("sample.py", io.BytesIO(code.encode()), ["sample.py"])
    return [(issue.test_id, issue.lineno) for issue in own.results]


@pytest.mark.parametrize("code", SAMPLES.values(), ids=SAMPLES)
def test_nothing_that_bandit_reports_is_missing(code: str) -> None:
    """Every id and line of Bandit's is there, as a rule or among a finding's other names."""
    expected = bandit(code)
    ours = {(name, finding.span.line) for finding in analyze(code).findings for name in (finding.rule, *finding.also)}
    assert expected
    assert [issue for issue in expected if issue not in ours] == []


@pytest.mark.parametrize("code", SAMPLES.values(), ids=SAMPLES)
def test_nothing_is_reported_twice(code: str) -> None:
    """Of one id there is one finding in one place, and Bandit's rules report nothing that Bandit does not."""
    findings = analyze(code).findings
    expected = bandit(code)
    places = [(finding.rule, finding.span) for finding in findings]
    assert len(places) == len(set(places))
    assert [f for f in findings if f.rule.startswith("B") and (f.rule, f.span.line) not in expected] == []
    for finding in findings:
        for also in finding.also:
            assert (also, finding.span) not in places


def test_the_samples_cover_most_of_bandits_plugins() -> None:
    """The parity above is about nearly every plugin that is installed."""
    seen = {test_id for code in SAMPLES.values() for test_id, _ in bandit(code)}
    plugins = bandit_plugins._plugins()
    ids = {test.id for tests in plugins.by_node.values() for test in tests} - {"B001"}
    assert len(ids - seen) <= 4, ids - seen


def test_bandits_grades_and_weaknesses_are_kept() -> None:
    """A finding of Bandit's alone has Bandit's severity, confidence, CWE, words and name."""
    (finding,) = (one for one in analyze("from .. import subprocess\n").findings if one.rule == "B404")
    assert (finding.severity, finding.confidence, finding.cwe) == ("low", "high", 78)
    assert finding.name == "import_subprocess"
    assert "subprocess" in finding.message


def test_bandits_state_is_left_alone() -> None:
    """Loading Bandit changes neither how warnings print nor which tests Bandit's blacklist runs for others."""
    code = """
        import logging, warnings
        before = warnings.formatwarning
        from analyzers import analyze
        report = analyze("import pickle\\nx = {**a}\\nf(**b)\\n", engines=("bandit",))
        assert report.total == 1, report
        assert warnings.formatwarning is before
        from bandit.core import blacklisting
        assert not hasattr(blacklisting.blacklist, "_config")
        assert logging.getLogger("bandit").handlers == []
    """
    run = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_plugin_that_crashes_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A plugin's exception is one note, however often it is raised; the others go on and nothing is logged."""
    plugins = bandit_plugins._plugins()

    def crash(*_: object) -> object:
        raise ZeroDivisionError

    broken = bandit_plugins._Test(crash, "broken", "B999", ())
    by_node = {**plugins.by_node, "Call": (broken, *plugins.by_node["Call"]), "File": (broken,)}
    monkeypatch.setattr(
        bandit_plugins, "_plugins", lambda: bandit_plugins._Plugins(by_node, plugins.context, plugins.blacklist_names)
    )
    with caplog.at_level(logging.DEBUG, "bandit"):
        report = analyze("f(x)\ng(x)\nimport pickle\npickle.loads(x)\n")
    assert [finding.rule for finding in report.findings if finding.rule.startswith("FH0")] == ["FH001"]
    assert "FH150" in [finding.rule for finding in report.findings]
    assert not caplog.records


def test_a_missing_bandit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Bandit our own rules still run, and the report is never a pass."""

    def missing() -> None:
        raise ImportError("no bandit here")

    monkeypatch.setattr(bandit_plugins, "load", missing)
    report = analyze("x = 1\n")
    assert (report.verdict, report.findings[0].rule) == ("incomplete", "FH003")


def test_a_dictionary_of_many_passwords_ends_in_time() -> None:
    """Bandit's cost for a large dict grows with its square; the deadline ends it between two nodes."""
    report = analyze("x = {" + "'password': ''," * 40_000 + "}", seconds=1.0)
    assert "FH002" in [finding.rule for finding in report.findings]


def test_the_first_direction_mark_is_the_place() -> None:
    """A bidirectional control character is found where it stands, also in text that does not parse."""
    (finding,) = (one for one in analyze("x = (\n'a\u2066b'").findings if "B613" in one.also)
    assert (finding.span.line, finding.span.column) == (2, 3)
    assert list(bandit_plugins.run_on_text(Source("x = 1\n"))) == []
    assert warnings.filters
