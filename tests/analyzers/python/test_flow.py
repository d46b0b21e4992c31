from __future__ import annotations

import textwrap

import pytest

from analyzers import analyze
from analyzers.model import Finding, Severity

FLASK = """\
import os, re, subprocess, requests, sqlite3, shlex, logging, html
from urllib.parse import urlparse
from flask import Flask, request, redirect, session, render_template_string, send_file, abort
app = Flask(__name__)
ALLOWED = {"a", "b"}
def run(cmd):
    os.system(cmd)
def same(value):
    return value
@app.route("/x")
def view():
"""
VIEW_LINE = FLASK.count("\n")
SHELL, EVAL, SQL, PATH, SSRF, PAGE, REDIRECT = "FH111", "FH101", "FH120", "FH160", "FH161", "FH163", "FH162"

# Each program is the body of a Flask view; ``x`` is what came with the request.
REACHED = {
    "directly": (SHELL, "os.system(request.args['x'])"),
    "through a name": (SHELL, "x = request.args['x']\ny = x\nos.system(y)"),
    "through get": (SHELL, "x = request.args.get('x', 'ls')\nos.system(x)"),
    "a header": (SHELL, "os.system(request.headers['X-Cmd'])"),
    "a cookie": (SHELL, "os.system(request.cookies.get('c'))"),
    "json": (SHELL, "data = request.get_json()\nos.system(data['cmd'])"),
    "through a sum": (SHELL, "x = request.args['x']\nos.system('ls ' + x + ' -l')"),
    "through an f-string": (SHELL, "x = request.args['x']\nos.system(f'ls {x}')"),
    "through format": (SHELL, "x = request.args['x']\nos.system('ls {}'.format(x))"),
    "through percent": (SHELL, "x = request.args['x']\nos.system('ls %s' % x)"),
    "through percent with two": (SHELL, "x = request.args['x']\nos.system('ls %s %s' % ('a', x))"),
    "through join": (SHELL, "x = request.args['x']\nos.system(' '.join(['ls', x]))"),
    "through +=": (SHELL, "c = 'ls '\nc += request.args['x']\nos.system(c)"),
    "through strip": (SHELL, "os.system(request.args['x'].strip().lower())"),
    "through a slice": (SHELL, "os.system(request.args['x'][1:])"),
    "through replace": (SHELL, "os.system(request.args['x'].replace('a', 'b'))"),
    "through a list": (SHELL, "some = ['a', request.args['x']]\nos.system(some[1])"),
    "through append": (SHELL, "some = []\nsome.append('a')\nsome.append(request.args['x'])\nos.system(some[1])"),
    "through pop": (SHELL, "some = ['a', request.args['x'], 'b']\nsome.pop(0)\nos.system(some[0])"),
    "through a dict": (SHELL, "some = {'a': 'ls', 'b': request.args['x']}\nos.system(some['b'])"),
    "through a key put in": (SHELL, "some = {}\nsome['a'] = 'ls'\nsome['b'] = request.args['x']\nos.system(some['b'])"),
    "through an unknown key": (SHELL, "some = {'a': 'ls', 'b': request.args['x']}\nos.system(some[key()])"),
    "through unpacking": (SHELL, "a, b = 'ls', request.args['x']\nos.system(b)"),
    "through a loop": (SHELL, "for one in request.args.getlist('x'):\n    os.system(one)"),
    "carried round a loop": (
        SHELL,
        "c = d = ''\nfor i in range(3):\n    os.system(c)\n    c = d\n    d = request.args['x']",
    ),
    "through a comprehension": (SHELL, "some = [one.strip() for one in request.args.getlist('x')]\nos.system(some[0])"),
    "through a function": (SHELL, "os.system(same(request.args['x']))"),
    "into a function": (SHELL, "run(request.args['x'])"),
    "through a lambda": (SHELL, "f = lambda one: 'ls ' + one\nos.system(f(request.args['x']))"),
    "through an inner function": (SHELL, "x = request.args['x']\ndef inner():\n    os.system(x)\ninner()"),
    "through an object": (SHELL, "class A:\n    pass\na = A()\na.x = request.args['x']\nos.system(a.x)"),
    "through a constructor": (
        SHELL,
        (
            "class A:\n    def __init__(self, x):\n        self.x = x\n    def go(self):\n        os.system(self.x)\n"
            "A(request.args['x']).go()"
        ),
    ),
    "on one of two ways": (SHELL, "c = 'ls'\nif flag():\n    c = request.args['x']\nos.system(c)"),
    "where a condition is constant": (
        SHELL,
        "n = 86\nc = request.args['x'] if 7 * 42 - n > 200 else 'ls'\nos.system(c)",
    ),
    "through match": (
        SHELL,
        (
            "guess = 'ABC'[1]\nmatch guess:\n    case 'A':\n"
            "        c = 'ls'\n    case 'B':\n"
            "        c = request.args['x']\n"
            "    case _:\n        c = 'ls'\nos.system(c)"
        ),
    ),
    "through try": (SHELL, "try:\n    c = request.args['x']\nexcept KeyError:\n    c = 'ls'\nos.system(c)"),
    "through a conditional or": (SHELL, "os.system(request.args.get('x') or 'ls')"),
    "through decoding": (SHELL, "import base64\nos.system(base64.b64decode(request.args['x']).decode())"),
    "a check that goes on all the same": (
        SHELL,
        "x = request.args['x']\nif x not in ALLOWED:\n    print('no')\nos.system(x)",
    ),
    "another value checked": (SHELL, "x, y = request.args['x'], request.args['y']\nif y in ALLOWED:\n    os.system(x)"),
    "a loose pattern": (SHELL, "x = request.args['x']\nif re.match('[a-z]+', x):\n    os.system(x)"),
    "the wrong escape": (SHELL, "x = html.escape(request.args['x'])\nos.system('ls ' + x)"),
    "a shell by hand": ("FH110", "subprocess.run(['sh', '-c', 'ls ' + request.args['x']])"),
    "shell=True": ("FH110", "subprocess.run('ls ' + request.args['x'], shell=True)"),
    "eval": (EVAL, "eval(request.form['x'])"),
    "sql by format": (SQL, "x = request.args['x']\nc.execute(\"SELECT a FROM t WHERE b = '{}'\".format(x))"),
    "sql through a name": (SQL, "q = \"SELECT a FROM t WHERE b = '%s'\" % request.args['x']\nc.execute(q)"),
    "sql from elsewhere": ("FH171", "c.execute(request.args['q'])"),
    "a path": (PATH, "open(os.path.join('/data', request.args['x']))"),
    "a path to send": (PATH, "return send_file('/data/' + request.args['x'])"),
    "a path by pathlib": (PATH, "from pathlib import Path\n(Path('/data') / request.args['x']).read_text()"),
    "a path removed": (PATH, "os.remove('/data/' + request.args['x'])"),
    "a file saved": (PATH, "f = request.files['f']\nf.save('/data/' + f.filename)"),
    "an address": (SSRF, "requests.get(request.args['x'], timeout=1)"),
    "an address with a scheme": (SSRF, "requests.get(f\"https://{request.args['x']}/a\", timeout=1)"),
    "a session's request": (SSRF, "s = requests.Session()\ns.get(request.args['x'], timeout=1)"),
    "a page": (PAGE, "return '<p>' + request.args['x']"),
    "a page put together": (PAGE, "page = ''\npage += f\"Hello {request.args['x']}\"\nreturn page"),
    "a response": (PAGE, "from flask import make_response\nreturn make_response(request.args['x'])"),
    "a redirect": (REDIRECT, "return redirect(request.args['next'])"),
    "a redirect by its beginning": (REDIRECT, "x = request.args['x']\nif x.startswith('/'):\n    return redirect(x)"),
    "a template": ("FH164", "return render_template_string('<p>' + request.args['x'])"),
    "xpath": ("FH165", "from lxml import etree\nt = etree.parse('a.xml')\nt.xpath(f\"//a[@b='{request.args['x']}']\")"),
    "find": (
        "FH165",
        "import xml.etree.ElementTree as E\nE.parse('a.xml').find(\".//a[@b='%s']\" % request.args['x'])",
    ),
    "ldap3": ("FH166", "import ldap3\nc = ldap3.Connection(s)\nc.search('dc=a', '(uid=' + request.args['x'] + ')')"),
    "pickle": ("FH150", "import pickle\npickle.loads(request.data)"),
    "a program": ("FH170", "subprocess.run([request.args['x'], '-l'])"),
    "an import": ("FH169", "import importlib\nimportlib.import_module(request.args['x'])"),
    "a where": ("FH173", "import pymongo\ndb.a.find_one({'$where': 'this.a == ' + request.args['x']})"),
}
HELD = {
    "a fixed command": (SHELL, "x = request.args['x']\nos.system('ls')"),
    "overwritten": (SHELL, "x = request.args['x']\nx = 'ls'\nos.system(x)"),
    "another key": (SHELL, "some = {'a': 'ls', 'b': request.args['x']}\nos.system(some['a'])"),
    "another key put in": (SHELL, "some = {}\nsome['a'] = 'ls'\nsome['b'] = request.args['x']\nos.system(some['a'])"),
    "another index": (SHELL, "some = ['ls', request.args['x']]\nos.system(some[0])"),
    "another after pop": (SHELL, "some = ['a', request.args['x'], 'ls']\nsome.pop(0)\nos.system(some[1])"),
    "another of a pair": (SHELL, "a, b = 'ls', request.args['x']\nos.system(a)"),
    "a function that drops it": (SHELL, "def f(x):\n    return 'ls'\nos.system(f(request.args['x']))"),
    "a constant condition": (SHELL, "n = 106\nc = 'ls' if 7 * 18 + n > 200 else request.args['x']\nos.system(c)"),
    "a constant condition of a statement": (
        SHELL,
        "n = 1\nc = 'ls'\nif n > 2:\n    c = request.args['x']\nos.system(c)",
    ),
    "another case": (
        SHELL,
        (
            "guess = 'ABC'[0]\nmatch guess:\n"
            "    case 'A':\n        c = 'ls'\n"
            "    case _:\n"
            "        c = request.args['x']\nos.system(c)"
        ),
    ),
    "quoted": (SHELL, "os.system('ls ' + shlex.quote(request.args['x']))"),
    "quoted, through a name": (SHELL, "x = request.args['x']\nx = shlex.quote(x)\nc = f'ls {x}'\nos.system(c)"),
    "a number": (SHELL, "n = int(request.args['x'])\nos.system('ls %d' % n)"),
    "tried as a number": (
        SHELL,
        "x = request.args['x']\ntry:\n    int(x)\nexcept ValueError:\n    abort(400)\nos.system('ls ' + x)",
    ),
    "a number by type": (SHELL, "os.system(f\"ls {request.args.get('x', type=int)}\")"),
    "one of a list": (SHELL, "x = request.args['x']\nif x in ('a', 'b'):\n    os.system('ls ' + x)"),
    "one of a set, or out": (
        SHELL,
        "x = request.args['x']\nif x not in ALLOWED:\n    abort(400)\nos.system('ls ' + x)",
    ),
    "one of a list, kept": (SHELL, "x = request.args['x']\ny = x if x in ALLOWED else 'a'\nos.system(y)"),
    "one of a list, kept by a statement": (
        SHELL,
        "x = request.args['x']\ny = 'a'\nif x in ALLOWED:\n    y = x\nos.system(y)",
    ),
    "checked under a name": (
        SHELL,
        "x = request.args['x']\nok = x in ALLOWED\nif not ok:\n    return 'no'\nos.system(x)",
    ),
    "looked up": (SHELL, "os.system({'a': 'ls', 'b': 'ps'}[request.args['x']])"),
    "looked up with get": (SHELL, "os.system({'a': 'ls', 'b': 'ps'}.get(request.args['x'], 'ls'))"),
    "digits": (SHELL, "x = request.args['x']\nif x.isdigit():\n    os.system('ls ' + x)"),
    "letters, or out": (
        SHELL,
        "x = request.args['x']\nif not x.isalnum():\n    raise ValueError\nos.system('ls ' + x)",
    ),
    "each letter": (
        SHELL,
        "x = request.args['x']\nif not all(c.isalnum() for c in x):\n    abort(400)\nos.system('ls ' + x)",
    ),
    "a whole match": (SHELL, "x = request.args['x']\nif re.fullmatch('[a-z]+', x):\n    os.system('ls ' + x)"),
    "a match to the end": (
        SHELL,
        "x = request.args['x']\nif not re.match(r'^[\\w-]+$', x):\n    abort(400)\nos.system('ls ' + x)",
    ),
    "a match under a name": (
        SHELL,
        "x = request.args['x']\nm = re.fullmatch(r'\\w+', x)\nif m is None:\n    return ''\nos.system('ls ' + x)",
    ),
    "a compiled match": (
        SHELL,
        "p = re.compile(r'[a-z]+')\nx = request.args['x']\nif p.fullmatch(x):\n    os.system('ls ' + x)",
    ),
    "what is left": (SHELL, "x = re.sub('[^a-z]', '', request.args['x'])\nos.system('ls ' + x)"),
    "a check of the source": (
        SHELL,
        "def ok(v):\n    return v in ALLOWED\nx = request.args['x']\nif ok(x):\n    os.system('ls ' + x)",
    ),
    "a check that raises": (
        SHELL,
        (
            "def check(v):\n    if v not in ALLOWED:\n"
            "        raise ValueError(v)\n"
            "x = request.args['x']\ncheck(x)\nos.system('ls ' + x)"
        ),
    ),
    "a check with two returns": (
        SHELL,
        (
            "def ok(v):\n    if v in ALLOWED:\n        return True\n    return False\nx = request.args['x']\n"
            "if not ok(x):\n    return 'no'\nos.system('ls ' + x)"
        ),
    ),
    "equal to a constant": (SHELL, "x = request.args['x']\nif x == 'a':\n    os.system('ls ' + x)"),
    "no shell": ("FH110", "subprocess.run(['ls', request.args['x']])"),
    "eval of one of a list": (EVAL, "x = request.args['x']\nif x in ('1', '2'):\n    eval(x)"),
    "sql with parameters": (SQL, "c.execute('SELECT a FROM t WHERE b = ?', (request.args['x'],))"),
    "sql of a number": (SQL, "n = int(request.args['x'])\nc.execute(f'SELECT a FROM t WHERE b = {n}')"),
    "sql by one of a list": (
        SQL,
        "x = request.args['x']\nif x not in {'a', 'b'}:\n    abort(400)\nc.execute(f'SELECT a FROM t ORDER BY {x}')",
    ),
    "a secured name": (
        PATH,
        "from werkzeug.utils import secure_filename\nopen('/data/' + secure_filename(request.args['x']))",
    ),
    "a last part": (PATH, "open('/data/' + os.path.basename(request.args['x']))"),
    "a resolved path": (
        PATH,
        (
            "p = os.path.realpath(os.path.join('/data', "
            "request.args['x']))\n"
            "if not p.startswith('/data/'):\n"
            "    abort(400)\nopen(p)"
        ),
    ),
    "a path inside": (
        PATH,
        (
            "from pathlib import Path\np = (Path('/data') / request.args['x']).resolve()\n"
            "if not p.is_relative_to('/data'):\n    abort(400)\np.read_text()"
        ),
    ),
    "a path part by part": (
        PATH,
        (
            "path = '/data'\n"
            "for word in request.path.split('/'):\n"
            "    if os.path.dirname(word) or "
            "word in (os.curdir, os.pardir):\n"
            "        continue\n    path = os.path.join(path, word)\nopen(path)"
        ),
    ),
    "a folder's own": (
        PATH,
        "from flask import send_from_directory\nreturn send_from_directory('/data', request.args['x'])",
    ),
    "a host of the source": (SSRF, "requests.get('https://a.org/' + request.args['x'], timeout=1)"),
    "a known host": (
        SSRF,
        "x = request.args['x']\nif urlparse(x).hostname not in ALLOWED:\n    abort(400)\nrequests.get(x, timeout=1)",
    ),
    "an escaped page": (PAGE, "return '<p>' + html.escape(request.args['x'])"),
    "a template's page": (
        PAGE,
        "from flask import render_template\nreturn render_template('a.html', x=request.args['x'])",
    ),
    "json out": (PAGE, "return {'x': request.args['x']}"),
    "plain text": (PAGE, "from flask import Response\nreturn Response(request.args['x'], mimetype='text/plain')"),
    "a redirect of the source": (
        REDIRECT,
        "from flask import url_for\nreturn redirect(url_for('view', x=request.args['x']))",
    ),
    "a redirect with a beginning": (REDIRECT, "return redirect('/user/' + request.args['x'])"),
    "a template with values": ("FH164", "return render_template_string('<p>{{ x }}', x=request.args['x'])"),
    "xpath with variables": (
        "FH165",
        "from lxml import etree\netree.parse('a.xml').xpath('//a[@b=$b]', b=request.args['x'])",
    ),
}


