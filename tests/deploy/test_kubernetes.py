"""The manifests and the Helm chart fit Kubernetes' own schemas, the image, and the code."""

import re
import shutil
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from starlette.routing import Route

from api.routes.extensions import health_routes
from app.cli.main import ROLES
from pipeline.settings import Settings
from tests.deploy.conftest import (
    MANIFESTS,
    PARTS_VALUES,
    ROOT,
    Objects,
    build_kustomization,
    read_manifests,
    render_chart,
    run_helm,
)

KNOWN = {"RECOLLECT_" + name.upper() for name in Settings.model_fields}
WORKLOADS = frozenset({"Deployment", "StatefulSet"})
SECRET_OF_THE_OPERATOR = "recollect-parts"
"""Where the chart makes no Secret, its values name one that exists already."""


def _of_kind(objects: Objects, *kinds: str) -> Objects:
    return [object_ for object_ in objects if object_["kind"] in kinds]


def _workloads(objects: Objects) -> Objects:
    return _of_kind(objects, *WORKLOADS)


def _container(workload: dict[str, Any]) -> dict[str, Any]:
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    pod: dict[str, Any] = container
    return pod


def _pod_labels(objects: Objects) -> list[dict[str, str]]:
    return [workload["spec"]["template"]["metadata"]["labels"] for workload in _workloads(objects)]


def test_every_object_fits_the_schema_of_kubernetes(objects: Objects) -> None:
    for object_ in objects:
        kubernetes_validate.validate(object_, kubernetes_validate.latest_version(), strict=True)
    names = [(object_["kind"], object_["metadata"]["name"]) for object_ in objects]
    assert len(names) == len(set(names))


def test_settings_are_known_and_no_secret_is_written_down(objects: Objects) -> None:
    for object_ in objects:
        assert set(object_.get("data", {})) | set(object_.get("stringData", {})) <= KNOWN
        assert not any(object_.get("stringData", {}).values()), "a manifest is no place for a secret"


