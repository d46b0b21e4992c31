"""Rules about SQL that is put together as text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.patterns import lazy
from analyzers.python.fixed import is_fixed
from analyzers.python.interests import calls, methods
from analyzers.python.scopes import Scope
from analyzers.python.values import argument, is_literal, keyword
from analyzers.rule import Hit, Rule

_HOLE = "\ufffc"
"""Stands for a value in the text of a statement."""
_MAX_PARTS = 200
_MAX_TEXT = 4000
# What a statement of each kind looks like, in lower case, from its first word on.
_STATEMENTS = {
    "select": lazy(r"select\s[\s\S]{0,3000}?[\s\ufffc)]from[\s(]"),
    "insert": lazy(r"insert\s+(?:(?:into|ignore|or|replace)\s+){0,3}\S[\s\S]{0,2000}?(?:values|select|set)\b"),
    "replace": lazy(r"replace\s+(?:into\s+)?\S[\s\S]{0,2000}?values\b"),
    "delete": lazy(r"delete\s+from\s+\S"),
    "update": lazy(r"update\s+\S{1,200}(?:\s+as\s+\S{1,99})?\s+set\s"),
    "with": lazy(r"with\s+(?:recursive\s+)?\S{1,200}\s*(?:\([^)]{0,500}\)\s*)?as\s*\("),
    "merge": lazy(r"merge\s+into\s"),
    "grant": lazy(r"grant\s[^\n]{1,200}\s(?:on|to)\s"),
    **dict.fromkeys(
        ("drop", "alter", "create", "truncate"),
        lazy(r"\w+\s+(?:table|database|user|index|view|schema|role)\s"),
    ),
}
_OPENINGS = tuple(_STATEMENTS)
_MARGIN = " \t\n("
_FIRST = lazy(r"[A-Za-z]+")
_CLAUSE = lazy(r"\s*(?:where|and|or|order by|group by|having|limit|values|set)\s[^\n]{0,200}", re.IGNORECASE)
_QUERY_NAME = lazy(r"(?:^|_)(?:sql|query|stmt|statement|cmd)(?:$|_)", re.IGNORECASE)
_RUN = frozenset(
    """
    execute executemany executescript raw text read_sql read_sql_query query fetch fetchrow fetchval fetch_all
    fetch_one mogrify exec_driver_sql prepare callproc
