"""The tables of README.md against what is there: nothing is named that is not, and no payload is left out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from payload import FOLDER

README = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
TESTS = Path(__file__).parents[1]
CHAPTERS = (
    "Files",
    "Processes",
    "Memory and CPU",
    "Output",
    "The kernel's surface",
    "Between runs",
    "The network",
    "The protocol",
    "The analyser",
)
ROWS = [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in README.splitlines() if line.startswith("| ")]
ATTACKS = [row for row in ROWS if row[0] != "attack"]


def test_every_chapter_has_its_table() -> None:
    """What hostile code tries is sorted by what it is after."""
    assert tuple(re.findall(r"^## (.*)$", README, re.MULTILINE)) == CHAPTERS
    assert [row for row in ROWS if row[0] == "attack"] == [("attack", "payloads", "tests")] * len(CHAPTERS)


def test_every_payload_stands_in_a_table() -> None:
    """And every one that is named is there."""
    named = {name for row in ATTACKS for name in re.findall(r"`([\w.]+)`", row[1])}
    assert named == {path.name for path in FOLDER.iterdir() if path.is_file()}


@pytest.mark.parametrize("row", ATTACKS, ids=lambda row: row[0][:40])
def test_every_attack_is_proven_or_said_to_be_open(row: tuple[str, str, str]) -> None:
    """By a payload, by a test that is there, or by the page that says what is not protected against."""
    _, payloads, tests = row
    assert payloads or tests
    for file, name in re.findall(r"`([\w/]+\.py)::(\w+)`", tests):
        tree = ast.parse((TESTS / file).read_bytes())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (file, name)
