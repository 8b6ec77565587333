"""The clients that speak v3 and v4, installed and run against a real server."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bench.service_process import Server
from tests.packaging.conftest import UV

CLIENTS = Path(__file__).parents[1] / "data" / "earlier_clients"
PYTHON_CLIENT = "supermemory==3.62.0"
NPM_CLIENTS = ("supermemory@4.25.4", "@supermemory/tools@2.3.0")
OPENAI_TOOLS = "supermemory-openai-sdk==1.0.10"
OPENCODE_PLUGIN = "opencode-supermemory@2.0.10"


def test_connections_are_created_listed_and_deleted(server: Server, namespace: str) -> None:
    headers = {"authorization": f"Bearer {server.key}"}
    with httpx2.Client(base_url=server.url, headers=headers, timeout=60) as http:
        crawler = {"containerTag": namespace, "metadata": {"startUrl": "http://127.0.0.1:9/"}}
        created = http.post("/v3/connections/web-crawler", json=crawler).json()
        assert created["authLink"] == ""
        listed = http.post("/v3/connections/list", json={"containerTags": [namespace]}).json()
        assert [connection["id"] for connection in listed] == [created["id"]]
        refused = http.post("/v3/connections/web-crawler", json={"metadata": {"startUrl": 1}})
        assert (refused.status_code, "startUrl" in refused.json()["details"]) == (400, True)
        folder = {"metadata": {"syncScope": "full"}, "redirectUrl": "not an address"}
        refused = http.post("/v3/connections/google-drive", json=folder)
        assert (refused.status_code, "redirectUrl" in refused.json()["details"]) == (400, True)
        assert http.delete(f"/v3/connections/{created['id']}").json()["provider"] == "web-crawler"


def _installed(command: list[str], cwd: Path) -> None:
    """Run an installer; skip the test where it can't reach its registry."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)  # noqa: S603 - a fixed program
    if done.returncode:
        pytest.skip(f"the client can't be installed here: {done.stderr[-200:]}")


def _run(command: list[str], server: Server, cwd: Path) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603 - a client in a folder of the test
        [*command, server.url, server.key], cwd=cwd, capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr[-2000:]
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def _run_python(package: str, script: str, server: Server, folder: Path) -> dict[str, Any]:
    """Run a script in an environment of its own that has this package."""
    if not UV.exists():
        pytest.skip("needs a peer that is not installed: uv, which `make install` brings")
    python = str(folder / "client" / "bin" / "python")
    _installed([str(UV), "venv", "--quiet", "--python", sys.executable, "client"], folder)
    _installed([str(UV), "pip", "install", "--quiet", "--python", python, package], folder)
    return _run([python, str(CLIENTS / script)], server, folder)


def _run_node(packages: Sequence[str], script: str, server: Server, folder: Path) -> dict[str, Any]:
    """Run a script in a folder that has these packages."""
    if shutil.which("npm") is None:
        pytest.skip("needs npm to install the client")
    _installed(["npm", "install", "--silent", "--no-audit", "--no-fund", *packages], folder)
    return _run(["node", str(shutil.copy(CLIENTS / script, folder))], server, folder)


@pytest.mark.slow
def test_the_python_client_of_v3_works(server: Server, tmp_path: Path) -> None:
    assert _run_python(PYTHON_CLIENT, "python_client.py", server, tmp_path) == {
        "same_id": True,
        "content": "Ada keeps bees in Bergen.",
        "metadata": {"year": 2024, "seen": "yes"},
        "batch": [2, 1],
        "found": [True, "Ada keeps bees in Bergen."],
        "hybrid": "Ada keeps bees in Bergen",
        "listed": ["python-bees"],
        "profile_search": True,
        "settings": None,
        "connections": 0,
        "deleted": True,
        "bulk": [1, ["unknown"]],
    }


@pytest.mark.slow
def test_the_npm_client_and_its_tools_work(server: Server, tmp_path: Path) -> None:
    assert _run_node(NPM_CLIENTS, "npm_client.mjs", server, tmp_path) == {
        "found": True,
        "hybrid": "Grace keeps bees in Bergen",
        "listed": ["bees"],
        "everywhere": True,
        "searched": True,
        "tools": [True, True, True],
    }


@pytest.mark.slow
def test_the_tools_for_openais_sdk_work(server: Server, tmp_path: Path) -> None:
    assert _run_python(OPENAI_TOOLS, "openai_tools.py", server, tmp_path) == {
        "found": True,
        "profile": ["Nora plays the oboe in Turin"],
        "listed": 2,
        "done": [True, True, True],
        "unknown": True,
        "two_containers": True,
    }


@pytest.mark.slow
def test_the_plugin_of_opencode_works(server: Server, tmp_path: Path) -> None:
    assert _run_node([OPENCODE_PLUGIN], "opencode_plugin.mjs", server, tmp_path) == {
        "found": "The build uses bun",
        "profile": ["User prefers tabs over spaces"],
        "listed": [True],
        "forgotten": True,
        "context": True,
    }
