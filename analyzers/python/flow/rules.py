"""The rules about what flows from outside to where it decides something. Their pages; what finds them is the walk."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

_FLASK = "from flask import Flask, request\napp = Flask(__name__)\n@app.route('/x')\ndef view():\n"
_NOTHING: tuple[Hit, ...] = ()


def path_from_outside() -> Iterator[Hit]:
    """Somebody else says which file is opened, sent, changed or removed.

    ``../../etc/passwd`` leads out of the folder that was meant, and so does an absolute path, which ``os.path.join``
    takes as it is. Take the last part alone (``werkzeug.utils.secure_filename``, ``os.path.basename``), or resolve the
    path and see that it is still inside: ``path.resolve().is_relative_to(folder)``; Flask has ``send_from_directory``.

    A whole path that is typed in is of low severity, and one on the command line is not reported: such a program
    opens what it is told to open.
    """
    return iter(_NOTHING)


def address_from_outside() -> Iterator[Hit]:
    """Somebody else says where a request goes (server-side request forgery).

    From inside the network it reaches what its sender could not: ``http://169.254.169.254/`` gives away the machine's
    keys. Compare the host with a list of your own (``urlparse(url).hostname in ALLOWED``), or put the value behind a
    host that the source names. An address whose host stands in the source is not reported.
    """
    return iter(_NOTHING)


def redirect_from_outside() -> Iterator[Hit]:
    """Somebody else says where the browser is sent.

    A link that begins with your name then leads to a page of theirs. Redirect to names of your own (``url_for``), or
    check the target: Django has ``url_has_allowed_host_and_scheme``. That it begins with ``/`` is not enough:
    ``//evil.example`` does too.
    """
    return iter(_NOTHING)


def page_from_outside() -> Iterator[Hit]:
    """What came with a request is shown as HTML without being escaped (reflected cross-site scripting).

    Script in it runs in the browser of whoever follows a link, in the name of that person. Use a template that
    escapes, or ``markupsafe.escape``; answer data as JSON or ``text/plain``.
    """
    return iter(_NOTHING)


def template_from_outside() -> Iterator[Hit]:
    """Somebody else writes a part of a template (server-side template injection).

    ``{{ ''.__class__ }}`` is where it begins; it ends with code that runs in this program. Keep the template in the
    source, and hand values over beside it: ``render_template_string("Hello {{ name }}", name=name)``.
    """
    return iter(_NOTHING)


def xpath_from_outside() -> Iterator[Hit]:
    """What came from outside becomes part of an XPath expression.

    ``' or '1'='1`` selects everything. Hand values over as variables: ``tree.xpath("//a[@n=$name]", name=name)``.
    """
    return iter(_NOTHING)


def ldap_from_outside() -> Iterator[Hit]:
    """What came from outside becomes part of an LDAP filter or name.

    ``*)(uid=*`` matches everybody. Escape it: ``ldap.filter.escape_filter_chars``, ``ldap.dn.escape_dn_chars``, and
    ``ldap3.utils.conv.escape_filter_chars``.
    """
    return iter(_NOTHING)


def log_from_outside() -> Iterator[Hit]:
    """What came from outside is written to the log as it is.

    With a line break in it, it adds lines that never happened. Write it with ``%r``, or take line breaks out.
    """
    return iter(_NOTHING)


def session_from_outside() -> Iterator[Hit]:
    """What came with a request is put into the session unchecked, as a value or as a key.

    What reads it there later believes that this program chose it (trust boundary). Check it first.
    """
    return iter(_NOTHING)


def code_from_outside() -> Iterator[Hit]:
    """Somebody else says what is compiled or imported, or which attribute is used.

    Choose from a dict of your own: ``ACTIONS[name]()``. ``eval`` and ``exec`` themselves have FH101 and FH102, which
    say where their text comes from.
    """
    return iter(_NOTHING)


def command_from_outside() -> Iterator[Hit]:
    """Somebody else says which program is started, or what a shell is told that no other rule knows.

    Name the program in the source, and hand values over as arguments of their own. What is given to a known shell is
    told by FH110 and FH111, which say where it comes from.
    """
    return iter(_NOTHING)


def sql_from_outside() -> Iterator[Hit]:
    """A statement that came from outside, or was put together somewhere else from what did, is handed to a database.

    Keep the statement in the source and hand values over beside it. Where the text is put together in sight, FH120
    tells it.
    """
    return iter(_NOTHING)


def data_from_outside() -> Iterator[Hit]:
    """What came from outside is read by something that can make any object of it.

    Read JSON instead, and check what is in it.
    """
    return iter(_NOTHING)


def query_from_outside() -> Iterator[Hit]:
    """What came with a request becomes a query of a document database as a whole, or its ``$where``.

    ``{"$ne": null}`` in place of a password matches every password. Take the values one by one as texts: ``str(…)``.
    """
    return iter(_NOTHING)


def pattern_from_outside() -> Iterator[Hit]:
    """Somebody else writes a regular expression.

    Some take longer than anybody waits. ``re.escape`` makes a plain text of it.
    """
    return iter(_NOTHING)


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH160",
        name="path-from-outside",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=22,
        check=path_from_outside,
        hits=(
            f"{_FLASK}    return open('/data/' + request.args['f']).read()\n",
            "import os\nname = input('name: ')\nos.remove(f'/data/{name}')\n",
            "def view(request):\n    with open(request.GET.get('f')) as f:\n        return len(f.read())\n",
        ),
        misses=(
            f"{_FLASK}    return open('/data/' + os.path.basename(request.args['f'])).read()\nimport os\n",
            "import sys\nopen(sys.argv[1])\n",
            "def f(path):\n    return open(path)\n",
            f"{_FLASK}    f = request.args['f']\n    if f not in ('a', 'b'):\n        return ''\n    open(f)\n",
        ),
    ),
    Rule(
        id="FH161",
        name="address-from-outside",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=918,
        check=address_from_outside,
        hits=(
            f"{_FLASK}    return requests.get(request.args['u'], timeout=1).text\nimport requests\n",
            f"{_FLASK}    return urlopen(f\"https://{{request.args['h']}}/x\").read()\n",
        ),
        misses=(
            f"{_FLASK}    requests.get('https://api.a.org/' + request.args['u'], timeout=1)\nimport requests\n",
            "import requests\ndef f(url):\n    return requests.get(url, timeout=1)\n",
        ),
    ),
    Rule(
        id="FH162",
        name="redirect-from-outside",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=601,
        check=redirect_from_outside,
        hits=(
            f"{_FLASK}    return redirect(request.args.get('next'))\nfrom flask import redirect\n",
            "from django.shortcuts import redirect\ndef view(request):\n    return redirect(request.GET['next'])\n",
        ),
        misses=(
            f"{_FLASK}    return redirect('/user/' + request.args['u'])\nfrom flask import redirect\n",
            f"{_FLASK}    return redirect(url_for('index'))\nfrom flask import redirect, url_for\n",
        ),
    ),
    Rule(
        id="FH163",
        name="page-from-outside",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=79,
        check=page_from_outside,
        hits=(
            f"{_FLASK}    return f\"Hello {{request.args.get('name')}}\"\n",
            "from django.http import HttpResponse\ndef view(request):\n    return HttpResponse(request.GET['q'])\n",
        ),
        misses=(
            f"{_FLASK}    return escape(request.args.get('name'))\nfrom markupsafe import escape\n",
            f"{_FLASK}    return jsonify(request.args)\nfrom flask import jsonify\n",
            f"{_FLASK}    return {{'name': request.args.get('name')}}\n",
        ),
    ),
    Rule(
        id="FH164",
        name="template-from-outside",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=1336,
        check=template_from_outside,
        hits=(
            (
                f"{_FLASK}    return render_template_string('Hi ' + request.args['n'])\n"
                "from flask import render_template_string\n"
            ),
            "from jinja2 import Template\nprint(Template(input()).render())\n",
        ),
        misses=(
            (
                f"{_FLASK}    return render_template_string('Hi {{{{ n }}}}', n=request.args['n'])\n"
                "from flask import render_template_string\n"
            ),
        ),
    ),
    Rule(
        id="FH165",
        name="xpath-from-outside",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=643,
        check=xpath_from_outside,
        hits=(f"{_FLASK}    return str(tree.xpath(\"//a[@n='\" + request.args['n'] + \"']\"))\n",),
        misses=(f"{_FLASK}    return str(len(tree.xpath('//a[@n=$n]', n=request.args['n'])))\n",),
    ),
    Rule(
        id="FH166",
        name="ldap-from-outside",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=90,
        check=ldap_from_outside,
        hits=(
            (
                "import ldap\nfrom flask import request\nc = ldap.initialize('ldap://a')\n"
                "c.search_s('dc=a', ldap.SCOPE_SUBTREE, '(uid=%s)' % request.args['u'])\n"
            ),
        ),
        misses=(
            (
                "import ldap, ldap.filter\nfrom flask import request\nc = ldap.initialize('ldap://a')\n"
                "u = ldap.filter.escape_filter_chars(request.args['u'])\n"
                "c.search_s('dc=a', ldap.SCOPE_SUBTREE, '(uid=%s)' % u)\n"
            ),
        ),
    ),
    Rule(
        id="FH167",
        name="log-from-outside",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=117,
        check=log_from_outside,
        hits=(f"{_FLASK}    logging.info('user ' + request.args['u'])\nimport logging\n",),
        misses=(f"{_FLASK}    logging.info('user %s', repr(request.args['u']))\nimport logging\n",),
    ),
    Rule(
        id="FH168",
        name="session-from-outside",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=501,
        check=session_from_outside,
        hits=("from flask import request, session\nsession['user'] = request.form['user']\n",),
        misses=("from flask import request, session\nsession['n'] = int(request.form['n'])\n",),
    ),
    Rule(
        id="FH169",
        name="code-from-outside",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=94,
        check=code_from_outside,
        hits=(
            "import importlib\nimportlib.import_module(input())\n",
            f"{_FLASK}    return str(compile(request.data, 'x', 'exec'))\n",
        ),
        misses=("import importlib\nname = input()\nif name in ('json', 'csv'):\n    importlib.import_module(name)\n",),
    ),
    Rule(
        id="FH170",
        name="command-from-outside",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=78,
        check=command_from_outside,
        hits=(
            f"{_FLASK}    subprocess.run([request.args['p'], '-x'])\nimport subprocess\n",
            "import pexpect\npexpect.run('ls ' + input())\n",
        ),
        misses=(
            f"{_FLASK}    subprocess.run(['ls', request.args['p']])\nimport subprocess\n",
            "import subprocess\ndef f(args):\n    subprocess.run(args)\n",
        ),
    ),
    Rule(
        id="FH171",
        name="sql-from-outside",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=89,
        check=sql_from_outside,
        hits=(f"{_FLASK}    cursor.execute(request.args['q'])\n",),
        misses=(f"{_FLASK}    cursor.execute('select a from t where b = ?', (request.args['q'],))\n",),  # noqa: S608 - a sample
    ),
    Rule(
        id="FH172",
        name="data-from-outside",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=502,
        check=data_from_outside,
        hits=(f"{_FLASK}    return str(numpy.load(request.files['f'].stream))\nimport numpy\n",),
        misses=(f"{_FLASK}    return str(len(json.loads(request.data)))\nimport json\n",),
    ),
    Rule(
        id="FH173",
        name="query-from-outside",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=943,
        check=query_from_outside,
        hits=(f"{_FLASK}    return str(len(db.users.find_one(request.json)))\nimport pymongo\n",),
        misses=(f"{_FLASK}    db.users.find_one({{'name': str(request.json['name'])}})\nimport pymongo\n",),
    ),
    Rule(
        id="FH174",
        name="pattern-from-outside",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=1333,
        check=pattern_from_outside,
        hits=(f"{_FLASK}    return str(len(re.findall(request.args['p'], text)))\nimport re\n",),
        misses=(f"{_FLASK}    return str(len(re.findall(re.escape(request.args['p']), text)))\nimport re\n",),
    ),
)
_IDS = {
    "path": "FH160", "ssrf": "FH161", "redirect": "FH162", "html": "FH163", "template": "FH164", "xpath": "FH165",
    "ldap": "FH166", "log": "FH167", "trust": "FH168", "code": "FH169", "compile": "FH169", "import": "FH169",
    "attribute": "FH169", "shell": "FH170", "program": "FH170", "sql": "FH171",
    "pickle": "FH172", "nosql": "FH173", "regex": "FH174",
}  # fmt: skip
_BY_ID = {rule.id: rule for rule in RULES}
BY_KIND = {kind: _BY_ID[name] for kind, name in _IDS.items()}
"""The rule that tells of what reaches a sink of each kind."""
