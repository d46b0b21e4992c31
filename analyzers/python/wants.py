"""What a Python source wants to do: calls and imports that reach the network, processes, files, the environment.

The interests below go through the same walk as the rules, so that asking costs a look into a dict for each call. What
only runs made by other code can tell (``getattr`` by a computed name) is not seen.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from analyzers import capabilities as can
from analyzers.capabilities import Wanted
from analyzers.model import Confidence, Severity
from analyzers.python.interests import calls, imports, mentions, methods
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.values import argument, text_of
from analyzers.rule import Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OUTBOUND = calls(
    "socket.create_connection socket.socket().connect socket.socket().connect_ex socket.socket().sendto "
    "socket.getaddrinfo socket.gethostbyname urllib.request.urlopen urllib.request.urlretrieve "
    "urllib.request.build_opener urllib.request.Request urllib2.urlopen http.client.HTTPConnection "
    "http.client.HTTPSConnection ftplib.FTP ftplib.FTP_TLS smtplib.SMTP smtplib.SMTP_SSL imaplib.IMAP4 "
    "imaplib.IMAP4_SSL poplib.POP3 poplib.POP3_SSL nntplib.NNTP telnetlib.Telnet xmlrpc.client.ServerProxy "
    "asyncio.open_connection webbrowser.open torch.hub.load torch.hub.load_state_dict_from_url "
    "pandas.read_html nltk.download tensorflow.keras.utils.get_file"
)
# Whoever imports one of these talks to something beyond this machine.
_CLIENTS = imports(
    "requests httpx aiohttp urllib3 httplib2 pycurl treq websockets websocket socketio grpc paramiko fabric "
    "asyncssh ftputil telnetlib3 dns scapy boto3 botocore aiobotocore google.cloud googleapiclient azure openai "
    "anthropic cohere mistralai groq replicate huggingface_hub pinecone weaviate qdrant_client psycopg psycopg2 "
    "asyncpg pymysql MySQLdb mysql pymssql cx_Oracle oracledb pymongo motor redis aioredis kafka confluent_kafka "
    "pika celery elasticsearch opensearchpy cassandra neo4j snowflake clickhouse_driver twilio sendgrid stripe "
    "slack_sdk telegram discord tweepy praw selenium playwright scrapy yfinance ccxt kubernetes docker hvac consul "
    "ldap3 pysnmp paho zeep suds web3 sentry_sdk mlflow wandb"
)
_LISTEN = calls(
    "socket.socket().bind socket.socket().listen socket.create_server http.server.HTTPServer "
    "http.server.ThreadingHTTPServer socketserver.TCPServer socketserver.ThreadingTCPServer socketserver.UDPServer "
    "xmlrpc.server.SimpleXMLRPCServer asyncio.start_server uvicorn.run flask.Flask().run aiohttp.web.run_app "
    "wsgiref.simple_server.make_server waitress.serve"
)
_PROCESSES = calls(
    "subprocess.run subprocess.Popen subprocess.call subprocess.check_call subprocess.check_output "
    "subprocess.getoutput subprocess.getstatusoutput os.system os.popen os.popen2 os.popen3 os.popen4 os.fork "
    "os.forkpty os.execl os.execle os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe os.spawnl os.spawnle "
    "os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp os.spawnvpe os.posix_spawn os.posix_spawnp os.startfile "
    "pty.spawn pty.fork commands.getoutput commands.getstatusoutput popen2.popen2 asyncio.create_subprocess_exec "
    "asyncio.create_subprocess_shell multiprocessing.Process multiprocessing.Pool multiprocessing.pool.Pool "
    "multiprocessing.Manager concurrent.futures.ProcessPoolExecutor pexpect.spawn pexpect.run plumbum.local "
    "invoke.run sh.bash"
)
_READ = calls(
    "os.listdir os.scandir os.walk os.stat os.path.getsize glob.glob glob.iglob linecache.getline fileinput.input "
    "mmap.mmap numpy.load numpy.loadtxt numpy.genfromtxt numpy.fromfile pandas.read_csv pandas.read_excel "
    "pandas.read_json pandas.read_parquet pandas.read_pickle pandas.read_table pandas.read_feather polars.read_csv "
    "torch.load joblib.load cv2.imread PIL.Image.open configparser.ConfigParser().read zipfile.ZipFile tarfile.open"
)
_WRITE = calls(
    "os.remove os.unlink os.rename os.replace os.mkdir os.makedirs os.rmdir os.removedirs os.symlink os.link os.chmod "
    "os.chown os.truncate os.mkfifo shutil.copy shutil.copy2 shutil.copyfile shutil.copytree shutil.move "
    "shutil.rmtree shutil.make_archive shutil.unpack_archive tempfile.TemporaryFile tempfile.NamedTemporaryFile "
    "tempfile.TemporaryDirectory tempfile.mkstemp tempfile.mkdtemp tempfile.mktemp numpy.save numpy.savez "
    "numpy.savetxt torch.save joblib.dump cv2.imwrite matplotlib.pyplot.savefig sqlite3.connect shelve.open dbm.open "
    "logging.FileHandler logging.handlers.RotatingFileHandler"
)
_WRITTEN_BY_METHOD = methods(
    "write_text write_bytes to_csv to_excel to_json to_parquet to_pickle to_feather to_hdf savefig extractall"
)
_READ_BY_METHOD = methods("read_text read_bytes")
_OPEN = calls("builtins.open io.open codecs.open os.open os.fdopen pathlib.Path().open gzip.open bz2.open lzma.open")
_ENVIRONMENT = calls("os.getenv os.getenvb dotenv.load_dotenv os.environ.get os.environ.copy environs.Env")
_ENVIRONS = mentions("os.environ os.environb")
_DYNAMIC = calls(
    "builtins.eval builtins.exec builtins.compile builtins.__import__ builtins.execfile importlib.import_module "
    "importlib.reload importlib.util.spec_from_file_location runpy.run_path runpy.run_module code.interact "
    "code.InteractiveInterpreter code.InteractiveConsole types.FunctionType types.CodeType pickle.load pickle.loads "
    "marshal.loads dill.load dill.loads cloudpickle.loads ctypes.CDLL ctypes.cdll.LoadLibrary cffi.FFI"
)
_READ_ONLY_MODES = frozenset("rbtU")
_FLAGS_THAT_WRITE = frozenset({"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"})


def _note(scope: Scope, capability: str, node: ast.AST) -> None:
    scope.tree.wanted.append(Wanted(capability, getattr(node, "lineno", 1)))


def _wants(capability: str) -> Callable[[ast.AST, Scope], None]:
    def check(node: ast.AST, at: Scope) -> None:
        _note(at, capability, node)

    return check


def _writes(node: ast.Call, at: Scope) -> None:
    _write(node, node.args[0] if node.args else None, at)


def _starts(node: ast.Call, at: Scope) -> None:
    _note(at, can.PROCESSES, node)
    at.tree.commands.append((node, at))


def _opens(node: ast.Call, at: Scope) -> None:
    """``open`` reads unless its mode says otherwise; a mode that is not known may be any."""
    named = origins(node.func, at)
    on_path = any(name.endswith("Path().open") for name in named)
    path = None if on_path else argument(node, 0, "file")
    mode = argument(node, 0 if on_path else 1, "flags" if "os.open" in named else "mode")
    if mode is None:
        _note(at, can.READ, node)
        return
    if "os.open" in named:
        flags = {part.attr for part in ast.walk(mode) if isinstance(part, ast.Attribute)}
        writes, reads = bool(flags & _FLAGS_THAT_WRITE), not flags & _FLAGS_THAT_WRITE or "O_RDWR" in flags
    else:
        said = text_of(mode, at)
        writes = said is None or not set(said) <= _READ_ONLY_MODES
        reads = said is None or not writes or "+" in said
    if reads:
        _note(at, can.READ, node)
    if writes:
        _write(node, path, at)


def _write(node: ast.Call, path: ast.expr | None, at: Scope) -> None:
    capability = can.touched(can.WRITE, text_of(path, at) if path is not None else None)
    if capability is not None:
        _note(at, capability, node)


def _interest(what: str, check: Callable[..., Any], *on: object) -> Rule:
    return Rule(f"the search for {what}", what, Severity.INFO, Confidence.MEDIUM, None, check, on=on)


INTERESTS = (
    _interest(can.OUTBOUND, _wants(can.OUTBOUND), _OUTBOUND, _CLIENTS),
    _interest(can.LISTEN, _wants(can.LISTEN), _LISTEN),
    _interest(can.PROCESSES, _starts, _PROCESSES),
    _interest(can.READ, _wants(can.READ), _READ, _READ_BY_METHOD),
    _interest(can.WRITE, _writes, _WRITE),
    _interest("writing methods", _wants(can.WRITE), _WRITTEN_BY_METHOD),
    _interest("opened files", _opens, _OPEN),
    _interest(can.ENVIRONMENT, _wants(can.ENVIRONMENT), _ENVIRONMENT, _ENVIRONS),
    _interest(can.DYNAMIC, _wants(can.DYNAMIC), _DYNAMIC),
)
"""Looked for like rules, and reporting nothing: what they see is written into the tree."""