def found(code: str, rule: str) -> list[Finding]:
    """Give the findings of one rule; the text parses and no rule fails on it."""
    report = analyze(code)
    assert report.parse == "full"
    assert not [one for one in report.findings if one.rule.startswith("FH00")]
    return [one for one in report.findings if one.rule == rule]


@pytest.mark.parametrize("name", REACHED)
def test_what_comes_with_a_request_is_followed(name: str) -> None:
    """It is grave that a request reaches a sink, and the finding says where it came in."""
    rule, body = REACHED[name]
    findings = found(FLASK + textwrap.indent(body, "    ") + "\n", rule)
    assert [one.severity for one in findings if "request." in one.message] in (["high"], ["medium"])


@pytest.mark.parametrize("name", HELD)
def test_what_cannot_harm_is_not_graver_than_low(name: str) -> None:
    """What is constant, checked or made harmless is left alone, or of low severity where the call itself is told."""
    rule, body = HELD[name]
    findings = found(FLASK + textwrap.indent(body, "    ") + "\n", rule)
    grave = [one.message for one in findings if one.severity.rank > Severity.LOW.rank and one.span.line > VIEW_LINE]
    assert grave == []


@pytest.mark.parametrize(
    ("rule", "level", "code"),
    [
        (EVAL, "high", "x = input()\nprint(eval(x))\n"),
        (SHELL, "high", "import os, sys\nos.system('ls ' + sys.argv[1])\n"),
        (SHELL, "high", "import os\nos.system(os.environ['CMD'])\n"),
        (SHELL, "high", "import argparse, os\np = argparse.ArgumentParser()\na = p.parse_args()\nos.system(a.cmd)\n"),
        (
            SHELL,
            "high",
            "import click, os\n@click.command()\n@click.argument('name')\ndef f(name):\n    os.system('ls ' + name)\n",
        ),
        (PATH, "high", "def view(request):\n    return open('/data/' + request.GET['f']).read()\n"),
        (
            SQL,
            "high",
            (
                "from django.db import connection\ndef view(request):\n    x = request.GET.get('x')\n"
                "    connection.cursor().execute(f\"SELECT a FROM t WHERE b = '{x}'\")\n"
            ),
        ),
        (
            SHELL,
            "high",
            (
                "import os\nfrom fastapi import FastAPI\n"
                "app = FastAPI()\n"
                "@app.get('/x')\nasync def f(x: str):\n"
                "    os.system(x)\n"
            ),
        ),
        (
            SHELL,
            "high",
            (
                "import os\nfrom fastapi import FastAPI\n"
                "from pydantic import BaseModel\n"
                "app = FastAPI()\nclass M(BaseModel):\n"
                "    cmd: str\n@app.post('/x')\ndef f(m: M):\n    os.system(m.cmd)\n"
            ),
        ),
        (
            SHELL,
            "high",
            "import os\nfrom aiohttp import web\nasync def f(request):\n    os.system(request.query['x'])\n",
        ),
        (
            SHELL,
            "high",
            (
                "import os\nfrom http.server import BaseHTTPRequestHandler\nclass H(BaseHTTPRequestHandler):\n"
                "    def do_GET(self):\n        os.system(self.path)\n"
            ),
        ),
        (SHELL, "high", "import os, socket\ns = socket.socket()\ndata = s.recv(100)\nos.system(data.decode())\n"),
        (SHELL, "high", "import os\ndef handler(event, context):\n    os.system(event['cmd'])\n"),
        (SHELL, "high", "import os\n@mcp.tool()\ndef f(cmd: str):\n    os.system(cmd)\n"),
        (EVAL, "high", "a = client.chat.completions.create(m)\neval(a.choices[0].message.content)\n"),
    ],
)
def test_sources_of_many_kinds(rule: str, level: str, code: str) -> None:
    """What is typed, given on the command line, sent or written by a model is known for what it is."""
    findings = [one for one in found(code, rule) if "(line " in one.message or "; from " in one.message]
    assert [one.severity for one in findings] == [level]


def test_the_path_is_told_within_a_line_of_a_models_report() -> None:
    """A finding names the source, its line, and the lines between it and the sink."""
    code = FLASK + "    a = request.args['x']\n    b = 'ls ' + a\n    c = b.strip()\n    os.system(c)\n"
    first = VIEW_LINE + 1
    (finding,) = found(code, SHELL)[-1:]
    assert finding.message == (
        f"request.args['x'] (line {first}) is run by a shell, through lines {first + 1}, {first + 2}"
    )
    assert len(finding.message) <= 90


def test_a_parameter_alone_is_no_source_that_fails() -> None:
    """A function that opens the path it is given is what functions are for."""
    code = "import requests\ndef f(path, url):\n    requests.get(url, timeout=1)\n    return open(path).read()\n"
    assert [one for one in analyze(code).findings if one.rule.startswith(("FH16", "FH17"))] == []
