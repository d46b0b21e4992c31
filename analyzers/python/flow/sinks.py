"""Where a value decides what happens: the functions and methods, and which of their arguments matter."""

from __future__ import annotations

from analyzers.named import NamedTuple


class Sink(NamedTuple):
    """A place that takes a value. ``places`` are the arguments that matter, ``words`` their names.

    ``needs`` are packages of which one has to be imported for a method of unknown origin to be this.
    """

    kind: str
    places: tuple[int, ...] = (0,)
    words: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def _table(rows: tuple[tuple[str, Sink], ...]) -> dict[str, Sink]:
    return {name: sink for names, sink in rows for name in names.split()}


_VERBS = "get post put patch delete head options"
_CLIENTS = (
    "requests requests.api "
    "requests.Session() requests.session() "
    "httpx httpx.Client() httpx.AsyncClient() "
    "aiohttp.ClientSession()"
)

FUNCTIONS = _table(
    (
        ("builtins.eval builtins.exec builtins.execfile", Sink("code", (0,), ("source",))),
        ("builtins.compile", Sink("compile", (0,), ("source",))),
        (
            "numexpr.evaluate pandas.eval code.InteractiveConsole().runcode code.InteractiveInterpreter().runsource",
            Sink("code"),
        ),
        (
            "builtins.__import__ importlib.import_module importlib.__import__ runpy.run_module runpy.run_path",
            Sink("import", (0,), ("name",)),
        ),
        (
            (
                "os.system os.popen subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_shell "
                "commands.getoutput "
                "commands.getstatusoutput posix.system "
                "popen2.popen2 popen2.popen3 invoke.run fabric.run "
                "invoke.Context().run pexpect.run pexpect.spawn sh.bash"
            ),
            Sink("shell", (0,), ("cmd", "command")),
        ),
        (
            "subprocess.run subprocess.call subprocess.Popen subprocess.check_call subprocess.check_output",
            Sink("process", (0,), ("args",)),
        ),
        (
            (
                "asyncio.create_subprocess_exec os.execl os.execle "
                "os.execlp os.execlpe os.execv "
                "os.execve os.execvp os.execvpe "
                "os.startfile os.posix_spawn pty.spawn"
            ),
            Sink("program"),
        ),
        ("os.spawnl os.spawnle os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp", Sink("program", (1,))),
        (
            (
                "builtins.open io.open codecs.open os.open os.remove "
                "os.unlink os.rmdir os.removedirs "
                "os.listdir os.scandir "
                "os.chmod os.chown os.truncate os.mkdir os.makedirs shutil.rmtree shutil.unpack_archive aiofiles.open "
                "linecache.getlines tarfile.open zipfile.ZipFile gzip.open bz2.open lzma.open logging.FileHandler "
                "werkzeug.utils.send_file aiohttp.web.FileResponse "
                "starlette.responses.FileResponse sanic.response.file "
                "fastapi.responses.FileResponse flask.send_file flask.send_from_directory bottle.static_file "
                "django.views.static.serve shelve.open dbm.open os.walk"
            ),
            Sink("path", (0,), ("file", "path", "filename", "path_or_file", "filename_or_fp", "name", "directory")),
        ),
        (
            (
                "os.rename os.replace os.symlink os.link shutil.copy "
                "shutil.copy2 shutil.copyfile "
                "shutil.copytree shutil.move"
            ),
            Sink("path", (0, 1), ("src", "dst")),
        ),
        ("bottle.static_file", Sink("path", (), ("root",))),
        (
            (
                "flask.render_template_string jinja2.Template jinja2.Environment().from_string mako.template.Template "
                "django.template.Template tornado.template.Template jinja2.sandbox.Environment().from_string "
                "jinja2.environment.Template "
                "quart.render_template_string "
                "bottle.template chevron.render pystache.render "
                "flask.templating.render_template_string"
            ),
            Sink("template", (0,), ("source", "text", "template", "template_string")),
        ),
        (
            (
                "flask.make_response flask.Response quart.Response werkzeug.wrappers.Response werkzeug.Response "
                "django.http.HttpResponse django.http.response.HttpResponse fastapi.responses.HTMLResponse "
                "starlette.responses.HTMLResponse fastapi.Response starlette.responses.Response aiohttp.web.Response "
                "sanic.response.html django.http.HttpResponseBadRequest django.http.HttpResponseNotFound"
            ),
            Sink("html", (0,), ("response", "content", "text", "body")),
        ),
        (
            (
                "markupsafe.Markup flask.Markup jinja2.Markup django.utils.safestring.mark_safe "
                "django.utils.safestring.SafeString django.utils.html.format_html"
            ),
            Sink("html", (0,), ("s",)),
        ),
        (
            (
                "lxml.etree.parse "
                "lxml.etree.fromstring lxml.etree.XML "
                "xml.etree.ElementTree.parse lxml.etree.iterparse "
                "xml.etree.ElementTree.fromstring "
                "xml.dom.minidom.parseString "
                "xml.dom.minidom.parse xml.sax.parseString "
                "xml.sax.parse xml.dom.pulldom.parseString xml.dom.pulldom.parse xml.sax.make_parser().parse"
            ),
            Sink("xml", (0,), ("source", "text", "string")),
        ),
        ("lxml.etree.XPath lxml.etree.ETXPath", Sink("xpath", (0,), ("path",))),
        ("elementpath.select", Sink("xpath", (1,), ("path",))),
        (
            (
                "flask.redirect django.shortcuts.redirect django.http.HttpResponseRedirect quart.redirect "
                "django.http.HttpResponsePermanentRedirect fastapi.responses.RedirectResponse bottle.redirect "
                "starlette.responses.RedirectResponse "
                "werkzeug.utils.redirect "
                "sanic.response.redirect aiohttp.web.HTTPFound "
                "aiohttp.web.HTTPSeeOther aiohttp.web.HTTPTemporaryRedirect django.http.response.HttpResponseRedirect "
                "aiohttp.web.HTTPMovedPermanently pyramid.httpexceptions.HTTPFound"
            ),
            Sink("redirect", (0,), ("location", "url", "redirect_to", "to")),
        ),
        (
            " ".join(f"{client}.{verb}" for client in _CLIENTS.split() for verb in _VERBS.split()),
            Sink("ssrf", (0,), ("url",)),
        ),
        (" ".join(f"{client}.request" for client in _CLIENTS.split()), Sink("ssrf", (1,), ("url",))),
        (
            "httpx.stream urllib3.PoolManager().request urllib3.PoolManager().urlopen urllib3.request",
            Sink("ssrf", (1,), ("url",)),
        ),
        (
            (
                "urllib.request.urlopen urllib.request.Request "
                "urllib.request.urlretrieve "
                "urllib.urlopen urllib2.urlopen "
                "http.client.HTTPConnection "
                "http.client.HTTPSConnection "
                "wget.download urllib2.Request "
                "socket.create_connection"
            ),
            Sink("ssrf", (0,), ("url", "host")),
        ),
        (
            (
                "pickle.load pickle.loads cPickle.loads cPickle.load "
                "_pickle.loads dill.loads dill.load cloudpickle.loads "
                "cloudpickle.load pickle.Unpickler marshal.loads "
                "marshal.load jsonpickle.decode "
                "yaml.load yaml.unsafe_load "
                "yaml.full_load yaml.load_all joblib.load torch.load pandas.read_pickle numpy.load shelve.open "
                "ruamel.yaml.load jsonpickle.loads"
            ),
            Sink("pickle", (0,), ("data", "stream", "file", "string", "s")),
        ),
        (
            (
                "sqlalchemy.text sqlalchemy.sql.text "
                "sqlalchemy.sql.expression.text "
                "django.db.models.expressions.RawSQL "
                "django.db.models.RawSQL"
            ),
            Sink("sql", (0,), ("text", "sql")),
        ),
        ("pandas.read_sql pandas.read_sql_query", Sink("sql", (0,), ("sql",))),
        (
            "re.compile re.match re.search re.fullmatch re.findall re.sub re.split re.finditer",
            Sink("regex", (0,), ("pattern",)),
        ),
        ("builtins.getattr", Sink("attribute", (1,))),
        (
            " ".join(
                f"{logger}.{level}"
                for logger in (
                    "logging",
                    "logging.getLogger()",
                    "loguru.logger",
                    "<app>.logger",
                    "flask.Flask().logger",
                    "flask.current_app.logger",
                )
                for level in ("debug", "info", "warning", "warn", "error", "critical", "exception")
            ),
            Sink("log", (0, 1, 2, 3, 4), ("msg",)),
        ),
        ("logging.log logging.getLogger().log", Sink("log", (1, 2, 3, 4), ("msg",))),
    )
)
METHODS = _table(
    (
        (
            "execute executemany executescript raw mogrify exec_driver_sql",
            Sink("sql", (0,), ("sql", "query", "operation", "statement")),
        ),
        ("execute_sql run_query fetch_all fetch_one fetchrow fetchval read_sql", Sink("sql", (0,), ("sql", "query"))),
        (
            "query",
            Sink("sql", (0,), ("sql",), ("MySQLdb", "pymysql", "psycopg2", "_mysql", "pg", "google.cloud.bigquery")),
        ),
        ("xpath", Sink("xpath", (0,), ("_path", "path"))),
        ("find findall findtext iterfind", Sink("etree", (0,), ("path", "match"))),
        ("exec_command", Sink("shell", (0,), ("command",), ("paramiko", "fabric"))),
        ("search_s search_st search_ext search_ext_s", Sink("ldap", (0, 2), ("base", "filterstr"))),
        ("search paged_search", Sink("ldap", (0, 1), ("search_base", "search_filter"), ("ldap3", "ldap"))),
        ("from_string", Sink("template", (0,), ("source",), ("jinja2",))),
        ("write", Sink("page", (0,))),
        ("save", Sink("upload", (0,), ("dst",))),
        (
            "find_one find_one_and_update delete_one delete_many update_one count_documents aggregate",
            Sink("nosql", (0,), ("filter",), ("pymongo", "motor", "flask_pymongo", "mongoengine")),
        ),
        ("info debug warning error critical exception", Sink("logger", (0, 1, 2, 3, 4), ("msg",))),
        ("goto", Sink("ssrf", (0,), ("url",), ("playwright", "pyppeteer"))),
        ("redirect", Sink("redirect", (0,), ("url",), ("tornado", "webapp2"))),
        (
            "open read_text read_bytes write_text write_bytes unlink rmdir mkdir rename touch iterdir",
            Sink("pathlib", ()),
        ),
    )
)
WORDS = frozenset(name.rpartition(".")[2] for name in (*FUNCTIONS, *METHODS))
"""The last words of all of them."""
PATHS = ("pathlib.Path()", "pathlib.PosixPath()", "anyio.Path()", "pathlib.PurePath()")
STOPPING = frozenset(
    """
    flask.abort werkzeug.exceptions.abort sys.exit builtins.exit builtins.quit os._exit os.abort bottle.abort
    aiohttp.web.HTTPException quart.abort django.http.Http404 pytest.fail pytest.skip sanic.exceptions.abort
""".split()
)
"""Calls that do not come back."""
PURE = frozenset(
    """
    builtins.str builtins.repr builtins.bytes builtins.bytearray builtins.format builtins.next builtins.iter
    builtins.max builtins.min builtins.ascii builtins.reversed builtins.sorted builtins.list builtins.tuple
    builtins.set builtins.frozenset builtins.enumerate builtins.zip builtins.filter builtins.map builtins.chr
    builtins.memoryview copy.copy copy.deepcopy os.path.join os.path.abspath os.path.realpath os.path.normpath
    os.path.expanduser os.path.expandvars os.path.dirname os.path.splitext os.path.split os.fspath os.fsencode
    os.path.normcase posixpath.join base64.b64decode base64.b64encode base64.urlsafe_b64decode base64.b32decode
    base64.urlsafe_b64encode base64.decodebytes base64.b16decode base64.b85decode binascii.unhexlify binascii.a2b_base64
    urllib.parse.unquote urllib.parse.unquote_plus urllib.parse.urlparse urllib.parse.urlsplit urllib.parse.urljoin
    urllib.parse.parse_qs urllib.parse.parse_qsl urllib.unquote urlparse.urlparse html.unescape json.loads json.load
    json.dumps io.StringIO io.BytesIO textwrap.dedent textwrap.indent textwrap.wrap string.Template shlex.split
    codecs.encode codecs.decode codecs.getreader yaml.safe_load ast.literal_eval toml.loads tomllib.loads
    collections.OrderedDict collections.deque itertools.chain functools.reduce operator.concat os.path.relpath
    pathlib.Path pathlib.PurePath pathlib.PosixPath zlib.decompress gzip.decompress bz2.decompress
    unicodedata.normalize re.sub re.split re.findall re.match re.search re.fullmatch re.finditer subprocess.list2cmdline
    urllib.request.Request builtins.super builtins.dict builtins.print builtins.getattr typing.cast locale.atof
    builtins.input shutil.which builtins.vars xml.etree.ElementTree.fromstring lxml.etree.fromstring csv.reader
    csv.DictReader types.SimpleNamespace argparse.Namespace pickle.dumps marshal.dumps jinja2.Template
    configparser.ConfigParser sys.intern asyncio.run asyncio.wait_for urllib.parse.urlunparse
    pathlib.Path().joinpath pathlib.Path().resolve os.path.commonpath os.path.commonprefix
""".split()
)
"""What these give is made of what they are given, and of nothing else."""
