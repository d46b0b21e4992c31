"""Write what is in the image as one CycloneDX document: the service's packages, the guest's, and the system's.

``sbom.py OUTPUT --service PYTHON --guest PYTHON --dpkg STATUS --os-release FILE``, run in an environment that has
``requirements/sbom.txt``. Each component says in the property ``fumehood:part`` whose it is.
"""

from __future__ import annotations

import argparse
import email.parser
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from cyclonedx.model import Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

_SCHEMA = SchemaVersion.V1_6
_PART = "fumehood:part"
_INSTALLED = "install ok installed"


def main() -> None:
    """Make it, hold it against the schema, and write it."""
    parser = argparse.ArgumentParser(description="Write the image's bill of materials.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--service", type=Path, required=True, help="the Python of the service's packages")
    parser.add_argument("--guest", type=Path, required=True, help="the Python of the guest's")
    parser.add_argument("--dpkg", type=Path, required=True, help="dpkg's status file of the image")
    parser.add_argument("--os-release", type=Path, required=True)
    arguments = parser.parse_args()
    bom = Bom()
    bom.metadata.component = whole = Component(name="fumehood", type=ComponentType.CONTAINER, bom_ref="image")
    for part, python in (("service", arguments.service), ("guest", arguments.guest)):
        _add_python(bom, part, python)
    for package in _packages(arguments.dpkg, arguments.os_release):
        package.properties.add(Property(name=_PART, value="system"))
        bom.components.add(package)
    bom.register_dependency(whole, bom.components)
    text = make_outputter(bom, OutputFormat.JSON, _SCHEMA).output_as_string(indent=1)
    wrong = JsonStrictValidator(_SCHEMA).validate_str(text)
    if wrong is not None:
        sys.exit(f"sbom.py: what was made is no CycloneDX {_SCHEMA.to_version()}: {wrong}")
    arguments.output.write_text(text, encoding="utf-8")
    print(f"{arguments.output}: {len(bom.components)} components")


def _add_python(bom: Bom, part: str, python: Path) -> None:
    """Add what cyclonedx-py finds in the environment of ``python``."""
    tool = Path(sys.executable).with_name("cyclonedx-py")
    found = subprocess.run(
        [tool, "environment", "--output-reproducible", "--spec-version", _SCHEMA.to_version(), python],
        stdout=subprocess.PIPE,
        check=True,
    )
    told = json.loads(found.stdout)
    # Both parts may have a package of one name and version, so each reference says whose it is.
    for component in told["components"]:
        component["bom-ref"] = f"{part}:{component['bom-ref']}"
        component.setdefault("properties", []).append({"name": _PART, "value": part})
    for one in told["dependencies"]:
        one["ref"] = f"{part}:{one['ref']}"
        one["dependsOn"] = [f"{part}:{other}" for other in one.get("dependsOn", ())]
    read = Bom.from_json({**told, "metadata": {}})
    bom.components.update(read.components)
    bom.dependencies.update(read.dependencies)


def _packages(status: Path, os_release: Path) -> Iterator[Component]:
    """Give Debian's packages that are installed, by their package URLs (purl-spec, type ``deb``)."""
    words = dict(
        line.partition("=")[::2] for line in os_release.read_text(encoding="utf-8").splitlines() if "=" in line
    )
    vendor, release = (words.get(name, "").strip('"') for name in ("ID", "VERSION_ID"))
    parser = email.parser.HeaderParser()
    for paragraph in status.read_text(encoding="utf-8").split("\n\n"):
        fields = parser.parsestr(paragraph.lstrip())
        if fields["Status"] != _INSTALLED:
            continue
        qualifiers = {"arch": fields["Architecture"], "distro": f"{vendor}-{release}"}
        purl = PackageURL("deb", vendor, fields["Package"], fields["Version"], qualifiers)
        yield Component(
            name=fields["Package"],
            version=fields["Version"],
            type=ComponentType.LIBRARY,
            purl=purl,
            bom_ref=f"system:{fields['Package']}:{fields['Architecture']}",
        )


if __name__ == "__main__":
    main()
