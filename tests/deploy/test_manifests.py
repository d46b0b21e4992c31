"""What ``deploy/`` ships, held against the schemas it must fit, and against the service that it starts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from fumehood import settings
from fumehood.server import _AFTER_CANCEL_SECONDS
from fumehood.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
SINCE = "1.34"
"""The oldest Kubernetes that the manifests are for, as docs/deploy.md says."""
NOT_KUBERNETES = {"kustomization.yaml", "prometheus-adapter.yaml"}
LABEL = {"app.kubernetes.io/name": "fumehood"}


def documents() -> Iterator[tuple[str, dict[str, Any]]]:
    """Give every Kubernetes object with the name of its file."""
    for path in sorted(KUBERNETES.glob("*.yaml")):
        if path.name not in NOT_KUBERNETES:
            for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
                yield path.name, document


def of_kind(kind: str) -> dict[str, Any]:
    """Give the only object of that kind, examples aside."""
    (found,) = [one for name, one in documents() if one["kind"] == kind and "example" not in name]
    return found


def pod() -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the service's pod and its container."""
    spec: dict[str, Any] = of_kind("Deployment")["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    return spec, container


def known_setting(name: str) -> bool:
    """Whether a setting of that dotted name exists."""
    table, _, inner = name.partition(".")
    field = Settings.model_fields.get(table)
    return field is not None and (not inner or inner in field.annotation.model_fields)  # type: ignore[union-attr]


@pytest.mark.parametrize("version", [SINCE, kubernetes_validate.latest_version()])
def test_every_manifest_fits_its_schema(version: str) -> None:
    """Strictly: a misspelt or misplaced field is refused. So is one that the oldest version does not know."""
    kinds = set()
    for name, document in documents():
        kubernetes_validate.validate(document, version, strict=True)
        kinds.add(document["kind"])
        assert name
    assert kinds >= {"Deployment", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget", "NetworkPolicy"}


def test_a_wrong_manifest_would_be_noticed() -> None:
    """The control of the test above."""
    wrong = of_kind("Deployment")
    wrong["spec"]["template"]["spec"]["hostUser"] = False
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, SINCE, strict=True)


def test_all_of_it_is_in_the_kustomization() -> None:
    """But for the example of a secret; and everything that is in it is there."""
    kustomization = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text(encoding="utf-8"))
    there = {path.name for path in KUBERNETES.glob("*.yaml")} - NOT_KUBERNETES - {"secret.example.yaml"}
    assert set(kustomization["resources"]) == there
    images = {
        container["image"]
        for _, one in documents()
        for container in (
            one.get("spec", {}).get("template", {}).get("spec", {}).get("containers", [])
            + one.get("spec", {}).get("template", {}).get("spec", {}).get("initContainers", [])
        )
    }
    assert images == {image["name"] for image in kustomization["images"]}


def test_kustomize_builds_it() -> None:
    """Where kubectl is installed; it needs no cluster for this."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    done = subprocess.run([kubectl, "kustomize", KUBERNETES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    built = [one for one in yaml.safe_load_all(done.stdout) if one]
    assert len(built) == len([name for name, _ in documents() if "example" not in name])
    assert {one["metadata"].get("namespace", one["metadata"]["name"]) for one in built} == {"fumehood"}


def test_the_profile_in_the_cluster_is_ours() -> None:
    """The same text as ``seccomp/container.json``, by the name that the pod asks for, where the kubelet looks."""
    (config,) = [one for name, one in documents() if name == "seccomp.yaml"]
    assert config["data"] == {"container.json": (ROOT / "seccomp/container.json").read_text(encoding="utf-8")}
    spec, container = pod()
    profile = container["securityContext"]["seccompProfile"]
    assert profile == {"type": "Localhost", "localhostProfile": "fumehood/container.json"}
    installer = of_kind("DaemonSet")["spec"]["template"]["spec"]
    folders = [volume["hostPath"]["path"] for volume in installer["volumes"] if "hostPath" in volume]
    assert folders == ["/var/lib/kubelet/seccomp/fumehood"]
    assert [volume["hostPath"]["path"] for volume in spec["volumes"] if "hostPath" in volume] == folders
    assert {"name": "profile", "configMap": {"name": config["metadata"]["name"]}} in installer["volumes"]


def test_the_pod_may_build_walls_and_nothing_else() -> None:
    """What deploy/image/README.md says the image needs, in Kubernetes' words, and no privilege."""
    spec, container = pod()
    context = container["securityContext"]
    assert spec["hostUsers"] is False
    assert context["procMount"] == "Unmasked"
    assert context["appArmorProfile"] == {"type": "Unconfined"}
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["allowPrivilegeEscalation"] is False
    assert context["readOnlyRootFilesystem"] is True
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["automountServiceAccountToken"] is False
    for _, one in documents():
        for each in one.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            assert "privileged" not in each["securityContext"]
            assert each["resources"]["limits"]["memory"]