def test_what_a_pod_and_a_service_point_to_is_there(objects: Objects) -> None:
    existing = {(object_["kind"], object_["metadata"]["name"]) for object_ in objects}
    existing.add(("Secret", SECRET_OF_THE_OPERATOR))
    for workload in _workloads(objects):
        pod = workload["spec"]["template"]
        container = _container(workload)
        assert workload["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]
        for source in container["envFrom"]:
            for kind, reference in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
                if reference in source:
                    assert (kind, source[reference]["name"]) in existing
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
        volumes |= {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", [])}
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    for service in _of_kind(objects, "Service"):
        selector = service["spec"]["selector"].items()
        assert sum(selector <= labels.items() for labels in _pod_labels(objects)) == 1


def test_pods_run_the_image_as_it_is_made(objects: Objects) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    user, port = re.search(r"--uid (\d+)", dockerfile), re.search(r"EXPOSE (\d+)", dockerfile)
    assert user is not None
    assert port is not None
    for workload in _workloads(objects):
        pod, container = workload["spec"]["template"], _container(workload)
        assert re.fullmatch(r"registry\.example\.com/recollect:\d+\.\d+\.\d+", container["image"])
        assert pod["spec"]["securityContext"]["runAsUser"] == int(user[1])
        assert container["ports"][0]["containerPort"] == int(port[1])
        assert pod["metadata"]["annotations"]["prometheus.io/port"] == port[1]
        assert {"name": "data", "mountPath": "/data"} in container["volumeMounts"]
        assert container["securityContext"]["readOnlyRootFilesystem"]


def test_services_set_no_variables_that_would_be_read_as_settings(objects: Objects) -> None:
    # Kubernetes gives each pod RECOLLECT_PORT=tcp://… where a Service is called recollect.
    for workload in _workloads(objects):
        assert workload["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_probes_ask_what_every_part_answers_and_arguments_are_the_commands_own(objects: Objects) -> None:
    answered = {route.path for route in health_routes.router.routes if isinstance(route, Route)}
    for workload in _workloads(objects):
        container = _container(workload)
        probes = [container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")]
        assert {probe["path"] for probe in probes} == {"/health", "/ready"} <= answered
        assert {probe["port"] for probe in probes} == {container["ports"][0]["name"]}
        annotations = workload["spec"]["template"]["metadata"]["annotations"]
        assert annotations.get("prometheus.io/path", "/metrics") in answered
        serve, *options = container.get("args", ["serve"])
        assert serve == "serve"
        assert not options or (options[0] == "--only" and set(options[1].split(",")) <= set(ROLES))


def test_an_ingress_leads_to_ports_of_services_that_reach_the_api(objects: Objects) -> None:
    ports = {service["metadata"]["name"]: service["spec"]["ports"] for service in _of_kind(objects, "Service")}
    paths = [
        path
        for ingress in _of_kind(objects, "Ingress")
        for rule in ingress["spec"]["rules"]
        for path in rule["http"]["paths"]
    ]
    assert "/" in {path["path"] for path in paths}
    for path in paths:
        service = path["backend"]["service"]
        assert service["port"]["name"] in {port["name"] for port in ports[service["name"]]}


def test_requests_to_parts_are_hashed_on_the_namespace_and_others_are_not(objects: Objects) -> None:
    hashed = {
        path["backend"]["service"]["name"]: (path["path"], ingress["metadata"]["annotations"])
        for ingress in _of_kind(objects, "Ingress")
        for rule in ingress["spec"]["rules"]
        for path in rule["http"]["paths"]
        if "nginx.ingress.kubernetes.io/upstream-hash-by" in ingress["metadata"]["annotations"]
    }
    if len(_workloads(objects)) == 1:
        assert hashed == {}
        return
    ((service, (path, annotations)),) = hashed.items()
    assert service.endswith("-api-by-namespace"), "nginx would hash all requests of a Service that it shares"
    assert annotations["nginx.ingress.kubernetes.io/use-regex"] == "true"
    (variable,) = re.findall(r"\(\?<(\w+)>", path)
    assert annotations["nginx.ingress.kubernetes.io/upstream-hash-by"] == f"${variable}"
    found = re.match(path.replace("(?<", "(?P<"), "/ns/team:alice/search")
    assert found is not None
    assert found[variable] == "team:alice"


def test_budgets_let_nodes_be_drained_one_process_at_a_time(objects: Objects) -> None:
    several = [workload for workload in _workloads(objects) if workload["spec"]["replicas"] > 1]
    budgets = _of_kind(objects, "PodDisruptionBudget")
    assert [budget["spec"]["selector"]["matchLabels"] for budget in budgets] == [
        workload["spec"]["selector"]["matchLabels"] for workload in several
    ]
    assert all(budget["spec"]["maxUnavailable"] == 1 for budget in budgets)


@pytest.mark.parametrize("shape", ["one-pod", "parts"])
def test_a_kustomization_sets_the_image_of_every_pod(shape: str) -> None:
    folder = ROOT / "deploy" / "kubernetes" / shape
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert {path.name for path in folder.glob("*.yaml")} == {*kustomization["resources"], "kustomization.yaml"}
    (image,) = kustomization["images"]
    for workload in _workloads(read_manifests(shape)):
        assert _container(workload)["image"].partition(":")[0] == image["name"]


def test_the_overlay_of_the_guide_names_another_image_and_keeps_everything_else(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guides" / "kubernetes.md").read_text()
    overlay = re.search(r"```yaml\n# kustomization.yaml\n(.*?)```", guide, re.DOTALL)
    assert overlay is not None
    (tmp_path / "kustomization.yaml").write_text(overlay[1])
    shutil.copytree(MANIFESTS / "parts", tmp_path / "parts")
    built = build_kustomization(tmp_path)
    images = {_container(workload)["image"] for workload in _workloads(built)}
    assert images == {"registry.internal.example/recollect:0.1.0"}
    assert len(built) == len(read_manifests("parts"))


def test_one_disk_has_one_process_and_each_part_is_a_deployment() -> None:
    _check_shapes(read_manifests("one-pod"), read_manifests("parts"))


def test_the_chart_deploys_the_same_two_shapes() -> None:
    _check_shapes(render_chart(), render_chart(*PARTS_VALUES))


def _check_shapes(one_pod: Objects, parts: Objects) -> None:
    (alone,) = _workloads(one_pod)
    assert (alone["kind"], alone["spec"]["replicas"]) == ("StatefulSet", 1)
    arguments = [_container(workload)["args"] for workload in _workloads(parts)]
    assert arguments == [["serve", "--only", part] for part in ("api", "pipeline", "connectors")]


@pytest.mark.parametrize("left_out", PARTS_VALUES[1:], ids=lambda value: value.partition("=")[0])
def test_the_chart_refuses_parts_that_share_nothing(left_out: str) -> None:
    done = run_helm(*(value for value in PARTS_VALUES if value != left_out), check=False)
    assert done.returncode != 0
    assert left_out.partition("=")[0].rpartition(".")[2] in done.stderr


def test_the_version_of_the_chart_is_the_one_of_the_package() -> None:
    chart = yaml.safe_load((ROOT / "deploy" / "helm" / "recollect" / "Chart.yaml").read_text())
    fallback = re.search(r'fallback-version = "([^"]+)"', (ROOT / "pyproject.toml").read_text())
    assert fallback is not None
    assert chart["version"] == chart["appVersion"] == fallback[1]


def test_the_values_of_the_chart_are_used_by_its_templates() -> None:
    folder = ROOT / "deploy" / "helm" / "recollect"
    templates = "".join(path.read_text() for path in Path(folder, "templates").iterdir())
    for name in yaml.safe_load((folder / "values.yaml").read_text()):
        assert f".Values.{name}" in templates
