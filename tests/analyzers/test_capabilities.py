from __future__ import annotations

import pytest

from analyzers import analyze
from analyzers.capabilities import MOST, Allowed, Wanted, collected, unmet


def wants(code: str) -> set[str]:
    """Give the capabilities that a source shows."""
    return set(analyze(code).capabilities)


@pytest.mark.parametrize(
    ("code", "capabilities"),
    [
        ("x = 1\n", set()),
        ("import requests\n", {"net.outbound"}),
        ("from google.cloud import storage\n", {"net.outbound"}),
        ("import socket\n", set()),
        ("import socket as s\nc = s.socket()\nc.connect(('h', 1))\n", {"net.outbound"}),
        ("from urllib.request import urlopen as u\nu('http://x')\n", {"net.outbound"}),
        ("import http.server\nhttp.server.HTTPServer(('', 1), H)\n", {"net.listen"}),
        ("import subprocess\nsubprocess.run(['ls'])\n", {"proc.spawn"}),
        ("from os import system\nsystem('true')\n", {"proc.spawn"}),
        ("import os\nrun = os.system\nrun('true')\n", {"proc.spawn"}),
        ("import multiprocessing as m\nm.Pool(2)\n", {"proc.spawn"}),
        ("open('a')\n", {"fs.read"}),
        ("open('a', 'rb')\n", {"fs.read"}),
        ("open('a', 'w')\n", {"fs.write"}),
        ("open('/tmp/a', mode='ab')\n", {"fs.write:/tmp/a"}),
        ("import sys\nsys.stderr = open('/dev/null', 'w')\n", set()),
        ("open('/tmp/a', 'r+')\n", {"fs.read", "fs.write:/tmp/a"}),
        ("open(p, m)\n", {"fs.read", "fs.write"}),
        ("base = '/srv'\nopen(base + '/x', 'w')\n", {"fs.write:/srv/x"}),
        ("from pathlib import Path\nPath('a').read_text()\n", {"fs.read"}),
        ("from pathlib import Path\nPath('a').write_text('b')\nPath('c').open('w')\n", {"fs.write"}),
        ("import os\nos.remove('/etc/hosts')\n", {"fs.write:/etc/hosts"}),
        ("import os\nos.open('a', os.O_RDONLY)\n", {"fs.read"}),
        ("import os\nos.open('/a', os.O_WRONLY | os.O_CREAT)\n", {"fs.write:/a"}),
        ("import pandas as pd\npd.read_csv('a')\ndf.to_csv('b')\n", {"fs.read", "fs.write"}),
        ("import os\nprint(os.environ['A'])\n", {"env.read"}),
        ("from os import getenv\ngetenv('A')\n", {"env.read"}),
        ("eval(x)\n", {"dynamic.code"}),
        ("__import__(name)\n", {"dynamic.code"}),
        ("import pickle\npickle.loads(x)\n", {"dynamic.code"}),
        ("def open(x): pass\nopen('a')\n", set()),
        ("class A:\n    def connect(self): pass\nA().connect()\n", set()),
    ],
)
def test_what_a_source_shows(code: str, capabilities: set[str]) -> None:
    """Through imports, aliases, assignments and constants; a function of the same name is another."""
    assert wants(code) == capabilities


def test_each_capability_has_its_first_line() -> None:
    """In a fixed order, each once."""
    report = analyze("import os\n\neval(x)\nopen('b')\nopen('a')\nos.system('ls')\nimport requests\n")
    assert dict(zip(report.capabilities, report.capability_lines, strict=True)) == {
        "net.outbound": 7, "proc.spawn": 6, "fs.read": 4, "dynamic.code": 3,
    }  # fmt: skip
    assert list(report.capabilities) == ["net.outbound", "proc.spawn", "fs.read", "dynamic.code"]


def test_many_places_become_one() -> None:
    """A thousand paths are not listed; that files are written still is."""
    found = collected(Wanted(f"fs.write:/a/{number}", number + 1) for number in range(1000))
    assert len(found) == MOST + 1
    assert Wanted("fs.write", MOST + 1) in found


@pytest.mark.parametrize(
    ("capability", "allowed", "message"),
    [
        ("net.outbound", Allowed(), "needs the network, which this run does not have"),
        ("net.outbound", Allowed(network=True), None),
        ("net.listen", Allowed(), "waits for connections, which nobody can make to this run"),
        ("proc.spawn", Allowed(processes=1), "starts a process, and this run may have one only"),
        ("proc.spawn", Allowed(processes=2), None),
        ("fs.write:/etc/hosts", Allowed(writable_paths=("/tmp",)), "writes /etc/hosts, which this run cannot"),
        ("fs.write:/tmp/a/b", Allowed(writable_paths=("/tmp",)), None),
        ("fs.write:/tmp", Allowed(writable_paths=("/tmp",)), None),
        ("fs.write:/tmpx", Allowed(writable_paths=("/tmp",)), "writes /tmpx, which this run cannot"),
        ("fs.write:/tmp/../etc/x", Allowed(writable_paths=("/tmp",)), "writes /tmp/../etc/x, which this run cannot"),
        ("fs.write:/../tmp/x", Allowed(writable_paths=("/tmp",)), None),
        ("fs.write", Allowed(), None),
        ("fs.read", Allowed(), None),
        ("env.read", Allowed(), None),
        ("dynamic.code", Allowed(), None),
    ],
)
def test_what_a_run_does_not_have(capability: str, allowed: Allowed, message: str | None) -> None:
    """A finding for information at the first line that shows the wish; nothing where the run has it."""
    findings = unmet([Wanted(capability, 7)], allowed)
    assert [finding.message for finding in findings] == ([message] if message else [])
    for finding in findings:
        assert (finding.rule, finding.severity, finding.span.line) == ("FH720", "info", 7)


def test_what_is_unmet_can_be_told_apart() -> None:
    """By fingerprints, which stay when lines move."""
    first, second = unmet([Wanted("net.outbound", 1), Wanted("fs.write:/a", 2)], Allowed())
    (moved,) = unmet([Wanted("net.outbound", 9)], Allowed())
    assert first.fingerprint == moved.fingerprint != second.fingerprint
    assert len(first.fingerprint) == 16
