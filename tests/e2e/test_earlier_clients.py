"""The clients that speak v3 and v4, installed and run against a real server."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bench.service_process import Server

CLIENTS = Path(__file__).parents[1] / "data" / "earlier_clients"
PYTHON_CLIENT = "supermemory==3.62.0"
NPM_CLIENTS = ("supermemory@4.25.4", "@supermemory/tools@2.3.0")


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


@pytest.mark.slow
def test_the_python_client_of_v3_works(server: Server, tmp_path: Path) -> None:
    _installed([sys.executable, "-m", "venv", "client"], tmp_path)
    python = str(tmp_path / "client" / "bin" / "python")
    _installed([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PYTHON_CLIENT], tmp_path)
    assert _run([python, str(CLIENTS / "python_client.py")], server, tmp_path) == {
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
    if shutil.which("npm") is None:
        pytest.skip("needs npm to install the client")
    _installed(["npm", "install", "--silent", "--no-audit", "--no-fund", *NPM_CLIENTS], tmp_path)
    script = shutil.copy(CLIENTS / "npm_client.mjs", tmp_path)
    assert _run(["node", str(script)], server, tmp_path) == {
        "found": True,
        "hybrid": "Grace keeps bees in Bergen",
        "listed": ["bees"],
        "everywhere": True,
        "searched": True,
        "tools": [True, True, True],
    }
