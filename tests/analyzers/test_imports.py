from __future__ import annotations

import importlib.util
import re
import time
import zlib
from pathlib import Path

import pytest

from analyzers import analyze, packages
from analyzers.packages import imitated, listing, module_of, package_of

ROOT = Path(__file__).resolve().parents[2]

RULES = {"FH710", "FH711", "FH712"}


def told(code: str, **options: object) -> list[tuple[str, str]]:
    """Give what is said about imports: the rule and the message."""
    report = analyze(code, **options)
    return [(one.rule, one.message) for one in report.findings if one.rule in RULES]


@pytest.mark.parametrize(
    "code",
    [
        "import os, json, tomllib, zoneinfo, distutils, imp, telnetlib\n",
        "import numpy as np\nfrom cv2 import imread\nimport yaml, bs4, PIL.Image, sklearn.svm, dateutil.parser\n",
        "import google.cloud.storage, azure.storage.blob, opentelemetry.trace, ruamel.yaml\n",
        "import flask_restful\nimport fake_useragent\nimport OpenSSL\n",
        "from . import helper\nfrom .reqeusts import get\nfrom ..x import y\n",
        "try:\n    import ujsonic\nexcept ImportError:\n    import nobody_knows_it\n",
        "if x:\n    try:\n        from a_fast import y\n    except (ValueError, ModuleNotFoundError):\n        pass\n",
    ],
)
def test_what_is_known_is_not_mentioned(code: str) -> None:
    """Python's own modules of any release, popular packages by the names of their modules, relative imports, guards."""
    assert told(code) == []


@pytest.mark.parametrize(
    ("module", "popular"),
    [
        ("reqeusts", "requests"), ("requestss", "requests"), ("request5", "requests"), ("tensorflw", "tensorflow"),
        ("matplotllib", "matplotlib"), ("urlib3", "urllib3"), ("pythondateutil", "python-dateutil"),
        ("beautifulsoup5", "beautifulsoup4"),
    ],
)  # fmt: skip
def test_a_slip_is_a_finding(module: str, popular: str) -> None:
    """A letter more, less, other, two changed, or a dash: the popular name is told, and no word of what exists."""
    ((rule, message),) = told(f"x = 1\nimport {module}.sub\n")
    assert rule == "FH710"
    assert message == f"{module} is one slip away from {popular}; is it meant?"
    (finding,) = (one for one in analyze(f"import {module}\n").findings if one.rule == "FH710")
    assert (finding.severity, finding.confidence, finding.span[:2]) == ("medium", "low", (1, 8))


def test_a_slip_is_told_even_where_it_is_guarded() -> None:
    """Whoever registers the name is glad about a try."""
    assert [rule for rule, _ in told("try:\n    import reqeusts\nexcept ImportError:\n    pass\n")] == ["FH710"]


def test_an_unknown_name_is_information() -> None:
    """Each module once; that it does not exist is never said."""
    code = "import my_own_helper\nimport my_own_helper.inner\nfrom my_own_helper import x\n"
    ((rule, message),) = told(code)
    assert (rule, message) == ("FH711", f"my_own_helper is not among the popular packages of {listing().month}")
    report = analyze(code)
    assert (report.verdict, report.findings[0].severity) == ("pass", "info")
    assert not re.search("exist|real|fake", message)


def test_a_package_imported_by_its_own_name() -> None:
    """It fails whatever is installed, so it is a finding."""
    assert told("import pyyaml\n") == [("FH712", "the package pyyaml is imported as yaml")]
    assert told("import scikit_learn\n") == [("FH712", "the package scikit_learn is imported as sklearn")]
    assert told("from beautifulsoup4 import x\n") == [("FH712", "the package beautifulsoup4 is imported as bs4")]


def test_what_is_installed_decides_where_it_is_known() -> None:
    """By the package's name or the module's; popular is then not enough, and the code's own modules are there."""
    installed = ("NumPy", "opencv_python", "PyYAML")
    assert told("import numpy, cv2, yaml, helper\n", packages=installed, modules=("helper",)) == []
    assert told("import pandas, PIL, helper\n", packages=installed) == [
        ("FH711", "pandas is not installed where this would run"),
        ("FH711", "PIL (package pillow) is not installed where this would run"),
        ("FH711", "helper is not installed where this would run"),
    ]
    assert told("import reqeusts\n", packages=("reqeusts",)) == []


def test_findings_about_imports_can_be_taken_back() -> None:
    """By name or id, as any."""
    assert told("import reqeusts  # nosec FH710\n") == []
    assert told("import reqeusts  # nosec lookalike-import\n") == []


def test_the_list_is_whole() -> None:
    """As many names as it was made from, each as PEP 503 has it, and the month they are from."""
    month, rank, ordered = listing()
    assert re.fullmatch(r"\d{4}-\d{2}", month)
    assert len(rank) == len(ordered) > 14_900
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in ordered)
    assert {"requests", "numpy", "boto3"} <= {name for name, place in rank.items() if place < 100}
    assert (ROOT / "analyzers/pypi.zlib").stat().st_size < 100_000


def test_every_module_of_the_map_belongs_to_a_listed_package() -> None:
    """A slip in the map would make something known that nobody knows."""
    assert [pair for pair in packages._OF_MODULE.items() if pair[1] not in listing().rank] == []
    assert [name for name in packages._USUAL if packages.normal(name) not in listing().rank] == []


def test_the_list_is_made_by_the_script() -> None:
    """What it packs is what is read, in the order of downloads; a line that is none stops it."""
    spec = importlib.util.spec_from_file_location("pack", ROOT / "deploy/packages/pack.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    raw = module.pack("boto3\t2026-11\nTyping_Extensions\t2026-07\nsix\t\n")
    assert zlib.decompress(raw).decode().split("\n") == ["2026-11", "boto3", "typing-extensions", "six"]
    for wrong in ("a b\t2026-11\n", "a\tlast year\n", "a\t\n"):
        with pytest.raises(ValueError, match=r"line|package"):
            module.pack(wrong)


def test_the_list_is_read_only_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for Python's own modules, nor for the most usual of others."""
    monkeypatch.setattr(packages, "listing", lambda: pytest.fail("the list was read"))
    assert told("import os\nimport numpy, requests, yaml\nfrom flask import Flask\n") == []


def test_a_name_is_judged_quickly() -> None:
    """Once the list is there, a name that is not in it costs well under a millisecond."""
    listing()
    names = [f"some_module_{number}" for number in range(50)]
    started = time.process_time()
    for name in names:
        assert package_of(name) is None
        imitated(name)
        module_of(name)
    assert (time.process_time() - started) / len(names) < 0.005
