"""Whether anything from outside the source can get into a value. What cannot is the program's own doing, not a hole."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from analyzers.python.names import origins
from analyzers.python.scopes import Binding, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_STEPS = 200
_MAX_BINDINGS = 8


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What these give is the program's own doing if what they are given is.
_PURE = _names("""
    builtins.str builtins.repr builtins.bytes builtins.bytearray builtins.list builtins.tuple builtins.set
    builtins.dict builtins.sorted builtins.reversed builtins.zip builtins.enumerate builtins.map builtins.filter
    builtins.format builtins.max builtins.min builtins.frozenset os.path.join os.path.abspath os.path.dirname
    os.path.basename os.path.realpath os.path.normpath os.path.expanduser os.path.splitext os.fspath os.fsencode
    pathlib.Path pathlib.PurePath textwrap.dedent copy.copy copy.deepcopy shlex.split builtins.iter builtins.next
    itertools.chain itertools.product functools.partial collections.OrderedDict urllib.parse.urljoin
    urllib.request.Request
""")
# What these give cannot carry an attack whatever they are given, or comes from the machine and not from who uses it.
_HARMLESS = _names("""
    builtins.int builtins.float builtins.bool builtins.len builtins.range builtins.abs builtins.round builtins.ord
    builtins.hex builtins.oct builtins.bin builtins.sum builtins.id builtins.hash builtins.isinstance builtins.complex
    shlex.quote pipes.quote shlex.join os.getcwd os.getpid os.cpu_count os.getuid shutil.which tempfile.mkdtemp
    tempfile.mkstemp tempfile.gettempdir tempfile.NamedTemporaryFile tempfile.TemporaryDirectory time.time
    datetime.datetime.now datetime.datetime.utcnow datetime.date.today uuid.uuid4 uuid.uuid1 secrets.token_hex
    secrets.token_urlsafe secrets.token_bytes sysconfig.get_path sysconfig.get_paths platform.system platform.machine
    importlib.resources.files random.randint random.random pathlib.Path.cwd pathlib.Path.home urllib.parse.quote
    urllib.parse.quote_plus urllib.parse.urlencode
""")
_CONSTANTS = _names("""
    sys.executable sys.prefix sys.base_prefix sys.platform sys.version sys.version_info sys.maxsize os.sep os.linesep
    os.pathsep os.devnull os.curdir os.name __file__ __name__ string.ascii_letters string.digits
    string.ascii_lowercase string.ascii_uppercase string.punctuation subprocess.PIPE subprocess.DEVNULL
    subprocess.STDOUT
""")
_PURE_METHODS = _names("""
    strip lstrip rstrip lower upper title replace split rsplit splitlines join format encode decode removeprefix
    removesuffix capitalize center ljust rjust zfill partition rpartition copy keys values items get joinpath
    with_suffix with_name resolve absolute as_posix expanduser hexdigest isoformat strftime pop index count
""")
_INSTANCES = frozenset({"self", "cls"})
_Parts = Iterable[tuple[ast.AST | None, Scope]]


def is_fixed(node: ast.AST | None, scope: Scope) -> bool:
    """Whether nothing that comes from outside the source can get into the value of the expression.

    Parameters, what is read at run time and what reading cannot follow count as from outside.
    """
    stack: list[tuple[ast.AST | None, Scope]] = [(node, scope)]
    seen: set[int] = set()
    for _ in range(_MAX_STEPS):
        if not stack:
            return True
        node, at = stack.pop()
        if node is None or node.__class__ in _FREE or id(node) in seen:
            continue
        seen.add(id(node))
        parts = _parts(node, at)
        if parts is None:
            return False
        stack += parts
    return False


_FREE = frozenset({ast.Constant, ast.Compare, ast.Lambda})


def _parts(node: ast.AST, at: Scope) -> _Parts | None:
    """What has to be fixed for the expression to be; None if it is not."""
    shape = _SHAPES.get(node.__class__)
    return None if shape is None else shape(node, at)


def _of_name(node: ast.Name, at: Scope) -> _Parts | None:
    if at.owner(node.id) is None:
        return None if _CONSTANTS.isdisjoint(origins(node, at)) else ()
    return _bound(at.bindings(node.id))


def _of_members(name: str) -> Callable[[Any, Scope], _Parts]:
    return lambda node, at: [(part, at) for part in getattr(node, name)]


def _of_member(name: str) -> Callable[[Any, Scope], _Parts]:
    return lambda node, at: [(getattr(node, name), at)]


def _bound(bindings: list[Binding]) -> _Parts | None:
    if not bindings or len(bindings) > _MAX_BINDINGS:
        return None
    parts: list[tuple[ast.AST | None, Scope]] = []
    for value, scope, _ in bindings:
        match value:
            case ast.expr():
                parts.append((value, scope))
            case ast.AugAssign() | ast.Assign():
                parts.append((value.value, scope))
            case ast.For() | ast.AsyncFor():
                parts.append((value.iter, scope))
            case ast.comprehension():
                parts.append((value.iter, scope.parent or scope))
            case str() if value in _CONSTANTS:
                pass
            case _:
                return None
    return parts


def _attribute(node: ast.Attribute, at: Scope) -> _Parts | None:
    if not _CONSTANTS.isdisjoint(origins(node, at)):
        return ()
    owner = at.enclosing_class()
    if owner is None or not (isinstance(node.value, ast.Name) and node.value.id in _INSTANCES):
        return None
    return _bound([*owner.attributes.get(node.attr, ()), *owner.bound.get(node.attr, ())])


def _call(node: ast.Call, at: Scope) -> _Parts | None:
    names = origins(node.func, at)
    if not _HARMLESS.isdisjoint(names):
        return ()
    parts = [(part, at) for part in (*node.args, *(keyword.value for keyword in node.keywords))]
    if not _PURE.isdisjoint(names):
        return parts
    if _is_quoting(node):
        return ()
    if isinstance(node.func, ast.Attribute) and node.func.attr in _PURE_METHODS:
        return [(node.func.value, at), *parts]
    return None


_SHAPES: dict[type[ast.AST], Callable[[Any, Scope], _Parts | None]] = {
    ast.Name: _of_name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.JoinedStr: _of_members("values"),
    ast.BoolOp: _of_members("values"),
    ast.FormattedValue: _of_member("value"),
    ast.Starred: _of_member("value"),
    ast.NamedExpr: _of_member("value"),
    ast.Await: _of_member("value"),
    # Whatever the key of an item, what comes out of a container was put in.
    ast.Subscript: _of_member("value"),
    ast.BinOp: lambda node, at: [(node.left, at), (node.right, at)],
    ast.UnaryOp: _of_member("operand"),
    ast.IfExp: lambda node, at: [(node.body, at), (node.orelse, at)],
    ast.Tuple: _of_members("elts"),
    ast.List: _of_members("elts"),
    ast.Set: _of_members("elts"),
    ast.Dict: lambda node, at: [(part, at) for part in (*node.keys, *node.values)],
    **dict.fromkeys(
        (ast.ListComp, ast.SetComp, ast.GeneratorExp), lambda node, at: [(node.elt, at.tree.scope_of(node) or at)]
    ),
}


def _is_quoting(call: ast.Call) -> bool:
    """Whether a quote is replaced by what ends, escapes and begins again a quoted word of a shell."""
    match call:
        case ast.Call(
            func=ast.Attribute(attr="replace"), args=[ast.Constant(value="'"), ast.Constant(value=str(written))]
        ):
            return written in {"'\\''", "'\"'\"'"}
        case _:
            return False
