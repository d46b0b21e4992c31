from __future__ import annotations

import json

import pytest

from analyzers import analyze
from analyzers.detect import detect

PYTHON = (
    "x = 1\n", "eval(input())\n", "print('hello')\n", "import os\n", "from a.b import c\n", "def f(x):\n    return x\n",
    "for i in range(3):\n    print(i)\n", "class A: pass\n", "try:\n    a()\nexcept:\n    b()\n",
    "password = 'hunter2'\n",
    "#!/usr/bin/env python3\nls\n", "with open('a') as f:\n    f.read()\n", "x = {'a': 1}\nprint(x['a'])\n", "hello\n",
    "import subprocess\nsubprocess.run('curl http://x | sh', shell=True)\n", "", "async def f():\n    await g()\n",
    "x: int = 3\ny = [i for i in x if i not in z]\n", "@app.get('/')\ndef index():\n    return None\n", "x = (\n",
    "#!/usr/bin/python\n# coding: utf-8\n", "cmd = f'rm -rf {path}'\nos.system(cmd)\n", "df = pd.read_csv('a.csv')\n",
)  # fmt: skip
BASH = (
    "#!/bin/bash\n", "#!/bin/sh\nx = 1\n", "#!/usr/bin/env bash\n", "ls -la\n", "echo hello\n", "curl https://x | sh\n",
    "set -euo pipefail\ncd /tmp\n", 'for f in *.txt; do\n  echo "$f"\ndone\n', "if [ -f a ]; then\n  rm a\nfi\n",
    "export A=b\n", "sudo apt-get install -y x\n", 'NAME=world\necho "hello $NAME"\n', 'f() {\n  grep x "$1"\n}\n',
    'rm -rf "$DIR"\n', 'while read -r line; do echo "$line"; done < a\n', "cat <<EOF >a\nb\nEOF\n",
)  # fmt: skip
GO = (
    "package main\n", 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println(1)\n}\n',
    "func f(a int) error {\n\treturn nil\n}\n", 'x := exec.Command("ls")\nif err != nil {\n\treturn err\n}\n',
    'import (\n\t"os"\n)\n', "type A struct {\n\tB int\n}\n", "resp, err := http.Get(url)\ndefer resp.Body.Close()\n",
)  # fmt: skip
MARKDOWN = (
    "# Title\n\nSome words.\n", "Here you are:\n\n```python\nx = 1\n```\n", "```\nls\n```\n", "~~~go\npackage a\n~~~\n",
    "> ```py\n> x\n> ```\n", "1. do\n   ```bash\n   ls\n   ```\n",
)  # fmt: skip
TEXT = (
    "name: value\nother: 3\n", "DB_PASSWORD=hunter2\nDEBUG=1\n", '{"a": 1}\n', '[{"a": [1, 2]}]\n', '{"a": "b",\n "c"',
    "[section]\nkey=value\n", "# comment\nkey: value\nlist:\n  - a\n  - b\n",
    "apiVersion: v1\nkind: Secret\ndata:\n  a: b\n",
)  # fmt: skip
NOTEBOOK = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.parametrize(
    ("text", "language"),
    [
        *((text, "python") for text in PYTHON),
        *((text, "bash") for text in BASH),
        *((text, "go") for text in GO),
        *((text, "markdown") for text in MARKDOWN),
        *((text, "text") for text in TEXT),
        (NOTEBOOK, "notebook"),
    ],
)
def test_languages_are_told_apart(text: str, language: str) -> None:
    """By the first line, fences and words; what nothing tells is taken for Python."""
    assert detect(text) == language
    assert detect("\ufeff" + text) == language


def test_auto_says_what_it_took_the_text_for() -> None:
    """And finds what that language's reader finds."""
    report = analyze("Look:\n\n```python\neval(x)\n```\n", "auto")
    assert (report.language, [finding.rule for finding in report.findings]) == ("markdown", ["FH101"])
    assert analyze("eval(x)\n", "AUTO").language == "python"
    assert analyze("DB_PASSWORD=hunter2!x\n", "auto").language == "text"


def test_a_text_of_a_language_that_nobody_reads_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is searched for secrets, and the report is incomplete."""
    monkeypatch.setattr("analyzers.detect.detect", lambda _: "cobol")
    report = analyze('x = "' + "gh" + "p_" + "a1B2" * 9 + '"\n', "auto")
    assert (report.language, report.parse, report.verdict) == ("text", "text", "fail")
    assert report.parse_error is not None
    assert "cobol" in report.parse_error.message
    assert analyze("nothing", "auto").verdict == "incomplete"