""".split()
)


def sql_built(node: ast.expr | ast.AugAssign, at: Scope) -> Iterator[Hit]:
    """A value is put into the text of an SQL statement: what it says becomes part of the statement.

    Whoever chooses the value can end the string it stands in and go on with SQL of their own. Hand values over beside
    the statement, and let the driver put them in: ``cursor.execute("SELECT * FROM t WHERE a = ?", (a,))``. Names of
    tables and columns cannot be handed over: choose them from a list of your own.

    A statement into which only texts of the source go is reported as information.
    """
    runs = isinstance(node, ast.Call) and _last_word(node.func) in _RUN
    if runs and isinstance(node, ast.Call):
        if not node.args:
            return
        node = node.args[0]
    covered = at.tree.covered
    if node in covered:
        return
    built = _built(node)
    if built is None:
        return
    parts, values = built
    statement = "".join(parts)[:_MAX_TEXT]
    if isinstance(node, ast.AugAssign):
        if not (_CLAUSE.match(statement) and _HOLE in statement and _names_a_query(node.target)):
            return
    elif not _is_statement(statement):
        return
    if any(isinstance(value, (ast.List, ast.Set)) for value in values):
        return  # a sum of a text and a list is no text
    covered.add(node)
    covered.update(_inner(node))
    if all(is_fixed(value, at) for value in values):
        message = "a statement is put together from texts of this source"
        yield at.hit(node, message, severity=Severity.INFO, confidence=Confidence.LOW)
        return
    confidence = Confidence.MEDIUM if runs or _is_quoted(statement) else Confidence.LOW
    yield at.hit(node, "a value becomes part of the text of an SQL statement", confidence=confidence)


def _is_statement(text: str) -> bool:
    """Whether a text is SQL. Its first word is in one case, as nobody begins a sentence."""
    text = text.lstrip(_MARGIN)
    word = _FIRST.match(text)
    if word is None or not (word[0].islower() or word[0].isupper()):
        return False
    pattern = _STATEMENTS.get(word[0].lower())
    return pattern is not None and pattern.match(text.lower()) is not None


def _inner(node: ast.AST) -> Iterator[ast.AST]:
    """The texts that a text is put together from."""
    stack = [node]
    while stack:
        match stack.pop():
            case ast.AugAssign(value=value):
                stack.append(value)
                yield value
            case ast.BinOp(left=left, right=right):
                stack += (left, right)
                yield from (left, right)
            case ast.Call(func=ast.Attribute(value=base)):
                stack.append(base)
                yield base
            case ast.JoinedStr(values=values):
                yield from values
            case _:
                pass


def _built(node: ast.AST) -> tuple[list[str], list[ast.expr]] | None:
    """The texts of what may be a statement, with holes for values, and the values; None for what surely is none."""
    match node:
        case ast.AugAssign(op=ast.Add(), value=value):
            return _built(value)
        case ast.Call(func=ast.Attribute(value=base, attr="format")):
            texts = _texts(base)
            return None if texts is None else (texts[0], [*texts[1], *_arguments(node)])
        case ast.Call(func=ast.Attribute(value=base, attr="replace"), args=[_, new, *_]):
            texts = _texts(base)
            return None if texts is None else (texts[0], [*texts[1], new])
        case ast.BinOp(op=ast.Mod(), left=left, right=right):
            texts = _texts(left)
            values = right.elts if isinstance(right, ast.Tuple) else [right]
            return None if texts is None else (texts[0], [*texts[1], *values])
        case ast.JoinedStr() | ast.BinOp(op=ast.Add()):
            texts = _texts(node)
            return None if texts is None or not texts[1] else texts
        case _:
            return None


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _texts(node: ast.expr) -> tuple[list[str], list[ast.expr]] | None:
    """Texts and values of a sum, a format or a literal that begins like a statement."""
    parts: list[str] = []
    values: list[ast.expr] = []
    stack = [node]
    while stack:
        part = stack.pop()
        match part:
            case ast.Constant(value=str(text)):
                if not parts and not text.lstrip(_MARGIN).lower().startswith(_OPENINGS) and not _CLAUSE.match(text):
                    return None
                parts.append(text)
            case ast.BinOp(op=ast.Add()):
                stack += (part.right, part.left)
            case ast.BinOp(op=ast.Mod()):
                stack.append(part.left)
                values += part.right.elts if isinstance(part.right, ast.Tuple) else [part.right]
            case ast.Call(func=ast.Attribute(value=base, attr="format")):
                stack.append(base)
                values += _arguments(part)
            case ast.JoinedStr():
                stack += reversed(part.values)
            case ast.FormattedValue():
                stack.append(part.value)
            case _:
                if not parts:
                    return None
                parts.append(_HOLE)
                values.append(part)
        if len(parts) > _MAX_PARTS:
            break
    return (parts, values) if parts else None


def _names_a_query(target: ast.expr) -> bool:
    return bool(_QUERY_NAME.search(_last_word(target)))


def _last_word(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_quoted(statement: str) -> bool:
    """Whether a value stands between quotes of the statement, as nobody writes in prose."""
    return f"'{_HOLE}'" in statement or "'%s'" in statement or "'{}'" in statement


def django_extra(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """Django's ``extra`` puts its texts into the statement as they are.

    Use the ORM's own expressions, or hand values over with ``params`` and ``select_params``.
    """
    if isinstance(call.func, ast.Attribute):
        texts = [*call.args, *(keyword(call, name) for name in ("where", "tables", "select", "order_by"))]
        yield from _put_in(call, texts, at, "extra")


def raw_sql(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """Django's ``RawSQL`` puts its text into the statement as it is.

    Hand values over with its second argument, and keep its first one a text of the source.
    """
    return _put_in(call, [argument(call, 0, "sql")], at, "RawSQL")


def _put_in(call: ast.Call, texts: list[ast.expr | None], at: Scope, what: str) -> Iterator[Hit]:
    if not all(map(is_literal, texts)):
        severity = Severity.INFO if all(is_fixed(one, at) for one in texts) else None
        yield at.hit(call, f"{what}() puts this text into the SQL statement as it is", severity=severity)


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH120",
        name="sql-built",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=89,
        check=sql_built,
        on=(methods(" ".join(_RUN)), methods("format replace"), ast.BinOp, ast.JoinedStr, ast.AugAssign),
        also=("B608",),
        hits=(
            "c.execute(\"SELECT * FROM t WHERE a = '%s'\" % a)\n",
            'c.execute(f"DELETE FROM t WHERE a = {a}")\n',
            'q = "select a from t where b = " + b\n',
            'q = "UPDATE {} SET a = 1".format(table)\n',
            'q = "INSERT INTO t VALUES (\'[V]\')".replace("[V]", v)\n',
            'q = "SELECT " + ", ".join(columns) + " FROM t"\n',
            'query = "SELECT * FROM t"\nquery += f" WHERE a = \'{a}\'"\n',
            'c.execute(f"DROP TABLE {name}")\n',
            'q = f"""\n    WITH x AS (SELECT 1)\n    SELECT * FROM x WHERE a = {a}\n"""\n',
        ),
        misses=(
            'c.execute("SELECT * FROM t WHERE a = %s", (a,))\n',
            'c.execute("SELECT * FROM t")\n',
            'print(f"Select a file from {folder}")\n',
            'print("please select one from %s" % x)\n',
            'print(f"update {x}")\n',
            'q = ["select a from t"] + more\n',
            'text = f"with {x} as before"\n',
        ),
    ),
    Rule(
        id="FH121",
        name="django-extra",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=89,
        check=django_extra,
        on=(methods("extra"),),
        also=("B610",),
        hits=(
            "User.objects.extra(where=[f'a = {a}'])\n",
            "User.objects.filter(a=1).extra(select={'x': '%s' % a})\n",
            "User.objects.extra(tables=tables)\n",
        ),
        misses=("User.objects.extra(where=['a = 1'])\n", "extra(x)\n", "User.objects.filter(a=b)\n"),
    ),
    Rule(
        id="FH122",
        name="django-raw-sql",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=89,
        check=raw_sql,
        on=(calls("django.db.models.expressions.RawSQL django.db.models.RawSQL"),),
        also=("B611",),
        hits=(
            "from django.db.models.expressions import RawSQL\nRawSQL('select %s' % x, [])\n",
            "from django.db.models.expressions import RawSQL\nq = 'a' + x\nRawSQL(sql=q, params=[])\n",
        ),
        misses=(
            "from django.db.models.expressions import RawSQL\nRawSQL('select a where b = %s', [b])\n",
            "RawSQL(x, [])\n",
        ),
    ),
)
