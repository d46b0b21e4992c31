"""What other projects run us by: the pre-commit hooks and the GitHub Action."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from fumehood.arguments import parser_for

ROOT = Path(__file__).resolve().parents[2]


def read(name: str) -> Any:
    """Give a YAML file of the root."""
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_every_hook_is_a_command_that_there_is() -> None:
    """What a hook runs is taken by our own command line."""
    hooks = read(".pre-commit-hooks.yaml")
    assert {hook["id"] for hook in hooks} == {"fumehood", "fumehood-secrets"}
    for hook in hooks:
        program, *argv = hook["entry"].split()
        assert program == "fumehood"
        assert hook["language"] == "python"
        assert parser_for(argv).parse_args([*argv, "a.py"]).paths == ["a.py"]


def action(tmp_path: Path, **inputs: str) -> list[str]:
    """Run the action's last step with a program in our place that tells its arguments; give those."""
    described = read("action.yml")
    step = described["runs"]["steps"][-1]
    program = tmp_path / "fumehood/bin/fumehood"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    given = {name: str(one["default"]) for name, one in described["inputs"].items()} | inputs
    env = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path)}
    for variable, expression in step["env"].items():
        env[variable] = given[expression.removeprefix("${{ inputs.").removesuffix(" }}")]
    done = subprocess.run(
        ["/bin/bash", "-c", step["run"]], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_the_action_checks_what_it_is_told(tmp_path: Path) -> None:
    """Its inputs become options that our command line takes."""
    assert action(tmp_path) == ["check", "--format", "github", "--", "."]
    asked = {"paths": "a.py b/*", "format": "sarif", "fail-on": "high", "args": "--select FH2"}
    argv = action(tmp_path, **asked)
    assert argv == ["check", "--format", "sarif", "--fail-on", "high", "--select", "FH2", "--", "a.py", "b/*"]
    args = parser_for(argv).parse_args(argv)
    assert (args.paths, args.format, args.fail_on, args.select) == (["a.py", "b/*"], "sarif", "high", [["FH2"]])
    assert action(tmp_path, output="report.txt") == []
    assert (tmp_path / "report.txt").read_text(encoding="utf-8").startswith("check\n")


@pytest.mark.parametrize("name", ["paths", "format", "fail-on", "args"])
def test_an_input_is_never_run(tmp_path: Path, name: str) -> None:
    """What stands in an input is an argument, whatever a shell would make of it."""
    action(tmp_path, **{name: "x; touch owned $(touch owned) `touch owned`"})
    assert not (tmp_path / "owned").exists()