def test_what_must_last_has_a_place() -> None:
    """The image's data folder is a volume in each, and the unit's the one lasting place it may write."""
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "ENV FUMEHOOD_DATA_DIR=/data\n" in image
    assert "VOLUME /data\n" in image
    spec, container = pod()
    (name,) = [mount["name"] for mount in container["volumeMounts"] if mount["mountPath"] == "/data"]
    assert name in {volume["name"] for volume in spec["volumes"]}
    compose = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text(encoding="utf-8"))
    assert compose["services"]["fumehood"]["volumes"] == ["records:/data"]
    assert "records" in compose["volumes"]
    unit = (DEPLOY / "systemd/fumehood.service").read_text(encoding="utf-8")
    (state,) = re.findall(r"^StateDirectory=(.+)$", unit, re.MULTILINE)
    assert f"Environment=FUMEHOOD_DATA_DIR=/var/lib/{state}\n" in unit


def test_settings_in_the_cluster_are_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file can be loaded as it stands with what the pod adds, and probes and callers are answered."""
    spec, container = pod()
    for variable in container["env"]:
        assert known_setting(variable["name"].removeprefix("FUMEHOOD_").lower().replace("__", "."))
        database = variable["name"] == "FUMEHOOD_DATABASE"
        monkeypatch.setenv(variable["name"], "postgresql://db/x" if database else "x" * 32)
    (config,) = [one for name, one in documents() if name == "settings.yaml"]
    path = tmp_path / "fumehood.toml"
    path.write_text(config["data"]["fumehood.toml"], encoding="utf-8")
    arguments = dict(zip(container["args"][1::2], container["args"][2::2], strict=True))
    assert arguments["--config"] == "/etc/fumehood/fumehood.toml"
    chosen = settings.load(path, host=arguments["--host"], port=int(arguments["--port"]))
    assert chosen.port == container["ports"][0]["containerPort"]
    assert chosen.may_lack == ("cgroup",)
    service = of_kind("Service")["metadata"]["name"]
    assert {service, f"{service}.fumehood.svc.cluster.local"} <= set(chosen.allowed_hosts)
    assert spec["enableServiceLinks"] is False  # or FUMEHOOD_PORT would be tcp://…
    wait = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert spec["terminationGracePeriodSeconds"] >= wait + chosen.shutdown_grace_seconds + _AFTER_CANCEL_SECONDS
    secret = of_kind_in("secret.example.yaml")
    asked = {one["valueFrom"]["secretKeyRef"]["key"] for one in container["env"]}
    assert asked == set(secret["stringData"])
    assert set(secret["stringData"].values()) == {""}  # an example that works as it stands would be used as it stands


def of_kind_in(file: str) -> dict[str, Any]:
    """Give the only object of a file."""
    (found,) = [one for name, one in documents() if name == file]
    return found


def test_probes_ask_what_is_open_to_them() -> None:
    """Without a key, and with the readiness that runs a snippet."""
    from fumehood.guard import OPEN_PATHS  # noqa: PLC0415

    _, container = pod()
    asked = {name: container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert set(asked.values()) <= OPEN_PATHS
    assert asked["readinessProbe"] == "/readyz"
    assert asked["livenessProbe"] == "/healthz"


def test_selectors_select_the_pods() -> None:
    """Service, budget, policy and spread all mean the deployment's pods; the autoscaler means the deployment."""
    deployment = of_kind("Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert labels == LABEL
    for selector in (
        deployment["spec"]["selector"]["matchLabels"],
        of_kind("Service")["spec"]["selector"],
        of_kind("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        of_kind("NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        pod()[0]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"],
    ):
        assert selector == LABEL
    scaled = of_kind("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
    assert (scaled["kind"], scaled["name"]) == ("Deployment", deployment["metadata"]["name"])
    policy = of_kind("NetworkPolicy")["spec"]
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    assert policy["egress"] == []


def test_the_autoscaler_asks_for_a_metric_that_there_is() -> None:
    """By the name that the adapter gives it, made from one that ``docs/observability.md`` lists."""
    (pods,) = [each["pods"] for each in of_kind("HorizontalPodAutoscaler")["spec"]["metrics"] if each["type"] == "Pods"]
    adapter = yaml.safe_load((KUBERNETES / "prometheus-adapter.yaml").read_text(encoding="utf-8"))
    (rule,) = adapter["rules"]["custom"]
    assert rule["name"]["as"] == pods["metric"]["name"]
    series = re.match(r"\w+", rule["seriesQuery"])
    assert series is not None
    assert f"| `{series[0]}` | `queue` |" in (ROOT / "docs/observability.md").read_text(encoding="utf-8")
    assert 'queue="run"' in rule["metricsQuery"]


COMPOSE = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text(encoding="utf-8"))


def test_compose_gives_what_the_image_needs() -> None:
    """The options of deploy/image/README.md, no privilege, and nothing that listens beyond this machine."""
    service = COMPOSE["services"]["fumehood"]
    assert set(service["security_opt"]) == {
        "no-new-privileges:true",
        "seccomp:../../seccomp/container.json",
        "systempaths=unconfined",
        "apparmor=unconfined",
    }
    assert (service["cap_drop"], service["read_only"]) == (["ALL"], True)
    for one in COMPOSE["services"].values():
        assert "privileged" not in one
        assert "cap_add" not in one
        assert all(port.startswith("127.0.0.1:") for port in one.get("ports", []))
        assert ":" in one["image"].rpartition("/")[2] or one is service  # pinned
    grace = float(service["stop_grace_period"].rstrip("s"))
    assert grace >= Settings(api_key=("x",)).shutdown_grace_seconds + _AFTER_CANCEL_SECONDS


def test_compose_names_files_and_settings_that_there_are() -> None:
    """Relative to the compose file; and what one service mounts another makes."""
    folder = DEPLOY / "compose"
    for each in COMPOSE["configs"].values():
        assert "content" in each or (folder / each["file"]).is_file()
    assert (folder / "../../seccomp/container.json").is_file()
    for name, service in COMPOSE["services"].items():
        for mounted in service.get("configs", []):
            assert mounted["source"] in COMPOSE["configs"], name
        for mounted in service.get("secrets", []):
            assert mounted["source"] in COMPOSE["secrets"], name
        for mounted in service.get("volumes", []):
            assert mounted.partition(":")[0] in COMPOSE["volumes"], name
    for variable in COMPOSE["services"]["fumehood"]["environment"]:
        assert known_setting(variable.removeprefix("FUMEHOOD_").lower().replace("__", ".")), variable
    scrape = yaml.safe_load(COMPOSE["configs"]["prometheus"]["content"])["scrape_configs"][0]
    host = scrape["static_configs"][0]["targets"][0].partition(":")[0]
    assert host in COMPOSE["services"]["fumehood"]["environment"]["FUMEHOOD_ALLOWED_HOSTS"]
    (token,) = COMPOSE["services"]["prometheus"]["secrets"]
    assert scrape["authorization"]["credentials_file"] == token["target"]


UNIT = (DEPLOY / "systemd/fumehood.service").read_text(encoding="utf-8")


def directives() -> dict[str, str]:
    """Give what the unit sets."""
    return dict(line.partition("=")[::2] for line in UNIT.splitlines() if "=" in line and not line.startswith("#"))


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """Its own checker, where it is installed; the program stands in for ours, which need not be."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "fumehood.service"
    for text, good in ((UNIT, True), (UNIT.replace("Delegate=", "Delegat="), False)):
        unit.write_text(text.replace("/opt/fumehood/bin/fumehood", "/bin/true"), encoding="utf-8")
        done = subprocess.run([analyze, "verify", "--man=no", unit], capture_output=True, text=True, check=False)
        told = [line for line in done.stderr.splitlines() if "fumehood.service" in line]
        assert (done.returncode == 0 and told == []) is good, done.stderr


def test_the_unit_leaves_the_walls_their_material() -> None:
    """Control groups are delegated, and what would take namespaces, mounts or /proc away is not set."""
    chosen = directives()
    assert set(chosen["Delegate"].split()) == {"memory", "pids", "cpu"}
    assert chosen["OOMPolicy"] == "continue"
    forbidden = {
        *("RestrictNamespaces", "ProtectHostname", "ProtectControlGroups", "ProcSubset", "ProtectKernelTunables"),
        *("ProtectKernelLogs", "SystemCallFilter", "MemoryDenyWriteExecute"),
    }
    assert forbidden & chosen.keys() == set()
    assert chosen["NoNewPrivileges"] == "yes"
    assert chosen["CapabilityBoundingSet"] == ""
    assert chosen["User"] == "fumehood"
    assert re.search(r"^u fumehood ", (DEPLOY / "systemd/fumehood.sysusers").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_units_settings_are_settings(tmp_path: Path) -> None:
    """The file it names can be loaded; a stop fits into what systemd waits."""
    path = tmp_path / "fumehood.toml"
    shutil.copy(DEPLOY / "systemd/fumehood.toml", path)
    assert tomllib.loads(path.read_text(encoding="utf-8"))
    chosen = settings.load(path)
    assert float(directives()["TimeoutStopSec"]) >= chosen.shutdown_grace_seconds + _AFTER_CANCEL_SECONDS
    name = directives()["Environment"].partition("=")[0]
    assert known_setting(name.removeprefix("FUMEHOOD_").lower())


def test_the_docs_name_every_file() -> None:
    """``docs/deploy.md`` says of each what it is for."""
    told = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    for folder in ("systemd", "compose", "kubernetes", "prometheus", "grafana"):
        for path in sorted((DEPLOY / folder).iterdir()):
            assert f"`{path.name}`" in told, path


def test_what_is_json_is_json() -> None:
    """Grafana reads it by a strict parser."""
    assert json.loads((DEPLOY / "grafana/fumehood.json").read_text(encoding="utf-8"))["panels"]
