from __future__ import annotations

import pytest

from analyzers import analyze
from analyzers.model import Severity

FLASK = """\
import os, configparser, pathlib
from flask import Flask, request
app = Flask(__name__)
"""
REACHED = {
    "a setting": (
        "FH111",
        """@app.route("/x", methods=["POST"])
def view():
    conf = configparser.ConfigParser()
    conf.add_section("s")
    conf.set("s", "a", "ls")
    conf.set("s", "b", request.form.get("x"))
    os.system(conf.get("s", "b"))
    return ""
""",
    ),
    "a name among many": (
        "FH111",
        """@app.route("/x")
def view():
    param = ""
    for name in request.form.keys():
        for value in request.form.getlist(name):
            if value == "x":
                param = name
                break
    os.system("ls " + param)
    return ""
""",
    ),
    "a piece of the query": (
        "FH160",
        """@app.route("/x")
def view():
    text = request.query_string.decode("utf-8")
    at = text.find("x=")
    if at == -1:
        return "none"
    param = text[at + 2 :]
    end = param.find("&")
    if end != -1:
        param = param[:end]
    return str(len(open("/data/" + param).read()))
""",
    ),
    "a part of the route alone": (
        "FH160",
        """@app.route("/x/<path:name>")
def view(name):
    with open(os.path.join("base", name), "rb") as file:
        return file.read()
""",
    ),
    "kept in the module": (
        "FH111",
        """command = ""
@app.route("/set")
def keep():
    global command
    command = request.args["c"]
    return ""
@app.route("/run")
def use():
    os.system(command)
    return ""
""",
    ),
    "through an object of the source": (
        "FH111",
        """class Thing:
    def same(self, value):
        kept = value
        return kept
def make():
    return Thing()
@app.route("/x")
def view():
    os.system(make().same(request.args["x"]))
    return ""
""",
    ),
    "looked at, and opened all the same": (
        "FH160",
        """@app.route("/x")
def view():
    folder = pathlib.Path("/data")
    path = (folder / request.args["x"]).resolve()
    if not str(path).startswith(str(folder)):
        print("outside")
    return path.read_text()
""",
    ),
}
HELD = {
    "another setting": ("FH111", REACHED["a setting"][1].replace('get("s", "b")', 'get("s", "a")')),
    "a part of the route that is a number": (
        "FH111",
        """@app.route("/x/<int:number>")
def view(number):
    os.system(f"kill {number}")
    return ""
""",
    ),
    "looked at, and refused": (
        "FH160",
        REACHED["looked at, and opened all the same"][1].replace('print("outside")', 'return "outside"'),
    ),
    "what a file holds": ("FH163", REACHED["looked at, and opened all the same"][1]),
    "no quotes": (
        "FH120",
        """@app.route("/x")
def view():
    x = request.args["x"]
    if "'" in x:
        return "no"
    cursor.execute(f"SELECT a FROM t WHERE b = '{x}'")
    return ""
""",
    ),
    "a number that is annotated": (
        "FH111",
        """from fastapi import FastAPI
api = FastAPI()
@api.get("/x/{number}")
async def view(number: int):
    os.system(f"kill {number}")
""",
    ),
}


@pytest.mark.parametrize("name", REACHED)
def test_what_a_program_lets_through_is_grave(name: str) -> None:
    """Whole programs, as they are written: the finding is grave and says where the value came in."""
    rule, code = REACHED[name]
    findings = [one for one in analyze(FLASK + code).findings if one.rule == rule]
    assert [(one.severity, "(line " in one.message) for one in findings] == [("high", True)]


@pytest.mark.parametrize("name", HELD)
def test_what_a_program_holds_back_is_not_graver_than_low(name: str) -> None:
    """The same programs with what makes them harmless."""
    rule, code = HELD[name]
    findings = [one for one in analyze(FLASK + code).findings if one.rule == rule]
    assert [one.message for one in findings if one.severity.rank > Severity.LOW.rank] == []
