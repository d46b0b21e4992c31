"""``fumehood doctor``: prove each layer on this machine, and say how to mend what is missing."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from fumehood import settings
from fumehood.cli import USAGE
from sandbox import selfcheck
from sandbox.selfcheck import Finding

_UNFIT = 1


def main(args: argparse.Namespace) -> int:
    """Print every finding. 0 where all that is required holds, else 1; 2 for wrong settings."""
    try:
        chosen = settings.load(args.config, host="127.0.0.1")
    except settings.SettingsError as wrong:
        print(f"fumehood: {wrong}", file=sys.stderr)
        return USAGE
    findings = selfcheck.examine(chosen.engine())
    fit = all(finding.held for finding in findings if finding.required)
    if args.json:
        print(json.dumps({"fit": fit, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        for finding in findings:
            print(line(finding))
        print("This machine can hold every required layer." if fit else "A required layer is missing.")
    return 0 if fit else _UNFIT


def line(finding: Finding) -> str:
    """One finding for a person: what, whether, why, and what would mend it."""
    mark = "✓" if finding.held else "✗" if finding.required else "-"
    layer = f" [{finding.layer}]" if finding.layer and finding.layer != finding.name else ""
    text = f"{mark} {finding.name}{layer}" + (f": {finding.detail}" if finding.detail else "")
    return text if finding.held or not finding.remedy else f"{text}\n    mend: {finding.remedy}"
