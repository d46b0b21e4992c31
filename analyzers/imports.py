"""Whether what is imported is known: to Python, to the runtime, to the list of popular packages.

A name that is not known may exist all the same, and nothing here says otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator

from analyzers import packages
from analyzers.looking import Import
from analyzers.model import Confidence, Severity, Span
from analyzers.rule import Hit, Label, Page, Seen

# Standard in some release from 3.8 to 3.15, whichever of them runs this.
_EVER_STANDARD = frozenset(
    "aifc annotationlib asynchat asyncore audioop binhex cgi cgitb chunk compression crypt distutils formatter imghdr "
    "imp lib2to3 macpath mailcap msilib nis nntplib ossaudiodev parser pathlib pipes smtpd sndhdr spwd sunau symbol "
    "telnetlib tomllib uu xdrlib zoneinfo".split()
)
_LOOKALIKE = Label("FH710", "lookalike-import", Severity.MEDIUM, Confidence.LOW, 829)
_UNKNOWN = Label("FH711", "unknown-import", Severity.INFO, Confidence.LOW)
_MISNAMED = Label("FH712", "misnamed-import", Severity.LOW, Confidence.HIGH)

PAGES = (
    Page(
        *_LOOKALIKE,
        "The name of an imported module is one slip away from that of a much downloaded package.\n\n"
        "Who registers such a name waits for somebody to install it (typosquatting), and models make up such names. "
        "Check the name before you install anything. It is compared with the most downloaded packages of PyPI only "
        "where it is neither Python's own, nor installed, nor popular itself.",
    ),
    Page(
        *_UNKNOWN,
        "An imported module is neither Python's own, nor installed where the code will run, nor of a package that is "
        "often downloaded.\n\n"
        "It may be a module of yours or a package that few use; it may also be one that a model made up, and that "
        "somebody registers because models do. For information only: a list of what is popular cannot say what does "
        "not exist.",
    ),
    Page(
        *_MISNAMED,
        "A package is imported by the name it is installed by, and its module has another.\n\n"
        "``import pyyaml`` fails whatever is installed: the module of PyYAML is ``yaml``.",
    ),
)


def check(imports: Iterable[Import], installed: Collection[str] = (), own: Collection[str] = ()) -> Iterator[Seen]:
    """Say what is not known, each module once.

    Args:
        imports: What the code imports.
        installed: Packages that are there where the code will run; empty where nobody knows.
        own: Modules that lie beside the code.
    """
    told: set[str] = set()
    there = frozenset(map(packages.normal, installed))
    for module, span, guarded in imports:
        if module in told or is_standard(module) or module in own:
            continue
        told.add(module)
        yield from _unknown(module, span, there, guarded=guarded)


def is_standard(module: str) -> bool:
    """Whether a top-level module belongs to Python, in any release that is still met."""
    return module in sys.stdlib_module_names or module in _EVER_STANDARD or module == "__main__"


def _unknown(module: str, span: Span, there: Collection[str], *, guarded: bool) -> Iterator[Seen]:
    if packages.normal(module) in there:
        return
    package = packages.package_of(module)
    if package is not None and package in there:
        return
    real = packages.module_of(module)
    if real is not None and not guarded:
        yield Seen(_MISNAMED, Hit(span=span, message=f"the package {module} is imported as {real}"))
    elif package is None and (near := packages.imitated(module)) is not None:
        yield Seen(_LOOKALIKE, Hit(span=span, message=f"{module} is one slip away from {near}; is it meant?"))
    elif guarded:
        return
    elif there:
        of = f" (package {package})" if package not in {None, packages.normal(module)} else ""
        yield Seen(_UNKNOWN, Hit(span=span, message=f"{module}{of} is not installed where this would run"))
    elif package is None:
        month = packages.listing().month
        yield Seen(_UNKNOWN, Hit(span=span, message=f"{module} is not among the popular packages of {month}"))
