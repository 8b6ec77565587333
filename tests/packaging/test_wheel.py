"""A wheel runs in an empty environment, from any folder, and brings one package."""

import json
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

import httpx2
import pytest
from supermemory import Supermemory

from app.cli.remote_service import is_healthy
from tests.packaging.conftest import ROOT, build, run
from tests.support.polling import poll_until

pytestmark = pytest.mark.slow

IMPORT_EVERYTHING = """
import importlib, pkgutil, recollect, sys
for module in pkgutil.walk_packages(recollect.__path__, "recollect."):
    importlib.import_module(module.name)
    print(module.name)
print({"api", "app", "connectors", "pipeline", "schemas"} & set(sys.modules))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a user who never saw recollect."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def address(installed: Path, home: Path) -> Iterator[str]:
    """The address of a service that was started without any setting but a free port."""
    with running_service(installed, home) as url:
        yield url


@contextmanager
def running_service(programs: Path, home: Path) -> Iterator[str]:
    """Start the installed program in an empty folder of the user."""
    log = home / "serve.log"
    variables = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    folder = home / "somewhere"
    folder.mkdir()
    with log.open("wb") as output:
        command = [str(programs / "recollect"), "serve", "--port", "0"]
        process = subprocess.Popen(command, cwd=folder, env=variables, stdout=output, stderr=output)  # noqa: S603 - our own program
    try:
        poll_until(log.read_text, lambda text: "Console:" in text or process.poll() is not None, "started")
        assert process.poll() is None, log.read_text()
        url = log.read_text().split("answers at ")[1].split()[0]
        poll_until(lambda: is_healthy(url), bool, "an answer")
        yield url
    finally:
        process.terminate()
        process.wait()
    assert list(folder.iterdir()) == [], "data belongs into the user's data directory"


def recollect(programs: Path, home: Path, *words: str) -> str:
    """The output of a command, run from an empty folder of the user without any setting."""
    elsewhere = home / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    return run([programs / "recollect", *words], folder=elsewhere, variables={"HOME": str(home)})


def test_it_brings_one_package_and_the_files_that_are_served(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"recollect"}
    tracked = run(["git", "ls-files", "api", "app", "connectors", "pipeline", "schemas", "docs/asyncapi.json"]).split()
    assert {f"recollect/{name}" for name in tracked} <= set(names)
    assert {"recollect/site/index.html", "recollect/site/guides/quickstart/index.html"} <= set(names)


def test_every_module_can_be_imported_without_a_name_of_the_checkout(installed: Path, tmp_path: Path) -> None:
    *imported, of_checkout = run([installed / "python", "-c", IMPORT_EVERYTHING], folder=tmp_path).splitlines()
    assert {"recollect.api.application", "recollect.pipeline.bus.kafka.bus"} <= set(imported)
    assert of_checkout == "set()"


def test_the_program_and_the_module_are_the_same_command(installed: Path, wheel: Path, tmp_path: Path) -> None:
    version = f"recollect {wheel.name.split('-')[1]}\n"
    assert run([installed / "recollect", "--version"], folder=tmp_path) == version
    assert run([installed / "python", "-m", "recollect", "--version"], folder=tmp_path) == version


def test_commands_find_the_service_and_its_key_from_any_folder(installed: Path, home: Path, address: str) -> None:
    assert json.loads(recollect(installed, home, "status", "--json"))["address"] == address
    recollect(installed, home, "add", "erin", "Erin keeps bees on the roof.", "--wait")
    assert "bees" in recollect(installed, home, "search", "erin", "What does Erin keep?")


def test_the_official_client_adds_and_recalls(home: Path, address: str) -> None:
    key = next(home.rglob("admin.key")).read_text().strip()
    with Supermemory(base_url=address, api_key=key, max_retries=0) as client:
        client.add("alice", content="My name is Alice. I live in Lisbon.", dreaming="instant")
        poll_until(
            lambda: client.search("alice", query="Where does she live?").results,
            lambda results: any("Lisbon" in (result.memory or result.chunk or "") for result in results),
            "recalled",
        )


def test_files_are_read_by_the_installed_parser(installed: Path, home: Path, address: str, tmp_path: Path) -> None:
    assert address
    page = tmp_path / "page.html"
    page.write_text("<html><body><h1>Tides</h1><p>The harbour empties at noon.</p></body></html>")
    recollect(installed, home, "add", "tides", "--file", str(page), "--wait")
    assert "harbour empties" in recollect(installed, home, "search", "tides", "When does the harbour empty?")


def test_the_demonstration_uses_the_running_service(installed: Path, home: Path, address: str) -> None:
    shown = recollect(installed, home, "demo")
    assert f"Using the service at {address}" in shown
    assert "User moved to Porto" in shown[shown.index("Where do I live?") :]


def test_it_serves_the_console_the_channels_and_the_interface(address: str) -> None:
    assert httpx2.get(f"{address}/console", follow_redirects=True).is_success
    assert "Quickstart" in httpx2.get(f"{address}/docs/guides/quickstart/").text
    assert httpx2.get(f"{address}/asyncapi.json").json() == json.loads((ROOT / "docs" / "asyncapi.json").read_text())
    # Made when it is first asked for, while the parser is loaded.
    interface = httpx2.get(f"{address}/openapi.json", timeout=60).json()
    assert "/ns/{namespace}/search" in interface["paths"]
    assert [name for name in interface["components"]["schemas"] if name.startswith("recollect__")] == []


def test_a_source_distribution_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    source = build(ROOT, "sdist", tmp_path / "sdist")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (tree,) = tmp_path.glob("recollect-*")
    again = build(tree, "wheel", tmp_path / "again")
    assert again.name == wheel.name
    assert set(ZipFile(again).namelist()) == set(ZipFile(wheel).namelist())
