"""The manifests of deploy/kubernetes fit Kubernetes' own schemas, the image, and the code."""

import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from starlette.routing import Route

from api.routes.extensions import health_routes
from app.cli.main import ROLES
from pipeline.settings import Settings

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
KNOWN = {"RECOLLECT_" + name.upper() for name in Settings.model_fields}
WORKLOADS = frozenset({"Deployment", "StatefulSet"})


def _objects(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text()))


def _workloads(file: Path) -> list[dict[str, Any]]:
    return [object_ for object_ in _objects(file) if object_["kind"] in WORKLOADS]


def _container(workload: dict[str, Any]) -> dict[str, Any]:
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    pod: dict[str, Any] = container
    return pod


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_object_fits_the_schema_of_kubernetes(file: Path) -> None:
    for object_ in _objects(file):
        kubernetes_validate.validate(object_, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_settings_are_known_and_no_secret_is_written_down(file: Path) -> None:
    for object_ in _objects(file):
        assert set(object_.get("data", {})) | set(object_.get("stringData", {})) <= KNOWN
        assert not any(object_.get("stringData", {}).values()), "a manifest is no place for a secret"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_a_pod_and_a_service_point_to_is_there(file: Path) -> None:
    objects = _objects(file)
    existing = {(object_["kind"], object_["metadata"]["name"]) for object_ in objects}
    for workload in _workloads(file):
        pod = workload["spec"]["template"]
        container = _container(workload)
        labels = pod["metadata"]["labels"]
        assert workload["spec"]["selector"]["matchLabels"] == labels
        for source in container["envFrom"]:
            for kind, reference in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
                if reference in source:
                    assert (kind, source[reference]["name"]) in existing
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
        volumes |= {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", [])}
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    everyone = [workload["spec"]["template"]["metadata"]["labels"] for workload in _workloads(file)]
    for object_ in objects:
        if object_["kind"] == "Service":
            selector = object_["spec"]["selector"].items()
            assert sum(selector <= labels.items() for labels in everyone) == 1


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_pods_run_the_image_as_it_is_made(file: Path) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    composed = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    user, port = re.search(r"--uid (\d+)", dockerfile), re.search(r"EXPOSE (\d+)", dockerfile)
    assert user is not None
    assert port is not None
    for workload in _workloads(file):
        pod, container = workload["spec"]["template"], _container(workload)
        assert container["image"] == composed["services"]["recollect"]["image"]
        assert pod["spec"]["securityContext"]["runAsUser"] == int(user[1])
        assert container["ports"][0]["containerPort"] == int(port[1])
        assert pod["metadata"]["annotations"]["prometheus.io/port"] == port[1]
        assert {"name": "data", "mountPath": "/data"} in container["volumeMounts"]
        assert container["securityContext"]["readOnlyRootFilesystem"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_probes_ask_what_every_part_answers_and_arguments_are_the_commands_own(file: Path) -> None:
    answered = {route.path for route in health_routes.router.routes if isinstance(route, Route)}
    for workload in _workloads(file):
        container = _container(workload)
        probes = [container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")]
        assert {probe["path"] for probe in probes} == {"/health", "/ready"} <= answered
        assert {probe["port"] for probe in probes} == {container["ports"][0]["name"]}
        annotations = workload["spec"]["template"]["metadata"]["annotations"]
        assert annotations.get("prometheus.io/path", "/metrics") in answered
        serve, *options = container.get("args", ["serve"])
        assert serve == "serve"
        assert not options or (options[0] == "--only" and set(options[1].split(",")) <= set(ROLES))


def test_one_disk_has_one_process_and_each_part_is_a_deployment() -> None:
    (alone,) = _workloads(ROOT / "deploy" / "kubernetes" / "recollect.yaml")
    assert (alone["kind"], alone["spec"]["replicas"]) == ("StatefulSet", 1)
    parts = [_container(workload)["args"] for workload in _workloads(ROOT / "deploy" / "kubernetes" / "parts.yaml")]
    assert parts == [["serve", "--only", part] for part in ("api", "pipeline", "connectors")]
