"""Rules about what is imported: modules whose use wants a look, whatever is done with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.named import NamedTuple
from analyzers.python.interests import calls, imports
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.tree import Placed
from analyzers.python.values import argument, text_of
from analyzers.rule import Hit, Rule


class _Module(NamedTuple):
    also: tuple[str, ...]
    cwe: int
    severity: Severity
    why: str


_TABLE = {
    "telnetlib": _Module(("B401",), 319, Severity.LOW, "Telnet hides nothing from who is between"),
    "ftplib": _Module(("B402",), 319, Severity.LOW, "FTP hides nothing from who is between"),
    **dict.fromkeys(
        ("pickle", "cPickle", "dill", "shelve", "jsonpickle", "cloudpickle"),
        _Module(("B403",), 502, Severity.INFO, "pickled data calls what it names while it is read"),
    ),
    "subprocess": _Module(("B404",), 78, Severity.INFO, "starts programs"),
    **dict.fromkeys(
        ("xml.etree.cElementTree", "xml.etree.ElementTree"),
        _Module(("B405",), 776, Severity.INFO, "a document can grow without bound while it is read"),
    ),
    "xml.sax": _Module(("B406",), 776, Severity.INFO, "a document can grow without bound while it is read"),
    "xml.dom.expatbuilder": _Module(("B407",), 776, Severity.INFO, "a document can grow while it is read"),
    "xml.dom.minidom": _Module(("B408",), 776, Severity.INFO, "a document can grow while it is read"),
    "xml.dom.pulldom": _Module(("B409",), 776, Severity.INFO, "a document can grow while it is read"),
    "lxml": _Module(("B410",), 611, Severity.INFO, "a document can name what else is read"),
    "xmlrpc": _Module(("B411",), 776, Severity.LOW, "XML-RPC reads XML of whoever is at the other end"),
    "xmlrpclib": _Module(("B411",), 776, Severity.LOW, "XML-RPC reads XML of whoever is at the other end"),
    "SimpleXMLRPCServer": _Module(("B411",), 776, Severity.LOW, "XML-RPC reads XML of whoever is at the other end"),
    **dict.fromkeys(
        ("wsgiref.handlers.CGIHandler", "twisted.web.twcgi"),
        _Module(("B412",), 807, Severity.LOW, "CGI lets a Proxy header choose the proxy of this program (httpoxy)"),
    ),
    **dict.fromkeys(
        (f"Crypto.{part}" for part in "Cipher Hash IO Protocol PublicKey Random Signature Util".split(" ")),
        _Module(("B413",), 327, Severity.INFO, "pyCrypto is given up; pycryptodome has the same name"),
    ),
    "pyghmi": _Module(("B415",), 319, Severity.LOW, "IPMI hides little from who is between"),
}
_HTTPOXY = "wsgiref.handlers.CGIHandler twisted.web.twcgi.CGIScript twisted.web.twcgi.CGIDirectory"
_IMPORTERS = "builtins.__import__ importlib.import_module importlib.__import__"


def module_imported(node: ast.Import | ast.ImportFrom | ast.Call, at: Scope) -> Iterator[Hit]:
    """A module is imported whose use wants a look: it starts programs, unpickles, or speaks a protocol in the clear.

    The import alone does nothing. What is done with the module has rules of its own; most imports are information.
    """
    if isinstance(node, ast.Call):
        used = [name for name in origins(node.func, at) if name in _HTTPOXY]
        name = text_of(argument(node, 0, "name"), at)
        names = used or ([] if name is None else [name])
        found: list[tuple[str, Placed]]
        found = [(name, node) for name in names]
    elif _for_types_alone(node, at):
        return
    elif isinstance(node, ast.Import):
        found = [(alias.name, alias) for alias in node.names]
    else:
        found = [(f"{node.module}.{alias.name}", node) for alias in node.names]
    told: set[tuple[str, ...]] = set()
    for name, place in found:
        module = _known(name)
        if module is not None and (module.also not in told or place is not node):
            told.add(module.also)
            message = f"{name}: {module.why}"
            yield at.hit(place, message, severity=module.severity, also=module.also, cwe=module.cwe)


def _known(name: str) -> _Module | None:
    while name:
        if name in _TABLE:
            return _TABLE[name]
        name = name.rpartition(".")[0]
    return None


def _for_types_alone(node: ast.stmt, at: Scope) -> bool:
    if "TYPE_CHECKING" not in at.tree.source.text:
        return False
    around = at.tree.parents.get(node)
    match around:
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return True
        case _:
            return False


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH714",
        name="module-imported",
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        cwe=676,
        check=module_imported,
        on=(imports(" ".join(_TABLE)), calls(f"{_IMPORTERS} {_HTTPOXY}")),
        also=tuple(dict.fromkeys(code for module in _TABLE.values() for code in module.also)),
        hits=(
            "import pickle\n",
            "from xml.dom import minidom\n",
            "import os, subprocess as s\n",
            "def f():\n    import telnetlib\n",
            "__import__('pickle')\n",
            "import importlib\nimportlib.import_module('ftplib')\n",
        ),
        misses=(
            "import json\n",
            "from . import pickle\n",
            "import pickles\n",
            "import xml\n",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from xml.dom.minidom import Element\n",
        ),
    ),
)
