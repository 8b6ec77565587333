"""Kubernetes objects of each way to deploy: the manifests of deploy/kubernetes and what the Helm chart renders."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "deploy" / "kubernetes"
Objects = list[dict[str, Any]]

PARTS_VALUES = (
    "parts.enabled=true",
    "existingSecret=recollect-parts",
    "settings.RECOLLECT_KAFKA_BOOTSTRAP=kafka:9092",
    "settings.RECOLLECT_LANCE_URI=s3://recollect/tables",
    "settings.RECOLLECT_BLOB_URI=s3://recollect/blobs",
)
HELM_VALUES = {"one-pod": ("ingress.enabled=true",), "parts": (*PARTS_VALUES, "ingress.enabled=true")}


@pytest.fixture(
    scope="session", params=[f"{way} {shape}" for way in ("kubernetes", "kustomize", "helm") for shape in HELM_VALUES]
)
def objects(request: pytest.FixtureRequest) -> Objects:
    """All objects that one way to deploy creates."""
    way, shape = request.param.split()
    if way == "helm":
        return render_chart(*HELM_VALUES[shape])
    return build_kustomization(MANIFESTS / shape) if way == "kustomize" else read_manifests(shape)


def read_manifests(shape: str) -> Objects:
    """Return the objects that a kustomization lists."""
    folder = MANIFESTS / shape
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    return [found for name in kustomization["resources"] for found in yaml.safe_load_all((folder / name).read_text())]


def build_kustomization(folder: Path) -> Objects:
    """Return the objects that `kustomize build` makes of a folder; skips without kustomize."""
    kustomize = shutil.which("kustomize")
    if kustomize is None:
        pytest.skip("needs a peer that is not installed: kustomize")
    done = subprocess.run([kustomize, "build", folder], capture_output=True, text=True, check=False)  # noqa: S603 - what is installed here
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def render_chart(*values: str) -> Objects:
    """Return the objects that the Helm chart renders; skips without helm."""
    return list(filter(None, yaml.safe_load_all(run_helm(*values).stdout)))


def run_helm(*values: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run `helm template` on the chart; skips without helm."""
    helm = shutil.which("helm")
    if helm is None:
        pytest.skip("needs a peer that is not installed: helm")
    options = [f"--set={value}" for value in values]
    # A helm that was built from its module takes another version than that of its release for the cluster's.
    options.append(f"--kube-version={kubernetes_validate.latest_version()}")
    command = [helm, "template", "memory", str(ROOT / "deploy" / "helm" / "recollect"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - what is installed here
    assert not check or done.returncode == 0, done.stderr
    return done
