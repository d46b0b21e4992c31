"""Rules about text that becomes a query: SQL, LDAP filters, XPath, and MongoDB's JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.golang.program import Program
from analyzers.golang.seen import Call
from analyzers.golang.tree import inner
from analyzers.golang.values import HOLE, LOCAL, PARAMETER, Value
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

_SQL = re.compile(
    r"\b(?:select\b[^\1]{0,2000}?\bfrom\b|select\s+[\w*\0]|insert\s+(?:ignore\s+|or\s+\w+\s+)?into\b|replace\s+into\b|"
    r"merge\s+into\b|update\s+\S+\s+set\b|delete\s+from\b|(?:drop|create|alter|truncate)\s+"
    r"(?:table|database|view|index|user|role|schema|unique|temporary|or\b)|truncate\s+\S|grant\s+\w+[^;]{0,200}\bon\b|"
    r"union\s+(?:all\s+)?select\b|where\s+\S+\s*(?:=|<|>|in\b|like\b)|order\s+by\b|exec(?:ute)?\s+\w|call\s+\w+\s*\()",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"[\w.`\"\[\]]{1,80}\s{0,9}(?:=|<|>|!=|\bin\b|\blike\b|\bbetween\b)\s*", re.IGNORECASE)
_MAX_TEXT = 20_000
_FIRST = (
    "Query",
    "QueryRow",
    "Exec",
    "Prepare",
    "MustExec",
    "Queryx",
    "QueryRowx",
    "NamedExec",
    "NamedQuery",
    "QueryOne",
    "ExecOne",
    "QueryEx",
    "ExecEx",
    "QueryRowEx",
    "Preparex",
)
_METHODS: dict[str, tuple[int, ...]] = {
    **{f".{name}": (0, 1) for name in _FIRST},
    **{f".{name}Context": (1,) for name in _FIRST},
    ".Raw": (0,),
    ".Get": (1,),
    ".Select": (0, 1),
    ".GetContext": (2,),
    ".SelectContext": (2,),
    ".SendBatch": (1,),
    ".Queue": (0,),
    ".SimpleExec": (0,),
}
"""Where the methods of database/sql, sqlx, pgx and gorm take SQL."""
_CLAUSES = (
    ".Where",
    ".Having",
    ".Order",
    ".Group",
    ".Joins",
    ".Or",
    ".Not",
    ".OrderBy",
    ".GroupBy",
    ".Expr",
    ".WhereOr",
)
_EITHER = frozenset(f".{name}" for name in _FIRST)
"""Methods whose first argument is the statement in one library and a context in another."""
_DATABASE = re.compile(
    r"(?:^|[._])(?:\w*db|\w*tx|conn\w*|pool|database|\w*sql\w*|pg\w*|mysql|postgres\w*|gorm|orm|session)$",
    re.IGNORECASE,
)
_DATABASE_TYPES = re.compile(r"(?:database/sql|sqlx|pgx\w*|gorm|sqlite\w*|bun|xorm)\.\w+$|/pgxpool\.")


def sql_injection(program: Program, call: Call) -> Iterator[Hit]:
    """A statement for a database is put together from text that is not constant.

    Whoever decides a part of it may end the quotation and add statements of their own. Give values apart from the text
    (``db.Query("… WHERE name = ?", name)``, ``$1`` for PostgreSQL); for names of tables and columns, which cannot be
    given so, choose from a fixed table or use the driver's own quoting (``pq.QuoteIdentifier``).

    Numbers and constants in the text are no findings, nor are parts that went through such quoting. Where the part is
    seen to come from outside the confidence is high.
    """
    for at in _METHODS[call.name]:
        if at >= len(call.arguments):
            continue
        if not program.may_carry(call.arguments[at]):
            continue
        value = program.value(call.arguments[at])
        if at == 1 and call.name in _EITHER and program.argument(call, 0).text is not None:
            return
        hit = _statement(program, call, at, value)
        if hit is not None:
            if program.receiver_type(call) != "database/sql.Stmt":
                yield hit
            return


def _statement(program: Program, call: Call, at: int, value: Value) -> Hit | None:
    if value.harmless or value.is_clean("sql"):
        return None
    text = value.pattern[:_MAX_TEXT]
    source = value.source
    if HOLE not in text or (text == HOLE and source is None):
        return None
    if not _SQL.search(text):
        if text.replace(HOLE, "").strip() and not _CONDITION.search(text):
            return None
        outside = value.from_outside("sql", LOCAL)
        if outside is None or not _is_database(program, call) or at > 1:
            return None
        return program.hit(
            call.node,
            f"{outside.what} (line {outside.line}) decides the whole statement",
            also=("G201", "G202", "G701"),
        )
    if source is None:
        return program.hit(
            call.node,
            "the statement is put together from text; give values as parameters",
            confidence=Confidence.MEDIUM,
            also=_also(program, call, at),
        )
    return program.hit(
        call.node,
        f"{source.what} (line {source.line}) is put into the statement's text; give it as a parameter",
        confidence=Confidence.HIGH if source.rank > PARAMETER else Confidence.MEDIUM,
        also=_also(program, call, at),
    )


def _also(program: Program, call: Call, at: int) -> tuple[str, ...]:
    """Tell putting together by a format from putting together by ``+``, as others do."""
    formatted = _made_by_format(program, call, at)
    return ("G201", "G701") if formatted else ("G202", "G701")


def _made_by_format(program: Program, call: Call, at: int) -> bool:
    node = call.arguments[at]
    for _ in range(4):
        if node.type == "call_expression":
            made = program.call_of.get(node.id)
            return made is not None and made.name.startswith("fmt.")
        if node.type != "identifier":
            return False
        reaching = program.names.reaching(program.text(node), node.start_byte)
        values = [definition.value for definition in reaching if definition.value is not None]
        if not values:
            return False
        node = values[0]
    return False


def _is_database(program: Program, call: Call) -> bool:
    if call.receiver is None:
        return False
    kind = program.receiver_type(call)
    if kind:
        return bool(_DATABASE_TYPES.search(kind))
    return bool(_DATABASE.search(program.text(call.receiver)[-80:]))


def sql_clause(program: Program, call: Call) -> Iterator[Hit]:
    """A condition for a query builder (gorm, squirrel) is put together from text that is not constant.

    The builder takes the text as it is: ``Where("name = '" + name + "'")`` is as open to injection as a whole
    statement. Use its placeholders, ``Where("name = ?", name)``.
    """
    if not call.arguments or call.receiver is None:
        return
    value = program.argument(call, 0)
    text = value.pattern[:_MAX_TEXT]
    if value.harmless or value.is_clean("sql") or HOLE not in text:
        return
    source = value.from_outside("sql", LOCAL)
    condition = _CONDITION.search(text) or _SQL.search(text)
    if condition is None and (source is None or not _is_database(program, call)):
        return
    yield program.hit(
        call.node,
        f"{source.what} (line {source.line}) is put into a query's text"
        if source
        else "a query's text is put together",
        confidence=Confidence.HIGH if source else Confidence.MEDIUM,
    )


_FILTER = re.compile(r"\([&|!]?\(?\w+[~<>]?=[^)]*\0")
_LDAP_AT = {"github.com/go-ldap/ldap.NewSearchRequest": (0, 6)}


def ldap_injection(program: Program, call: Call) -> Iterator[Hit]:
    """A filter or name for an LDAP search is put together from text that is not constant.

    A ``*`` or ``)`` in it changes what is searched for, a login's check included. Use ``ldap.EscapeFilter``.
    """
    for at in _LDAP_AT[call.name]:
        value = program.argument(call, at)
        if value.harmless or value.is_clean("ldap") or HOLE not in value.pattern:
            continue
        source = value.from_outside("ldap", PARAMETER)
        if source is not None or _FILTER.search(value.pattern):
            yield program.hit(
                call.arguments[at],
                f"{source.what if source else 'a text'} is put into an LDAP search without being escaped",
                confidence=Confidence.MEDIUM if source is None or source.rank == PARAMETER else Confidence.HIGH,
            )


_XPATH = (
    "github.com/antchfx/xmlquery.Find",
    "github.com/antchfx/xmlquery.FindOne",
    "github.com/antchfx/xmlquery.QueryAll",
    "github.com/antchfx/htmlquery.Find",
    "github.com/antchfx/htmlquery.FindOne",
    "github.com/antchfx/xpath.Compile",
    "gopkg.in/xmlpath.Compile",
    "gopkg.in/xmlpath.MustCompile",
)


def xpath_injection(program: Program, call: Call) -> Iterator[Hit]:
    """An XPath expression is put together from text that is not constant.

    A quote in it ends the string and changes what is selected. Use variables of the expression, or check the text.
    """
    value = program.argument(call, len(call.arguments) - 1)
    source = value.from_outside("xpath", PARAMETER)
    if source is not None and not value.harmless:
        yield program.hit(
            call.node,
            f"{source.what} (line {source.line}) is put into an XPath expression",
            confidence=Confidence.HIGH if source.rank > PARAMETER else Confidence.MEDIUM,
        )


def mongo_javascript(program: Program) -> Iterator[Hit]:
    """A text that is not constant is given to MongoDB's ``$where``, which runs it as JavaScript.

    Use the query operators, which take values.
    """
    for element in program.all("keyed_element") if "$where" in program.source.text else ():
        key, value = element.named_children[0], program.value(inner(element.named_children[-1]))
        if program.text(key).strip('"`') == "$where" and not value.harmless:
            source = value.from_outside("*", PARAMETER)
            yield program.hit(
                element,
                f"{source.what if source else 'a text'} is run as JavaScript by the database",
                confidence=Confidence.HIGH if source is not None and source.rank > PARAMETER else Confidence.MEDIUM,
            )


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH802",
        name="go-sql-injection",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=89,
        check=sql_injection,
        also=("G201", "G202", "G701"),
        on=tuple(_METHODS),
        hits=(
            'func f(db *sql.DB, name string) { db.Query("SELECT * FROM users WHERE name = \'" + name + "\'") }\n',
            'q := fmt.Sprintf("DELETE FROM t WHERE id = %s", os.Args[1])\ndb.ExecContext(ctx, q)\n',
            'func f(db *sql.DB, r *http.Request) { db.QueryRow(r.FormValue("q")) }\n',
            'q := "select a from b where c = "\nq += id\nrows, err := db.Query(q)\n',
            (
                'var b strings.Builder\nb.WriteString("SELECT * FROM t WHERE x = \'")\n'
                "b.WriteString(os.Args[1])\ntx.Exec(b.String())\n"
            ),
            (
                'func q(n string) string { return "SELECT * FROM t WHERE n = " + n }\n'
                'func f(r *http.Request) { db.Query(q(r.FormValue("n"))) }\n'
            ),
            (
                'type Q struct{ SQL string }\nfunc f(r *http.Request) {\n\tq := &Q{SQL: r.FormValue("x")}\n'
                "\tdb.Query(q.SQL)\n}\n"
            ),
            'conn.Exec(ctx, "UPDATE t SET a = \'"+v+"\' WHERE id = 1")\n',
            'db.Raw(fmt.Sprintf("SELECT * FROM %s", table)).Scan(&out)\n',
        ),
        misses=(
            'db.Query("SELECT * FROM users WHERE name = ?", name)\n',
            'const table = "t"\ndb.Query("SELECT * FROM " + table)\n',
            'db.Query(fmt.Sprintf("SELECT * FROM t WHERE id = %d", id))\n',
            'func f(id int) { db.Query("SELECT * FROM t WHERE id = " + strconv.Itoa(id)) }\n',
            'q := r.URL.Query()\nx := q.Get("select")\n',
            'db.Query(fmt.Sprintf("SELECT * FROM %s", pq.QuoteIdentifier(os.Args[1])))\n',
            (
                'marks := strings.Repeat("?,", len(ids))\n'
                'db.Query("SELECT * FROM t WHERE id IN (" + marks + ")", ids...)\n'
            ),
            'table := "a"\nif x {\n\ttable = "b"\n}\ndb.Exec("DELETE FROM " + table)\n',
            'http.Get(base + "/select?from=" + x)\n',
            'exec.Command("psql", "-c", q)\n',
        ),
    ),
    Rule(
        id="FH816",
        name="go-query-clause-injection",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=89,
        check=sql_clause,
        also=("G202", "G701"),
        on=_CLAUSES,
        hits=(
            'db.Where("name = \'" + name + "\'").First(&user)\n',
            'db.Where(fmt.Sprintf("age > %s", r.URL.Query().Get("age"))).Find(&users)\n',
            'func f(c *gin.Context, db *gorm.DB) { db.Order(c.Query("sort")).Find(&users) }\n',
        ),
        misses=(
            'db.Where("name = ?", name).First(&user)\n',
            "db.Where(&User{Name: name}).First(&user)\n",
            'list.Order("a" + b)\n',
            "db.Where(user).Find(&x)\n",
        ),
    ),
    Rule(
        id="FH814",
        name="go-ldap-injection",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=90,
        check=ldap_injection,
        on=tuple(_LDAP_AT),
        hits=(
            'ldap.NewSearchRequest("dc=x", 2, 0, 0, 0, false, fmt.Sprintf("(uid=%s)", name), nil, nil)\n',
            'ldap.NewSearchRequest("dc=x", 2, 0, 0, 0, false, "(&(uid="+r.FormValue("u")+"))", nil, nil)\n',
        ),
        misses=(
            'ldap.NewSearchRequest("dc=x", 2, 0, 0, 0, false, "(uid=admin)", nil, nil)\n',
            'ldap.NewSearchRequest("dc=x", 2, 0, 0, 0, false, "(uid="+ldap.EscapeFilter(name)+")", nil, nil)\n',
        ),
    ),
    Rule(
        id="FH817",
        name="go-xpath-injection",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=643,
        check=xpath_injection,
        on=_XPATH,
        hits=(
            (
                'import "github.com/antchfx/xmlquery"\n\n'
                'func f(r *http.Request) { xmlquery.Find(doc, "//u[n=\'"+r.FormValue("n")+"\']") }\n'
            ),
        ),
        misses=('import "github.com/antchfx/xmlquery"\n\nfunc f() { xmlquery.Find(doc, "//user") }\n',),
    ),
    Rule(
        id="FH818",
        name="go-mongo-javascript",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=943,
        check=mongo_javascript,
        on=(b"$where",),
        hits=('coll.Find(ctx, bson.M{"$where": "this.name == \'" + r.FormValue("n") + "\'"})\n',),
        misses=('coll.Find(ctx, bson.M{"$where": "this.a == this.b"})\n', 'coll.Find(ctx, bson.M{"name": name})\n'),
    ),
)
