"""Rules about reading XML that somebody else wrote."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.python.fixed import is_fixed
from analyzers.python.interests import calls, methods
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.values import argument, is_false, is_true, keyword
from analyzers.rule import Hit, Rule

_NAMES = {
    "B313": "xml.etree.cElementTree: parse iterparse fromstring XMLParser",
    "B314": "xml.etree.ElementTree: parse iterparse fromstring XMLParser XML XMLPullParser",
    "B315": "xml.sax.expatreader: create_parser",
    "B316": "xml.dom.expatbuilder: parse parseString",
    "B317": "xml.sax: parse parseString make_parser",
    "B318": "xml.dom.minidom: parse parseString",
    "B319": "xml.dom.pulldom: parse parseString",
}
_BANDIT = {
    f"{names.partition(': ')[0]}.{name}": code
    for code, names in _NAMES.items()
    for name in names.partition(": ")[2].split(" ")
}


def xml_parsed(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """XML is read by a parser of the standard library, which expands what the document itself defines.

    A small document can grow to gigabytes (entity expansion), and older versions fetch what it refers to. For documents
    from outside use ``defusedxml``, which has the same functions.
    """
    code = next((_BANDIT[name] for name in origins(call.func, at) if name in _BANDIT), "B314")
    severity = Severity.INFO if call.args and is_fixed(call.args[0], at) else None
    yield at.hit(call, "a document can grow without bound while it is read", severity=severity, also=(code,))


def xml_entities(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A parser is told to resolve external entities, load DTDs or allow huge trees.

    The document then decides which files and addresses are read (XXE). Leave these options off, and use ``defusedxml``
    or ``XMLParser(resolve_entities=False, no_network=True)``.
    """
    for name in ("resolve_entities", "load_dtd", "huge_tree", "dtd_validation"):
        if is_true(keyword(call, name), at):
            yield at.hit(call, f"{name} lets the document decide what is read")
            return
    if is_false(keyword(call, "no_network"), at):
        yield at.hit(call, "no_network=False lets the document decide what is read")


def sax_entities(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A SAX parser is told to read external entities.

    The document then decides which files and addresses are read (XXE). Leave ``feature_external_ges`` off.
    """
    names = origins(argument(call, 0) or call, at)
    if any(name.endswith(("feature_external_ges", "feature_external_pes")) for name in names) and is_true(
        argument(call, 1), at
    ):
        yield at.hit(call, "external entities let the document decide what is read")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH140",
        name="xml-parsed",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=776,
        check=xml_parsed,
        on=(calls(" ".join(_BANDIT)),),
        also=tuple(_NAMES),
        hits=(
            "import xml.etree.ElementTree as ET\nET.parse(path)\n",
            "from xml.dom import minidom\nminidom.parseString(text)\n",
            "import xml.sax\nxml.sax.parse(path, handler)\n",
            "from xml.etree.ElementTree import fromstring\nfromstring(x)\n",
        ),
        misses=(
            "import defusedxml.ElementTree as ET\nET.parse(path)\n",
            "import xml.etree.ElementTree as ET\nET.Element('a')\n",
        ),
    ),
    Rule(
        id="FH141",
        name="xml-entities",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=611,
        check=xml_entities,
        on=(calls("lxml.etree.XMLParser lxml.etree.iterparse lxml.etree.ETCompatXMLParser lxml.etree.XMLPullParser"),),
        hits=(
            "from lxml import etree\netree.XMLParser(resolve_entities=True)\n",
            "import lxml.etree\nlxml.etree.XMLParser(no_network=False)\n",
        ),
        misses=(
            "from lxml import etree\netree.XMLParser(resolve_entities=False)\n",
            "from lxml import etree\netree.XMLParser()\n",
        ),
    ),
    Rule(
        id="FH142",
        name="sax-entities",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=611,
        check=sax_entities,
        on=(methods("setFeature"),),
        hits=("import xml.sax\np = xml.sax.make_parser()\np.setFeature(xml.sax.handler.feature_external_ges, True)\n",),
        misses=(
            "import xml.sax\np = xml.sax.make_parser()\np.setFeature(xml.sax.handler.feature_external_ges, False)\n",
            "p.setFeature(other, True)\n",
        ),
    ),
)
